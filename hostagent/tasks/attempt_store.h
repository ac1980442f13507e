/* Keeps attempts and outputs on disk, so that a new agent finds them.
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
 * The commands' user may write `outputs` and put anything there, at any time. So `attempts` records
 * which outputs are held, and nothing here lists `outputs` (except once, after an agent that kept
 * no list) or names its content by a path (lib/beneath.h). Only that user can reliably remove what
 * it left: an output is renamed, and a process that may become that user is asked to clear the
 * folder.
 *
 * A record is removed when the controller has the result, or becomes that entry, which needs no
 * space; an output is removed when its job is forgotten or its attempt did not succeed. All of it
 * belongs to the boot, as attempts do: DIR should be a tmpfs, where making a record takes a tenth
 * of the time that a disk's file system takes. Nothing is synced (files.h). A full file system
 * refuses a new record with a sentence; an existing one needs no more space. Blocking. */
#pragma once

#include "hostagent/changes.h"
#include "hostagent/devices/device.h"
#include "hostagent/files.h"
#include "lib/attempt.h"
#include "lib/err.h"
#include "schemas/duopoly.pb.h"

#include <stdbool.h>
#include <stdint.h>

#define ATTEMPT_STORE_SPARE 65536
#define ATTEMPT_STORE_FILES 16
#define ATTEMPT_STORE_LOOKS 65536 /* entries read after an agent that kept no list */

struct attempt_store_owner {
    uint32_t gid; /* group of the commands, which make entries in outputs */
    /* Removes entries of `folder`, now or soon: those whose names begin with ATTEMPT_GONE, and
     * those with an output's name that `attempts` does not know. */
    void (*clear)(void *user, const char *folder);
    void *user;
};

/* Where an attempt runs, as its command is told: its unit's name ("": none) and the devices that it
 * has. */
struct attempt_place {
    char unit[32];
    struct device devices[DEVICES_MAX];
    uint32_t devices_n;
};

/* Who had it end: nobody, the controller, or this host, whose fault its end is then. */
enum attempt_stopped { ATTEMPT_NOT_STOPPED, ATTEMPT_STOPPED, ATTEMPT_STOPPED_BY_HOST };

struct attempt_store {
    char directory[FILES_PATH];
    struct attempt_store_owner owner;
};

/* Makes missing directories. To give `outputs` to the commands' group, we must be in it, or be
 * root. */
int attempt_store_init(struct attempt_store *store, const char *directory,
                       const struct attempt_store_owner *owner, struct err *err);

/* Adds those that are missing; makes none. */
int attempt_store_plan(const char *directory, struct changes *changes, struct err *err);

/* Whether there is space for another attempt: its record, and what running ones need at their ends
 * (ATTEMPT_STORE_SPARE bytes and ATTEMPT_STORE_FILES files are kept for these). −ENOSPC, −EROFS
 * with the sentence. One system call. attempt_store_try writes a file and removes it, which also
 * shows limits that cannot be counted (a quota, a failing disk). −errno with the sentence. */
int attempt_store_room(const struct attempt_store *store, struct err *err);
int attempt_store_try(const struct attempt_store *store, struct err *err);

/* Makes an attempt's record. −EEXIST if it has one. O(inputs). */
int attempt_store_make(const struct attempt_store *store, const duopoly_Start *start,
                       const struct attempt_place *place, const duopoly_Input *inputs, uint32_t n,
                       struct err *err);

/* Reads the order, with its levels, where it runs, and who requested its end. */
int attempt_store_read(const struct attempt_store *store, uint64_t attempt,
                       duopoly_Start *ret_start, struct attempt_place *ret_place,
                       enum attempt_stopped *ret_stopped, struct err *err);

/* Writes the levels, or the stop, into its record. */
int attempt_store_write_levels(const struct attempt_store *store, const duopoly_Start *start,
                               struct err *err);
void attempt_store_set_stopped(const struct attempt_store *store, uint64_t attempt,
                               enum attempt_stopped stopped);

/* −ENOENT while it has not ended. */
int attempt_store_status(const struct attempt_store *store, uint64_t attempt,
                         struct attempt_status *ret_status, struct err *err);
/* For an attempt whose parent died without a status. */
int attempt_store_write_status(const struct attempt_store *store, uint64_t attempt,
                               const struct attempt_status *status, struct err *err);

/* Paths of its record and of its output, which this does not make. */
void attempt_store_path(const struct attempt_store *store, uint64_t attempt, char path[FILES_PATH]);
void attempt_store_output_path(const struct attempt_store *store, const duopoly_Start *start,
                               char path[FILES_PATH]);

void attempt_store_remove(const struct attempt_store *store, uint64_t attempt);
/* The same for an attempt whose output is held, which has no record from then on. */
int attempt_store_keep(const struct attempt_store *store, const duopoly_Start *start,
                       struct err *err);
int attempt_store_list(const struct attempt_store *store,
                       void (*each)(void *user, uint64_t attempt), void *user, struct err *err);

/* Removes the output of an unsuccessful attempt. Returns whether there is an output to hold. */
bool attempt_store_settle_output(const struct attempt_store *store, const duopoly_Start *start,
                                 bool success);
/* Outputs of attempts without a record. O(outputs held). */
int attempt_store_list_outputs(const struct attempt_store *store,
                               void (*each)(void *user, const duopoly_OutputHeld *output),
                               void *user, struct err *err);
/* Removes the job's outputs, which are no longer held; one that cannot be removed is left and
 * reported. O(outputs held). */
int attempt_store_forget_job(const struct attempt_store *store, uint64_t job, struct err *err);

/* Removes outputs of attempts whose end a former agent missed, and what was never an attempt's
 * output. */
void attempt_store_clear(const struct attempt_store *store);
