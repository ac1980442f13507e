/* Exact max-min fairness per flow on a big switch, dense: the flows of a pair of ports have one
 * rate, so the network is a matrix of counts, and progressive filling is vector arithmetic on its
 * rows and columns.
 *
 * As in fluid.c a pair moves at the rate of the port that limits it. So a port keeps one counter of
 * the bytes that each flow that it limits got, and its pairs in a heap by the count at which their
 * next flow ends. Only the filling differs: in a trace full of shuffles one change moves the shares
 * of a third of all ports, and then arithmetic without pointers is twenty times faster than looking
 * for what changed. */
#include "testbed/sim/coflows/coflow_policies.h"
#include "testbed/sim/network/heap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lanes of double, for the compiler's vector registers. */
typedef double lanes __attribute__((vector_size(16)));
enum { LANES = 2 };

#define NOBODY 1e200 /* shares above it: a port without a flow that it could limit */

struct side {
    double *count;                       /* n × width: flows to each port of the other side */
    double *flows, *open, *free, *share; /* by port; the last three while filling */
    double *rate, *served;               /* rate of the flows limited here, and what each got */
    struct heap *limited;    /* pairs limited here, by the `served` at which their next flow ends */
    uint64_t *has, *mine;    /* n × words: pairs with flows; those of them that are limited here */
    uint64_t *unfixed;       /* words */
    double *saved;           /* checkpoints × 2 × width: open − flows, free */
    uint64_t *saved_unfixed; /* checkpoints × words */
};

struct fair {
    const struct coflows_config *config;
    uint32_t n, width, words; /* width: n rounded up to whole lanes */
    double now_s;
    struct side side[2]; /* senders, receivers */
    struct heap *flows; /* n × n: flows of a pair by the pair's bytes per flow at which they end */
    double *offset;     /* n × n: limiting port's served − the pair's bytes per flow */
    uint32_t *where;    /* n × n: place in the limiting port's heap */
    uint64_t *flows_left;
    double *step_rate; /* of the last filling, ascending */
    uint32_t n_steps;
    double changed_from; /* shares below are as they were at the last filling */
};

enum { STEPS_PER_CHECKPOINT = 8 };

