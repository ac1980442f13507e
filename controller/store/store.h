/* The controller's store: what must survive it, on the disk before anybody is told that it is done.
 *
 * **Acknowledged means committed.** Whoever changes something puts its rows (store_put, store_set,
 * store_audit, …), all of one change before the next store_commit, which hands them to the writer's
 * thread as one transaction and returns its ticket. What is promised to a client or an agent waits
 * until store_committed has reached the ticket: clients/control.h and agents/agents.h hold answers
 * and acknowledgements back by themselves, so a request's handler only puts rows and fills in its
 * answer. Nothing blocks in the loop.
 *
 * When the file cannot be written (a full disk) store_refusal says so in a sentence: new requests
 * are refused with it, and change nothing; what runs goes on, and its rows wait (store_writer.h). It
 * recovers by itself. A start is no exception (store_reading.h).
 *
 * Kept in memory, so reading never waits: settings, and the newest of the audit (audit_book.h).
 *
 * What was committed and is not there any more (a damaged log, an emptied file) is found at the start
 * and said (store_sums.h, store_last.h): store_open refuses.
 *
 * One file, store.db (with SQLite's -wal and -shm and what store_last.h writes beside it), mode 0600, in the controller's state
 * folder, which has one controller (epoch.h). Tables: store_tables.h. All calls in the loop's
 * thread. */
#pragma once

#include "controller/store/store_care.h"
#include "controller/store/store_tables.h"
#include "controller/store/store_writer.h"

#include <systemd/sd-event.h>

#define STORE_FILE         "store.db"
#define STORE_SETTINGS_MAX 65536 /* rows */
#define STORE_VALUE_MAX    4096  /* bytes of a setting's value with its end */
#define STORE_NAME_MAX     128   /* of its kind and of its name */

struct store;

/* Opens `path` (made if it is missing) and reads settings and audit; nothing is written until
 * store_begin. `vfs` NULL: the system's files (tests bring their own). The errors of
 * store_file_open_whole; −EBADMSG for a damaged row. */
int store_open(const char *path, const char *vfs, const struct store_bounds *bounds,
               struct store **ret_store, struct err *err);
/* What the operator is to hear of the start: that nobody knows whether something is missing; "": nothing. */
const char *store_words(const struct store *store);
/* Whether there is no store at `path`, or an empty file. */
bool store_absent(const char *path);
/* Until store_begin: the file, for those that read it at the start. */
struct store_file *store_file(struct store *store);

/* The writer begins. `on_moved` is called from the loop whenever store_committed or store_refusal
 * may have changed. `loop` NULL: nobody is called. */
int store_begin(struct store *store, sd_event *loop, void (*on_moved)(void *user), void *user,
                struct err *err);
/* Commits what waits. −errno with a sentence when the file did not take all of it. NULL is fine. */
int store_close(struct store *store, struct err *err);

/* Part of the present change: a row of store_tables.h, in its table's order of columns. */
void store_put(struct store *store, enum store_table table, const struct row_value *values);
/* All rows whose key begins with so many columns. */
void store_delete(struct store *store, enum store_table table, const struct row_value *key,
                  unsigned columns);

/* What somebody set, by kind ("policy", "drain", …) and name: NULL: nothing. Borrowed until the
 * next call that changes settings. O(1) expected. */
const char *store_setting(const struct store *store, const char *kind, const char *name);
/* Part of the present change: sets it, or, with NULL, removes it. −E2BIG: longer than may be;
 * −ENOSPC: STORE_SETTINGS_MAX are there; then nothing is changed. */
int store_set(struct store *store, const char *kind, const char *name, const char *value);
/* Calls `each` for every setting of a kind, in the order of names; it must not change any. O(all
 * settings · log). */
void store_settings(const struct store *store, const char *kind,
                    void (*each)(void *context, const char *name, const char *value),
                    void *context);

/* Part of the present change, or of none: who (a user or a key's name) asked for what, and what came
 * of it. The newest of each kind (audit_book.h) are kept apart, and of what one asker was refused only some
 * in a while is written. Peers' text is to be printable already. */
void store_audit(struct store *store, const char *who, const char *what, const char *result);
struct store_audit_row {
    uint64_t n; /* counted from 1 */
    int64_t at_ns;
    const char *who, *what, *result; /* borrowed until the next store_audit */
};
/* The first kept in memory with a number > after. 0 or −ENOENT. */
int store_audit_after(const struct store *store, uint64_t after, struct store_audit_row *ret_row);

/* Ends the present change: hands it over, and gives the ticket of all that was handed over so far.
 * −ENOMEM: the change is lost, the controller cannot go on. Does not wait. */
int store_commit(struct store *store, uint64_t *ret_ticket);
/* Up to this ticket everything is on the disk. */
uint64_t store_committed(const struct store *store);
static inline bool store_settled(const struct store *store, uint64_t ticket)
{
    return ticket <= store_committed(store);
}
/* Why what waits is not written: −errno with what the disk said; 0: it is. */
int store_failure(struct store *store, struct err *err);
/* Why new requests are to be refused now: −errno with a sentence; 0: they are not. */
int store_refusal(struct store *store, struct err *err);

/* Checks each row of the file (`to` NULL), or copies what is committed to the new file `to`, while the
 * store goes on; `on_done` is called from the loop. −EBUSY: that is under way already. */
int store_care(struct store *store, const char *to, store_care_done *on_done, void *user,
               struct err *err);

/* An eighth of what may wait to be written does: who can wait is to wait. */
bool store_is_behind(const struct store *store);

void store_counters(const struct store *store, struct store_writer_counters *ret_counters);
