/* An application and its session. Private to controller/frameworks. */
#pragma once

#include "controller/frameworks/executors.h"
#include "controller/frameworks/framework_numbers.h"
#include "controller/frameworks/frameworks.h"
#include "controller/frameworks/number_set.h"
#include "controller/frameworks/stage_names.h"

#include <bsd/sys/queue.h>

/* What ends (application_ends.c). */
enum ends {
    ENDS_NOTHING,
    ENDS_CLAIMS,  /* what runs only by its own report: not allowed, without room of its executors */
    ENDS_RUNNING, /* all that runs, and its executors */
    ENDS_UNNAMED, /* what the session has not named by the end of its replay */
    ENDS_ALL,     /* what it has, then the application itself */
};

struct ending {
    enum ends what;
    enum { ENDING_ATTEMPTS, ENDING_JOBS, ENDING_EXECUTORS } of; /* in this order */
    uint64_t after; /* the attempt or job up to which it is done */
};

/* What of the whole is told to a session that began (application_whole.c). */
struct telling {
    enum { TELLS_NOTHING, TELLS_JOBS, TELLS_LEVELS } of; /* in this order */
    uint64_t after; /* the job or attempt up to which it is told, */
    uint64_t job;   /* a later job of which some is, */
    uint32_t stage; /* and its first stage that is not */
};

/* Applications of which something is to be told or to end, by turns. */
struct turns {
    TAILQ_HEAD(, application) line;
    struct timer portion; /* armed while somebody is in line */
    int64_t since_ns;     /* the present portion, of all together, and */
    int left;             /* the looks that it still may cost */
};

/* Messages that wait for tasks of a stage to be made (application_waits.c), in order. */
struct waiting_message;
struct waits {
    STAILQ_HEAD(waiting_messages, waiting_message) line;
    size_t bytes;
    struct timer turn; /* the first one's */
};

struct application {
    struct frameworks *frameworks;
    char name[64], owner[64];
    int64_t user;  /* −1: unknown */
    uint64_t bits; /* framework_numbers.h */
    uint64_t boot, hello_sequence;
    bool holds;     /* it starts only what is allowed */
    char text[128]; /* its words on that, and on transfers that cannot be marked */
    uint64_t peer;  /* 0: no session */
    struct wire_session session;
    int64_t heard_ns, spoke_ns;
    struct timer beat; /* with a session: sends a heartbeat; without: frees what it held */
    int64_t ended_ns;  /* without a session: since when, */
    bool given_back;   /* and what runs there is over */
    struct telling telling;
    struct ending ending;
    bool in_line; /* for its next portion of both: */
    TAILQ_ENTRY(application) next_turn;
    struct waits waits;
    struct number_set named; /* jobs and attempts of the current replay */
    struct stage_names names;
    struct executors executors;
    bool replaying;
    bool full;             /* it named too many, or memory was short */
    uint64_t over;         /* facts of this session beyond its share */
    uint64_t begun;        /* an attempt that was seen to run; 0: none since its host was told */
    uint64_t taken;        /* the number of a message that waits to be acknowledged */
    uint64_t told;         /* digest of the job order that it knows */
    bool stale;            /* its jobs' order may have changed */
    duopoly_Snapshot next; /* decisions since the last one */
};

/* Its number in the engine. */
static inline uint64_t application_number(const struct application *application)
{
    return framework_job_number(application->bits, 0) >> ENGINE_APPLICATION_SHIFT;
}

/* Loop time used by the applications of one user and key. */
struct spender {
    uint64_t owner; /* 0: free */
    int64_t credit_ns, at_ns;
};

struct frameworks {
    struct frameworks_config config;
    struct frameworks_hooks hooks;
    const struct engine *engine;
    struct timers *timers;
    struct application *applications[FRAMEWORKS_MAX];
    struct frameworks_counters counters;
    struct executor_room *rooms; /* a hash */
    uint32_t shared;             /* executors whose room is for everybody */
    struct spender spenders[FRAMEWORKS_MAX];
    struct turns turns;
    int64_t refusals_ns; /* the second in which these were answered */
    uint32_t refusals;
    size_t waiting_bytes;    /* of all applications' messages that wait */
    duopoly_Envelope waited; /* the last of them that was taken */
    duopoly_Envelope out;
    duopoly_GuestAllows guests;
    struct {
        char name[ENGINE_NAME_MAX];
        uint32_t hosts[128 * ENGINE_REPLICAS_MAX], parents[16], edges[16];
        uint64_t input_bytes[128], compute_ns[128];
    } event; /* what the current event points to */
};

