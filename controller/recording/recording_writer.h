/* The recording's files, written by a thread of their own: it takes steps from the ring and may
 * wait for the disk, the loop never does.
 *
 * A new file begins with a dump, which a child writes (recording_dump.h). Until that is complete,
 * steps go on into the file before; then those that came after the dump's instant move over:
 * copied behind the dump, cut from the file before. So every file is whole by itself, steps are in
 * one file only, and a controller that is killed meanwhile leaves the file before complete. Where
 * no file is open (the first, or after steps were dropped), they wait in a file without a name.
 *
 * When the disk refuses, the file is cut back to its last whole batch of steps, and everything is
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
/* Writes what is in the ring, then the last line (`end stopped`; `end dropped` when steps were
 * dropped since), and ends. An unfinished dump is given up, unless there is no file without it.
 * NULL is fine. */
void recording_writer_close(struct recording_writer *writer, bool gap);

/* Where a dump's child is to write. */
const char *recording_writer_next(const struct recording_writer *writer);

/* After steps were published: they are written within 50 ms. Does not wait. */
void recording_writer_wake(struct recording_writer *writer);

/* A new file is to begin at the ring's present end, where `dump` was forked; the writer waits for
 * it. `gap`: steps were dropped before, so what was written until now ends here. One order at a
 * time. */
void recording_writer_order(struct recording_writer *writer, pid_t dump, bool gap);

struct recording_result {
    int error; /* 0: the new file is begun; −errno: it is not, and the one before goes on */
    uint64_t dump_bytes; /* of the new file's head */
};
/* Whether the order is carried out; asked again until it is. `wait`: for as long as it takes. */
bool recording_writer_result(struct recording_writer *writer, bool wait,
                             struct recording_result *ret_result);

/* The errno that made it drop steps; 0 once an order is carried out. The steps that it dropped
 * since it was opened; complete when the ring is empty. */
int recording_writer_failure(const struct recording_writer *writer);
uint64_t recording_writer_dropped(const struct recording_writer *writer);
