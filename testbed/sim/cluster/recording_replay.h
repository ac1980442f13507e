/* Decides a recorded run again (schemas/recording.md): the same engine with the same events and
 * times takes the same decisions byte for byte.
 *
 * Reads a recording from its dump on, runs each step and compares every decision and digest with
 * the recorded ones. Memory: the engine's state and the largest step. A last line without newline
 * is ignored, since its writer died there; so is a last step whose decisions are incomplete for
 * that reason. */
#pragma once

#include "controller/engine/engine.h"
#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct recording_replay_result {
    uint64_t steps, events, decisions, digests; /* that were equal */
    uint64_t first_difference_line;             /* of the recording; 0: none */
    bool torn;                                  /* its last line has no newline */
    char recorded[512], decided[512]; /* the two records there, cut; "" where one is missing */
};

/* Writes "step NOW_NS" and the decisions to `out` (NULL: nothing). 0 when the recording could be
 * read, even with differences (it stops at the first); −EINVAL with "line N: …" when it is no
 * recording; −ENOMEM. */
typedef void recording_replay_step(void *user, int64_t now_ns, const struct engine *engine,
                                   const struct decisions *decisions);

/* The same, and calls `step` (NULL: nothing) after each step was decided. */
int recording_replay_watched(FILE *recording, FILE *out, recording_replay_step *step, void *user,
                             struct recording_replay_result *ret_result, struct err *err);
int recording_replay(FILE *recording, FILE *out, struct recording_replay_result *ret_result,
                     struct err *err);
/* The same without output; the engine as it is after the last step is the caller's. */
int recording_replay_engine(FILE *recording, struct engine **ret_engine,
                            struct recording_replay_result *ret_result, struct err *err);
