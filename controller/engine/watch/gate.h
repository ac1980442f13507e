/* Gates: how long a framework's stage may be kept from its tasks. Private to controller/engine.
 *
 * A stage that reads over the network is *gated*: its framework starts a task of it only where an
 * allow says so (allow.h). Its time counts from the first step at whose end a task of it waits
 * although a slot is free for it, whatever the policy decided. Where allows of any stage were not
 * used, it counts from when the first of these was given, since that room was free. After hold_max
 * the stage is *opened* (DECISION_OPEN): its framework places it for good, the engine places
 * nothing of it, and what starts is adopted. So is a stage after ALLOW_UNUSED_MAX unused allows in
 * a row, since they keep room from others. Time goes on while tasks are allowed and not seen, and
 * ends when none waits.
 *
 * A stage without parents starts where its framework likes, unless the placement *binds* it
 * (DECISION_BIND) because its job should stay on one host: then it is gated like the others. Only
 * stages are bound whose framework reports that it follows this, and that no host is better for any
 * of their tasks; a later report to the contrary frees them.
 *
 * So no stage waits for us longer than hold_max plus the time of the messages. Each stage is listed
 * and gets its timer once each time that it begins to wait: O(log n). */
#pragma once

#include "controller/engine/base/state.h"

enum { ALLOW_UNUSED_MAX = 3 };

/* Whether its framework has to wait for allows. */
bool gate_is_shut(const struct stage *stage);
/* The same, and it has no parents. */
bool gate_is_bound(const struct stage *stage);
/* Whether it may be bound, by its framework's report. */
void gate_let_bind(struct engine *engine, struct stage *stage, bool may);
/* Binds the stage if it may be bound; again: does nothing. `left`, `right`: of the decision. */
void gate_bind(struct engine *engine, struct stage *stage, enum reason reason, int64_t left,
               int64_t right);
void gate_rest(struct engine *engine, struct stage *stage);
/* An allow of the stage was not used while a task of it waits: its time counts from `since_ns`
 * on. */
void gate_wasted(struct engine *engine, struct stage *stage, int64_t since_ns);
/* From now on the framework places the stage. */
void gate_open(struct engine *engine, struct stage *stage, enum reason reason, int64_t left);
/* A task of it was seen, so its framework follows allows; the stage's time ends if none waits. */
void gate_seen(struct engine *engine, struct stage *stage);
/* At the end of a step: starts the time of stages that wait; opens stages that are due. */
void gate_mark(struct engine *engine);

/* Enclose a rebuild of its queues, so that its time goes on. */
struct gate_clock {
    bool stopped;
    int64_t ready_ns, due_ns, hold_due_ns;
};
struct gate_clock gate_stop(struct engine *engine, struct stage *stage);
void gate_go_on(struct engine *engine, struct stage *stage, struct gate_clock clock);
/* For load. */
void gate_restore(struct engine *engine, struct stage *stage);

extern const struct listener gate_hears;
