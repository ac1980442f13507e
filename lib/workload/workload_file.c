#include "lib/workload/workload_file.h"
#include "lib/text_mark.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Ids already seen: disjoint ranges, never two that touch. */
struct workload_id_range {
    RB_ENTRY(workload_id_range) entry;
    uint64_t first, last;
};

static int range_compare(const struct workload_id_range *a, const struct workload_id_range *b)
{
    return a->first < b->first ? -1 : a->first > b->first;
}
RB_GENERATE_INTERNAL(workload_ids, workload_id_range, entry, range_compare,
                     __attribute__((unused)) static)

/* The range with the greatest `first` ≤ id. */
static struct workload_id_range *range_at_or_before(struct workload_ids *ids, uint64_t id)
{
    struct workload_id_range key = {.first = id};
    struct workload_id_range *after = RB_NFIND(workload_ids, ids, &key);
    if (after && after->first == id)
        return after;
    return after ? RB_PREV(workload_ids, ids, after) : RB_MAX(workload_ids, ids);
}

/* 0, or −EEXIST, −ENOSPC, −ENOMEM. */
static int ids_add(struct workload_reader *reader, uint64_t id)
{
    struct workload_ids *ids = &reader->ids;
    struct workload_id_range *before = range_at_or_before(ids, id);
    if (before && before->last >= id)
        return -EEXIST;
    struct workload_id_range *after =
        before ? RB_NEXT(workload_ids, ids, before) : RB_MIN(workload_ids, ids);
    if (before && before->last + 1 == id) {
        before->last = id;
        if (after && after->first == id + 1) {
            before->last = after->last;
            RB_REMOVE(workload_ids, ids, after);
            free(after);
            reader->n_ids--;
        }
        return 0;
    }
    if (after && after->first == id + 1) {
        after->first = id;
        return 0;
    }
    if (reader->n_ids == WORKLOAD_ID_RANGES_MAX)
        return -ENOSPC;
    struct workload_id_range *range = calloc(1, sizeof(*range));
    if (!range)
        return -ENOMEM;
    range->first = range->last = id;
    RB_INSERT(workload_ids, ids, range);
    reader->n_ids++;
    return 0;
}

static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!strchr(" \t\r", text[i]) || !text[i])
            return false;
    return true;
}

static int read_fail(const struct workload_reader *reader, int code, struct err *err)
{
    if (code == EISDIR)
        return err_set(err, code, "%s is a folder, not a workload file", reader->name);
    return err_sys(err, code, "%s:%" PRIu64, reader->name, reader->line + 1);
}

/* The next line that is not blank: its length, 0 at the end, or −errno. The bound holds while
 * reading: a file without newlines is refused, not swallowed. */
static ssize_t next_line(struct workload_reader *reader, struct err *err)
{
    size_t length;
    do {
        int c;
        length = 0;
        while ((c = getc_unlocked(reader->in)) != EOF && c != '\n') {
            if (length == WORKLOAD_LINE_MAX)
                return err_set(err, EINVAL, "%s:%" PRIu64 ": the line is over %d MiB long",
                               reader->name, reader->line + 1, WORKLOAD_LINE_MAX >> 20);
            if (length == reader->text_size) {
                size_t size = reader->text_size ? reader->text_size * 2 : 65536;
                char *grown = realloc(reader->text, size);
                if (!grown)
                    return err_sys(err, ENOMEM, "%s:%" PRIu64, reader->name, reader->line + 1);
                reader->text = grown;
                reader->text_size = size;
            }
            reader->text[length++] = (char)c;
        }
        if (ferror(reader->in))
            return read_fail(reader, errno ? errno : EIO, err);
        if (c == EOF && length == 0)
            return 0;
        reader->line++;
    } while (is_blank(reader->text, length));
    return (ssize_t)length;
}

int workload_reader_init(struct workload_reader *reader, FILE *in, const char *name,
                         struct err *err)
{
    *reader = (struct workload_reader){.in = in, .name = name};
    RB_INIT(&reader->ids);
    int r = text_mark_skip(in, name, err);
    ssize_t length = r < 0 ? r : next_line(reader, err);
    if (length == 0)
        return err_set(err, EINVAL, "%s: the file is empty", name);
    if (length < 0)
        return (int)length;
    r = workload_header_parse(reader->text, (size_t)length, &reader->header, err);
    if (r < 0)
        err_prefix(err, "%s:%" PRIu64, name, reader->line);
    return r;
}

/* Checks against the jobs before it. */
static int check_in_file(struct workload_reader *reader, const struct workload_job *job,
                         struct err *err)
{
    if (job->arrival_ns < reader->arrival_ns)
        return err_set(err, EINVAL, "arrival_ms is less than in the job before");
    int r = ids_add(reader, job->id);
    if (r == -EEXIST)
        return err_set(err, EINVAL, "id %" PRIu64 " is there twice", job->id);
    if (r == -ENOSPC)
        return err_set(err, EINVAL, "over %d ids are not consecutive", WORKLOAD_ID_RANGES_MAX);
    if (r < 0)
        return err_sys(err, -r, "ids");
    reader->arrival_ns = job->arrival_ns;
    return 0;
}

int workload_reader_next(struct workload_reader *reader, struct workload_job *ret_job,
                         struct err *err)
{
    struct workload_job job;
    ssize_t length = next_line(reader, err);
    if (length <= 0)
        return (int)length;
    int r = workload_job_parse(&reader->header, reader->text, (size_t)length, &job, err);
    if (r == 0 && (r = check_in_file(reader, &job, err)) < 0)
        workload_job_done(&job);
    if (r < 0) {
        err_prefix(err, "%s:%" PRIu64, reader->name, reader->line);
        return r;
    }
    *ret_job = job;
    return 1;
}

void workload_reader_done(struct workload_reader *reader)
{
    struct workload_id_range *range, *next;
    if (!reader)
        return;
    RB_FOREACH_SAFE (range, workload_ids, &reader->ids, next) {
        RB_REMOVE(workload_ids, &reader->ids, range);
        free(range);
    }
    free(reader->text);
    *reader = (struct workload_reader){0};
}

static int write_line(FILE *out, char *text, struct err *err)
{
    if (!text)
        return err_sys(err, ENOMEM, "a workload's line");
    int r = fprintf(out, "%s\n", text) < 0 ? -errno : 0;
    free(text);
    return r < 0 ? err_sys(err, -r, "writing the workload") : 0;
}

int workload_write_header(FILE *out, const struct workload_header *header, struct err *err)
{
    return write_line(out, workload_header_format(header), err);
}

int workload_write_job(FILE *out, const struct workload_job *job, struct err *err)
{
    return write_line(out, workload_job_format(job), err);
}
