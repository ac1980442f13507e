#include "controller/cli/submit.h"

#include "controller/cli/exits.h"
#include "lib/client_submit.h"
#include "lib/grow.h"
#include "lib/workload/workload_input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct submitted {
    char name[64], text[256];
    uint64_t job, id;
    bool waits; /* checked, and not begun */
};

/* Where the file has a name. */
struct named {
    UT_hash_handle hh;
    char name[64];
    uint64_t line, id;
};

struct submissions {
    struct submitted *at;
    size_t n, allocated;
    struct named *names;
};

static struct submitted *submitted_add(struct submissions *submissions)
{
    if (!array_grow(submissions->at, submissions->n, submissions->allocated, 16))
        return NULL;
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

/* The first job of the file with that name, which is this one where there was none; NULL: no
 * memory. */
static struct named *name_take(struct submissions *submissions, const struct workload_input *input,
                               const struct workload_job *job)
{
    struct named *named;
    HASH_FIND_STR(submissions->names, job->name, named);
    if (named || !(named = calloc(1, sizeof(*named))))
        return named;
    wire_copy(named->name, sizeof(named->name), job->name);
    named->line = input->reader.line;
    named->id = job->id;
    HASH_ADD_STR(submissions->names, name, named);
    return named;
}

/* WHY in terms of the file: the job that has the name never began, and its number was never
 * shown. */
static int file_job_prepare(struct client *client, const struct workload_input *input,
                            const struct workload_job *job, struct submissions *submissions,
                            struct err *err)
{
    const struct named *first = name_take(submissions, input, job);
    if (!first)
        return err_set(err, ENOMEM, "out of memory");
    int r = job_prepare(client, job, submissions, err);
    if (r < 0 && first->id != job->id && client_refusal(client) == duopoly_Reason_REASON_CONFLICT)
        return err_set(err, EINVAL,
                       "%s:%" PRIu64 ": job %" PRIu64 " has the name '%s' of job %" PRIu64
                       " in line %" PRIu64 " and another content: give it another name",
                       input->reader.name, input->reader.line, job->id, job->name, first->id,
                       first->line);
    return r;
}

static void submissions_done(struct submissions *submissions)
{
    struct named *named, *next;
    HASH_ITER (hh, submissions->names, named, next) {
        HASH_DEL(submissions->names, named);
        free(named);
    }
    free(submissions->at);
}

/* Hands over the jobs of an open file, or the one with number `id`, to be checked. */
static int jobs_prepare(struct client *client, struct workload_input *input, const char *path,
                        uint64_t id, struct submissions *submissions, struct err *err)
{
    struct workload_job job;
    int r;
    while ((r = workload_input_next(input, &job, err)) > 0) {
        r = !id || job.id == id ? file_job_prepare(client, input, &job, submissions, err) : 0;
        workload_job_done(&job);
        if (r < 0)
            return r;
    }
    if (r == 0 && !submissions->n)
        return id ? err_set(err, ENOENT, "%s has no job with id %" PRIu64, path, id)
                  : err_set(err, ENOENT, "%s has no jobs", path);
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

/* Whether some have begun, now or before. */
static bool is_partial(const struct submissions *submissions)
{
    for (size_t i = 0; i < submissions->n; i++)
        if (!submissions->at[i].waits)
            return true;
    return false;
}

static void submissions_write(const struct submissions *submissions, struct writer *writer)
{
    static const struct column columns[] = {
        {"job", "JOB"}, {"name", "NAME"}, {"id", "ID IN FILE"}, {"answer", "ANSWER"}, {NULL, NULL}};
    writer_table(writer, "jobs", columns);
    for (size_t i = 0; i < submissions->n; i++) {
        writer_cell(writer, value_id(submissions->at[i].job));
        writer_cell(writer, value_text(submissions->at[i].name));
        writer_cell(writer, value_id(submissions->at[i].id));
        writer_cell(writer, value_text(submissions->at[i].text));
    }
    writer_table_end(writer);
    writer_keep(writer);
}

int run_submit(struct client *client, const struct request *request, struct writer *writer,
               struct err *err)
{
    struct submissions submissions = {.n = 0};
    struct workload_convert options = workload_convert_defaults;
    struct workload_input input;
    const char *path = request->words[0];
    options.jobs = 0;
    int r = workload_input_open(&input, path, &options, err);
    if (r == 0)
        r = jobs_prepare(client, &input, path, request->id, &submissions, err);
    if (r < 0) {
        r = err_prefix(err, "nothing was submitted");
    } else {
        writer_schema(writer, "submitted", "jobs");
        if (input.converted)
            writer_field(writer, "converted", "converted", value_text(input.header.description));
        r = jobs_commit(client, &submissions, err);
        submissions_write(&submissions, writer);
        if (r < 0 && is_partial(&submissions))
            r = EXIT_PARTIAL;
    }
    submissions_done(&submissions);
    workload_input_done(&input);
    return r;
}
