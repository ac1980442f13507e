/* Decides a recorded run again (schemas/recording.md): the same engine, the same events and times, so the
 * same decisions byte for byte.
 *
 * Reads a log file from its dump on, runs each step and compares every decision and digest with the
 * recorded ones. Memory follows the engine's state and the largest step. A last line without
 * newline is ignored: the writer died there; so is a last step whose decisions are incomplete for
 * that reason. */
#pragma once

#include "controller/engine/engine.h"
#include "lib/err.h"

#include <stdint.h>
#include <stdio.h>

struct log_replay_result {
    uint64_t steps, events, decisions, digests; /* that were equal */
    uint64_t first_difference_line;             /* of the log; 0: none */
    char recorded[512], decided[512]; /* the two records there, cut; "" where there is none */
};

/* Writes "step NOW_NS" and the decisions to `out` as it goes (NULL: nothing). 0 when the log could
 * be read, also with differences (it stops at the first); −EINVAL with "line N: …" when it is not a
 * log; −ENOMEM. */
typedef void log_replay_step(void *user, int64_t now_ns, const struct engine *engine,
                             const struct decisions *decisions);

/* The same, and calls `step` (NULL: nothing) after each step was decided. */
int log_replay_watched(FILE *log, FILE *out, log_replay_step *step, void *user,
                       struct log_replay_result *ret_result, struct err *err);
int log_replay(FILE *log, FILE *out, struct log_replay_result *ret_result, struct err *err);
