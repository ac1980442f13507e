/* What is told of attempts that run. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* Events. Facts: an unknown attempt is counted and ignored, but one that was seen, which is
 * adopted. */
void attempt_seen(struct engine *engine, const struct event *event);
void attempt_queued(struct engine *engine, const struct event *event);
void attempt_started(struct engine *engine, const struct event *event);
void attempt_progress(struct engine *engine, const struct event *event);
void attempt_received(struct engine *engine, const struct event *event);
/* Only phases that a running attempt can have are believed. */
enum attempt_state attempt_seen_phase(uint32_t phase);
/* It is known, and was seen again so far. */
void attempt_follow(struct engine *engine, struct attempt *attempt, enum attempt_state phase,
                    uint64_t received_bytes);
