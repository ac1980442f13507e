/* One host for a reduce task under joint: which rule closes it, and which of two is better
 * (joint.c, "Reduces"). Changes nothing. */
#pragma once

#include "controller/engine/base/state.h"
#include "controller/engine/place/near.h"

/* How long a task receives, all that rules use of its bytes. */
enum { JOINT_SHORT_MS = 1000, JOINT_LONG_MS = 15000 };
enum length { RECEIVES_SHORT, RECEIVES_MEDIUM, RECEIVES_LONG };
/* In the order of their checks. */
enum rule { RULE_OWN, RULE_EARLIER, RULE_KEPT, RULE_FAR, RULES };

/* A task that asks for a host. */
struct asking {
    struct engine *engine;
    struct task *task;
    uint64_t short_bytes, long_bytes;
    enum length length;
    struct near *near;
    int64_t until_ns; /* it waits for its preferred host; 0: it does not */
};

/* A host that may take it, or a task of its stage that prefers it. */
struct offer {
    struct host *host;
    struct task *task;
    uint32_t earlier, outputs, receivers;
};

/* What the mean link of the hosts that are up moves in `ms`; UINT64_MAX − 1 where none is up. */
uint64_t joint_link_bytes(const struct engine *engine, uint32_t ms);
/* How many such tasks the host would hold when empty. */
int64_t joint_slots(const struct host *host, const struct shape *shape);
/* The task with its length; whether it waits for its preferred host is not known yet. */
struct asking joint_ask(const struct engine *engine, const struct task *task);
/* The first rule that closes the host, which has room; RULES: none. From RULE_EARLIER on, ret_offer
 * has how good the host is, without its outputs. O(receivers + tasks there). */
enum rule joint_closed_by(const struct asking *asking, struct host *host, struct offer *ret_offer);
/* Whether the rule "earlier" leaves the host open to a job of this turn; then it closes it to all
 * that come later, if at all. O(receivers there). */
bool joint_is_open_to(const struct host *host, const struct shape *shape, struct sorted_key turn);
/* The part of its downlink's rate that others use. WHY in quarters: every link carries some traffic
 * that is not ours. */
uint32_t joint_foreign_quarters(const struct host *host);
bool joint_is_better(const struct offer *a, const struct offer *b);
