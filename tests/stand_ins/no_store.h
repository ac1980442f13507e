/* In the place of the controller's store (controller/store/store.h) and its recovery: a disk that
 * keeps nothing and needs no thread. Link it instead of them; never to be used for anything else.
 *
 * Without a script it takes no time: what is handed over is committed in the loop's next turn
 * (`make bench-live PARTS=store` compares the store with it). With one, the disk moves when the
 * script says so (tests/fuzz/fuzz_requests.c). Whoever hands over what no store could keep, or an
 * audit that no terminal should print, ends the program. */
#pragma once

#include "controller/store/store.h"

struct no_store_script {
    void (*on_change)(void *user); /* before each change but an audit */
    void *user;
    uint64_t audits; /* rows that store_audit_after finds */
};

/* From now on; `script` is copied. */
void no_store_begin_script(struct store *store, const struct no_store_script *script);

/* All that was handed over is committed; `full`: nothing is, and new requests are refused. */
void no_store_move(struct store *store, bool full);

/* What store_care began, if it did, ends: `err` is what it found, or says nothing. */
void no_store_care_end(struct store *store, const struct err *err);

/* Whether somebody waits for the disk. */
bool no_store_is_awaited(const struct store *store);

/* What the next store_commit that has something to hand over makes one more of. */
uint64_t no_store_handed(const struct store *store);
