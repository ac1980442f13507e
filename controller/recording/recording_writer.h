/* Writes the recording's files in a thread of its own, which takes steps from the ring and may wait
 * for the disk; the loop never does.
 *
 * A new file begins with a dump, which a child writes (recording_dump.h). Until that is complete,
 * steps go into the previous file; then those after the dump's instant are moved: appended to the
 * dump and cut from the previous file. So every file is complete by itself, each step is in one
 * file only, and a kill meanwhile leaves the previous file complete. If no file is open (at first,
 * or after steps were dropped), steps wait in a file without a name.
 *
 * If the disk fails, the file is cut back to its last complete batch of steps, and everything is
 * dropped and counted until the next dump is complete. */
#pragma once

#include "controller/recording/recording_ring.h"
#include "lib/err.h"

#include <stdint.h>
#include <sys/types.h>

struct recording_writer;

/* Borrows the ring until close; `folder` exists. What a killed controller left unfinished there is
 * removed. */
int recording_writer_open(const char *folder, uint32_t files, struct recording_ring *ring,
                          struct recording_writer **ret_writer, struct err *err);
/* Writes what is in the ring, then the last line (`end stopped`, or `end dropped` if steps were
 * dropped since), and ends. An unfinished dump is deleted, unless there is no other file. NULL is
 * fine. */
void recording_writer_close(struct recording_writer *writer, bool gap);

/* The path for a dump's child. */
const char *recording_writer_next(const struct recording_writer *writer);

/* Steps were published: they will be written within 50 ms. Does not wait. */
void recording_writer_wake(struct recording_writer *writer);

/* Begins a new file at the ring's present end, where `dump` was forked; the writer waits for it.
 * `gap`: steps were dropped before, so the present file ends here. One order at a time. */
void recording_writer_order(struct recording_writer *writer, pid_t dump, bool gap);

struct recording_result {
    int error; /* 0: the new file has begun; −errno: it has not, and the previous one continues */
    uint64_t dump_bytes; /* of the new file's head */
};
/* Whether the order is done; ask until it is. `wait`: for as long as it takes. */
bool recording_writer_result(struct recording_writer *writer, bool wait,
                             struct recording_result *ret_result);

/* The errno because of which steps are dropped; 0 once an order is done. The number of steps
 * dropped since it was opened; complete when the ring is empty. */
int recording_writer_failure(const struct recording_writer *writer);
uint64_t recording_writer_dropped(const struct recording_writer *writer);
