/* How the cluster is divided between users, as settings in the store: how much of the present turn
 * is used and which attempt is the newest that this counts (kind "turn"), and who owes whom (kind
 * "debt", "BORROWER LENDER"). */
#pragma once

#include "controller/engine/engine.h"
#include "controller/store/store.h"

/* Adds to the open change what is not as it was put last. `offset_ns`: recovery_offset. O(debts +
 * settings · log). */
void division_setting_put(struct store *store, const struct engine *engine, int64_t offset_ns);

/* `ret_charged`: attempts of earlier controllers with a larger number are not in the position and
 * the debts; 0: all are. Zeros: nothing is kept. */
void division_setting_turn(const struct store *store, uint64_t *ret_position,
                           uint64_t *ret_charged);
/* Each debt; `since_ns` is of the wall clock. */
void division_setting_debts(const struct store *store,
                            void (*each)(void *context, const struct debt_view *debt),
                            void *context);
