/* The controller's state folder: a lock, so that two controllers never share one, the epoch, and how
 * far job numbers are given away. The store (store/store.h) lies in the same folder.
 *
 * The epoch is raised and synced (file, rename, folder) before anything is started under it, so no
 * attempt number is ever used twice. Job numbers are reserved in blocks, a sync each, and what is
 * left of a block is lost with the process: a number is never used twice either.
 *
 * **A full disk** takes it all the same: the numbers are written into a second file that is there
 * already, and the two change names. Where nothing can be written (a file system that became
 * read-only) the epoch is kept in a file aside, which every start writes too and a boot of the machine
 * removes: a start that finds it there knows the newest epoch. What it gave is written into the folder
 * as soon as that works (epoch_keep).
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

/* Opens `folder` (made if it is missing), locks it and raises the epoch. `aside`: a file on a file
 * system that a boot empties; NULL: none. −EWOULDBLOCK: another controller has it. */
int epoch_open(const char *folder, const char *aside, struct epoch **ret_epoch, struct err *err);

/* Why the folder does not have the epoch, with a sentence; NULL: it has. Such a controller gives no
 * numbers to jobs. */
const struct err *epoch_unkept(const struct epoch *epoch);
/* Writes it, if it has not. 0, or −errno: it is to be called again. */
int epoch_keep(struct epoch *epoch, struct err *err);

/* From 1; never 0, never one that was used before. */
uint32_t epoch_number(const struct epoch *epoch);

/* The next job number, from 1. Fails (−errno) when the disk does, and then gives none away. */
int epoch_job_number(struct epoch *epoch, uint64_t *ret_job, struct err *err);

/* For a controller whose state was restored or lost. Nothing is used of what was given since: the epoch
 * that epoch_open gives next is greater than this one, synced; job numbers go on at the next million
 * beyond this one. −ERANGE: no epochs are left above it. */
int epoch_raise(struct epoch *epoch, uint32_t above, struct err *err);
int epoch_jobs_leap(struct epoch *epoch, uint64_t beyond, struct err *err);

/* The last number that was given to a job by whatever controller, or a greater one; 0: none was. */
uint64_t epoch_newest_job(const struct epoch *epoch);

/* NULL is fine. */
void epoch_close(struct epoch *epoch);
