/* From what the engine took and decided to the store's rows: which job was accepted, which task is
 * done, failed or lost its output, how a job ended, what stages of frameworks had, which number is
 * which host's. It decides nothing and never reads the store (recovery.h does).
 *
 * A framework tells its jobs again as long as they run: what becomes of their tasks makes no rows,
 * how they end does.
 *
 * A completion is accepted when the engine says so, so each fact about an end is noted before the
 * engine takes it, while its attempt is still known, and judged after the step. Rows are part of
 * the present change: the caller commits it (store.h).
 *
 * A job's parts have rows as they come, and its `jobs` row makes it one when it is whole: what is cancelled
 * before is pruned as what is over is, and so is what a controller's end left half (recovery.h).
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

/* `user` is the struct ledger. */
extern const struct listener ledger_listener;
/* Something could not be put, for want of memory. */
bool ledger_failed(const struct ledger *ledger);

/* agents_hooks.host_moved: its row is to be put anew. */
void ledger_host_moved(struct ledger *ledger, uint32_t host);

/* Ends the present change: puts the rows of hosts, then store_commit. 0 or −ENOMEM. */
int ledger_commit(struct ledger *ledger, const struct agents *agents, uint64_t *ret_ticket);
