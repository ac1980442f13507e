/* Shortest remaining time first, per flow: a port serves one flow at a time, at its whole rate.
 *
 * All ports have one rate, so serving flows greedily from the shortest on is a matching of senders
 * to receivers: the one in which no waiting flow is shorter than the running flows at both its
 * ports. A running flow only gets shorter, hence the matching changes only where a flow ends or
 * arrives, and is repaired from there: the shortest flow that would displace (or find idle) both
 * its ports starts, each displaced flow leaves another port idle, until no flow is left that could
 * start. */
#include "testbed/sim/coflows/coflow_policies.h"
#include "testbed/sim/network/heap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { IDLE = UINT32_MAX };

struct srtf {
    const struct coflows_config *config;
    uint32_t n;
    double now_s;
    struct heap *waiting; /* n × n: flows of a pair of ports, by bytes left */
    double *head,
        *head_at; /* n × n, by sender and by receiver: the shortest waiting flow, INFINITY: none */
    struct {
        uint32_t peer, coflow;
        double bytes, since_s; /* left when it began to run */
    } * running;               /* by sender */
    uint32_t *sender_of;       /* by receiver: the sender, IDLE: none */
    struct heap ends;          /* running senders by the instant at which they end */
    uint32_t *ends_where;
    uint32_t *dirty, n_dirty; /* ports (receivers from n on) where a flow may be able to start */
    bool *is_dirty;
    uint64_t *flows_left; /* by Coflow */
};

static int init(struct srtf *s, const struct coflows_config *config)
{
    size_t n = config->trace->n_ports;
    *s = (struct srtf){.config = config, .n = config->trace->n_ports};
    s->waiting = calloc(n * n, sizeof(*s->waiting));
    s->head = malloc(2 * n * n * sizeof(*s->head));
    s->running = calloc(n, sizeof(*s->running));
    s->sender_of = malloc(4 * n * sizeof(*s->sender_of));
    s->is_dirty = calloc(2 * n, sizeof(*s->is_dirty));
    s->flows_left = calloc(config->trace->n_coflows, sizeof(*s->flows_left));
    if (!s->waiting || !s->head || !s->running || !s->sender_of || !s->is_dirty || !s->flows_left)
        return -ENOMEM;
    s->head_at = s->head + n * n;
    s->ends_where = s->sender_of + n;
    s->dirty = s->ends_where + n;
    for (size_t i = 0; i < 2 * n * n; i++)
        s->head[i] = INFINITY;
    for (size_t i = 0; i < n; i++) {
        s->running[i].peer = s->sender_of[i] = IDLE;
        s->ends_where[i] = HEAP_NOWHERE;
    }
    return 0;
}

static void done(struct srtf *s)
{
    for (size_t i = 0; s->waiting && i < (size_t)s->n * s->n; i++)
        heap_done(&s->waiting[i]);
    heap_done(&s->ends);
    free(s->waiting);
    free(s->head);
    free(s->running);
    free(s->sender_of);
    free(s->is_dirty);
    free(s->flows_left);
}

static void mark(struct srtf *s, uint32_t port)
{
    if (!s->is_dirty[port])
        s->dirty[s->n_dirty++] = port;
    s->is_dirty[port] = true;
}

static void note_head(struct srtf *s, uint32_t from, uint32_t to)
{
    const struct heap *h = &s->waiting[(size_t)from * s->n + to];
    double bytes = h->n ? h->items[0].key : INFINITY;
    s->head[(size_t)from * s->n + to] = s->head_at[(size_t)to * s->n + from] = bytes;
}

static int wait_for(struct srtf *s, uint32_t from, uint32_t to, double bytes, uint32_t coflow)
{
    if (heap_push(&s->waiting[(size_t)from * s->n + to], NULL, bytes, coflow))
        return -ENOMEM;
    note_head(s, from, to);
    return 0;
}

static double left_of(const struct srtf *s, uint32_t from)
{
    return s->running[from].bytes - (s->now_s - s->running[from].since_s) * s->config->port_bytes_s;
}

static double running_at_sender(const struct srtf *s, uint32_t from)
{
    return s->running[from].peer == IDLE ? INFINITY : left_of(s, from);
}

static double running_at_receiver(const struct srtf *s, uint32_t to)
{
    return s->sender_of[to] == IDLE ? INFINITY : left_of(s, s->sender_of[to]);
}

/* Takes the running flow off both its ports. */
static void idle(struct srtf *s, uint32_t from)
{
    uint32_t to = s->running[from].peer;
    s->running[from].peer = s->sender_of[to] = IDLE;
    heap_take(&s->ends, s->ends_where, from);
    mark(s, from);
    mark(s, s->n + to);
}

static int displace(struct srtf *s, uint32_t from)
{
    double bytes = left_of(s, from);
    uint32_t to = s->running[from].peer, coflow = s->running[from].coflow;
    idle(s, from);
    return wait_for(s, from, to, bytes, coflow);
}

