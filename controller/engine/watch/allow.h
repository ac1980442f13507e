/* Allows: what a framework may start, and how each allow ends. Private to controller/engine.
 *
 * An allow is a claim that does not become a start, because its task is a framework's: stage, task
 * and host, both levels, until when. It is an attempt with a number of ours in state `sent`, which
 * holds its room and is in all indexes; so policies plan as if the task ran. It is used once:
 *  - a start that is seen settles at most one allow: the one that it names; else its task's own;
 *    else, where its task has none and did not run before, the oldest of its stage on that host.
 *    The attempt gets the framework's number, and the allow's room is free again in the same step;
 *  - if that allow was for another task, that task is ready again. An allow that the started task
 *    had elsewhere is withdrawn;
 *  - after allow_ns without a start it ends, and its task is ready again;
 *  - it is withdrawn when its task's input is lost, its task is done, or its job or host is gone.
 * Each end is a DECISION_ALLOW_END. A start that settles no allow is adopted all the same: it was
 * unasked, a copy, or came too late. So a reader of the decisions in order knows which allows are
 * in force.
 *
 * O(log n), and the allows of the stage where none was named. */
#pragma once

#include "controller/engine/books/attempt.h"

/* Makes the attempt, which was not decided yet, an allow. */
void allow_give(struct engine *engine, struct attempt *attempt, const struct claim *claim);
/* Ends it; what it held is free after the events of this step. Withdrawing again does nothing. */
void allow_withdraw(struct engine *engine, struct attempt *attempt, enum reason reason);
/* The allow that this start uses; NULL: none, as always when `task` is NULL. */
struct attempt *allow_used_by(const struct engine *engine, const struct task *task,
                              const struct host *host, uint64_t named);
/* A started attempt replaced it. Frees `allow`; its task is ready again unless it runs. */
void allow_settle(struct engine *engine, struct attempt *allow, const struct attempt *by);
/* For load: the attempt is an allow until then. */
void allow_restore(struct engine *engine, struct attempt *attempt, int64_t until_ns);

extern const struct listener allow_hears;
