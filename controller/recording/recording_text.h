/* The text of a recording's head and of a state (schemas/recording.md), made of an engine.
 *
 * It neither allocates nor locks, so a forked child of a process with threads may call it
 * (recording_dump.h). O(state). */
#pragma once

#include "controller/engine/engine.h"

struct recording_text {
    const struct engine *engine; /* borrowed, as all of it */
    void *scratch;               /* engine_dump_room bytes */
    uint64_t wall_ns;            /* CLOCK_REALTIME */
    /* Takes what is written, in pieces of any size. 0, or −errno to stop. */
    int (*put)(void *context, const char *bytes, size_t n);
    void *context;
};

/* Writes how a recording's file begins; `dropped` steps before it are in no file. 0, or what `put`
 * returned. */
int recording_text_head(struct recording_text *text, uint64_t dropped);

/* Writes the state of now_ns, on the engine's clock, not before its last step. As above. */
int recording_text_state(struct recording_text *text, int64_t now_ns);
