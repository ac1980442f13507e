/* What the controller keeps on its disk until there is a store: its epoch, how far job numbers are
 * given away, and the names of the hosts it knew. One folder, one file each, and a lock, so that
 * two controllers never share one.
 *
 * The epoch is raised and synced (file, rename, folder) before anything is started under it, so no
 * attempt number is ever used twice. Job numbers are reserved in blocks, a sync each, and what is
 * left of a block is lost with the process: a number is never used twice either. Host names are
 * appended unsynced: they only say whom to wait for after a restart.
 *
 * Blocks for the disk (a few ms a sync). Files are text, for people; one that is not as expected is
 * an error, never overwritten. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

#define EPOCH_JOB_BLOCK 4096

struct epoch;

/* Opens `folder` (made if it is missing), locks it and raises the epoch. −EWOULDBLOCK: another
 * controller has it. */
int epoch_open(const char *folder, struct epoch **ret_epoch, struct err *err);

/* From 1; never 0, never one that was used before. */
uint32_t epoch_number(const struct epoch *epoch);

/* The next job number, from 1. Fails (−errno) when the disk does, and then gives none away. */
int epoch_job_number(struct epoch *epoch, uint64_t *ret_job, struct err *err);

/* Whether a host of this name was known to the controller that used the folder before. O(1)
 * expected. */
bool epoch_host_known(const struct epoch *epoch, const char *name);
uint32_t epoch_hosts(const struct epoch *epoch);

/* Remembers a name for the next start; does nothing if it is known. */
int epoch_host_add(struct epoch *epoch, const char *name, struct err *err);

/* Forgets one; does nothing if it is not known. */
int epoch_host_remove(struct epoch *epoch, const char *name, struct err *err);

/* The last number that was given to a job by whatever controller, or a greater one; 0: none was. */
uint64_t epoch_newest_job(const struct epoch *epoch);

/* NULL is fine. */
void epoch_close(struct epoch *epoch);
