/* Facts about running attempts. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* Events. An unknown attempt is counted and ignored, except one that was seen, which is adopted. */
void attempt_seen(struct engine *engine, const struct event *event);
void attempt_queued(struct engine *engine, const struct event *event);
void attempt_started(struct engine *engine, const struct event *event);
void attempt_progress(struct engine *engine, const struct event *event);
void attempt_received(struct engine *engine, const struct event *event);
/* The phase as a state; ATTEMPT_STARTED for one that no running attempt can have. */
enum attempt_state attempt_seen_phase(uint32_t phase);
/* A known attempt was seen again, in this phase and with these bytes. */
void attempt_follow(struct engine *engine, struct attempt *attempt, enum attempt_state phase,
                    uint64_t received_bytes);
