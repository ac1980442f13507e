/* Chooses the kernel's best driver for a port (pure).
 *
 * Up to AUTO_FAST_BPS that is htb: only htb has floors, so a starved flow learns of its promotion,
 * whoever sends it. On faster ports htb's single lock costs too much (540 ns a packet): they get
 * ets, or prio, if starved senders are nudged (marks.nudge, and a kernel with BTF: nudge.h), since
 * without floors and nudge a promotion can take more than 15 s. If the best one is missing, the
 * other is used; if the rest has neither floors nor nudge, none is. */
#pragma once

#include "hostagent/queues/kernel_nl.h"

#define AUTO_FAST_BPS UINT64_C(10000000000)
#define AUTO_WHY      160

struct auto_facts {
    uint32_t can;      /* bits of enum kernel_kind: what this kernel takes */
    uint64_t rate_bps; /* the rate wished for the port */
    bool held;         /* the rate is below the port's own, or that is unknown: it must be shaped */
    bool nudge;
};

/* Returns NULL if there is none; `why` has the reason. */
const struct qdisc_driver *auto_choose(const struct auto_facts *facts, char why[AUTO_WHY]);
