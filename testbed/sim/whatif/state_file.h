/* The state of a controller at one instant, from a file (schemas/recording.md): a state, which says
 * what time it was and when attempts had all their input; or a recording, which is replayed: then
 * it is the state after the last whole step. A controller writes its steps within 50 ms, so its
 * newest file says what is now.
 *
 * Blocks as the stream does; memory: the engine's. */
#pragma once

#include "testbed/sim/cluster/run.h"

#include <stdio.h>

struct state {
    struct engine *engine;         /* owned */
    int64_t at_ns;                 /* on the engine's clock, not before its last step */
    struct run_received *received; /* owned, in order of attempts */
    size_t n_received;
};

/* 0; −EINVAL with a sentence that begins with the line's number: of another version, torn, no
 * state, or decided otherwise by this version; −ESPIPE: a recording can be read only from a stream
 * that can go back; −ENOMEM. Call state_done in any case. */
int state_read(FILE *in, struct state *ret_state, struct err *err);
/* Zeroed ones are fine. */
void state_done(struct state *state);
