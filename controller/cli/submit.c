#include "controller/cli/submit.h"

#include "lib/client_submit.h"
#include "lib/workload/workload_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct submitted {
    char name[64], text[256];
    uint64_t job, id;
    bool waits; /* checked, and not begun */
};

struct submissions {
    struct submitted *at;
    size_t n, room;
};

static struct submitted *submitted_add(struct submissions *submissions)
{
    if (submissions->n == submissions->room) {
        size_t room = submissions->room ? 2 * submissions->room : 16;
        struct submitted *at = reallocarray(submissions->at, room, sizeof(*at));
        if (!at)
            return NULL;
        submissions->at = at;
        submissions->room = room;
    }
    return memset(&submissions->at[submissions->n++], 0, sizeof(submissions->at[0]));
}

static int job_prepare(struct client *client, const struct workload_job *job,
                       struct submissions *submissions, struct err *err)
{
    struct client_submitted answer;
    int r = client_prepare(client, job, &answer, err);
    struct submitted *submitted = r < 0 ? NULL : submitted_add(submissions);
    if (r < 0)
        return r;
    if (!submitted)
        return err_set(err, ENOMEM, "out of memory");
    wire_copy(submitted->name, sizeof(submitted->name), job->name);
    wire_copy(submitted->text, sizeof(submitted->text), answer.text);
    submitted->job = answer.job;
    submitted->id = job->id;
    submitted->waits = !answer.before;
    return 0;
}

/* Hands over the jobs of an open file, or the one with number `id`, to be checked. */
static int jobs_prepare(struct client *client, struct workload_reader *reader, uint64_t id,
                        struct submissions *submissions, struct err *err)
{
    struct workload_job job;
    int r;
    while ((r = workload_reader_next(reader, &job, err)) > 0) {
        r = !id || job.id == id ? job_prepare(client, &job, submissions, err) : 0;
        workload_job_done(&job);
        if (r < 0)
            return r;
    }
    if (r == 0 && !submissions->n)
        return id ? err_set(err, ENOENT, "%s has no job with id %" PRIu64, reader->name, id)
                  : err_set(err, ENOENT, "%s has no jobs", reader->name);
    return r;
}

/* All that waited but the last `left` have begun. */
static void begun_mark(struct submissions *submissions, uint32_t left, const char *text)
{
    size_t waiting = 0;
    for (size_t i = 0; i < submissions->n; i++)
        waiting += submissions->at[i].waits;
    for (size_t i = 0; i < submissions->n && waiting > left; i++) {
        if (!submissions->at[i].waits)
            continue;
        submissions->at[i].waits = false;
        wire_copy(submissions->at[i].text, sizeof(submissions->at[i].text), text);
        waiting--;
    }
}

/* After a failure: what was refused has not begun; what was not answered may have. */
static void unbegun_mark(struct submissions *submissions, int code)
{
    const char *text = code == -EREMOTEIO
                           ? "not begun"
                           : "not answered: submit it again to learn whether it has begun";
    for (size_t i = 0; i < submissions->n; i++)
        if (submissions->at[i].waits)
            wire_copy(submissions->at[i].text, sizeof(submissions->at[i].text), text);
}

static int jobs_commit(struct client *client, struct submissions *submissions, struct err *err)
{
    struct client_submitted last;
    uint32_t left = 0;
    bool wait = false;
    int r = 0;
    for (size_t i = 0; i < submissions->n; i++)
        wait |= submissions->at[i].waits;
    while (wait && r == 0) {
        if ((r = client_commit(client, &last, &left, err)) == 0)
            begun_mark(submissions, left, last.text);
        wait = left > 0;
    }
    if (r < 0)
        unbegun_mark(submissions, r);
    return r;
}

static void submissions_write(const struct submissions *submissions, struct writer *writer)
{
    static const struct column columns[] = {
        {"job", "JOB"}, {"name", "NAME"}, {"id", "ID IN FILE"}, {"answer", "ANSWER"}, {NULL, NULL}};
    writer_table(writer, "jobs", columns);
    for (size_t i = 0; i < submissions->n; i++) {
        writer_cell(writer, value_number(submissions->at[i].job));
        writer_cell(writer, value_text(submissions->at[i].name));
        writer_cell(writer, value_number(submissions->at[i].id));
        writer_cell(writer, value_text(submissions->at[i].text));
    }
    writer_table_end(writer);
    writer_keep(writer);
}

int run_submit(struct client *client, const struct request *request, struct writer *writer,
               struct err *err)
{
    struct submissions submissions = {.n = 0};
    struct workload_reader reader;
    FILE *in = fopen(request->words[0], "re");
    if (!in)
        return err_sys(err, errno, "%s cannot be opened", request->words[0]);
    int r = workload_reader_init(&reader, in, request->words[0], err);
    if (r == 0)
        r = jobs_prepare(client, &reader, request->id, &submissions, err);
    if (r < 0) {
        r = err_prefix(err, "nothing was submitted");
    } else {
        r = jobs_commit(client, &submissions, err);
        submissions_write(&submissions, writer);
    }
    free(submissions.at);
    workload_reader_done(&reader);
    fclose(in);
    return r;
}
