/* What was learnt of tasks (learnt.h), as rows of the store: one for each way to run a stage that
 * has a history, written again with each task that refines it. */
#pragma once

#include "controller/learnt.h"
#include "controller/store/store.h"

/* Reads all rows into an empty `learnt`; until store_begin. A row that is no estimate is left
 * out. */
int profile_rows_read(struct store *store, struct learnt *learnt, struct err *err);
/* Adds the row of the way to the open change; `wall_ns`: when it was refined. */
void profile_rows_put(struct store *store, const struct learnt *learnt, uint64_t history,
                      uint32_t variant, int64_t wall_ns);
