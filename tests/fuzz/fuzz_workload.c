/* Fuzz target of workload files: whatever is read as a header or a job is written to text that
 * reads and writes as the same text. */
#include "lib/workload/workload_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void header_again(const struct workload_header *header)
{
    struct workload_header again;
    char *text = workload_header_format(header), *same;
    must(text && workload_header_parse(text, strlen(text), &again, NULL) == 0);
    must((same = workload_header_format(&again)) && strcmp(text, same) == 0);
    free(text);
    free(same);
}

static void job_again(const struct workload_header *header, const struct workload_job *job)
{
    struct workload_job again = {0};
    char *text = workload_job_format(job), *same;
    must(text && workload_job_parse(header, text, strlen(text), &again, NULL) == 0);
    must((same = workload_job_format(&again)) && strcmp(text, same) == 0);
    workload_job_done(&again);
    free(text);
    free(same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct workload_reader reader = {0};
    struct workload_job job;
    struct err err;
    FILE *in = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
    if (!in)
        return 0;
    if (workload_reader_init(&reader, in, "fuzz", &err) == 0) {
        header_again(&reader.header);
        while (workload_reader_next(&reader, &job, &err) == 1) {
            job_again(&reader.header, &job);
            workload_job_done(&job);
        }
    }
    workload_reader_done(&reader);
    fclose(in);
    return 0;
}
