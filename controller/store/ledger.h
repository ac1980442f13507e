/* Writes the engine's input and decisions as rows of the store: which job was accepted, which task
 * is done, failed or lost its output, how a job ended and where its time went, the sizes of
 * frameworks' stages, the hosts'
 * numbers, once a second how far users' turn is and who owes whom. It decides nothing and never
 * reads the store (recovery.h does).
 *
 * A framework reports its running jobs again after a restart: their tasks make no rows, their ends
 * do.
 *
 * The engine decides whether a completion is accepted, so each fact about an end is noted before
 * the engine takes it, while its attempt is still known, and written after the step. Rows belong to
 * the open change: the caller commits it (store.h).
 *
 * A job's parts are written as they come; the `jobs` row is written when the job is complete. A job
 * that is cancelled before that is pruned like an ended one, and so is one that was incomplete when
 * a controller ended (recovery.h).
 *
 * Times in rows are wall-clock; `offset_ns` is the wall clock's minus the engine's at this start.
 * O(size) per event. */
#pragma once

#include "controller/agents/agents.h"
#include "controller/engine/engine.h"
#include "controller/listeners.h"
#include "controller/store/store.h"

struct ledger;

/* Borrows store and engine. 0 or −ENOMEM. */
int ledger_create(struct store *store, const struct engine *engine, int64_t offset_ns,
                  struct ledger **ret_ledger);
/* NULL is fine. */
void ledger_destroy(struct ledger *ledger);

/* The job that begins next is on trial: nothing of it is written. */
void ledger_pass_over(struct ledger *ledger);

/* `user` is the struct ledger. */
extern const struct listener ledger_listener;
/* Whether something could not be written because memory was short. */
bool ledger_failed(const struct ledger *ledger);

/* agents_hooks.host_moved: its row must be written again. */
void ledger_host_moved(struct ledger *ledger, uint32_t host);

/* The controller ends: adds to the open change what is else written once a second. */
void ledger_rest(struct ledger *ledger);
/* Ends the open change: writes the rows of hosts, then store_commit, whose arguments these are. 0
 * or −ENOMEM. */
int ledger_commit(struct ledger *ledger, const struct agents *agents, bool awaited,
                  uint64_t *ret_ticket);
