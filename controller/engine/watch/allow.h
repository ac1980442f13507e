/* Allows: what a framework may start, and what became of it. Private to controller/engine.
 *
 * An allow is a claim that became no start, since its task is a framework's: stage, task and host,
 * both levels, until when. It is an attempt with a number of ours that is in state `sent`, holds
 * its room and stands in all indexes; so policies plan on as if the task ran. It is used once:
 *  - a start that is seen settles one allow at most: the one that it names; else its task's own;
 *    else, where its task has none and did not run before, the oldest of its stage on that host.
 *    The attempt gets the framework's number, and the allow's room is free again in the same step;
 *  - the task of a settled allow that is not the one that started is ready again. An allow that the
 *    started task had elsewhere is withdrawn;
 *  - after allow_ns without a start it is no more, and its task is ready again;
 *  - it is withdrawn when its task's input is lost, its task is done, or its job or host goes.
 * Each end is a DECISION_ALLOW_END. A start that settles none is adopted all the same: it was
 * unasked, a copy, or came too late. Whoever gets decisions in order knows which allows are in
 * force.
 *
 * O(log n), and the allows of the stage where none was named. */
#pragma once

#include "controller/engine/books/attempt.h"

/* The attempt, which is not yet told, is one. */
void allow_give(struct engine *engine, struct attempt *attempt, const struct claim *claim);
/* It is no more; what it held is free at the end of the events of this step. Twice is once. */
void allow_withdraw(struct engine *engine, struct attempt *attempt, enum reason reason);
/* The allow that this start uses; NULL: none. `task` may be NULL, then none. */
struct attempt *allow_used_by(const struct engine *engine, const struct task *task,
                              const struct host *host, uint64_t named);
/* A started attempt has taken its place. Frees `allow`; its task is ready again unless it runs. */
void allow_settle(struct engine *engine, struct attempt *allow, const struct attempt *by);
/* For load: the attempt is one, until then. */
void allow_restore(struct engine *engine, struct attempt *attempt, int64_t until_ns);

extern const struct listener allow_hears;
