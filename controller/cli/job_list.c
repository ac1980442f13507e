#include "controller/cli/job_list.h"

#include "controller/cli/table.h"

#include <errno.h>
#include <pb_decode.h>
#include <pb_encode.h>
#include <stdlib.h>
#include <string.h>

enum group { ACTIVE, ARRIVING, OVER };

struct kept {
    enum group group;
    uint64_t key, job; /* in turn: the least key, then the least number */
    size_t at, length; /* of its row */
};

struct job_list {
    struct kept *jobs;
    size_t n, allocated;
    uint8_t *bytes;
    size_t used, size;
    struct list_seen seen;
};

static enum group group_of(const duopoly_JobRow *row)
{
    return strcmp(row->state, "active") == 0     ? ACTIVE
           : strcmp(row->state, "arriving") == 0 ? ARRIVING
                                                 : OVER;
}

static bool room_make(struct job_list *list, size_t length)
{
    if (list->n == list->allocated) {
        list->allocated = list->allocated ? 2 * list->allocated : 256;
        struct kept *jobs = reallocarray(list->jobs, list->allocated, sizeof(*jobs));
        if (!jobs)
            return false;
        list->jobs = jobs;
    }
    if (list->used + length > list->size) {
        list->size = 2 * (list->used + length);
        uint8_t *bytes = realloc(list->bytes, list->size);
        if (!bytes)
            return false;
        list->bytes = bytes;
    }
    return true;
}

static int row_keep(void *user, const void *row, struct err *err)
{
    struct job_list *list = user;
    size_t length;
    if (!pb_get_encoded_size(&length, duopoly_JobRow_fields, row) || !room_make(list, length))
        return err_sys(err, ENOMEM, "the list of jobs");
    pb_ostream_t out = pb_ostream_from_buffer(list->bytes + list->used, length);
    if (!pb_encode(&out, duopoly_JobRow_fields, row))
        return err_sys(err, EIO, "the list of jobs");
    const duopoly_JobRow *job = row;
    const enum group group = group_of(job);
    list->jobs[list->n++] =
        (struct kept){group, group == ACTIVE ? job->key_ns : 0, job->job, list->used, length};
    list->used += length;
    return 0;
}

static int in_order(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    return x->group != y->group ? (x->group > y->group) - (x->group < y->group)
           : x->key != y->key   ? (x->key > y->key) - (x->key < y->key)
                                : (x->job > y->job) - (x->job < y->job);
}

/* Among some jobs no place can be counted: the controller has told it. */
static int rows_write(const struct job_list *list, bool counts, struct table *table,
                      struct err *err)
{
    uint32_t place = 0;
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        const struct kept *kept = &list->jobs[i];
        duopoly_JobRow row = duopoly_JobRow_init_zero;
        pb_istream_t in = pb_istream_from_buffer(list->bytes + kept->at, kept->length);
        if (!pb_decode(&in, duopoly_JobRow_fields, &row))
            return err_sys(err, EIO, "the list of jobs");
        if (counts)
            row.place = kept->group == ACTIVE ? ++place : 0;
        r = table_row(table, &row, err);
    }
    return r < 0 ? r : 0;
}

static int list_write(struct job_list *list, const struct selection *selection,
                      struct writer *writer, struct err *err)
{
    struct table table;
    if (list->n)
        qsort(list->jobs, list->n, sizeof(*list->jobs), in_order);
    selection_schema(selection, writer);
    table_begin(&table, list_of_jobs.key, list_of_jobs.cells, selection, writer);
    int r = table_end(&table, rows_write(list, !*selection->text, &table, err));
    if (r == 0)
        writer_field(writer, "changed", NULL, value_bool(list->seen.changed));
    return r;
}

int job_list_write(struct client *client, const struct request *request, struct writer *writer,
                   struct err *err)
{
    struct job_list list = {0};
    struct selection selection;
    duopoly_List ask = {.finished = request->all};
    int r = selection_read(request, &list_of_jobs, &selection, err);
    if (r < 0)
        return r;
    strcpy(ask.filter, selection.text);
    r = list_read(client, &list_of_jobs, ask, row_keep, NULL, &list, &list.seen, err);
    if (r == 0)
        r = list_write(&list, &selection, writer, err);
    free(list.jobs);
    free(list.bytes);
    return r;
}
