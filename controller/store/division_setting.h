/* How the cluster is divided between users, as settings in the store: how much of the present turn
 * is used (kind "turn"), and who owes whom (kind "debt", "BORROWER LENDER"). */
#pragma once

#include "controller/engine/engine.h"
#include "controller/store/store.h"

/* Adds to the open change what is not as it was put last. `offset_ns`: recovery_offset. O(debts +
 * settings · log). */
void division_setting_put(struct store *store, const struct engine *engine, int64_t offset_ns);

/* 0: nothing is kept. */
uint64_t division_setting_position(const struct store *store);
/* Each debt; `since_ns` is of the wall clock. */
void division_setting_debts(const struct store *store,
                            void (*each)(void *context, const struct debt_view *debt),
                            void *context);
