#include "testbed/sim/cluster/faults.h"

#include "lib/workload/workload_convert.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Instants are kept as doubles in a heap: exact up to 2⁵³ ns, where a run ends (run.h). */
#define SECONDS_MAX 1e9

bool faults_hosts_fail(const struct faults_config *c)
{
    return c->mtbf_s > 0 || c->n_listed;
}

static int failures_wrong(const char *text, struct err *err)
{
    return err_set(err, EINVAL,
                   "--failures takes MTBF/REPAIR in seconds (3600/60) or at most %d hosts with "
                   "the second of their failure and its length (3@10.5+60,7@20), not '%s'",
                   FAULTS_LISTED_MAX, text);
}

static bool seconds_fit(double seconds, double least)
{
    return seconds >= least && seconds <= SECONDS_MAX;
}

/* Reads one entry up to its comma; how many characters, or 0. */
static int read_listed(const char *text, struct fault *ret)
{
    double down_s, repair_s;
    int upto = 0, length = 0;
    unsigned host;
    if (*text < '0' || *text > '9' || sscanf(text, "%u@%lf%n", &host, &down_s, &upto) != 2 ||
        !seconds_fit(down_s, 0))
        return 0;
    *ret = (struct fault){host, (int64_t)(down_s * 1e9), INT64_MAX};
    if (text[upto] != '+')
        return upto;
    if (sscanf(text + upto + 1, "%lf%n", &repair_s, &length) != 1 || !seconds_fit(repair_s, 1e-9))
        return 0;
    ret->up_ns = ret->down_ns + (int64_t)(repair_s * 1e9);
    return upto + 1 + length;
}

int faults_read_failures(struct faults_config *config, const char *text, struct err *err)
{
    struct faults_config c = *config;
    char rest;
    c.n_listed = 0;
    c.mtbf_s = c.repair_s = 0;
    if (sscanf(text, "%lf/%lf%c", &c.mtbf_s, &c.repair_s, &rest) == 2) {
        if (!seconds_fit(c.mtbf_s, 1e-3) || !seconds_fit(c.repair_s, 1e-3))
            return failures_wrong(text, err);
        *config = c;
        return 0;
    }
    c.mtbf_s = 0;
    for (const char *at = text;; at++) {
        int length = c.n_listed < FAULTS_LISTED_MAX ? read_listed(at, &c.listed[c.n_listed]) : 0;
        at += length;
        if (!length || (*at && *at != ','))
            return failures_wrong(text, err);
        c.n_listed++;
        if (!*at)
            break;
    }
    *config = c;
    return 0;
}

int faults_read_stragglers(struct faults_config *config, const char *text, struct err *err)
{
    double share, times;
    char rest;
    if (sscanf(text, "%lf/%lf%c", &share, &times, &rest) != 2 || !(share >= 0 && share <= 1) ||
        !(times >= 1 && times <= 1e6))
        return err_set(err, EINVAL,
                       "--stragglers takes the share of slow attempts and how many times as long "
                       "they compute (0.05/8), not '%s'",
                       text);
    config->slow_share = share;
    config->slow_times = times;
    return 0;
}

/* Uniform in (0, 1]. */
static double uniform(uint64_t seed, uint64_t a, uint64_t b)
{
    uint64_t state = seed;
    state = workload_random(&state) ^ a;
    state = workload_random(&state) ^ b;
    return ((double)(workload_random(&state) >> 11) + 1) * 0x1p-53;
}

static uint64_t place_of(uint32_t stage, uint32_t task, uint32_t host)
{
    return (uint64_t)host << 32 ^ (uint64_t)stage << 22 ^ task;
}

double faults_slowness(const struct faults_config *c, uint64_t job, uint32_t stage, uint32_t task,
                       uint32_t host)
{
    if (!(c->slow_share > 0))
        return 1;
    return uniform(c->seed + 0x510, job, place_of(stage, task, host)) <= c->slow_share
               ? c->slow_times
               : 1;
}

int64_t faults_lateness_ns(const struct faults_config *c, uint64_t job, uint32_t stage,
                           uint32_t task, uint32_t host)
{
    if (!c->start_spread_ns)
        return 0;
    double part = uniform(c->seed + 0x1a7e, job, place_of(stage, task, host));
    return (int64_t)ceil(part * (double)c->start_spread_ns);
}

static double draw_ns(struct faults *f, uint32_t host)
{
    bool down = f->drawn[host] % 2;
    double mean_s = down ? f->config->repair_s : f->config->mtbf_s;
    double u = uniform(f->config->seed + 0xfa, host, f->drawn[host]);
    return fmax(1, ceil(-log(u) * mean_s * 1e9));
}

int faults_init(struct faults *f, const struct faults_config *config, uint32_t hosts,
                struct err *err)
{
    *f = (struct faults){.config = config, .hosts = hosts};
    for (uint32_t i = 0; i < config->n_listed; i++) {
        if (config->listed[i].host >= hosts)
            return err_set(err, EINVAL, "host %u is to fail, but there are %u, counted from 0",
                           config->listed[i].host, hosts);
        if (heap_push(&f->changes, NULL, (double)config->listed[i].down_ns, hosts + i))
            return err_set(err, ENOMEM, "not enough memory for the hosts' failures");
    }
    f->drawn = calloc(hosts, sizeof(*f->drawn));
    int r = f->drawn ? 0 : -ENOMEM;
    for (uint32_t h = 0; !r && config->mtbf_s > 0 && h < hosts; h++)
        r = heap_push(&f->changes, NULL, draw_ns(f, h), h);
    return r ? err_set(err, ENOMEM, "not enough memory for the failures of %u hosts", hosts) : 0;
}

int64_t faults_next_ns(const struct faults *f)
{
    return f->changes.n ? (int64_t)f->changes.items[0].key : INT64_MAX;
}

static int take_listed(struct faults *f, uint32_t i, struct fault_change *ret)
{
    const struct fault *listed = &f->config->listed[i];
    f->listed_down[i] = !f->listed_down[i];
    *ret = (struct fault_change){listed->host, f->listed_down[i]};
    if (!f->listed_down[i] || listed->up_ns == INT64_MAX)
        return 1;
    return heap_push(&f->changes, NULL, (double)listed->up_ns, f->hosts + i) ? -ENOMEM : 1;
}

int faults_take(struct faults *f, int64_t now_ns, struct fault_change *ret)
{
    if (faults_next_ns(f) > now_ns)
        return 0;
    struct heap_item item = heap_pop(&f->changes, NULL);
    if (item.id >= f->hosts)
        return take_listed(f, item.id - f->hosts, ret);
    *ret = (struct fault_change){item.id, f->drawn[item.id]++ % 2 == 0};
    double next_ns = item.key + draw_ns(f, item.id);
    return heap_push(&f->changes, NULL, next_ns, item.id) ? -ENOMEM : 1;
}

void faults_done(struct faults *f)
{
    heap_done(&f->changes);
    free(f->drawn);
    *f = (struct faults){0};
}
