#include "testbed/sim/batch.h"

#include "testbed/sim/bounds.h"
#include "testbed/sim/progress.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS_MAX = 256, SHOW_MS = 200 };

struct answer {
    struct batch_row row;
    char error[256];
};

struct worker {
    pid_t pid; /* 0: none */
    int fd;
    size_t item;
};

struct batch {
    struct batch_item *const *items;
    size_t n, started, running;
    struct worker workers[WORKERS_MAX];
    double *parts; /* of each worker's simulation, 0…1; shared with the processes */
    struct progress progress;
};

static void note_part(void *part, double done)
{
    *(volatile double *)part = done;
}

static int bound(const struct run_setup *setup, const struct run_inputs *in,
                 struct batch_row *ret_row, struct err *err)
{
    struct run_config config;
    struct bounds bounds = {0};
    run_setup_configure(setup, in, &config);
    int r = bounds_of(&config, in->jobs, in->n, &bounds, err);
    ret_row->bound_s = bounds.largest_s;
    ret_row->proven = bounds.proven;
    return r;
}

static void compute(const struct run_setup *setup, double *part, struct answer *ret)
{
    struct run_listeners listeners = {.progress = note_part, .user = part};
    struct err err = {0};
    struct run_inputs in = {0};
    struct run_result result = {0};
    int r = run_inputs_read(setup, &in, &err);
    r = r ? r : run_inputs_check(setup, &in, &err);
    if (!r && !(result.jct_s = calloc(in.n, sizeof(double))))
        r = err_set(&err, ENOMEM, "not enough memory for %zu jobs", in.n);
    if (!r)
        r = run_setup_simulate(setup, &in, &listeners, &result, &err);
    if (!r)
        r = bound(setup, &in, &ret->row, &err);
    if (!r) {
        job_classes_of(in.jobs, in.n, result.jct_s, &ret->row.classes);
        ret->row.jct = stats_of(result.jct_s, in.n);
        for (size_t q = 0; q < BATCH_QUANTILES; q++)
            ret->row.jct_s[q] = stats_rank(result.jct_s, in.n, (double)q / (BATCH_QUANTILES - 1));
        ret->row.cct = result.cct_s;
        ret->row.slot_wait_s = result.slot_wait_s;
        ret->row.held_slot_s = result.held_slot_s;
        ret->row.link_use = result.link_use;
        ret->row.device_use = result.device_use;
        ret->row.starved = result.starved;
        ret->row.makespan_s = result.makespan_s;
    } else {
        snprintf(ret->error, sizeof(ret->error), "%.255s", err.text);
    }
    free(result.jct_s);
    run_inputs_done(&in);
}

/* An answer is shorter than a pipe's buffer, so the child never waits for its reader. */
static int start(struct batch *b, size_t w, size_t item, struct err *err)
{
    int fds[2];
    if (pipe(fds))
        return err_sys(err, errno, "cannot make a pipe");
    fflush(NULL);
    b->parts[w] = 0;
    pid_t pid = fork();
    if (pid == 0) {
        struct answer answer = {0};
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        compute(&b->items[item]->setup, &b->parts[w], &answer);
        _exit(write(fds[1], &answer, sizeof(answer)) != (ssize_t)sizeof(answer));
    }
    close(fds[1]);
    if (pid < 0) {
        int r = errno;
        close(fds[0]);
        return err_sys(err, r, "cannot start a process");
    }
    b->workers[w] = (struct worker){pid, fds[0], item};
    b->started++;
    b->running++;
    return 0;
}

static void collect(struct batch *b, struct worker *worker)
{
    struct answer answer;
    struct batch_item *item = b->items[worker->item];
    if (read(worker->fd, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
        snprintf(item->error, sizeof(item->error), "the simulation's process died");
    else
        memcpy(item->error, answer.error, sizeof(item->error));
    item->done = !item->error[0];
    if (item->done)
        item->row = answer.row;
    close(worker->fd);
    while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    worker->pid = 0;
    b->running--;
}

/* Waits until a process has answered or died, or progress is to be shown. */
static void wait_for_some(struct batch *b)
{
    struct pollfd fds[WORKERS_MAX];
    for (size_t w = 0; w < WORKERS_MAX; w++)
        fds[w] = (struct pollfd){b->workers[w].pid ? b->workers[w].fd : -1, POLLIN, 0};
    poll(fds, WORKERS_MAX, b->progress.terminal ? SHOW_MS : -1);
    for (size_t w = 0; w < WORKERS_MAX; w++)
        if (b->workers[w].pid && fds[w].revents)
            collect(b, &b->workers[w]);
    double done = (double)(b->started - b->running);
    for (size_t w = 0; w < WORKERS_MAX; w++)
        done += b->workers[w].pid ? b->parts[w] : 0;
    progress_show(&b->progress, done / (double)b->n);
}

static size_t idle(const struct batch *b)
{
    size_t w = 0;
    while (b->workers[w].pid)
        w++;
    return w;
}

static int run_all(struct batch *b, struct err *err)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = cores < 1 ? 1 : cores > WORKERS_MAX ? WORKERS_MAX : (size_t)cores;
    int r = 0;
    while (b->running || (!r && b->started < b->n))
        if (!r && b->running < most && b->started < b->n)
            r = start(b, idle(b), b->started, err);
        else
            wait_for_some(b);
    return r;
}

int batch_run(struct batch_item *const *items, size_t n, struct err *err)
{
    struct batch b = {.items = items, .n = n};
    size_t bytes = WORKERS_MAX * sizeof(*b.parts);
    b.parts = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b.parts == MAP_FAILED)
        return err_set(err, ENOMEM, "not enough memory for %zu simulations", n);
    progress_init(&b.progress, "simulations");
    int r = run_all(&b, err);
    progress_done(&b.progress);
    munmap(b.parts, bytes);
    for (size_t i = 0; !r && i < n; i++)
        if (!items[i]->done)
            r = err_set(err, EINVAL, "%s, seed %lu: %s", items[i]->setup.policy->name,
                        (unsigned long)items[i]->setup.convert.seed, items[i]->error);
    return r;
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
