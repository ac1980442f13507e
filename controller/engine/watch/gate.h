/* Gates: how long a framework's stage may be kept from its tasks. Private to controller/engine.
 *
 * A stage that reads over the network is *gated*: its framework starts a task of it where an allow
 * says so (allow.h). Its time counts from the first step at whose end something of it waits
 * although a slot is free for it, whatever the policy says of that, or, where allows of anybody
 * were not used, from when the first of these was given: that room was free. After hold_max the
 * stage is *opened* (DECISION_OPEN): it is left to its framework for good, nothing of it is placed,
 * and what starts is adopted. So is a stage of which ALLOW_UNUSED_MAX allows in a row were not
 * used: who does not follow them keeps room from others. Time counts on while tasks are allowed and
 * not seen, and ends when none waits.
 *
 * So nothing waits for us longer than hold_max and what the news needs to get there and back.
 * Each stage is listed and gets its timer once each time that it begins to wait: O(log n). */
#pragma once

#include "controller/engine/base/state.h"

enum { ALLOW_UNUSED_MAX = 3 };

/* Its framework has to wait for allows. */
bool gate_is_shut(const struct stage *stage);
void gate_rest(struct engine *engine, struct stage *stage);
/* An allow of the stage was not used, and something of it waits: its time counts from `since_ns`
 * on. */
void gate_wasted(struct engine *engine, struct stage *stage, int64_t since_ns);
/* The stage is left to its framework. */
void gate_open(struct engine *engine, struct stage *stage, enum reason reason, int64_t left);
/* A task of it was seen, so its framework follows; what is left of its time ends if none waits. */
void gate_seen(struct engine *engine, struct stage *stage);
/* The end of a step: whose time counts from now on. Stages that are due are opened. */
void gate_mark(struct engine *engine);

/* Its queues are taken apart and put together again between these: time counts on. */
struct gate_clock {
    bool stopped;
    int64_t ready_ns, due_ns, hold_due_ns;
};
struct gate_clock gate_stop(struct engine *engine, struct stage *stage);
void gate_go_on(struct engine *engine, struct stage *stage, struct gate_clock clock);
/* For load. */
void gate_restore(struct engine *engine, struct stage *stage);

extern const struct listener gate_hears;
