/* What is on disk of attempts and outputs, so that a new agent finds it.
 *
 *   DIR/attempts/ATTEMPT                 its record (ATTEMPT: 16 hexadecimal digits): what was
 *                                        asked for, the command's input, and what has become of it
 *                                        (lib/attempt.h)
 *   DIR/attempts/ATTEMPT.s               its parent's socket, while the parent has no agent
 *   DIR/attempts/JOB-STAGE-TASK-ATTEMPT  what is left of a record: the output of that name is held
 *   DIR/outputs-listed                   empty: all that are held have such an entry
 *   DIR/outputs/JOB-STAGE-TASK-ATTEMPT   what the command left
 *   DIR/outputs/gone-…                   one that is on its way out
 *
 * The commands' user may write `outputs`, and put there what it likes, as often as it likes: so
 * which outputs are held stands in `attempts`, and nothing here lists `outputs` (but once, of an
 * agent that kept no list) or names what is in it by a path (lib/beneath.h). What that user left only
 * that user can remove for certain: an output is renamed, and whoever may become that user asked to
 * clear the folder.
 *
 * A record goes when the controller has the result, or becomes that entry, for which it
 * needs no room; an output goes when its job is forgotten or its attempt did not succeed. All of it belongs to the boot, as attempts do: DIR should be a tmpfs,
 * where making a record takes a tenth of the time that a disk's file system takes. Nothing is
 * synced (files.h). A full file system refuses a new record with a sentence; one that stands needs
 * no more room. Blocking. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/files.h"
#include "lib/attempt.h"
#include "lib/err.h"
#include "schemas/duopoly.pb.h"

#include <stdbool.h>
#include <stdint.h>

#define ATTEMPT_STORE_SPARE 65536
#define ATTEMPT_STORE_FILES 16
#define ATTEMPT_STORE_LOOKS 65536 /* at what an agent left that kept no list */

struct attempt_store_owner {
    uint32_t gid; /* of the commands, who make entries in outputs */
    /* Removes the entries of `folder` whose names begin with ATTEMPT_GONE, now or soon, and those that
     * are named as outputs and of which `attempts` does not know. */
    void (*clear)(void *user, const char *folder);
    void *user;
};

struct attempt_store {
    char directory[FILES_PATH];
    struct attempt_store_owner owner;
};

/* Makes the directories that are missing. To give `outputs` to the commands' group we must be in
 * it, or root. */
int attempt_store_init(struct attempt_store *store, const char *directory,
                       const struct attempt_store_owner *owner, struct err *err);

/* Which of them are missing; makes none. */
int attempt_store_plan(const char *directory, struct changes *changes, struct err *err);

/* Whether another attempt has room: its record, and what those that run need at their ends
 * (ATTEMPT_STORE_SPARE bytes and ATTEMPT_STORE_FILES files are kept for these). −ENOSPC, −EROFS with the
 * sentence. One system call. The other one writes a file and removes it: what is no room that can be counted
 * (a quota, a disk that fails) shows then. −errno with the sentence. */
int attempt_store_room(const struct attempt_store *store, struct err *err);
int attempt_store_try(const struct attempt_store *store, struct err *err);

/* An attempt's record, with its unit's name ("": none). −EEXIST if it has one. O(inputs). */
int attempt_store_make(const struct attempt_store *store, const duopoly_Start *start,
                       const char *unit_name, const duopoly_Input *inputs, uint32_t n,
                       struct err *err);

/* Who was asked for with which levels, and whether somebody asked for its end. */
int attempt_store_read(const struct attempt_store *store, uint64_t attempt,
                       duopoly_Start *ret_start, bool *ret_stopped, struct err *err);

/* The levels, or the stop, into its record. */
int attempt_store_write_levels(const struct attempt_store *store, const duopoly_Start *start,
                               struct err *err);
void attempt_store_set_stopped(const struct attempt_store *store, uint64_t attempt);

/* −ENOENT while it has not ended. */
int attempt_store_status(const struct attempt_store *store, uint64_t attempt,
                         struct attempt_status *ret_status, struct err *err);
/* For one whose parent died without a status. */
int attempt_store_write_status(const struct attempt_store *store, uint64_t attempt,
                               const struct attempt_status *status, struct err *err);

/* Paths of its record and of its output, which is not made here. */
void attempt_store_path(const struct attempt_store *store, uint64_t attempt, char path[FILES_PATH]);
void attempt_store_output_path(const struct attempt_store *store, const duopoly_Start *start,
                               char path[FILES_PATH]);

void attempt_store_remove(const struct attempt_store *store, uint64_t attempt);
/* The same for one whose output is held: from here on without a record. */
int attempt_store_keep(const struct attempt_store *store, const duopoly_Start *start,
                       struct err *err);
int attempt_store_list(const struct attempt_store *store,
                       void (*each)(void *user, uint64_t attempt), void *user, struct err *err);

/* Removes the output of an attempt that was not successful. Whether one is there, to be held. */
bool attempt_store_settle_output(const struct attempt_store *store, const duopoly_Start *start,
                                 bool success);
/* Of attempts without a record. O(outputs held). */
int attempt_store_list_outputs(const struct attempt_store *store,
                               void (*each)(void *user, const duopoly_OutputHeld *output),
                               void *user, struct err *err);
/* The job's outputs are held no more, and go; one that resists is left and reported. O(outputs
 * held). */
int attempt_store_forget_job(const struct attempt_store *store, uint64_t job, struct err *err);

/* What a former agent did not see the end of goes, and what was never an attempt's output. */
void attempt_store_clear(const struct attempt_store *store);
