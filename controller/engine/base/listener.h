/* What happens, told to whoever keeps something by it: announcements go up where calls go down.
 * Private to controller/engine.
 *
 * A listener is a table of the announcements that it wants. Those that are always there stand in
 * engine_listeners, policies have one each (policy.h); each hears what happens in the order of that
 * list, when the books are right and before anything is decided. A listener may take decisions
 * (engine_decide) and must not start, stop or place anything. All are O(log n), if not said
 * otherwise.
 *
 * One more announcement is one line of ANNOUNCEMENTS, and a call of tell_NAME (tell.h) where it
 * happens. */
#pragma once

#include "controller/engine/engine.h"

struct attempt;
struct host;
struct job;
struct stage;
struct task;

/* X(name, parameters, arguments) */
/* clang-format off */
#define ANNOUNCEMENTS(X)                                                                        \
    /* It takes part from now on; no more, with all its stages; its memory is about to go. */   \
    X(job_active, (struct engine *engine, struct job *job), (engine, job))                      \
    X(job_withdrawn, (struct engine *engine, struct job *job), (engine, job))                   \
    X(job_gone, (struct engine *engine, struct job *job), (engine, job))                        \
    /* A job's stages or tasks are more, or their blocks others. O(stages), and the hosts of    \
     * its ready maps. */                                                                       \
    X(job_grew, (struct engine *engine, struct job *job), (engine, job))                        \
    /* The job's outputs lie elsewhere, or are more or fewer. */                                \
    X(outputs_moved, (struct engine *engine, struct job *job), (engine, job))                   \
    /* Its tasks and outputs on the host are more or fewer. */                                  \
    X(job_on_host, (struct engine *engine, struct job *job, struct host *host),                 \
      (engine, job, host))                                                                      \
    /* The number of the job's turn is another; `passed`: its place among active jobs too. */   \
    X(turn_moved, (struct engine *engine, struct job *job, bool passed), (engine, job, passed)) \
    /* A task stands in the ready queues; does so no more. */                                   \
    X(task_ready, (struct engine *engine, struct task *task), (engine, task))                   \
    X(task_unready, (struct engine *engine, struct task *task), (engine, task))                 \
    /* All that are ready of the stage's bucket, which are maps of this stage, are about to be  \
     * so no more: together. O(them). */                                                        \
    X(maps_leave, (struct engine *engine, struct stage *stage), (engine, stage))                \
    /* The last task of the stage that was ready is so no more. */                              \
    X(stage_empty, (struct engine *engine, struct stage *stage), (engine, stage))               \
    /* What is not started of it waits for its parents again, or for ever. */                   \
    X(stage_closed, (struct engine *engine, struct stage *stage), (engine, stage))              \
    /* All its tasks are done. */                                                               \
    X(stage_done, (struct engine *engine, struct stage *stage), (engine, stage))                \
    /* A task of an active job runs, is done, or is neither any more. */                        \
    X(task_moved, (struct engine *engine, struct task *task, enum task_state before),           \
      (engine, task, before))                                                                   \
    /* A framework's job grows while it runs. Bytes and computing of a task of an active job    \
     * are about to be others (`in` false), and are (true; of a new one only that). */          \
    X(task_counts, (struct engine *engine, struct task *task, bool in), (engine, task, in))     \
    /* An attempt of this task receives, has received, or is the task's no more (then           \
     * attempt->task is NULL). Told once too often rather than never. */                        \
    X(attempt_moved, (struct engine *engine, struct task *task, struct attempt *attempt),       \
      (engine, task, attempt))                                                                  \
    /* So many more bytes; the attempt has a task. */                                           \
    X(received, (struct engine *engine, struct attempt *attempt, uint64_t more_bytes),          \
      (engine, attempt, more_bytes))                                                            \
    /* It is an allow, and should be no more. */                                                \
    X(allow_unwanted, (struct engine *engine, struct attempt *attempt, enum reason reason),     \
      (engine, attempt, reason))                                                                \
    /* It is about to leave its task; it is over, and about to go. */                           \
    X(attempt_leaves, (struct engine *engine, struct attempt *attempt), (engine, attempt))      \
    X(attempt_over, (struct engine *engine, struct attempt *attempt), (engine, attempt))        \
    /* Some shape fits the host when empty that did not, or the other way round. O(jobs with    \
     * ready maps there). */                                                                    \
    X(host_capable, (struct engine *engine, struct host *host), (engine, host))                 \
    /* Hosts that may be given work are more or fewer, or have other amounts. */                \
    X(cluster_changed, (struct engine *engine), (engine))                                       \
    /* The events of a step are over: what was to end by now ends. */                           \
    X(expire, (struct engine *engine), (engine))                                                \
    /* The last of a step, when nothing more is started: what is decided once for all of it. */ \
    X(settle, (struct engine *engine), (engine))
/* clang-format on */

#define LISTENER_FIELD(name, parameters, arguments) void(*name) parameters;
struct listener {
    ANNOUNCEMENTS(LISTENER_FIELD)
    /* When the next step is due though nothing happens; INT64_MAX: never. NULL: never. */
    int64_t (*deadline_ns)(const struct engine *engine);
};

enum { LISTENERS_MAX = 16 };
/* Whose turn it is to hear, ends with NULL. In the place of listener_policies all policies in force
 * hear, in order of questions. */
extern const struct listener *const engine_listeners[];
extern const struct listener listener_policies;

/* Who hears what, in order; each ends with NULL. */
#define TOLD_FIELD(name, parameters, arguments) void(*name[LISTENERS_MAX + 1]) parameters;
struct told {
    ANNOUNCEMENTS(TOLD_FIELD)
};