/* application_fact.c: turns a message into a fact; −EINVAL with a sentence: it is invalid. */
int application_fact(struct application *application, int64_t now_ns,
                     const duopoly_Envelope *envelope, struct err *err);
/* application_turns.c: goes on with what is to be told to the application, then with what is to
 * end of it, in portions: one a millisecond, of all applications together, by turns. What is left
 * of the present one is done at once where nobody is in line. This may end its session, and free
 * the application where ENDS_ALL is over. */
void application_turn(struct application *application, int64_t now_ns);
void application_turns_init(struct frameworks *frameworks);
/* It gets no turn any more. */
void application_turns_stop(struct application *application);
/* application_waits.c: takes a message's fact. If it would make more tasks than a step of the
 * engine may, or others of this application wait, it waits until they are made and its turn has
 * come: as if it had not come yet, and only the tasks that it implies are counted. Also takes the
 * first one that waits, or has more tasks made for it: so a message costs one step, and for one
 * stage no more messages wait than it takes steps to make its tasks. */
void application_take_in_order(struct application *application, int64_t now_ns,
                               const duopoly_Envelope *envelope);
/* Before its first message; its session is over, and what waits is dropped. */
void application_waits_begin(struct application *application);
void application_waits_end(struct application *application);
/* A step was made: the first message that waits may have its turn. */
void application_waits_look(struct application *application, int64_t now_ns);
/* application_ends.c: ends that, by turns; ENDS_ALL frees the application at the end. Replaces what
 * was still to end. */
void application_ends(struct application *application, int64_t now_ns, enum ends what);
/* Goes on with it until all is done (true) or *left looks have been made. */
bool application_ends_on(struct application *application, int64_t now_ns, int *left);
/* The rest of it does not end. */
void application_ends_stop(struct application *application);

/* application_whole.c: tells its session what is in force, by turns. What is decided meanwhile of
 * what is still to be told is told with it. */
void application_tell_whole(struct application *application, int64_t now_ns);
/* As application_ends_on. */
bool application_tell_on(struct application *application, int64_t now_ns, int *left);
/* Whether this stage's allows and words, or this attempt's levels, are still to be told. */
bool application_tells_later(const struct application *application, uint64_t job, uint32_t stage);
bool application_tells_levels_later(const struct application *application, uint64_t attempt);

/* application_snapshot.c */
void application_allow(struct application *application, int64_t now_ns,
                       const struct decision *decision);
void application_end_allow(struct application *application, const struct decision *decision);
void application_open(struct application *application, uint64_t job, uint32_t stage);
void application_bind(struct application *application, uint64_t job, uint32_t stage);
void application_level(struct application *application, uint64_t attempt, uint64_t coflow_level,
                       uint64_t macroflow_level);
/* Fill an allow, or levels of an attempt, as messages carry them. */
void application_allow_fill(const struct application *application, int64_t now_ns,
                            const struct attempt_view *allow, duopoly_Allow *out);
duopoly_TaskLevels application_level_of(uint64_t attempt, uint64_t coflow_level,
                                        uint64_t macroflow_level);
/* Adds an allow to what is sent next. */
void application_allow_add(struct application *application, int64_t now_ns,
                           const struct attempt_view *allow);
/* Sends what there is; `last`: nothing more of it follows. */
void application_snapshot_send(struct application *application, int64_t now_ns, bool last);
/* Sends what there is; `beat`: even if it is nothing. */
void application_flush(struct application *application, int64_t now_ns, bool beat);
/* Sends the order of its jobs if it changed. */
void application_order(struct application *application);

/* application_guests.c: what the host's agent gets. */
void application_guests_allow(const struct application *application, int64_t now_ns,
                              const struct attempt_view *allow);
void application_guests_level(const struct application *application, uint64_t attempt);

/* application_snapshot.c: its name for this host; "": it has none. */
const char *application_host_name(const struct application *application, uint32_t host);

/* frameworks.c: it reported more than its share; logged once in a session. */
void application_over(struct application *application);
/* Takes a message's fact, and reports what is wrong with it. */
void application_take(struct application *application, int64_t now_ns,
                      const duopoly_Envelope *envelope);
/* It goes beyond a bound: its session is over, with this sentence. */
void application_limit(struct application *application, int64_t now_ns, const char *text);
/* All that it had has ended: it is forgotten, and freed. */
void application_gone(struct application *application);
/* Its session is over. */
void application_end(struct application *application, int64_t now_ns);
/* Sends frameworks->out in its session; false: it ended meanwhile. */
bool application_send(struct application *application, bool changes_state);
