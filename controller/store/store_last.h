/* Which commit was the store's last, in a small file beside it (PATH.last): the store may have more, for
 * it is written after the commit, and never less, unless the store lost something.
 *
 * It is written before anybody is told that a commit is done and costs one write into the page cache:
 * WHY no sync a commit: it says too little after the power went, never too much. It is synced when the
 * writer has nothing to do. One line of fixed length, for people, with its own hash: what is not as it
 * was written says nothing, and is made anew. */
#pragma once

#include "controller/store/store_sums.h"

struct store_last;

/* NULL: out of memory. The path is copied; nothing is opened yet. */
struct store_last *store_last_create(const char *path);
/* Synced and closed. NULL is fine. */
void store_last_destroy(struct store_last *last);

/* What it says. −ENOENT: there is none; −EBADMSG: it is not as it was written; −errno. */
int store_last_read(const struct store_last *last, struct store_commit *ret_commit);
/* Makes it if it is missing. What cannot be written is tried again with the next one: until then it
 * says too little. */
void store_last_write(struct store_last *last, const struct store_commit *commit);
/* If it was written since. Blocks for the disk. */
void store_last_sync(struct store_last *last);

/* For who begins with a backup of the store at `path`, or with what is left of it. 0 or −errno. */
int store_last_forget(const char *path);
