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

#define STATE_JOB_BLOCK 4096

struct state;

/* Opens `folder` (made if it is missing), locks it and raises the epoch. −EWOULDBLOCK: another
 * controller has it. */
int state_open(const char *folder, struct state **ret_state, struct err *err);

/* From 1; never 0, never one that was used before. */
uint32_t state_epoch(const struct state *state);

/* The next job number, from 1. Fails (−errno) when the disk does, and then gives none away. */
int state_job_number(struct state *state, uint64_t *ret_job, struct err *err);

/* Whether a host of this name was known to the controller that used the folder before. O(1)
 * expected. */
bool state_host_known(const struct state *state, const char *name);
uint32_t state_hosts(const struct state *state);

/* Remembers a name for the next start; does nothing if it is known. */
int state_host_add(struct state *state, const char *name, struct err *err);

/* Forgets one; does nothing if it is not known. */
int state_host_remove(struct state *state, const char *name, struct err *err);

/* The last number that was given to a job, by whatever controller; 0: none was. It may also be greater. */
uint64_t state_newest_job(const struct state *state);

/* NULL is fine. */
void state_close(struct state *state);
