#include "lib/workload/workload_input.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static int open_trace(struct workload_input *input, const char *path,
                      const struct workload_convert *options, struct err *err)
{
    input->converted = true;
    int r = workload_fb_load(path, &input->trace, err);
    if (r < 0)
        return r;
    if ((r = workload_converter_init(&input->converter, options, input->trace, err)) < 0)
        return r;
    workload_converter_header(&input->converter, path, &input->header);
    return 0;
}

static int open_workload(struct workload_input *input, const char *path,
                         const struct workload_convert *options, struct err *err)
{
    int r = workload_reader_init(&input->reader, input->file, path, err);
    input->header = input->reader.header;
    input->jobs_max = options->jobs;
    return r;
}

/* Behind a byte order mark and blanks: which of the two formats it is. */
static int first_character(FILE *in)
{
    int c = getc(in);
    while (c != EOF && (isspace(c) || memchr("\xef\xbb\xbf", c, 3)))
        c = getc(in);
    return c;
}

int workload_input_open(struct workload_input *input, const char *path,
                        const struct workload_convert *options, struct err *err)
{
    *input = (struct workload_input){.file = fopen(path, "re")};
    if (!input->file)
        return err_sys(err, errno, "cannot open the workload %s", path);
    int first = first_character(input->file);
    if (first == EOF && ferror(input->file) && errno == EISDIR)
        return err_set(err, EISDIR, "%s is a folder, not a workload file", path);
    if (first == EOF && ferror(input->file))
        return err_sys(err, errno, "cannot read the workload %s", path);
    if (first == EOF)
        return err_set(err, EINVAL, "%s: the file is empty", path);
    if (fseeko(input->file, 0, SEEK_SET) < 0)
        ungetc(first, input->file); /* a pipe */
    if (isdigit(first))
        return open_trace(input, path, options, err);
    return open_workload(input, path, options, err);
}

int workload_input_next(struct workload_input *input, struct workload_job *ret_job, struct err *err)
{
    if (input->jobs_max && input->jobs == input->jobs_max)
        return 0;
    int r = input->converted ? workload_converter_next(&input->converter, ret_job, err)
                             : workload_reader_next(&input->reader, ret_job, err);
    input->jobs += r > 0;
    return r;
}

void workload_input_done(struct workload_input *input)
{
    if (!input)
        return;
    workload_reader_done(&input->reader);
    workload_converter_done(&input->converter);
    workload_fb_destroy(input->trace);
    if (input->file)
        fclose(input->file);
    *input = (struct workload_input){0};
}
