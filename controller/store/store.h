/* The controller's store: what must survive a restart is on the disk before it is acknowledged.
 *
 * **Acknowledged means committed.** Code that changes something puts its rows (store_put,
 * store_set, store_audit, …), all rows of one change before the next store_commit, which hands them
 * to the writer's thread as one transaction and returns its ticket. Answers to clients and agents
 * wait until store_committed has reached the ticket: clients/control.h and agents/agents.h hold
 * them back, so a request's handler only puts rows and fills in its answer. Nothing blocks in the
 * loop.
 *
 * If the file cannot be written (a full disk), store_refusal says so in a sentence: new requests
 * are refused with it and change nothing; running work continues, and its rows wait
 * (store_writer.h). The store recovers by itself. This also holds at a start (store_reading.h).
 *
 * Settings and the newest audit rows (audit_book.h) are kept in memory, so reading them never
 * waits.
 *
 * Lost commits (a damaged log, an emptied file) are found at the start (store_sums.h,
 * store_last.h): store_open refuses with a sentence.
 *
 * One file, store.db (with SQLite's -wal and -shm and what store_last.h writes beside it), mode
 * 0600, in the controller's state folder, which has one controller (epoch.h). Tables:
 * store_tables.h. All calls in the loop's thread. */
#pragma once

#include "controller/store/store_care.h"
#include "controller/store/store_tables.h"
#include "controller/store/store_writer.h"

#include <systemd/sd-event.h>

#define STORE_FILE         "store.db"
#define STORE_SETTINGS_MAX 65536 /* rows */
#define STORE_VALUE_MAX    4096  /* of a setting's value with its NUL */
#define STORE_NAME_MAX     128   /* of its kind and of its name */

struct store;

/* Opens `path` (made if missing) and reads settings and audit; nothing is written until
 * store_begin. `vfs` NULL: the system's files (tests bring their own). Errors as
 * store_file_open_whole; −EBADMSG for a damaged row. */
int store_open(const char *path, const char *vfs, const struct store_bounds *bounds,
               struct store **ret_store, struct err *err);
/* Another time for which finished jobs are kept: from the next pruning on, within some seconds. */
void store_keep(struct store *store, int64_t keep_ns);
/* A message for the operator about the start: it is unknown whether something is missing; "":
 * none. */
const char *store_words(const struct store *store);
/* Whether there is no store at `path`, or only an empty file. */
bool store_absent(const char *path);
/* The file, for reading at the start; until store_begin. */
struct store_file *store_file(struct store *store);

/* Starts the writer. `on_moved` is called from the loop whenever store_committed or store_refusal
 * may have changed. `loop` NULL: it is not called. */
int store_begin(struct store *store, sd_event *loop, void (*on_moved)(void *user), void *user,
                struct err *err);
/* Commits what waits. −errno with a sentence if the file did not take all of it. NULL is fine. */
int store_close(struct store *store, struct err *err);

/* Adds to the open change: a row of store_tables.h, in the table's order of columns. */
void store_put(struct store *store, enum store_table table, const struct row_value *values);
/* Deletes all rows whose key begins with these columns. */
void store_delete(struct store *store, enum store_table table, const struct row_value *key,
                  unsigned columns);

/* The value of a setting, by kind ("policy", "drain", …) and name; NULL: not set. Borrowed until
 * the next call that changes settings. O(1) expected. */
const char *store_setting(const struct store *store, const char *kind, const char *name);
/* Adds to the open change: sets it, or, with NULL, removes it. −E2BIG: too long; −ENOSPC: there are
 * STORE_SETTINGS_MAX; then nothing is changed. */
int store_set(struct store *store, const char *kind, const char *name, const char *value);
/* `on_set` is called before a setting changes, with its value until then (NULL: it was not set); it
 * may set others. One at a time; NULL: none. */
void store_watch(struct store *store,
                 void (*on_set)(void *user, const char *kind, const char *name, const char *before),
                 void *user);
/* Calls `each` for every setting of a kind, in the order of names; it must not change any. O(all
 * settings · log). */
void store_settings(const struct store *store, const char *kind,
                    void (*each)(void *context, const char *name, const char *value),
                    void *context);

/* Adds to the open change, or to none: who (a user or a key's name) asked for what, and the result.
 * The newest of each kind (audit_book.h) are kept apart; an asker's refusals are written at a
 * limited rate. Peers' text must be printable already. */
void store_audit(struct store *store, const char *who, const char *what, const char *result);
struct store_audit_row {
    uint64_t n; /* counted from 1 */
    int64_t at_ns;
    const char *who, *what, *result; /* borrowed until the next store_audit */
};
/* The first row in memory with a number > after. 0 or −ENOENT. */
int store_audit_after(const struct store *store, uint64_t after, struct store_audit_row *ret_row);
/* The same of changes that are not of jobs: no refusals. O(rows) for each row in between. */
int store_change_after(const struct store *store, uint64_t after, struct store_audit_row *ret_row);

/* Grows with each change in the audit that is not of jobs; from 1. O(1). */
uint64_t store_version(const struct store *store);

/* Ends the open change: hands it over, and returns the ticket of everything handed over so far. A
 * change that is `awaited` is written at once, with all before it, else within a second. −ENOMEM:
 * the change is lost, and the controller cannot continue. Does not wait. */
int store_commit(struct store *store, bool awaited, uint64_t *ret_ticket);
/* Somebody waits for what was handed over: it is written at once. Does not wait. O(1). */
void store_await(struct store *store);
/* Up to this ticket everything is on the disk. */
uint64_t store_committed(const struct store *store);
static inline bool store_settled(const struct store *store, uint64_t ticket)
{
    return ticket <= store_committed(store);
}
/* Why waiting rows are not written: −errno with the disk's error; 0: they are being written. */
int store_failure(struct store *store, struct err *err);
/* Why new requests must be refused now: −errno with a sentence; 0: they need not be. */
int store_refusal(struct store *store, struct err *err);

/* Checks each row of the file (`to` NULL), or copies what is committed to the new file `to`, while
 * the store keeps working; `on_done` is called from the loop. −EBUSY: one is under way. */
int store_care(struct store *store, const char *to, store_care_done *on_done, void *user,
               struct err *err);

/* What store_care would return now; −EEXIST: `to` is there. */
int store_may_care(const struct store *store, const char *to, struct err *err);

/* Whether an eighth of what may wait to be written does: optional work should wait. */
bool store_is_behind(const struct store *store);

void store_counters(const struct store *store, struct store_writer_counters *ret_counters);
