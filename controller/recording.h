/* The log of what the engine was told and what it decided (schemas/log.md): written step by step,
 * never synced, read by `duopoly-sim replay`, duopoly-verify and people. It is a recording, not the
 * recovery: when the disk refuses, the recording says so once, stops, and the controller goes on.
 *
 * Bounded: a file ends when it has grown past max_bytes, the next begins with the engine's state,
 * and the newest `files` of them are kept as duopoly.log, duopoly.log.1, … in one folder. A run
 * begins a new file. What is written since the last recording_flush is lost when the process is
 * killed. */
#pragma once

#include "controller/engine/engine.h"
#include "lib/err.h"

#include <stdbool.h>

struct recording;

/* Begins a file in `folder` (made if it is missing). The engine is borrowed until close. */
int recording_open(const char *folder, uint64_t max_bytes, uint32_t files,
                   const struct engine *engine, struct recording **ret_recording, struct err *err);

/* One step: before the engine takes the events, and after it decided. Nothing is written once the
 * recording has stopped. */
void recording_events(struct recording *recording, int64_t now_ns, const struct event *events,
                      size_t n);
void recording_decisions(struct recording *recording, const struct decisions *decisions);

/* Hands what is buffered to the system, and begins the next file when this one is full. −errno
 * once, when the recording has to stop. */
int recording_flush(struct recording *recording, struct err *err);

/* Bytes and steps written, files begun. */
struct recording_counters {
    uint64_t bytes, steps, files;
    bool stopped;
};
const struct recording_counters *recording_counters(const struct recording *recording);

/* Writes the last line; NULL is fine. */
void recording_close(struct recording *recording);
