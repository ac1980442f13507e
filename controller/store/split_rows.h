/* Where ended jobs' time went (engine_split), as rows of the store: one of the job as a whole, one
 * of each stage. Times in rows are wall-clock; `offset_ns` is the wall clock's minus the
 * engine's. */
#pragma once

#include "controller/history.h"
#include "controller/store/store.h"

/* Adds to the open change. O(its stages). */
void split_rows_put(struct store *store, const struct job_split *split, int64_t offset_ns);
/* At the start, after recovery_run and before store_begin: gives the history all rows. O(rows). 0,
 * or −errno with a sentence. */
int split_rows_read(struct store *store, struct history *history, int64_t offset_ns,
                    struct err *err);
