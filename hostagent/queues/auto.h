/* Which of the kernel's drivers is best for a port (pure).
 *
 * Up to AUTO_FAST_BPS that is htb: it alone has floors, so a starved flow hears of its promotion
 * whoever sent it. Faster ports would wait for its one lock (540 ns a packet): they get ets, or
 * prio, where starved senders are nudged (marks.nudge, and a kernel with BTF: nudge.h), since
 * without floors and nudge a promotion can take more than 15 s. Where the best one is absent the
 * other is taken; where what is left has neither floors nor nudge, none is. */
#pragma once

#include "hostagent/queues/kernel_nl.h"

#define AUTO_FAST_BPS UINT64_C(10000000000)
#define AUTO_WHY      160

struct auto_facts {
    uint32_t can;      /* bits of enum kernel_kind: what this kernel takes */
    uint64_t rate_bps; /* that the port is to have */
    bool held;         /* which is less than its own, or that is not known */
    bool nudge;
};

/* NULL: none. Says why. */
const struct qdisc_driver *auto_choose(const struct auto_facts *facts, char why[AUTO_WHY]);
