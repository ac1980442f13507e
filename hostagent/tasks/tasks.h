/* Attempts on this host: starts them in slots, watches and stops them, and keeps them until the
 * controller has their result.
 *
 * An attempt goes through these phases (duopoly_AttemptPhase): SENT while inputs or its process are
 * on their way or QUEUED while no slot is free, STARTED when its process exists, COMPUTING when all
 * its input has arrived, then DONE, FAILED, KILLED or (by this host's fault) LOST, which stay on
 * disk until tasks_acknowledge. One that cannot be started is REFUSED and forgotten at once.
 * on_state reports each change at once. A new agent finds the attempts of the one before it:
 * tasks_open asks the parents of those that run.
 *
 * Every attempt has its cgroup and its levels in the marks before its process exists, and is
 * unmarked when it ends. A slot is free when all processes of the attempt are dead.
 *
 * Bounds: TASKS_MAX attempts of all phases, TASKS_INPUTS inputs of one; more is refused with a
 * sentence. Starting costs a dozen system calls (a fifth of a millisecond): another process makes
 * it (hostagent/tasks/starter.h), so the agent never waits for a process; everything else is O(log
 * attempts), unless noted. One thread; handlers are called from the event loop or from within the
 * call that caused them, and must not call back into starting, stopping or forgetting. */
#pragma once

#include "hostagent/disk/disk_report.h"
#include "hostagent/files.h"
#include "hostagent/marks/marks.h"
#include "hostagent/measurements.h"
#include "hostagent/tasks/slots.h"
#include "hostagent/tasks/starter.h"
#include "lib/commands.h"
#include "schemas/duopoly.pb.h"

#include <systemd/sd-event.h>

#define TASKS_MAX    4096
#define TASKS_INPUTS 65536
#define TASKS_TELL                                                                                 \
    128                           /* messages of commands that are passed on in a tick, of all
                                  * attempts */
#define TASKS_READ_LOOKS     64   /* attempts whose reading is counted in a tick */
#define TASKS_INPUTS_WAIT_MS 5000 /* for all StartInputs, then the start is refused */
#define TASKS_START_WAIT_MS                                                                        \
    10000 /* for its process, after that too: duopoly-task hangs, and is replaced */

struct tasks_config {
    const char *state_dir;
    struct starter_config starter;
    const char *cgroup; /* subtree; exists */
    uint32_t gid;       /* of commands, never 0 */
    const duopoly_Resources *units;
    const char *const *unit_names; /* "": it has none; borrowed until tasks_close */
    const uint32_t *unit_devices;  /* a mask for each (slots.h) */
    uint32_t units_n;
    const struct device *devices; /* by index; borrowed until tasks_close */
    uint32_t devices_n;
    const struct command *commands; /* borrowed until tasks_close */
    uint32_t commands_n;
    struct marks *marks;
    struct measurements *measurements;
    bool counts_disk; /* what ended attempts have read is counted: tasks_count_reading is called */
};

struct tasks_handler {
    void (*on_state)(void *user, const duopoly_AttemptState *state);
    void (*on_output_lost)(void *user, const duopoly_OutputLost *lost);
    void (*on_source)(void *user, const duopoly_SourceState *source);
    void (*on_room)(void *user, const char *why_not); /* "": there is space again */
    void *user;
};

struct tasks;

int tasks_open(const struct tasks_config *config, sd_event *event,
               const struct tasks_handler *handler, struct tasks **ret_tasks, struct err *err);
void tasks_close(struct tasks *tasks); /* attempts run on; takes NULL */

/* The folders that tasks_open would make; changes nothing. */
int tasks_plan(const struct tasks_config *config, struct changes *changes, struct err *err);

/* Kills all attempts of a former agent with this configuration, and removes their cgroups and
 * state. Waits up to 5 s for their ends. */
int tasks_remove(const struct tasks_config *config, struct err *err);

/* Which devices are usable from now on. A unit that has a closed one takes no attempts: those that
 * wait for it, or come, are told as LOST, which is no failure of their tasks. What has a device
 * that is gone ends, and is told so, too. O(attempts). */
void tasks_set_devices(struct tasks *tasks, const struct devices_state *state);

/* Starts an attempt; for a known one, reports its state again. on_state reports what happens. */
void tasks_start(struct tasks *tasks, const duopoly_Start *start);
void tasks_add_inputs(struct tasks *tasks, const duopoly_StartInputs *part);
/* For an unknown attempt, reports PHASE_LOST. */
void tasks_stop(struct tasks *tasks, uint64_t attempt, uint32_t grace_ms);
void tasks_ask(struct tasks *tasks, uint64_t attempt);
/* Unknown attempts are skipped. Returns after all map writes. */
int tasks_set_levels(struct tasks *tasks, const duopoly_Levels *levels, struct err *err);
/* The controller has stored this attempt's result. */
void tasks_acknowledge(struct tasks *tasks, uint64_t attempt);
/* Removes outputs and finished attempts of the job. O(attempts + outputs). */
int tasks_forget_job(struct tasks *tasks, uint64_t job, struct err *err);

/* Call it every 100 ms: reads the received bytes of running attempts and calls `each` for those
 * that changed; passes on what their commands said; removes what is left of ended ones. */
void tasks_tick(struct tasks *tasks, void (*each)(void *user, uint64_t attempt, uint64_t bytes),
                void *user);

/* What attempts read from the disk. Call the first every 100 ms: counts TASKS_READ_LOOKS of them,
 * in turn, by a few small files each. The last sums up what those that read now ask: O(attempts);
 * whether one has begun or ended since: O(1). */
void tasks_count_reading(struct tasks *tasks);
bool tasks_reading_moved(const struct tasks *tasks);
struct disk_asked tasks_asked(struct tasks *tasks);

/* All attempts in order of ids, and all outputs held: O(n). */
void tasks_each(struct tasks *tasks, void (*each)(void *user, const duopoly_AttemptState *state),
                void *user);
/* Those with processes, by their cgroups: O(n). */
void tasks_each_cgroup(struct tasks *tasks,
                       void (*each)(void *user, uint64_t cgroup, uint64_t attempt), void *user);
int tasks_each_output(struct tasks *tasks,
                      void (*each)(void *user, const duopoly_OutputHeld *output), void *user,
                      struct err *err);

/* For a controller that missed it: repeats what running attempts said of outputs and sources, in
 * portions, with the next ticks. O(n). */
void tasks_tell_again(struct tasks *tasks);

/* Why nothing is started for now, "" if things are; on_room reports each change. Checked whenever
 * something is to be started, and by tasks_tick. */
const char *tasks_no_room(const struct tasks *tasks);

struct tasks_counters {
    uint32_t running, queued, unacknowledged;
    uint64_t started, refused;
    uint64_t ignored_words; /* unknown messages of commands */
};
void tasks_count(const struct tasks *tasks, struct tasks_counters *ret_counters);
