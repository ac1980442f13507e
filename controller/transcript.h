/* The log of what the engine was told and what it decided (schemas/log.md): written step by step,
 * never synced, read by `duopoly-sim replay`, duopoly-verify and people. It is a recording, not the
 * recovery: when the disk refuses, the transcript says so once, stops, and the controller goes on.
 *
 * Bounded: a file ends when it has grown past max_bytes, the next begins with the engine's state,
 * and the newest `files` of them are kept as duopoly.log, duopoly.log.1, … in one folder. A run
 * begins a new file. What is written since the last transcript_flush is lost when the process is
 * killed. */
#pragma once

#include "controller/engine/engine.h"
#include "lib/err.h"

#include <stdbool.h>

struct transcript;

/* Begins a file in `folder` (made if it is missing). The engine is borrowed until close. */
int transcript_open(const char *folder, uint64_t max_bytes, uint32_t files,
                    const struct engine *engine, struct transcript **ret_transcript,
                    struct err *err);

/* One step: before the engine takes the events, and after it decided. Nothing is written once the
 * transcript has stopped. */
void transcript_events(struct transcript *transcript, int64_t now_ns, const struct event *events,
                       size_t n);
void transcript_decisions(struct transcript *transcript, const struct decisions *decisions);

/* Hands what is buffered to the system, and begins the next file when this one is full. −errno
 * once, when the transcript has to stop. */
int transcript_flush(struct transcript *transcript, struct err *err);

/* Bytes and steps written, files begun. */
struct transcript_counters {
    uint64_t bytes, steps, files;
    bool stopped;
};
const struct transcript_counters *transcript_counters(const struct transcript *transcript);

/* Writes the last line; NULL is fine. */
void transcript_close(struct transcript *transcript);
