/* How long a task's input would wait on a host's downlink, for placements that predict by it.
 * Private to controller/engine/place; part of affinity.
 *
 * HDAS counts the disk alone. Here a Macroflow, all that a task reads of what other tasks made, is
 * what nats counts it for (Tian et al., section 5): it waits behind what the downlink serves before
 * it or beside it, by the network policy's order in this mode (network_policy.urgency). Of each
 * attempt that receives there that is what it reads from other hosts, less what it had received by
 * the host's last report:
 *
 *     wait = 8 · Σ bytes left ÷ (the downlink's rate, less the part that others take)
 *
 * So each start counts at once. What a Macroflow takes without a wait is no delay and counts
 * nothing, nor does a block, of which is not known yet where it will be read from. Uplinks are not
 * looked at: which of them is full changes while a task waits. */
#pragma once

#include "controller/engine/base/state.h"

enum affinity_downlink { AFFINITY_ALIKE, AFFINITY_ADDED, AFFINITY_BEHIND };

/* ns, ≤ KINDS_TIME_MOST; 0 for a task without a Macroflow, and where the host does not say its
 * rate. O(attempts that receive there). */
uint64_t affinity_wait_ns(struct engine *engine, const struct host *host, const struct task *task);
