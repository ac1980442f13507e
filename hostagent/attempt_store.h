/* What is on disk of attempts and outputs, so that a new agent finds it.
 *
 *   DIR/attempts/ATTEMPT/start    what was asked for (ATTEMPT: 16 hexadecimal digits)
 *                       /input    for the command (schemas/task.md)
 *                       /s        the parent's socket
 *                       /stopped  somebody asked for its end
 *                       /status   it has ended (lib/attempt.h)
 *                       /counted  its cgroup's id and received bytes, when its end was seen
 *   DIR/outputs/JOB-STAGE-TASK-ATTEMPT/out   what the command left: an output held
 * An attempt's directory goes when the controller has its result; an output when its job is
 * forgotten or its attempt did not succeed. Nothing is synced (files.h). Blocking. */
#pragma once

#include "hostagent/files.h"
#include "lib/attempt.h"
#include "lib/err.h"
#include "schemas/duopoly.pb.h"

#include <stdbool.h>
#include <stdint.h>

struct attempt_store {
    char directory[FILES_PATH];
    uint32_t uid, gid; /* whose the output directories are */
};

/* Makes the directories that are missing. */
int attempt_store_init(struct attempt_store *store, const char *directory, uint32_t uid,
                       uint32_t gid, struct err *err);

/* An attempt's directory with `start` and `input`, and the place of its output. */
int attempt_store_make(const struct attempt_store *store, const duopoly_Start *start,
                       const duopoly_Input *inputs, uint32_t n, struct err *err);

/* `start` again, after its levels changed. */
int attempt_store_write_start(const struct attempt_store *store, const duopoly_Start *start,
                              struct err *err);
int attempt_store_read_start(const struct attempt_store *store, uint64_t attempt,
                             duopoly_Start *ret_start, struct err *err);

void attempt_store_set_stopped(const struct attempt_store *store, uint64_t attempt);
bool attempt_store_stopped(const struct attempt_store *store, uint64_t attempt);

/* −ENOENT while it has not ended. */
int attempt_store_status(const struct attempt_store *store, uint64_t attempt,
                         struct attempt_status *ret_status, struct err *err);
/* For one whose parent died without a status. */
int attempt_store_write_status(const struct attempt_store *store, uint64_t attempt,
                               const struct attempt_status *status, struct err *err);

/* What the attempt's end leaves of its cgroup. Reading gives zeros where nothing was written. */
void attempt_store_write_counted(const struct attempt_store *store, uint64_t attempt,
                                 uint64_t cgroup, uint64_t received_bytes);
void attempt_store_read_counted(const struct attempt_store *store, uint64_t attempt,
                                uint64_t *ret_cgroup, uint64_t *ret_received_bytes);

/* Paths; `name` is a file in the attempt's directory, "" the directory. */
void attempt_store_path(const struct attempt_store *store, uint64_t attempt, const char *name,
                        char path[FILES_PATH]);
void attempt_store_output_path(const struct attempt_store *store, const duopoly_Start *start,
                               char path[FILES_PATH]);

void attempt_store_remove(const struct attempt_store *store, uint64_t attempt);
int attempt_store_list(const struct attempt_store *store,
                       void (*each)(void *user, uint64_t attempt), void *user, struct err *err);

/* Keeps the output of a successful attempt if there is one, else removes its place. Whether one is
 * held. */
bool attempt_store_settle_output(const struct attempt_store *store, const duopoly_Start *start,
                                 bool success);
int attempt_store_list_outputs(const struct attempt_store *store,
                               void (*each)(void *user, const duopoly_OutputHeld *output),
                               void *user, struct err *err);
/* Removes the job's outputs; one that resists is left and reported. O(outputs held). */
int attempt_store_forget_job(const struct attempt_store *store, uint64_t job, struct err *err);
