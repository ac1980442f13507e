/* What prio and ets share: ten bands in strict priority with our leaves, below a tbf if the port
 * must be shaped.
 *
 * Band 0 is served first. Each kind of traffic has its own band, by its class (QDISC_MINOR, which
 * is one more); so there are always ten, and unused ones stay empty. A packet without a class of
 * ours is unmanaged, whatever its skb->priority. The tbf lets a late port catch up by as much as
 * HTB does (2 ms); it segments packets larger than that (GSO). */
#pragma once

#include "hostagent/queues/kernel_nl.h"

/* A scheduler of bands; each driver is one of these. */
struct bands_kind {
    const char *name;
    enum kernel_kind needs;
    int (*put)(struct qdisc *qdisc, const struct kernel_place *place, uint8_t rest);
    /* Whether these are the options of ten bands where `rest` gets packets without a class. */
    bool (*right)(const struct raw_qdisc *raw, uint8_t rest);
};

extern const struct bands_kind bands_prio, bands_ets;

int bands_plan(const struct bands_kind *kind, struct qdisc *qdisc, const char *port,
               const struct port *want, struct qdisc_plan **ret_plan, struct err *err);
void bands_say(const struct qdisc_plan *plan, uint32_t step, char *text, size_t size);
int bands_apply(const struct bands_kind *kind, struct qdisc *qdisc, const char *port,
                const struct qdisc_plan *plan, struct err *err);

/* The tbf: `rate` in bytes a second. */
int bands_put_hold(struct qdisc *qdisc, const struct kernel_place *place, uint64_t rate,
                   uint32_t burst_bytes);
