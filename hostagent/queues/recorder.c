/* The queue driver for tests: keeps one port's state, whatever its name, and records calls. */
#include "hostagent/queues/qdisc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 16384 /* later steps are left out */
#define MTU_BYTES  1500

struct recorder_plan {
    struct qdisc_plan plan; /* first: the others know this part */
    struct port want;
};

struct qdisc {
    enum qdisc_root root;
    char kind[16];
    struct port port;
    size_t used;
    char text[TEXT_BYTES];
};

static int recorder_open(struct qdisc **ret_qdisc, struct err *err)
{
    struct qdisc *qdisc = calloc(1, sizeof(*qdisc));
    if (!qdisc)
        return err_sys(err, ENOMEM, "recorder");
    *ret_qdisc = qdisc;
    return 0;
}

static void recorder_close(struct qdisc *qdisc)
{
    free(qdisc);
}

static int recorder_facts(struct qdisc *qdisc, const char *port, struct port_facts *ret_facts,
                          struct err *err)
{
    (void)qdisc;
    (void)err;
    *ret_facts = (struct port_facts){
        .mtu_bytes = MTU_BYTES, .queues_n = PORT_TRAFFIC, .abilities = qdisc_recorder.abilities};
    snprintf(ret_facts->name, sizeof(ret_facts->name), "%s", port);
    return 0;
}

static int recorder_look(struct qdisc *qdisc, struct err *err)
{
    (void)qdisc;
    (void)err;
    return 0;
}

static void recorder_look_away(struct qdisc *qdisc)
{
    (void)qdisc;
}

static int recorder_record(struct qdisc *qdisc, const char *port, char **ret_text, struct err *err)
{
    (void)port;
    bool foreign = qdisc->root == QDISC_FOREIGN;
    if (asprintf(ret_text, "%s%s", foreign ? qdisc->kind : "", foreign ? "\n" : "") < 0)
        return err_sys(err, ENOMEM, "recorder");
    return 0;
}

static bool same_queue(const struct port_queue *a, const struct port_queue *b)
{
    return a->first == b->first && a->priority == b->priority && a->floor_bps == b->floor_bps &&
           a->packets == b->packets && a->ecn_packets == b->ecn_packets;
}

/* A step is one queue to be set. */
static bool needs_step(const struct qdisc *qdisc, const struct port *want, uint32_t i)
{
    return qdisc->root != QDISC_OURS || i >= qdisc->port.queues_n ||
           !same_queue(&qdisc->port.queues[i], &want->queues[i]);
}

static int recorder_plan(struct qdisc *qdisc, const char *port, const struct port *want,
                         struct qdisc_plan **ret_plan, struct err *err)
{
    (void)port;
    struct recorder_plan *plan = calloc(1, sizeof(*plan));
    if (!plan)
        return err_sys(err, ENOMEM, "recorder");
    plan->plan.root = qdisc->root;
    memcpy(plan->plan.kind, qdisc->kind, sizeof(qdisc->kind));
    plan->want = *want;
    for (uint32_t i = 0; i < want->queues_n; i++)
        plan->plan.steps += needs_step(qdisc, want, i);
    *ret_plan = &plan->plan;
    return 0;
}

static void note_queue(struct qdisc *qdisc, const char *port, const struct port_queue *queue)
{
    static const char *const names[PORT_TRAFFIC] = {"control", "level 0",  "level 1", "level 2",
                                                    "level 3", "level 4",  "level 5", "level 6",
                                                    "level 7", "unmanaged"};
    int n = snprintf(qdisc->text + qdisc->used, TEXT_BYTES - qdisc->used,
                     "%s %s priority %u floor %llu packets %u ecn %u\n", port, names[queue->first],
                     queue->priority, (unsigned long long)queue->floor_bps, queue->packets,
                     queue->ecn_packets);
    if (n > 0 && qdisc->used + (size_t)n < TEXT_BYTES)
        qdisc->used += (size_t)n;
    qdisc->text[qdisc->used] = 0;
}

static int recorder_apply(struct qdisc *qdisc, const char *port, const struct qdisc_plan *plan,
                          struct err *err)
{
    (void)err;
    const struct port *want = &((const struct recorder_plan *)plan)->want;
    for (uint32_t i = 0; i < want->queues_n; i++)
        if (needs_step(qdisc, want, i))
            note_queue(qdisc, port, &want->queues[i]);
    qdisc->root = QDISC_OURS;
    qdisc->port = *want;
    return 0;
}

static int recorder_restore(struct qdisc *qdisc, const char *port, const char *text, bool begun,
                            struct err *err)
{
    (void)port;
    (void)err;
    char kind[sizeof(qdisc->kind)];
    if (qdisc->root != QDISC_OURS && !begun)
        return 0;
    snprintf(kind, sizeof(kind), "%.*s", (int)strcspn(text, "\n"), text);
    qdisc_recorder_plant(qdisc, kind);
    return 1;
}

static int recorder_stats(struct qdisc *qdisc, const char *port, struct qdisc_stats *ret_stats,
                          struct err *err)
{
    (void)qdisc;
    (void)port;
    (void)err;
    *ret_stats = (struct qdisc_stats){.queues[0] = {.there = true, .packets = 1}};
    return 0;
}

const char *qdisc_recorder_text(const struct qdisc *qdisc)
{
    return qdisc->text;
}

void qdisc_recorder_plant(struct qdisc *qdisc, const char *kind)
{
    qdisc->root = kind[0] ? QDISC_FOREIGN : QDISC_EMPTY;
    snprintf(qdisc->kind, sizeof(qdisc->kind), "%s", kind);
}

const struct qdisc_driver qdisc_recorder = {
    .name = "recorder",
    .abilities = {.strict = true, .floors = true, .ecn = true},
    .open = recorder_open,
    .close = recorder_close,
    .facts = recorder_facts,
    .look = recorder_look,
    .look_away = recorder_look_away,
    .record = recorder_record,
    .plan = recorder_plan,
    .apply = recorder_apply,
    .restore = recorder_restore,
    .stats = recorder_stats,
};
