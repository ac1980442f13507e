/* Records the engine's input and decisions (schemas/recording.md) for `duopoly-sim replay`,
 * duopoly-verify and people. It is not used for recovery: nothing is synced, and steps less than 50
 * ms before a kill are lost.
 *
 * The loop waits neither for the disk nor for a dump: steps go into a ring in memory, a thread
 * writes them (recording_writer.h), and a forked child writes the state with which a file begins
 * (recording_dump.h).
 *
 * Bounds. A file ends when what follows its state has grown past max_bytes and past the state
 * itself: so state is at most half of what is written, however large it is. Each file can be
 * replayed by itself, and the newest `files` of them are kept as duopoly.log, duopoly.log.1, … in
 * one folder; a run begins a new file. The ring holds 16 MB. If it is full, if the disk fails, or
 * if no new file could begin before the present one was eight times as long as it should be, the
 * file ends and steps are dropped and counted. A new file is tried 1 s, 2 s, … 60 s later; it
 * begins with the state of that time and says how many steps are missing before it.
 *
 * Steps that changed nothing (decisions.idle) are not recorded, so peers that report unknown
 * attempts cannot fill the files. */
#pragma once

#include "controller/engine/engine.h"
#include "lib/err.h"

struct recording;

/* Begins a file in `folder` (made if it is missing); waits for it. The engine is borrowed until
 * close. A full or read-only disk is not an error; it is treated as later. SIGCHLD is set to its
 * default. */
int recording_open(const char *folder, uint64_t max_bytes, uint32_t files,
                   const struct engine *engine, struct recording **ret_recording, struct err *err);

/* Another bound of a file from now on, of the present one too. */
void recording_bound(struct recording *recording, uint64_t max_bytes);

/* One step, after the engine decided: its input, and its decisions. */
void recording_step(struct recording *recording, int64_t now_ns, const struct event *events,
                    size_t n, const struct decisions *decisions);

/* Between steps, when there is time: hands over what was recorded, and begins the next file if this
 * one is long enough and memory is ready for the fork. −errno with a sentence when steps begin to
 * be dropped, 1 with a sentence when that ends or when the fork took long, else 0. */
int recording_flush(struct recording *recording, struct err *err);

/* Steps recorded and their bytes, files begun; steps that changed nothing, and those dropped. */
struct recording_counters {
    uint64_t bytes, steps, files, idle, dropped;
};
void recording_counters(const struct recording *recording, struct recording_counters *ret_counters);

/* Writes what is left and the last line; waits for it. NULL is fine. */
void recording_close(struct recording *recording);
