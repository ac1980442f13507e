/* What tasks.c, tasks_start.c, tasks_watch.c, tasks_words.c and others here share: one attempt, and
 * the table of them. For these files only. */
#pragma once

#include "hostagent/disk/disk_reading.h"
#include "hostagent/tasks/attempt_store.h"
#include "hostagent/tasks/counting.h"
#include "hostagent/tasks/starter.h"
#include "hostagent/tasks/tasks.h"

#include <bsd/sys/tree.h>
#include <sys/queue.h>

enum {
    WORDS_AT_ONCE = 2000, /* that a command may send, and WORDS_AN_INPUT more for each input */
    WORDS_AN_INPUT = 4,
    WORDS_A_SECOND = 100,
    WORDS_ENTRIES = 1024, /* outputs and sources that are kept; nothing is reported of more */
    WORDS_A_TURN = 32     /* that are read before other work has its turn */
};

/* What a command said of one output, or of one source. */
struct words_entry {
    bool is_source, told;
    union {
        duopoly_OutputLost lost;
        duopoly_SourceState source;
    };
};

struct words {
    uint64_t spent_until_ns; /* its allowance: at this time it is full again */
    bool flood;              /* it is being ended because it sent too much */
    struct words_entry *entries;
    uint32_t n, allocated, untold;
    uint32_t told_now; /* in this tick */
};

struct agent_attempt {
    RB_ENTRY(agent_attempt) by_id;
    TAILQ_ENTRY(agent_attempt) in_queue; /* while QUEUED */
    struct tasks *tasks;
    duopoly_Start start;
    duopoly_Input *inputs; /* owned, until the process starts */
    uint32_t inputs_n;
    sd_event_source *timer; /* for its inputs, then for its process */
    duopoly_AttemptPhase phase;
    bool holds_slot, stopped;
    uint32_t devices; /* that it has, while it holds a slot */
    bool host_fault;  /* it ends, or never begins, by this host's fault: told as LOST */
    bool begun;       /* ordered from duopoly-task: there may be a process */
    int socket;       /* to its parent */
    sd_event_source *socket_source;
    uint64_t cgroup;   /* id; 0: none */
    bool holds_output; /* it is DONE and left an output */
    bool acknowledged; /* to be removed as soon as its cgroup is */
    uint64_t received_bytes;
    struct disk_reading reading; /* once its process exists */
    uint64_t request_ns;
    struct attempt_status status;
    struct words words;
};

RB_HEAD(attempt_tree, agent_attempt);
TAILQ_HEAD(attempt_queue, agent_attempt);
RB_PROTOTYPE(attempt_tree, agent_attempt, by_id, attempt_compare)

struct tasks {
    struct tasks_config config;
    struct tasks_handler handler;
    struct attempt_store store;
    struct starter *starter;
    struct counting *counting; /* NULL: there is no counter to ask */
    sd_event *event;
    struct slots slots;
    struct devices_state devices;
    struct attempt_tree attempts;
    struct attempt_queue queue; /* in order of arrival, all units */
    uint32_t attempts_n;
    char cgroup[FILES_PATH];
    uint64_t subtree; /* the id of `cgroup`; a new one is not counted yet */
    struct tasks_counters counters;
    uint32_t tell_share; /* messages that each attempt may pass on in this tick */
    uint64_t read_next;  /* the attempt whose reading is counted next, or the first behind it */
    bool reading_moved;  /* one began or ended since tasks_asked */
    char no_room[256];   /* why there is no space; "": there is */
    bool unsure;         /* a record could not be written although there seemed to be space */
};

static inline bool attempt_ended(const struct agent_attempt *attempt)
{
    return attempt->phase == duopoly_AttemptPhase_PHASE_DONE ||
           attempt->phase == duopoly_AttemptPhase_PHASE_FAILED ||
           attempt->phase == duopoly_AttemptPhase_PHASE_KILLED ||
           attempt->phase == duopoly_AttemptPhase_PHASE_LOST;
}
static inline bool attempt_runs(const struct agent_attempt *attempt)
{
    return attempt->phase == duopoly_AttemptPhase_PHASE_STARTED ||
           attempt->phase == duopoly_AttemptPhase_PHASE_COMPUTING;
}

/* tasks.c */
struct agent_attempt *tasks_find_attempt(struct tasks *tasks, uint64_t id);
/* NULL: no memory, or TASKS_MAX are there. */
struct agent_attempt *attempt_add(struct tasks *tasks, const duopoly_Start *start);
/* Removes it from the table, with all that it owns; not from the disk. */
void attempt_drop(struct agent_attempt *attempt);
void attempt_tell(struct agent_attempt *attempt, const char *text);
/* Sets its levels in the marks. */
int attempt_mark(struct agent_attempt *attempt, struct err *err);
void attempt_release(struct agent_attempt *attempt); /* descriptors and sources */
/* The controller has its result, or needs none: removes it from the disk, then its cgroup, then
 * from the table. tasks_tick tries again while processes are dying. */
void attempt_forget(struct agent_attempt *attempt);

/* Whether there is space for another attempt; reports changes. */
bool tasks_find_room(struct tasks *tasks);

/* tasks_start.c */
void attempt_refuse(struct agent_attempt *attempt, const char *why); /* tells and drops */
void tasks_run_queued(struct tasks *tasks);
/* Its process exists; times as its parent reported them. */
void attempt_on_start(struct agent_attempt *attempt, uint64_t before_ns, uint64_t after_ns);
/* It will never start. */
void attempt_on_no_start(struct agent_attempt *attempt, const char *why);

/* tasks_watch.c */
/* Takes the descriptor. */
int attempt_watch(struct agent_attempt *attempt, int socket, struct err *err);
void attempt_finish(struct agent_attempt *attempt); /* its parent has ended: result, slot, marks */
/* Takes over a former agent's attempt: running, or ended. */
void attempt_take_over(struct tasks *tasks, uint64_t id);

/* tasks_reading.c */
/* Its process exists (`found`: it did before), or its processes are dead. */
void attempt_begin_reading(struct agent_attempt *attempt, bool found);
void attempt_end_reading(struct agent_attempt *attempt);
/* A counter's answer; `user`: the tasks. Of one that ended meanwhile it is dropped. */
void tasks_take_count(void *user, uint64_t attempt, uint64_t bytes);

/* tasks_devices.c */
/* Why the unit takes no attempts; NULL: it does, or there is none. */
const char *tasks_unit_closed(const struct tasks *tasks, uint32_t unit);
/* By this host's fault: it ends, or is told and dropped where it has not begun. */
void attempt_lose(struct agent_attempt *attempt, const char *why);
/* Where it runs, as its command is told. */
void attempt_place(const struct agent_attempt *attempt, struct attempt_place *ret_place);
/* Of a former agent's attempt: the unit by its name, which a new configuration may have moved, and
 * its devices. One that is none of ours is named in *ret_missing; NULL: all are. */
void attempt_find_place(struct agent_attempt *attempt, const struct attempt_place *place,
                        const struct device **ret_missing);

/* tasks_words.c */
/* Counts one more message; false: it is one too many, and is ignored. */
bool attempt_may_say(struct agent_attempt *attempt);
void attempt_misses(struct agent_attempt *attempt, const struct attempt_said *said);
void attempt_speaks_of_source(struct agent_attempt *attempt, const struct attempt_said *said);
void attempt_free_words(struct agent_attempt *attempt);
/* Each tick: passes on a portion of what waits. O(attempts). */
void tasks_tell_words(struct tasks *tasks);