static void *zeroed(size_t n, size_t size)
{
    size_t bytes = (n * size + 31) / 32 * 32;
    void *p = aligned_alloc(32, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

/* A filling has at most a step per port. */
static size_t checkpoints(uint32_t n)
{
    return 2 * (size_t)n / STEPS_PER_CHECKPOINT + 1;
}

static int side_init(struct side *s, uint32_t n, uint32_t width, uint32_t words)
{
    s->count = zeroed((size_t)n * width, sizeof(double));
    s->flows = zeroed(6 * (size_t)width, sizeof(double));
    s->limited = calloc(n, sizeof(*s->limited));
    s->has = calloc((2 * (size_t)n + 1) * words, sizeof(uint64_t));
    s->saved = zeroed(checkpoints(n) * 2 * width, sizeof(double));
    s->saved_unfixed = calloc(checkpoints(n) * words, sizeof(uint64_t));
    if (!s->count || !s->flows || !s->limited || !s->has || !s->saved || !s->saved_unfixed)
        return -ENOMEM;
    double **tables[] = {&s->open, &s->free, &s->share, &s->rate, &s->served};
    for (size_t i = 0; i < 5; i++)
        *tables[i] = s->flows + (i + 1) * width;
    s->mine = s->has + (size_t)n * words;
    s->unfixed = s->mine + (size_t)n * words;
    return 0;
}

static void side_done(struct side *s, uint32_t n)
{
    for (uint32_t i = 0; s->limited && i < n; i++)
        heap_done(&s->limited[i]);
    free(s->count);
    free(s->flows);
    free(s->limited);
    free(s->has);
    free(s->saved);
    free(s->saved_unfixed);
}

static int init(struct fair *f, const struct coflows_config *config)
{
    uint32_t n = config->trace->n_ports;
    *f = (struct fair){
        .config = config, .n = n, .width = (n + LANES - 1) / LANES * LANES, .words = (n + 63) / 64};
    size_t pairs = (size_t)n * n;
    f->flows = calloc(pairs, sizeof(*f->flows));
    f->offset = calloc(pairs, sizeof(*f->offset));
    f->where = malloc(pairs * sizeof(*f->where));
    f->flows_left = calloc(config->trace->n_coflows, sizeof(*f->flows_left));
    f->step_rate = calloc(2 * (size_t)n, sizeof(*f->step_rate));
    if (!f->step_rate || side_init(&f->side[0], n, f->width, f->words) ||
        side_init(&f->side[1], n, f->width, f->words) || !f->flows || !f->offset || !f->where ||
        !f->flows_left)
        return -ENOMEM;
    for (size_t i = 0; i < pairs; i++)
        f->where[i] = HEAP_NOWHERE;
    return 0;
}

static void done(struct fair *f)
{
    for (size_t i = 0; f->flows && i < (size_t)f->n * f->n; i++)
        heap_done(&f->flows[i]);
    side_done(&f->side[0], f->n);
    side_done(&f->side[1], f->n);
    free(f->flows);
    free(f->offset);
    free(f->where);
    free(f->flows_left);
    free(f->step_rate);
}

static bool bit(const uint64_t *set, uint32_t i)
{
    return set[i / 64] >> (i % 64) & 1;
}

static void bit_set(uint64_t *set, uint32_t i, bool on)
{
    uint64_t mask = (uint64_t)1 << (i % 64);
    set[i / 64] = on ? set[i / 64] | mask : set[i / 64] & ~mask;
}

static size_t pair_of(const struct fair *f, int side, uint32_t port, uint32_t peer)
{
    return side == 0 ? (size_t)port * f->n + peer : (size_t)peer * f->n + port;
}

/* The side that limits the pair: 0, 1, or −1 before the first filling. */
static int limit_of(const struct fair *f, uint32_t from, uint32_t to)
{
    if (bit(f->side[0].mine + (size_t)from * f->words, to))
        return 0;
    return bit(f->side[1].mine + (size_t)to * f->words, from) ? 1 : -1;
}

static double progress_of(const struct fair *f, uint32_t from, uint32_t to)
{
    int side = limit_of(f, from, to);
    return side < 0 ? 0
                    : f->side[side].served[side ? to : from] - f->offset[(size_t)from * f->n + to];
}

static void count(struct fair *f, uint32_t from, uint32_t to, double more)
{
    f->side[0].count[(size_t)from * f->width + to] += more;
    f->side[1].count[(size_t)to * f->width + from] += more;
    f->side[0].flows[from] += more;
    f->side[1].flows[to] += more;
}

static void has(struct fair *f, uint32_t from, uint32_t to, bool some)
{
    bit_set(f->side[0].has + (size_t)from * f->words, to, some);
    bit_set(f->side[1].has + (size_t)to * f->words, from, some);
}

static int schedule(struct fair *f, uint32_t from, uint32_t to)
{
    size_t pair = (size_t)from * f->n + to;
    int side = limit_of(f, from, to);
    double key = f->flows[pair].n ? f->flows[pair].items[0].key + f->offset[pair] : INFINITY;
    return side < 0
               ? 0
               : heap_set(&f->side[side].limited[side ? to : from], f->where, key, (uint32_t)pair);
}

static int add_flow(struct fair *f, uint32_t from, uint32_t to, double bytes, uint32_t coflow)
{
    if (heap_push(&f->flows[(size_t)from * f->n + to], NULL, progress_of(f, from, to) + bytes,
                  coflow))
        return -ENOMEM;
    count(f, from, to, 1);
    has(f, from, to, true);
    f->flows_left[coflow]++;
    f->changed_from = 0;
    return schedule(f, from, to);
}

/* The pair's new bottleneck is `port` of `side`; its count continues there. */
static int take_over(struct fair *f, int side, uint32_t port, uint32_t peer)
{
    uint32_t from = side ? peer : port, to = side ? port : peer;
    size_t pair = pair_of(f, side, port, peer);
    double progress = progress_of(f, from, to);
    if (f->where[pair] != HEAP_NOWHERE)
        heap_take(&f->side[!side].limited[peer], f->where, (uint32_t)pair);
    bit_set(f->side[side].mine + (size_t)port * f->words, peer, true);
    bit_set(f->side[!side].mine + (size_t)peer * f->words, port, false);
    f->offset[pair] = f->side[side].served[port] - progress;
    return schedule(f, from, to);
}

static void fill_begin(struct fair *f, struct side *s)
{
    memset(s->unfixed, 0, f->words * sizeof(uint64_t));
    for (uint32_t i = 0; i < f->width; i++) {
        bool some = s->flows[i] > 0;
        s->open[i] = some ? s->flows[i] : 1e300;
        s->free[i] = some ? f->config->port_bytes_s : INFINITY;
        if (some)
            bit_set(s->unfixed, i, true);
    }
}

/* Saves `open` as the number of fixed flows, so that it is valid for other numbers of flows too. */
static void save(const struct fair *f, struct side *s, uint32_t checkpoint)
{
    double *fixed = s->saved + (size_t)checkpoint * 2 * f->width, *left = fixed + f->width;
    for (uint32_t i = 0; i < f->width; i++) {
        fixed[i] = s->open[i] - s->flows[i];
        left[i] = s->free[i];
    }
    memcpy(s->saved_unfixed + (size_t)checkpoint * f->words, s->unfixed,
           f->words * sizeof(uint64_t));
}

static void restore(const struct fair *f, struct side *s, uint32_t checkpoint)
{
    const double *fixed = s->saved + (size_t)checkpoint * 2 * f->width, *left = fixed + f->width;
    for (uint32_t i = 0; i < f->width; i++) {
        s->open[i] = s->flows[i] + fixed[i];
        s->free[i] = left[i];
    }
    memcpy(s->unfixed, s->saved_unfixed + (size_t)checkpoint * f->words,
           f->words * sizeof(uint64_t));
}

/* Sets the state to continue filling from; returns the number of steps before it. */
static uint32_t fill_resume(struct fair *f)
{
    uint32_t same = 0;
    while (same < f->n_steps && f->step_rate[same] < f->changed_from * (1 - 1e-12))
        same++;
    uint32_t checkpoint = same / STEPS_PER_CHECKPOINT;
    for (int i = 0; i < 2; i++)
        if (f->changed_from > 0)
            restore(f, &f->side[i], checkpoint);
        else
            fill_begin(f, &f->side[i]);
    f->changed_from = INFINITY;
    return checkpoint * STEPS_PER_CHECKPOINT;
}

static lanes smaller(lanes a, lanes b)
{
    typedef __typeof__(a < b) mask;
    mask less = a < b;
    return (lanes)(((mask)a & less) | ((mask)b & ~less));
}

static lanes larger(lanes a, lanes b)
{
    return -smaller(-a, -b);
}

static double least(const struct fair *f, const struct side *s)
{
    const lanes *share = (const lanes *)s->share;
    lanes low = share[0];
    for (uint32_t i = 1; i < f->width / LANES; i++)
        low = smaller(low, share[i]);
    return fmin(low[0], low[1]);
}

static uint32_t port_with(const struct side *s, double share)
{
    uint32_t i = 0;
    while (s->share[i] != share)
        i++;
    return i;
}

static double shares(const struct fair *f, struct side *s)
{
    const lanes zero = {0}, one_flow = zero + 1e-300, *open = (lanes *)s->open,
                *left = (lanes *)s->free;
    lanes *share = (lanes *)s->share;
    for (uint32_t i = 0; i < f->width / LANES; i++)
        share[i] = (larger(left[i], zero) + 1e-30) / larger(open[i], one_flow);
    return least(f, s);
}

/* All flows that a port limits get `rate`: takes them from the other side, and returns that side's
 * least share. A fixed port has infinitely much left, so its share is out of the way; one whose
 * flows are all fixed ends above NOBODY. */
static double take(const struct fair *f, struct side *other, const double *row, double rate)
{
    const lanes *n = (const lanes *)row, zero = {0}, one_flow = zero + 1e-300;
    lanes *open = (lanes *)other->open, *left = (lanes *)other->free,
          *share = (lanes *)other->share;
    lanes low = zero + INFINITY;
    for (uint32_t i = 0; i < f->width / LANES; i++) {
        open[i] -= n[i];
        left[i] -= n[i] * rate;
        share[i] = (larger(left[i], zero) + 1e-30) / larger(open[i], one_flow);
        low = smaller(low, share[i]);
    }
    return fmin(low[0], low[1]);
}

/* Takes over pairs that this port limits now and did not before. */
static int take_over_new(struct fair *f, int side, uint32_t port)
{
    const uint64_t *row = f->side[side].has + (size_t)port * f->words;
    const uint64_t *mine = f->side[side].mine + (size_t)port * f->words,
                   *unfixed = f->side[!side].unfixed;
    for (uint32_t w = 0; w < f->words; w++)
        for (uint64_t new = row[w] & ~mine[w] & unfixed[w]; new; new &= new - 1)
            if (take_over(f, side, port, w * 64 + (uint32_t)__builtin_ctzll(new)))
                return -ENOMEM;
    return 0;
}

static int fill_step(struct fair *f, double *low)
{
    int which = low[1] < low[0];
    struct side *s = &f->side[which];
    uint32_t port = port_with(s, low[which]);
    double rate = s->rate[port] = f->step_rate[f->n_steps++] = s->share[port];
    if (take_over_new(f, which, port))
        return -ENOMEM;
    bit_set(s->unfixed, port, false);
    s->open[port] = 1e300;
    s->free[port] = s->share[port] = INFINITY;
    low[which] = least(f, s);
    low[!which] = take(f, &f->side[!which], s->count + (size_t)port * f->width, rate);
    return 0;
}

static int fill(struct fair *f)
{
    if (isinf(f->changed_from))
        return 0;
    f->n_steps = fill_resume(f);
    double low[2] = {shares(f, &f->side[0]), shares(f, &f->side[1])};
    while (low[0] < NOBODY || low[1] < NOBODY) {
        for (int i = 0; i < 2 && f->n_steps % STEPS_PER_CHECKPOINT == 0; i++)
            save(f, &f->side[i], f->n_steps / STEPS_PER_CHECKPOINT);
        if (fill_step(f, low))
            return -ENOMEM;
    }
    return 0;
}

static double next_end_s(const struct fair *f)
{
    double next = INFINITY;
    for (int i = 0; i < 2; i++)
        for (uint32_t p = 0; p < f->n; p++) {
            const struct side *s = &f->side[i];
            if (s->limited[p].n)
                next = fmin(next, (s->limited[p].items[0].key - s->served[p]) / s->rate[p]);
        }
    return fmax(next, 0);
}

static void move(struct fair *f, double dt)
{
    for (int i = 0; i < 2; i++)
        for (uint32_t p = 0; p < f->n; p++)
            f->side[i].served[p] += f->side[i].limited[p].n ? f->side[i].rate[p] * dt : 0;
}

static int end_pair(struct fair *f, uint32_t from, uint32_t to, double slack, double *ret_cct_s)
{
    struct heap *flows = &f->flows[(size_t)from * f->n + to];
    int side = limit_of(f, from, to);
    double progress = progress_of(f, from, to) + slack;
    f->changed_from = fmin(f->changed_from, f->side[side].rate[side ? to : from]);
    while (flows->n && flows->items[0].key <= progress) {
        uint32_t coflow = heap_pop(flows, NULL).id;
        count(f, from, to, -1);
        if (--f->flows_left[coflow] == 0)
            ret_cct_s[coflow] =
                f->now_s - coflow_arrival_s(f->config, &f->config->trace->coflows[coflow]);
    }
    if (schedule(f, from, to))
        return -ENOMEM;
    if (flows->n)
        return 0;
    has(f, from, to, false);
    bit_set(f->side[0].mine + (size_t)from * f->words, to, false);
    bit_set(f->side[1].mine + (size_t)to * f->words, from, false);
    return 0;
}

/* Flows that end within the same nanosecond end together. */
static int end_flows(struct fair *f, double *ret_cct_s)
{
    for (int i = 0; i < 2; i++)
        for (uint32_t p = 0; p < f->n; p++) {
            struct side *s = &f->side[i];
            double slack = s->rate[p] * 1e-9 + 1e-6;
            while (s->limited[p].n && s->limited[p].items[0].key <= s->served[p] + slack) {
                uint32_t pair = s->limited[p].items[0].id;
                if (end_pair(f, pair / f->n, pair % f->n, slack, ret_cct_s))
                    return -ENOMEM;
            }
        }
    return 0;
}

static int arrive(struct fair *f, uint32_t index)
{
    const struct workload_fb_coflow *c = &f->config->trace->coflows[index];
    for (uint32_t r = 0; r < c->n_reducers; r++) {
        double bytes = coflow_flow_bytes(f->config, c, r);
        for (uint32_t m = 0; m < c->n_mappers && bytes > 0; m++) {
            if (f->config->local_free && c->mappers[m] == c->reducers[r].port)
                continue;
            if (add_flow(f, c->mappers[m], c->reducers[r].port, bytes, index))
                return -ENOMEM;
        }
    }
    return 0;
}

static int run(struct fair *f, const uint32_t *order, double *ret_cct_s)
{
    size_t arrived = 0, n = f->config->trace->n_coflows;
    for (;;) {
        double dt = next_end_s(f), next = INFINITY;
        if (arrived < n)
            next =
                coflow_arrival_s(f->config, &f->config->trace->coflows[order[arrived]]) - f->now_s;
        if (isinf(dt) && isinf(next))
            return 0;
        move(f, fmin(dt, next));
        f->now_s += fmin(dt, next);
        if (end_flows(f, ret_cct_s))
            return -ENOMEM;
        for (; arrived < n && next <= dt; arrived++) {
            uint32_t index = order[arrived];
            if (coflow_arrival_s(f->config, &f->config->trace->coflows[index]) > f->now_s)
                break;
            ret_cct_s[index] = 0;
            if (arrive(f, index))
                return -ENOMEM;
            if (f->config->progress)
                f->config->progress(f->config->user, (double)arrived / (double)n);
        }
        if (fill(f))
            return -ENOMEM;
    }
}

static int simulate(const struct coflow_policy *policy, const struct coflows_config *config,
                    double *ret_cct_s)
{
    struct fair f;
    uint32_t *order = coflows_by_arrival(config);
    int r = init(&f, config) == 0 && order ? run(&f, order, ret_cct_s) : -ENOMEM;
    (void)policy;
    done(&f);
    free(order);
    return r;
}

const struct coflow_policy coflow_fair = {
    .name = "fair", .what = "exact max-min fairness per flow", .dense = true, .simulate = simulate};
