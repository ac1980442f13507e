/* An application and its session. Private to controller/frameworks. */
#pragma once

#include "controller/frameworks/executors.h"
#include "controller/frameworks/frameworks.h"
#include "controller/frameworks/stage_names.h"

struct numbers {
    uint64_t *at;
    size_t n, size;
};

struct application {
    struct frameworks *frameworks;
    char name[64], owner[64];
    int64_t user;  /* −1: nobody says */
    uint64_t bits; /* framework_numbers.h */
    uint64_t boot, hello_sequence;
    bool holds;     /* it starts nothing that is not allowed */
    char text[128]; /* what it says of that, and of transfers that nobody can mark */
    uint64_t peer;  /* 0: no session */
    struct wire_session session;
    int64_t heard_ns, spoke_ns;
    struct timer beat;    /* with a session: a heartbeat; without: gives back what it held */
    int64_t ended_ns;     /* without a session: since when, */
    bool given_back;      /* and what runs there is over */
    struct numbers named; /* jobs and attempts of the replay that is under way */
    struct stage_names names;
    struct executors executors;
    bool replaying;
    bool full;             /* it named too many, or memory was short */
    uint64_t over;         /* facts of this session that were beyond its share */
    uint64_t begun;        /* an attempt that was seen to run; 0: none since its host was told */
    uint64_t taken;        /* a message of this number waits to be acknowledged */
    uint64_t told;         /* digest of the order that it knows */
    bool stale;            /* its jobs' order may have changed */
    duopoly_Snapshot next; /* what has been decided since the last one */
};

/* What those of one user and key have taken of the loop's time. */
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
    uint32_t shared;             /* executors whose room is everybody's */
    struct spender spenders[FRAMEWORKS_MAX];
    int64_t refusals_ns; /* the second in which these were answered: */
    uint32_t refusals;
    duopoly_Envelope out;
    duopoly_GuestAllows guests;
    struct {
        char name[ENGINE_NAME_MAX];
        uint32_t hosts[128 * ENGINE_REPLICAS_MAX], parents[16], edges[16];
        uint64_t input_bytes[128], compute_ns[128];
    } event; /* what the one that is on its way points to */
};

/* application_fact.c: a message's fact; −EINVAL with a sentence: it is none. */
int application_fact(struct application *application, int64_t now_ns,
                     const duopoly_Envelope *envelope, struct err *err);
/* What runs by its word alone is over: where nobody allowed it, and no executor of its own gives room. */
void application_claims_end(const struct application *application);
/* All that runs is lost, and its executors gone. */
void application_lose(struct application *application, int64_t now_ns);
/* The same, and its jobs are cancelled. */
void application_forget(struct application *application, int64_t now_ns);

/* application_snapshot.c */
void application_tell_whole(struct application *application, int64_t now_ns);
void application_allow(struct application *application, int64_t now_ns,
                       const struct decision *decision);
void application_end_allow(struct application *application, const struct decision *decision);
void application_open(struct application *application, uint64_t job, uint32_t stage);
void application_level(struct application *application, uint64_t attempt, uint64_t coflow_level,
                       uint64_t macroflow_level);
/* As messages have them: an allow; levels of an attempt. */
void application_allow_fill(const struct application *application, int64_t now_ns,
                            const struct attempt_view *allow, duopoly_Allow *out);
duopoly_TaskLevels application_level_of(uint64_t attempt, uint64_t coflow_level,
                                        uint64_t macroflow_level);
/* Sends what there is; `beat`: also if there is nothing. */
void application_flush(struct application *application, int64_t now_ns, bool beat);
/* The order of its jobs, if it is another one. */
void application_order(struct application *application);

/* application_guests.c: what the agent of a host hears. */
void application_guests_allow(const struct application *application, int64_t now_ns,
                              const struct attempt_view *allow);
void application_guests_level(const struct application *application, uint64_t attempt);

/* What it calls this host; "": it has no name for it. */
const char *application_host_name(const struct application *application, uint32_t host);

/* frameworks.c: it told more than its share; said once in a session. */
void application_over(struct application *application);
/* Its session is over. */
void application_end(struct application *application, int64_t now_ns);
/* Sends frameworks->out in its session; false: it ended meanwhile. */
bool application_send(struct application *application, bool changes_state);
