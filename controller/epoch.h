/* The controller's state folder: a lock, so that two controllers never share one, the epoch, and
 * how far job numbers are used. The store (store/store.h) is in the same folder.
 *
 * The epoch is raised and synced (file, rename, folder) before anything starts under it, so no
 * attempt number is ever used twice. Job numbers are reserved in blocks, with a sync each; the rest
 * of a block is lost with the process, so no job number is used twice either.
 *
 * This also works on a full disk: the numbers are written into an existing second file, and the two
 * swap names. If nothing can be written (the file system became read-only), the epoch is kept in
 * the file `aside`, which every start writes too and a reboot removes: so the next start knows the
 * newest epoch. It is written into the folder as soon as that works (epoch_keep).
 *
 * WHY not in the store: a number has to be on the disk before it is used, and a restored backup of
 * the store must not bring old ones back.
 *
 * Blocks for the disk (a few ms a sync). The file is text, for people; one that is not as expected
 * is an error, never overwritten. */
#pragma once

#include "lib/err.h"

#include <stdint.h>

#define EPOCH_JOB_BLOCK 4096

struct epoch;

/* Opens `folder` (made if missing), locks it and raises the epoch. `aside`: a file on a file system
 * that a reboot empties; NULL: none. −EWOULDBLOCK: another controller has the lock. */
int epoch_open(const char *folder, const char *aside, struct epoch **ret_epoch, struct err *err);

/* Why the epoch is not in the folder, with a sentence; NULL: it is. Such a controller gives no job
 * numbers. */
const struct err *epoch_unkept(const struct epoch *epoch);
/* Writes it if that is still to do. 0, or −errno: call it again. */
int epoch_keep(struct epoch *epoch, struct err *err);

/* ≥ 1; never one that was used before. */
uint32_t epoch_number(const struct epoch *epoch);

/* The next job number, ≥ 1. −errno if the disk fails; no number is used then. */
int epoch_job_number(struct epoch *epoch, uint64_t *ret_job, struct err *err);

/* For a controller whose state was restored or lost. No number that was given out since is reused:
 * the epoch of the next epoch_open is greater than this one, synced; job numbers continue at the
 * next million above `beyond`. −ERANGE: no epochs are left above it. */
int epoch_raise(struct epoch *epoch, uint32_t above, struct err *err);
int epoch_jobs_leap(struct epoch *epoch, uint64_t beyond, struct err *err);

/* The highest job number that any controller has given, or a greater one; 0: none. */
uint64_t epoch_newest_job(const struct epoch *epoch);

/* NULL is fine. */
void epoch_close(struct epoch *epoch);
