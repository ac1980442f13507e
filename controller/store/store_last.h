/* Records the store's last commit in a small file beside it (PATH.last). It is written after the
 * commit, so the store may have more commits, but never fewer unless it lost something.
 *
 * It is written before a commit is acknowledged and costs one write into the page cache. WHY no
 * sync for each commit: after a power failure it may name too old a commit, never too new a one. It
 * is synced when the writer is idle. One line of fixed length, as text, with its own hash: a
 * damaged file counts as missing, and is made again. */
#pragma once

#include "controller/store/store_sums.h"

struct store_last;

/* NULL: out of memory. The path is copied; nothing is opened yet. */
struct store_last *store_last_create(const char *path);
/* Syncs and closes. NULL is fine. */
void store_last_destroy(struct store_last *last);

/* Reads it. −ENOENT: there is none; −EBADMSG: it is damaged; −errno. */
int store_last_read(const struct store_last *last, struct store_commit *ret_commit);
/* Makes it if it is missing. A failed write is made up for by the next one: until then it names too
 * old a commit. */
void store_last_write(struct store_last *last, const struct store_commit *commit);
/* Syncs it if it was written since. Blocks for the disk. */
void store_last_sync(struct store_last *last);

/* For a start from a backup of the store at `path`, or from what is left of it. 0 or −errno. */
int store_last_forget(const char *path);
