/* Hosts that fail what runs on them. Private to controller/engine.
 *
 * That a task failed on a host is no proof: the command may be wrong. That the same task was done
 * on another host is one. A host with FAILING_PROOFS such tasks since something was last done there
 * is *suspect* from then on: it gets no new work, but for one task at a time as a probe. The first
 * probe is due probe_ns later, each next one after twice the time, at most 64 times as long; it
 * takes the first task in turn that the host has room for. What runs there goes on. Only what is
 * done there ends the suspicion, or an operator who forgets the host.
 *
 * A host that goes with what runs there (it boots anew, or is lost) has proved as much each time:
 * one that comes and goes, or says so, is suspect after FAILING_PROOFS times without a task done.
 * What ends there unasked (killed, or lost while the host is there) counts as failed of the host,
 * and not of the task, which goes elsewhere when it ends there so again. WHY another boot is no new
 * beginning: whoever says one each second would get first tries for ever. It may have mended the
 * host, so a suspect one that boots with nothing of ours gets its next probe after probe_ns at
 * most. Without RULE_BOOTS_COUNT a boot is a new beginning, and only failures count.
 *
 * The last host that is up does not become suspect. Where none is up that is not, probes are due at
 * once: a task that fails on every host fails its job, as ever. A job that fails everywhere proves
 * nothing, since none of its tasks is done elsewhere.
 *
 * With probe_ns = 0 all of this, and retry.h, is off, as it was before logs had it. O(shapes) per
 * probe and O(log hosts) per failure or end of an attempt, beside host_touch. */
#pragma once

#include "controller/engine/books/attempt.h"
#include "controller/engine/policy/policy.h"

enum {
    FAILING_PROOFS = 3,
    FAILING_DOUBLINGS = 6 /* of the time to the next probe */
};

/* The attempt failed, or was refused; before its end. */
void failing_failed(struct engine *engine, struct attempt *attempt);
/* It is over and nobody asked for that, or it was lost though its host is there; before its end. */
void failing_ended(struct engine *engine, struct attempt *attempt);
/* The attempt is lost with its host; before its end. Then, once for all of them: the host went, and
 * whether it took any. The caller touches the host. */
void failing_lost(struct engine *engine, const struct attempt *attempt);
void failing_gone(struct engine *engine, struct host *host, bool took);
/* An attempt of ours was done there, or it is another host: what failed there says no more. The
 * caller touches the host. */
void failing_forget(struct engine *engine, struct host *host);
/* A suspect host got a probe; the attempt ends. */
void failing_started(struct engine *engine, struct attempt *attempt);

/* The next probe, as a claim that needs no commit; false: none is due, or nothing is there to
 * run. */
bool failing_pick(struct engine *engine, struct claim *ret_claim);

/* For load. */
void failing_restore(struct engine *engine, struct host *host, const struct failing *failing);
/* Of the start of a probe, and of another try (retry.h). */
extern const struct policy_reason failing_reasons[];

/* It was done on that host: proof against others, and the end of what is remembered. */
void failing_task_done(struct engine *engine, struct task *task, const struct host *host);

extern const struct listener failing_hears;
