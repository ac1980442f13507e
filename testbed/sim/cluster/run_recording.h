/* A simulated run's recording in the controller's format (schemas/recording.md), so that one
 * program reads live and simulated runs.
 *
 * One unbounded file that the caller opens and closes; virtual time replaces the daemon's
 * CLOCK_BOOTTIME. */
#pragma once

#include "controller/engine/engine.h"
#include "lib/err.h"

#include <stdio.h>

struct run_recording {
    FILE *file; /* NULL: nothing is written */
    char *record;
};

/* Writes the beginning: format, the engine's state, the clock. −ENOMEM. `file` may be NULL. */
int run_recording_begin(struct run_recording *recording, FILE *file, const struct engine *engine,
                        struct err *err);
/* Before the engine takes the events of a step, and after it decided. */
void run_recording_events(struct run_recording *recording, int64_t now_ns,
                          const struct event *events, size_t n);
void run_recording_decisions(struct run_recording *recording, const struct decisions *decisions);
/* Writes the last line. 0, or −EIO with a sentence when something could not be written. A zeroed
 * recording is fine. */
int run_recording_end(struct run_recording *recording, struct err *err);
