/* Announcements: how a module tells others of a change without calling them by name (calls go down,
 * announcements go up). Private to controller/engine.
 *
 * A listener is a table of the announcements that it wants. The permanent listeners are in
 * engine_listeners; each policy has one of its own (policy.h). An announcement is made when the
 * books are right and before anything is decided; listeners are called in the order of that list. A
 * listener may add decisions (engine_decide) and must not start, stop or place anything. Each call
 * is O(log n) unless said otherwise.
 *
 * To add an announcement, add a line to ANNOUNCEMENTS and call tell_NAME (tell.h) where it
 * happens. */
#pragma once

#include "controller/engine/engine.h"

struct attempt;
struct host;
struct job;
struct stage;
struct task;
struct user;

/* X(name, parameters, arguments) */
/* clang-format off */
#define ANNOUNCEMENTS(X)                                                                        \
    /* The job becomes active; is active no more, with all its stages; its memory is about to   \
     * go. */                                                                                   \
    X(job_active, (struct engine *engine, struct job *job), (engine, job))                      \
    X(job_withdrawn, (struct engine *engine, struct job *job), (engine, job))                   \
    X(job_gone, (struct engine *engine, struct job *job), (engine, job))                        \
    /* A job has more stages or tasks, or other blocks. O(stages), and the hosts of its ready   \
     * maps. */                                                                                 \
    X(job_grew, (struct engine *engine, struct job *job), (engine, job))                        \
    /* The job has more, fewer or other outputs, or they are on other hosts. */                 \
    X(outputs_moved, (struct engine *engine, struct job *job), (engine, job))                   \
    /* The job has more or fewer tasks or outputs on the host. */                               \
    X(job_on_host, (struct engine *engine, struct job *job, struct host *host),                 \
      (engine, job, host))                                                                      \
    /* The job's turn has another number; `passed`: it also passed another active job. */       \
    X(turn_moved, (struct engine *engine, struct job *job, bool passed), (engine, job, passed)) \
    /* The active job has another priority. */                                                  \
    X(priority_moved, (struct engine *engine, struct job *job), (engine, job))                  \
    /* A task enters the ready queues; leaves them by itself. */                                \
    X(task_ready, (struct engine *engine, struct task *task), (engine, task))                   \
    X(task_unready, (struct engine *engine, struct task *task), (engine, task))                 \
    /* All ready tasks of the job are about to leave the ready queues, stage by stage. O(its    \
     * stages, and the hosts of its ready maps). */                                             \
    X(job_leaves, (struct engine *engine, struct job *job), (engine, job))                      \
    /* All ready tasks of the stage left the ready queues together. O(hosts of its ready        \
     * maps). */                                                                                \
    X(ready_left, (struct engine *engine, struct stage *stage), (engine, stage))                \
    /* The last ready task of the stage left the ready queues. */                               \
    X(stage_empty, (struct engine *engine, struct stage *stage), (engine, stage))               \
    /* The stage's tasks that have not started wait for its parents again, or for ever. */      \
    X(stage_closed, (struct engine *engine, struct stage *stage), (engine, stage))              \
    /* All its tasks are done. */                                                               \
    X(stage_done, (struct engine *engine, struct stage *stage), (engine, stage))                \
    /* A task of an active job starts to run, is done, or went back from either. */             \
    X(task_moved, (struct engine *engine, struct task *task, enum task_state before),           \
      (engine, task, before))                                                                   \
    /* A framework's job grows while it runs: bytes and computing of a task of an active job    \
     * are about to change (`in` false) and have changed (true; a new task: only this). */      \
    X(task_counts, (struct engine *engine, struct task *task, bool in), (engine, task, in))     \
    /* An attempt of this task receives, has received, or left the task (then attempt->task     \
     * is NULL). May be announced more often than needed. */                                    \
    X(attempt_moved, (struct engine *engine, struct task *task, struct attempt *attempt),       \
      (engine, task, attempt))                                                                  \
    /* The attempt, which has a task, received this many more bytes. */                         \
    X(received, (struct engine *engine, struct attempt *attempt, uint64_t more_bytes),          \
      (engine, attempt, more_bytes))                                                            \
    /* The attempt is an allow that should end. */                                              \
    X(allow_unwanted, (struct engine *engine, struct attempt *attempt, enum reason reason),     \
      (engine, attempt, reason))                                                                \
    /* The attempt was refused, lost or stopped by us: its user gets back what was charged. */  \
    X(attempt_returned, (struct engine *engine, struct attempt *attempt), (engine, attempt))    \
    /* The job is another user's, or another policy divides: where its queues are changes.     \
     * `before`: whose it was. O(its buckets, and the hosts of its ready maps). */              \
    X(job_changes_queues, (struct engine *engine, struct job *job, struct user *before),        \
      (engine, job, before))                                                                    \
    /* A task of the user is ready, or none is any more; where somebody divides. */             \
    X(user_ready, (struct engine *engine, struct user *user), (engine, user))                   \
    /* Users came, went or have other shares. O(users). */                                      \
    X(users_changed, (struct engine *engine), (engine))                                         \
    /* The attempt is about to leave its task; it is over, and its memory is about to go. */    \
    X(attempt_leaves, (struct engine *engine, struct attempt *attempt), (engine, attempt))      \
    X(attempt_over, (struct engine *engine, struct attempt *attempt), (engine, attempt))        \
    /* A way to run the submitted stage has another profile. O(its ways and its attempts). */   \
    X(profile_changed, (struct engine *engine, struct stage *stage), (engine, stage))           \
    /* The host reported what is asked of its disk. O(attempts there). */                       \
    X(disk_reported, (struct engine *engine, struct host *host), (engine, host))                \
    /* A shape came to fit the empty host, or ceased to. O(jobs with ready maps there). */      \
    X(host_capable, (struct engine *engine, struct host *host), (engine, host))                 \
    /* More or fewer hosts may get work, or their amounts changed. */                           \
    X(cluster_changed, (struct engine *engine), (engine))                                       \
    /* The events of a step are applied: end what is due. */                                    \
    X(expire, (struct engine *engine), (engine))                                                \
    /* The end of a step, when nothing more is started: decide what is decided once a step. */  \
    X(settle, (struct engine *engine), (engine))
/* clang-format on */

#define LISTENER_FIELD(name, parameters, arguments) void(*name) parameters;
struct listener {
    ANNOUNCEMENTS(LISTENER_FIELD)
    /* When the next step is due without an event; INT64_MAX: never. NULL: never. */
    int64_t (*deadline_ns)(const struct engine *engine);
};

enum { LISTENERS_MAX = 16 };
/* In order of their calls, ends with NULL. listener_policies stands for all policies in force, in
 * order of questions. */
extern const struct listener *const engine_listeners[];
extern const struct listener listener_policies;

/* The listeners of each announcement, in order of their calls; each list ends with NULL. */
#define TOLD_FIELD(name, parameters, arguments) void(*name[LISTENERS_MAX + 1]) parameters;
struct told {
    ANNOUNCEMENTS(TOLD_FIELD)
};
