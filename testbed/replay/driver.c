#include "testbed/replay/driver.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bsd/sys/tree.h>
#include <jansson.h>

#include "lib/client.h"
#include "lib/client_submit.h"
#include "lib/printable.h"
#include "lib/workload/workload_input.h"
#include "testbed/replay/progress.h"

#define NS_PER_S 1000000000u
/* WHY: the workload begins a little after the driver, so that the first job's arrival is in the
 * future too. */
#define START_DELAY_NS (NS_PER_S / 5)
/* Jobs submitted and not ended. Beyond it the driver stops submitting, waits for the controller,
 * and the replay fails. */
enum { OPEN_JOBS_MAX = 1000000 };

struct open_job {
    RB_ENTRY(open_job) entry;
    uint64_t job; /* the controller's number */
    uint64_t id, planned_ns, bytes, tasks;
    char name[64];
};
RB_HEAD(open_jobs, open_job);

struct driver {
    const struct driver_options *options;
    struct workload_input input;
    struct client *client;
    struct progress progress;
    struct open_jobs open;
    uint64_t n_open, failed;
    uint64_t start_ns, last_end_ns;
    uint64_t round;
};

static int by_number(const struct open_job *a, const struct open_job *b)
{
    return a->job < b->job ? -1 : a->job > b->job;
}
RB_GENERATE_INTERNAL(open_jobs, open_job, entry, by_number, __attribute__((unused)) static)

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t elapsed_ns(const struct driver *driver)
{
    uint64_t now = now_ns();
    return now > driver->start_ns ? now - driver->start_ns : 0;
}

static int write_row(struct driver *driver, json_t *row, struct err *err)
{
    FILE *out = driver->options->results;
    int r = 0;
    if (!row)
        return err_sys(err, ENOMEM, "a result's line");
    if (out && (json_dumpf(row, out, 0) < 0 || fputc('\n', out) == EOF || fflush(out) == EOF))
        r = err_sys(err, errno, "cannot write the results");
    json_decref(row);
    return r;
}

static int write_start(struct driver *driver, struct err *err)
{
    return write_row(driver,
                     json_pack("{s:i, s:s, s:s, s:I, s:I, s:I}", "replay", 1, "label",
                               driver->options->label, "workload", driver->options->workload,
                               "start_ns", (json_int_t)driver->start_ns, "scale",
                               (json_int_t)driver->input.header.scale, "hosts",
                               (json_int_t)driver->input.header.hosts),
                     err);
}

static int write_end(struct driver *driver, const struct open_job *job,
                     const duopoly_JobEvent *event, struct err *err)
{
    json_t *row = json_pack(
        "{s:I, s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "job", (json_int_t)job->job, "id",
        (json_int_t)job->id, "name", job->name, "state", event->state, "planned_ns",
        (json_int_t)job->planned_ns, "submitted_ns", (json_int_t)event->submitted_ns, "finished_ns",
        (json_int_t)event->finished_ns, "slot_wait_ns", (json_int_t)event->slot_wait_ns, "bytes",
        (json_int_t)job->bytes, "tasks", (json_int_t)job->tasks);
    if (row && *event->text)
        json_object_set_new(row, "reason", json_string(event->text));
    if (row && event->attempt) {
        json_object_set_new(row, "host", json_string(event->host));
        json_object_set_new(row, "attempt", json_integer((json_int_t)event->attempt));
    }
    return write_row(driver, row, err);
}

static uint64_t count_tasks(const struct workload_job *job)
{
    uint64_t tasks = 0;
    for (uint32_t i = 0; i < job->n_stages; i++)
        tasks += job->stages[i].tasks;
    return tasks;
}

static int submit(struct driver *driver, struct workload_job *job, uint64_t planned_ns,
                  struct err *err)
{
    struct client_submitted submitted;
    if (driver->n_open == OPEN_JOBS_MAX)
        return err_set(err, ENOBUFS, "%d jobs are submitted and have not ended", OPEN_JOBS_MAX);
    struct open_job *open = calloc(1, sizeof(*open));
    if (!open)
        return err_sys(err, ENOMEM, "job %" PRIu64, job->id);
    /* A name is a job: each round needs its own. */
    if (driver->options->rounds != 1) {
        char name[sizeof(job->name)];
        snprintf(name, sizeof(name), "%.40s.%" PRIu64, job->name, driver->round + 1);
        memcpy(job->name, name, sizeof(name));
    }
    int r = client_submit(driver->client, job, &submitted, err);
    if (r == 0 && submitted.before)
        r = err_set(err, EEXIST,
                    "the controller knows job '%s' already (it %s): a replay runs once under one "
                    "controller",
                    job->name, submitted.text);
    if (r < 0) {
        free(open);
        return r;
    }
    open->job = submitted.job;
    open->id = job->id;
    open->planned_ns = planned_ns;
    open->bytes = workload_job_shuffle_bytes(job);
    open->tasks = count_tasks(job);
    memcpy(open->name, job->name, sizeof(open->name));
    if (RB_INSERT(open_jobs, &driver->open, open)) {
        err_set(err, EEXIST, "job %s was submitted before", open->name);
        free(open);
        return -EEXIST;
    }
    driver->n_open++;
    return 0;
}

static void say_failure(const struct driver *driver, const struct open_job *job,
                        const duopoly_JobEvent *event)
{
    char text[sizeof(job->name) + sizeof(event->state) + sizeof(event->text) + 64];
    snprintf(text, sizeof(text), "job %" PRIu64 " (%s) %s: %s", job->job, job->name, event->state,
             event->text);
    printable_clean(text);
    fprintf(driver->options->words, "%s%s\n", driver->options->terminal ? "\r\033[K" : "", text);
}