static int begin(struct srtf *s, uint32_t from, uint32_t to)
{
    struct heap_item flow = heap_pop(&s->waiting[(size_t)from * s->n + to], NULL);
    note_head(s, from, to);
    if (s->running[from].peer != IDLE && displace(s, from))
        return -ENOMEM;
    if (s->sender_of[to] != IDLE && displace(s, s->sender_of[to]))
        return -ENOMEM;
    s->running[from].peer = to;
    s->running[from].coflow = flow.id;
    s->running[from].bytes = flow.key;
    s->running[from].since_s = s->now_s;
    s->sender_of[to] = from;
    return heap_push(&s->ends, s->ends_where, s->now_s + flow.key / s->config->port_bytes_s, from);
}

/* The shortest flow at `port` that may start; its other port, or IDLE. */
static uint32_t candidate(const struct srtf *s, uint32_t port, double *ret_bytes)
{
    bool sends = port < s->n;
    const double *head =
        (sends ? s->head : s->head_at) + (size_t)(sends ? port : port - s->n) * s->n;
    double best = sends ? running_at_sender(s, port) : running_at_receiver(s, port - s->n);
    uint32_t peer = IDLE;
    for (uint32_t i = 0; i < s->n; i++)
        if (head[i] < best &&
            head[i] < (sends ? running_at_receiver(s, i) : running_at_sender(s, i))) {
            best = head[i];
            peer = i;
        }
    *ret_bytes = best;
    return peer;
}

static int mend(struct srtf *s)
{
    while (s->n_dirty) {
        double best = INFINITY, bytes;
        uint32_t from = IDLE, to = IDLE, kept = 0;
        for (uint32_t i = 0; i < s->n_dirty; i++) {
            uint32_t port = s->dirty[i], peer = candidate(s, port, &bytes);
            if (peer == IDLE) {
                s->is_dirty[port] = false;
                continue;
            }
            s->dirty[kept++] = port;
            if (bytes >= best)
                continue;
            best = bytes;
            from = port < s->n ? port : peer;
            to = port < s->n ? peer : port - s->n;
        }
        s->n_dirty = kept;
        if (from != IDLE && begin(s, from, to))
            return -ENOMEM;
    }
    return 0;
}

static int arrive(struct srtf *s, uint32_t index)
{
    const struct workload_fb_coflow *c = &s->config->trace->coflows[index];
    for (uint32_t r = 0; r < c->n_reducers; r++) {
        double bytes = coflow_flow_bytes(s->config, c, r);
        for (uint32_t m = 0; m < c->n_mappers && bytes > 0; m++) {
            if (s->config->local_free && c->mappers[m] == c->reducers[r].port)
                continue;
            if (wait_for(s, c->mappers[m], c->reducers[r].port, bytes, index))
                return -ENOMEM;
            mark(s, c->mappers[m]);
            s->flows_left[index]++;
        }
    }
    return 0;
}

static void end_flows(struct srtf *s, double *ret_cct_s)
{
    while (s->ends.n && s->ends.items[0].key <= s->now_s) {
        uint32_t from = s->ends.items[0].id, coflow = s->running[from].coflow;
        idle(s, from);
        if (--s->flows_left[coflow] == 0)
            ret_cct_s[coflow] =
                s->now_s - coflow_arrival_s(s->config, &s->config->trace->coflows[coflow]);
    }
}

static int run(struct srtf *s, const uint32_t *order, double *ret_cct_s)
{
    size_t arrived = 0, n = s->config->trace->n_coflows;
    while (arrived < n || s->ends.n) {
        double end = s->ends.n ? s->ends.items[0].key : INFINITY, next = INFINITY;
        if (arrived < n)
            next = coflow_arrival_s(s->config, &s->config->trace->coflows[order[arrived]]);
        s->now_s = fmin(end, next);
        end_flows(s, ret_cct_s);
        if (next <= s->now_s) {
            ret_cct_s[order[arrived]] = 0;
            if (arrive(s, order[arrived++]))
                return -ENOMEM;
            if (s->config->progress)
                s->config->progress(s->config->user, (double)arrived / (double)n);
        }
        if (mend(s))
            return -ENOMEM;
    }
    return 0;
}

static int simulate(const struct coflow_policy *policy, const struct coflows_config *config,
                    double *ret_cct_s)
{
    struct srtf s;
    uint32_t *order = coflows_by_arrival(config);
    int r = init(&s, config) == 0 && order ? run(&s, order, ret_cct_s) : -ENOMEM;
    (void)policy;
    done(&s);
    free(order);
    return r;
}

const struct coflow_policy coflow_srtf = {.name = "srtf",
                                          .what = "shortest remaining time first, per flow",
                                          .dense = true,
                                          .simulate = simulate};
