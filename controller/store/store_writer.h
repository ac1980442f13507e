/* The store's writer: one thread that commits, so that the loop never waits for the disk.
 *
 * The loop hands over groups of changes; each gets a number, its ticket, and is committed whole.
 * Waiting groups are committed together (group commit): while one commit waits for the disk, the
 * next one collects. Groups that nobody awaits wait for an awaited one, for a second at most.
 * When a commit is done, the eventfd becomes readable, and all tickets up to store_writer_committed
 * are on the disk.
 *
 * If the file cannot be written (a full disk), nothing is dropped: the same groups are tried again
 * every second, in order, until they are committed; store_writer_failure says why they wait.
 * Once a second it prunes: a few rows at a time, and while there are more, in at most an eighth of
 * the time.
 *
 * Bound: when STORE_WAITING bytes wait, store_writer_full asks the loop to refuse what can be
 * refused. Facts cannot be refused and are handed over even so: a task ends at most once and fails
 * a few times, so bounds.tasks bounds them. */
#pragma once

#include "controller/store/store_file.h"
#include "controller/store/store_last.h"
#include "lib/histogram.h"

#include <pthread.h>

#define STORE_WAITING (UINT64_C(64) << 20)

struct store_writer;

/* Starts a thread that may wait for the disk: without signals, which are the loop's, and without
 * real-time priority, if the controller has it: disk work must not delay starts. 0 or −errno. */
int store_thread_begin(pthread_t *ret_thread, void *(*runs)(void *user), void *user);

/* Takes the file and closes it at the end. `last` gets each commit before store_writer_committed
 * reaches it; borrowed until close. `prune` (NULL: none) is called by the thread with the file and
 * returns how many rows it removed, or −errno; STORE_PRUNE_MOST and more: there may be more. */
int store_writer_open(struct store_file *file, struct store_last *last,
                      int (*prune)(void *user, struct store_file *file, struct err *err),
                      void *user, struct store_writer **ret_writer, struct err *err);
/* Commits what waits; what the file does not take after one more try is lost: −errno. NULL is
 * fine. */
int store_writer_close(struct store_writer *writer, struct err *err);

/* Hands over a group; the bytes are taken (`changes` is empty afterwards). `awaited`: it is
 * committed at once, with all before it; else within a second. Returns its ticket, larger than all
 * before; 0: out of memory, and the group is lost: the caller cannot continue. Does not wait. */
uint64_t store_writer_hand(struct store_writer *writer, struct row_bytes *changes, bool awaited);
/* Somebody awaits all that was handed over. Does not wait. */
void store_writer_await(struct store_writer *writer);

/* Readable when something changed since store_writer_seen. */
int store_writer_fd(const struct store_writer *writer);
void store_writer_seen(struct store_writer *writer);

uint64_t store_writer_handed(const struct store_writer *writer);
uint64_t store_writer_committed(const struct store_writer *writer);
bool store_writer_full(const struct store_writer *writer);
/* Whether an eighth as much waits. */
bool store_writer_is_behind(const struct store_writer *writer);
/* −errno with the sentence if the last commit failed, else 0. */
int store_writer_failure(struct store_writer *writer, struct err *err);

struct store_writer_counters {
    uint64_t commits, groups, bytes, failures, pruned;
    struct histogram times; /* of commits, until they are on the disk */
};
void store_writer_counters(struct store_writer *writer, struct store_writer_counters *ret_counters);
