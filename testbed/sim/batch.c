#include "testbed/sim/batch.h"

#include "testbed/sim/progress.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS_MAX = 256 };

struct answer {
    struct batch_row row;
    char error[256];
};

struct worker {
    pid_t pid; /* 0: none */
    int fd;
    size_t item;
};

static void compute(const struct run_setup *setup, struct answer *ret)
{
    struct err err = {0};
    struct run_inputs in = {0};
    struct run_result result = {0};
    int rc = run_inputs_read(setup, &in, &err);
    if (!rc && !(result.jct_s = calloc(in.n, sizeof(double))))
        rc = err_set(&err, ENOMEM, "not enough memory for %zu jobs", in.n);
    if (!rc)
        rc = run_setup_simulate(setup, &in, &(struct run_listeners){0}, &result, &err);
    if (!rc) {
        job_classes_of(in.jobs, in.n, result.jct_s, &ret->row.classes);
        ret->row.jct = stats_of(result.jct_s, in.n);
        for (size_t q = 0; q < BATCH_QUANTILES; q++)
            ret->row.jct_s[q] = stats_rank(result.jct_s, in.n, (double)q / (BATCH_QUANTILES - 1));
        ret->row.cct = result.cct_s;
        ret->row.slot_wait_s = result.slot_wait_s;
        ret->row.held_slot_s = result.held_slot_s;
        ret->row.link_use = result.link_use;
        ret->row.starved = result.starved;
        ret->row.makespan_s = result.makespan_s;
    } else {
        snprintf(ret->error, sizeof(ret->error), "%.255s", err.text);
    }
    free(result.jct_s);
    run_inputs_done(&in);
}

/* An answer is shorter than a pipe's buffer, so the child never waits for its reader. */
static int start(struct worker *worker, struct batch_item *const *items, size_t item,
                 struct err *err)
{
    int fds[2];
    if (pipe(fds))
        return err_sys(err, errno, "cannot make a pipe");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct answer answer = {0};
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        compute(&items[item]->setup, &answer);
        _exit(write(fds[1], &answer, sizeof(answer)) != (ssize_t)sizeof(answer));
    }
    close(fds[1]);
    if (pid < 0) {
        int error = errno;
        close(fds[0]);
        return err_sys(err, error, "cannot start a process");
    }
    *worker = (struct worker){pid, fds[0], item};
    return 0;
}

static void collect(struct worker *worker, struct batch_item *const *items)
{
    struct answer answer;
    struct batch_item *item = items[worker->item];
    if (read(worker->fd, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
        snprintf(item->error, sizeof(item->error), "the simulation's process died");
    else
        memcpy(item->error, answer.error, sizeof(item->error));
    item->done = !item->error[0];
    if (item->done)
        item->row = answer.row;
    close(worker->fd);
    worker->pid = 0;
}

static void wait_for_one(struct worker *workers, struct batch_item *const *items)
{
    pid_t pid;
    do {
        pid = wait(NULL);
    } while (pid < 0 && errno == EINTR);
    for (int w = 0; w < WORKERS_MAX; w++)
        if (workers[w].pid && (workers[w].pid == pid || pid < 0))
            collect(&workers[w], items);
}

static struct worker *idle(struct worker *workers)
{
    for (int w = 0; w < WORKERS_MAX; w++)
        if (!workers[w].pid)
            return &workers[w];
    return NULL;
}

int batch_run(struct batch_item *const *items, size_t n, struct err *err)
{
    struct worker workers[WORKERS_MAX] = {0};
    struct progress progress;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = cores < 1 ? 1 : cores > WORKERS_MAX ? WORKERS_MAX : (size_t)cores;
    size_t running = 0, started = 0;
    int rc = 0;
    progress_init(&progress, "simulations");
    while (running || (!rc && started < n)) {
        if (!rc && running < most && started < n) {
            rc = start(idle(workers), items, started, err);
            running += !rc;
            started += !rc;
            continue;
        }
        wait_for_one(workers, items);
        running--;
        progress_show(&progress, (double)(started - running) / (double)n);
    }
    progress_done(&progress);
    for (size_t i = 0; !rc && i < n; i++)
        if (!items[i]->done)
            rc = err_set(err, EINVAL, "%s, seed %lu: %s", items[i]->setup.policy->name,
                         (unsigned long)items[i]->setup.convert.seed, items[i]->error);
    return rc;
}

double batch_median(const struct batch_item *const *items, size_t n, size_t offset)
{
    double values[1024];
    n = n > 1024 ? 1024 : n;
    for (size_t i = 0; i < n; i++)
        memcpy(&values[i], (const char *)&items[i]->row + offset, sizeof(values[i]));
    return stats_of(values, n).median;
}

int batch_split(const char *list, char (*ret_words)[32], int most, struct err *err)
{
    int n = 0;
    for (const char *at = list; *at || n == 0;) {
        size_t length = strcspn(at, ",");
        if (!length || length > 31 || n == most)
            return err_set(err, EINVAL, "'%s' is not a list of 1 to %d words with commas", list,
                           most);
        snprintf(ret_words[n++], 32, "%.*s", (int)length, at);
        at += length + (at[length] == ',');
    }
    return n;
}
