/* Hosts on which attempts fail. Private to controller/engine.
 *
 * A failed task does not prove a fault of its host: the command may be wrong. It does once the same
 * task was done on another host. A host with FAILING_PROOFS such tasks since its last done attempt
 * becomes *suspect*: it gets no new work except one task at a time as a probe. The first probe is
 * due after probe_ns, each next one after twice the time, at most 64 times as long; it is the first
 * task in turn that the host has room for. Attempts that run there go on. Only an attempt that is
 * done there ends the suspicion, or an operator who forgets the host.
 *
 * A host that is lost or boots while attempts run there gives one such proof each time: one that
 * comes and goes, or reports so, is suspect after FAILING_PROOFS times without a done task. An
 * attempt that ends there unasked (killed, or lost while the host is there) counts as a failure of
 * the host, not of the task, which goes to another host when that happens again. WHY a boot does
 * not reset the count: a host that reports one each second would get first tries for ever. It may
 * have repaired the host, so a suspect host that boots without attempts of ours gets its next probe
 * after probe_ns at most. Without RULE_BOOTS_COUNT a boot resets the count, and only failures
 * count.
 *
 * The last host that is up does not become suspect. When all hosts are suspect, probes are due at
 * once: a task that fails on every host fails its job. A job that fails everywhere proves nothing,
 * since none of its tasks is done elsewhere.
 *
 * With probe_ns = 0 all of this and retry.h is off, as in older logs. O(shapes) per probe and O(log
 * hosts) per failure or end of an attempt, plus host_touch. */
#pragma once

#include "controller/engine/books/attempt.h"
#include "controller/engine/policy/policy.h"

enum {
    FAILING_PROOFS = 3,
    FAILING_DOUBLINGS = 6 /* doublings of the time to the next probe */
};

/* The attempt failed or was refused. Call before its end. */
void failing_failed(struct engine *engine, struct attempt *attempt);
/* The attempt ended unasked, or was lost although its host is there. Call before its end. */
void failing_ended(struct engine *engine, struct attempt *attempt);
/* The attempt was lost with its host; call before its end. Then failing_gone once: the host is
 * gone, and whether attempts were lost. The caller touches the host. */
void failing_lost(struct engine *engine, const struct attempt *attempt);
void failing_gone(struct engine *engine, struct host *host, bool took);
/* An attempt of ours was done there, or the number has another host: earlier failures no longer
 * count. The caller touches the host. */
void failing_forget(struct engine *engine, struct host *host);
/* A suspect host got a probe; the attempt ends. */
void failing_started(struct engine *engine, struct attempt *attempt);

/* The next probe, as a claim that needs no commit; false: none is due, or no task is ready for
 * it. */
bool failing_pick(struct engine *engine, struct claim *ret_claim);

/* For load. */
void failing_restore(struct engine *engine, struct host *host, const struct failing *failing);
/* The reasons of a probe's start and of a retry's (retry.h). */
extern const struct policy_reason failing_reasons[];

/* The task was done on that host: proof against the hosts where it failed, which it forgets. */
void failing_task_done(struct engine *engine, struct task *task, const struct host *host);

extern const struct listener failing_hears;
