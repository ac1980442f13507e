/* One host for a reduce task under joint: which rule closes it, and which of two is better
 * (joint.c, "Reduces"). Pure questions. */
#pragma once

#include "controller/engine/base/state.h"
#include "controller/engine/place/near.h"

/* How long a task receives: rules tell no more of its bytes. The longer, the more of them. */
enum { JOINT_SHORT_MS = 1000, JOINT_LONG_MS = 15000 };
enum length { RECEIVES_SHORT, RECEIVES_MEDIUM, RECEIVES_LONG };
/* In this order. */
enum rule { RULE_OWN, RULE_EARLIER, RULE_KEPT, RULE_FAR, RULES };

/* A task that asks for a host. */
struct asking {
    struct engine *engine;
    struct task *task;
    uint64_t short_bytes, long_bytes;
    enum length length;
    struct near *near;
    int64_t until_ns; /* it waits for a slot at home; 0: it does not */
};

/* A host that may take it, or one of its stage that is at home there. */
struct offer {
    struct host *host;
    struct task *task;
    uint32_t earlier, outputs, receivers;
};

/* What the mean link of the hosts that are up moves in so many ms; UINT64_MAX − 1 where none is. */
uint64_t joint_link_bytes(const struct engine *engine, uint32_t ms);
/* Such tasks that the host would hold when empty. */
int64_t joint_slots(const struct host *host, const struct shape *shape);
/* The task's length; it is not known yet whether it waits for a slot at home. */
struct asking joint_ask(const struct engine *engine, const struct task *task);
/* The first rule that closes the host, which has room; RULES: none. How good it is but for its
 * outputs is told from RULE_EARLIER on. O(receivers + tasks there). */
enum rule joint_closed_by(const struct asking *asking, struct host *host, struct offer *ret_offer);
/* Of its downlink's rate, what others take. WHY quarters: every link carries a little that is not
 * ours. */
uint32_t joint_foreign_quarters(const struct host *host);
bool joint_is_better(const struct offer *a, const struct offer *b);