static int take_event(struct driver *driver, const duopoly_JobEvent *event, struct err *err)
{
    if (event->missed)
        return err_set(err, ENOBUFS,
                       "%" PRIu64
                       " ends of jobs were taken too late to be told, so when these jobs "
                       "ended is not known",
                       event->missed);
    struct open_job key = {.job = event->job};
    struct open_job *job = RB_FIND(open_jobs, &driver->open, &key);
    if (!job)
        return 0; /* another client's */
    int r = write_end(driver, job, event, err);
    if (strcmp(event->state, "done") != 0)
        say_failure(driver, job, event);
    driver->failed += strcmp(event->state, "done") != 0;
    driver->progress.jobs_done++;
    driver->progress.bytes_done += job->bytes;
    driver->last_end_ns = now_ns();
    driver->n_open--;
    RB_REMOVE(open_jobs, &driver->open, job);
    free(job);
    return r;
}

static int take_events(struct driver *driver, struct err *err)
{
    duopoly_JobEvent event;
    int r;
    while ((r = client_event(driver->client, 0, &event, err)) >= 0)
        if ((r = take_event(driver, &event, err)) < 0)
            return r;
    return r == -ETIMEDOUT ? 0 : r;
}

/* Takes events until `until_ns`, or until all jobs have ended when that is UINT64_MAX. */
static int wait_until(struct driver *driver, uint64_t until_ns, struct err *err)
{
    uint64_t patience_ns = driver->options->patience_ns;
    for (;;) {
        int r = take_events(driver, err);
        uint64_t now = now_ns();
        if (r < 0 || now >= until_ns || (until_ns == UINT64_MAX && driver->n_open == 0))
            return r;
        if (until_ns == UINT64_MAX && patience_ns && now > driver->last_end_ns + patience_ns)
            return err_set(err, ETIMEDOUT,
                           "no job has ended for %" PRIu64 " s and %" PRIu64 " are still open",
                           patience_ns / NS_PER_S, driver->n_open);
        progress_draw(&driver->progress, elapsed_ns(driver));
        uint64_t wait_ns = until_ns - now < NS_PER_S / 5 ? until_ns - now : NS_PER_S / 5;
        const struct timespec wait = {.tv_sec = 0, .tv_nsec = (long)wait_ns};
        struct pollfd fd = {.fd = client_fd(driver->client), .events = POLLIN};
        if (ppoll(&fd, 1, &wait, NULL) < 0 && errno != EINTR)
            return err_sys(err, errno, "cannot wait for the controller");
    }
}

static int open_input(struct driver *driver, struct err *err)
{
    workload_input_done(&driver->input);
    return workload_input_open(&driver->input, driver->options->workload, &driver->options->convert,
                               err);
}

/* Reads the workload through once, so that a wrong one is refused before anything is submitted. */
static int survey(struct driver *driver, struct err *err)
{
    struct workload_job job;
    int r = open_input(driver, err);
    while (r >= 0 && (r = workload_input_next(&driver->input, &job, err)) > 0) {
        driver->progress.jobs++;
        driver->progress.bytes += workload_job_shuffle_bytes(&job);
        driver->progress.last_arrival_ns = job.arrival_ns;
        workload_job_done(&job);
    }
    if (r == 0 && driver->progress.jobs == 0)
        r = err_set(err, EINVAL, "%s has no jobs", driver->options->workload);
    return r;
}

static int run_round(struct driver *driver, struct err *err)
{
    struct workload_job job;
    int r = open_input(driver, err);
    driver->start_ns = now_ns() + START_DELAY_NS;
    driver->last_end_ns = driver->start_ns;
    if (r == 0)
        r = write_start(driver, err);
    while (r >= 0 && (r = workload_input_next(&driver->input, &job, err)) > 0) {
        uint64_t planned_ns = driver->start_ns + job.arrival_ns;
        r = wait_until(driver, planned_ns, err);
        if (r == 0)
            r = submit(driver, &job, planned_ns, err);
        workload_job_done(&job);
        driver->last_end_ns = now_ns();
    }
    return r < 0 ? r : wait_until(driver, UINT64_MAX, err);
}

static int run_rounds(struct driver *driver, struct err *err)
{
    const struct driver_options *options = driver->options;
    int r = survey(driver, err);
    if (r < 0 || (r = client_open(options->socket, &driver->client, err)) < 0 ||
        (r = client_watch(driver->client, 0, err)) < 0)
        return r;
    for (; options->rounds == 0 || driver->round < options->rounds; driver->round++) {
        uint64_t failed_before = driver->failed;
        driver->progress.jobs_done = driver->progress.bytes_done = driver->progress.drawn_ns = 0;
        if ((r = run_round(driver, err)) < 0)
            return r;
        progress_finish(&driver->progress, elapsed_ns(driver), driver->failed - failed_before);
    }
    return driver->failed > 0;
}

int driver_run(const struct driver_options *options, struct err *err)
{
    struct driver driver = {.options = options,
                            .progress = {.out = options->words,
                                         .terminal = options->terminal,
                                         .label = options->label}};
    struct open_job *job, *next;
    RB_INIT(&driver.open);
    int r = run_rounds(&driver, err);
    RB_FOREACH_SAFE (job, open_jobs, &driver.open, next) {
        RB_REMOVE(open_jobs, &driver.open, job);
        free(job);
    }
    workload_input_done(&driver.input);
    client_close(driver.client);
    return r;
}
