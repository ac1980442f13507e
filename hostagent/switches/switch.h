/* Switch drivers: they configure the queues of all ports of one switch, read them, and restore what
 * was there.
 *
 * A driver is a const table of functions; switch_all lists them, and one test holds every entry to
 * this contract. port.h describes what is wanted of a port, independent of any data path; a driver
 * reads the whole switch, plans steps of its own kind for all ports at once, and carries them out,
 * in one transaction if the data path has them. switches.h runs it for the agent. On a Linux host,
 * a port's queues are made by a driver of another table, one layer below (qdisc.h).
 *
 * Contract of every entry:
 *  - Each port is handled alone: one that cannot have what is wished gets what is possible, or is
 *    left (struct switch_trouble), and all others get theirs. −errno only if nothing can be done on
 *    any port.
 *  - `plan` after `apply` has no steps.
 *  - `record` before apply and after restore is equal, byte for byte. What is not ours never
 *    changes in between.
 *  - After a kill at any step, `restore` by another process restores what was there. So the former
 *    configuration is recorded in `state_dir` (switch_keep) before anything is replaced, and the
 *    record is dropped only when it is restored. `restore` of an unchanged switch does nothing.
 *  - Our settings carry the name `owner` if the data path can store one. Settings with another name
 *    are never replaced; anybody else's are replaced only if the configuration allows it
 *    (`replace`). Otherwise that port is left; if they concern the whole switch, −EBUSY, and
 *    nothing is changed.
 *  - A driver silently leaves out of a wanted port what it cannot do; `facts` says what a port can
 *    do.
 *  - A function waits for the switch for at most SWITCH_WAIT_MS: −ETIMEDOUT. The switch's answers
 *    are bounded: −EMSGSIZE, and −E2BIG for a table longer than a bound below. A lost connection is
 *    made again by the next call, and by `notice`.
 *
 * Sentences name the switch, the port or row, and what to do. One thread. */
#pragma once

#include "hostagent/queues/queues.h"

#define SWITCH_PORTS        2048 /* of one switch */
#define SWITCH_STEPS        65536
#define SWITCH_PORT_NAME    64 /* bytes with the NUL */
#define SWITCH_STEP_TEXT    160
#define SWITCH_TROUBLE_TEXT 320
#define SWITCH_PATTERNS     32
#define SWITCH_WAIT_MS      2000
#define SWITCH_KEPT         (8u << 20)       /* bytes of the former configuration */
#define SWITCH_KEPT_FILE    "%s/switch-kept" /* in the state folder */

/* Section `switch` of the configuration; schemas/duopoly-agent.yaml describes it. */
struct switch_settings {
    char driver[32];
    char at[256]; /* where its configuration is reached; "": the driver's default on this machine */
    char bridge[64];
    char openflow[256];
    int64_t table;
    char ca[256], certificate[256], private_key[256];
    struct switch_pattern {
        char glob[SWITCH_PORT_NAME]; /* as in port_names.h */
    } ports[SWITCH_PATTERNS];        /* none: all */
    uint32_t ports_n;
};

/* Everything that is pointed to is borrowed until close. */
struct switch_config {
    const struct switch_settings *settings;
    const char *owner;     /* this agent's name, which our settings carry */
    const char *state_dir; /* exists */
    struct port_wish wish; /* of every port */
    uint8_t dscp_of_level[PORT_LEVELS];
    bool nudge;            /* see struct qdisc_site */
    uint16_t control_port; /* of the controllers; 0: none. CS6 packets to or from it are control
                            * traffic */
    bool replace;          /* somebody's queues may be replaced while we run */
    /* Whether our queues were on a port since we began: `again` applies to such ports only. NULL:
     * to all. */
    bool (*had)(const void *user, const char *port);
    /* Whether somebody changes a port again and again: it is left as it is (switch_is_yielded).
     * NULL: none. */
    bool (*yielded)(const void *user, const char *port);
    const void *user;
    /* For `linux` only: */
    const struct qdisc_driver *queues;
    const char (*interfaces)[PORT_NAME];
    uint32_t interfaces_n;
};

struct switch_port {
    char name[SWITCH_PORT_NAME];
    struct port_facts facts;
    bool left; /* it was in trouble when the caller stored it (struct switch_trouble) */
};

/* In order of their names. */
struct switch_ports {
    uint32_t n;
    struct switch_port ports[];
};

enum switch_verb { SWITCH_ADD, SWITCH_CHANGE, SWITCH_REMOVE };

struct switch_step {
    enum switch_verb verb;
    char port[SWITCH_PORT_NAME]; /* "": of the switch as a whole */
    char text[SWITCH_STEP_TEXT]; /* what, in the data path's words: "queue 3: min-rate 1000000" */
};

/* What a port lacks of what is wished, and why. */
struct switch_trouble {
    char port[SWITCH_PORT_NAME];
    char text[SWITCH_TROUBLE_TEXT]; /* a sentence that begins with the port's name */
    int code;                       /* errno value */
    bool left;                      /* nothing is done on it; else it gets what is possible */
};

/* The change from what is there to what is wanted. A driver's own plan begins with this;
 * `free_plan` frees it. */
struct switch_plan {
    uint32_t steps_n; /* 0: nothing to do, on all ports that are not left */
    struct switch_step *steps;
    uint32_t troubles_n; /* in no order; a port has one at most */
    struct switch_trouble *troubles;
};

struct switch_stats { /* over all ports, since their queues were made; 0 if not counted */
    struct switch_queue_stats {
        uint64_t bytes, packets, drops;
    } traffic[PORT_TRAFFIC]; /* where several kinds share a queue, under the most urgent */
};

/* What the links of its ports have carried, sorted by the ports' names. */
struct switch_counters {
    uint32_t n;
    struct switch_port_counters {
        char name[SWITCH_PORT_NAME];
        uint64_t rate_bps; /* 0: unknown */
        uint64_t sent_bytes, received_bytes;
        uint64_t dropped; /* packets */
    } ports[];
};

enum switch_notice {
    SWITCH_QUIET,
    SWITCH_CHANGED, /* somebody, perhaps this agent, changed what a plan reads: compare */
    SWITCH_BACK /* it was lost, or not ready, and is back: nobody is to blame for what it forgot */
};

struct switch_state; /* a driver's own: connections, what it read */

struct switch_driver {
    const char *name;
    /* Checks that these settings are complete for this driver and have nothing else; pure. */
    int (*check)(const struct switch_settings *settings, struct err *err);
    /* Connects; changes nothing. */
    int (*open)(const struct switch_config *config, struct switch_state **ret_switch,
                struct err *err);
    void (*close)(struct switch_state *sw); /* leaves the switch as it is; takes NULL */
    /* The ports that the settings select, in trouble or not (then facts may be 0); the caller
     * frees. */
    int (*ports)(struct switch_state *sw, struct switch_ports **ret_ports, struct err *err);
    /* Says what makes a port's queues, and why; NULL: the driver's name says it. */
    void (*why)(struct switch_state *sw, const char *port, char *text, size_t size);
    /* What is not ours in the places that our settings take or would take, as lines that are equal
     * if it is. The caller frees. −EOPNOTSUPP for what could not be restored exactly. */
    int (*record)(struct switch_state *sw, char **ret_text, struct err *err);
    /* Reads the switch, and changes nothing. `again`: our settings were there, so what replaced
     * them may be replaced. −EAGAIN: the switch is starting; `notice` returns SWITCH_BACK when it
     * is ready. */
    int (*plan)(struct switch_state *sw, bool again, struct switch_plan **ret_plan,
                struct err *err);
    void (*free_plan)(struct switch_plan *plan); /* takes NULL */
    /* −EAGAIN: the switch has changed since the plan was made, and nothing was changed. A port
     * whose change fails, if that is known port by port, is left: it is in the plan's troubles from
     * then on. */
    int (*apply)(struct switch_state *sw, struct switch_plan *plan, struct err *err);
    /* Restores what is recorded, removes what is ours, and drops the record. What has no record is
     * not ours. */
    int (*restore)(struct switch_state *sw, struct err *err);
    int (*stats)(struct switch_state *sw, struct switch_stats *ret_stats, struct err *err);
    /* As queues_read; NULL: it does not count by port and queue. */
    int (*queues)(struct switch_state *sw, uint32_t first, struct queues_counted *ret,
                  uint32_t most, uint32_t *ret_n, struct err *err);
    /* The caller frees. NULL: its ports are this machine's interfaces, or are not counted. */
    int (*counters)(struct switch_state *sw, struct switch_counters **ret_counters,
                    struct err *err);
    /* Readable (poll, epoll) when `notice` has news; the same until close. −1: never. */
    int (*fd)(const struct switch_state *sw);
    /* An enum switch_notice; never waits. −errno: the switch was lost just now (reported once); the
     * connection is made again. */
    int (*notice)(struct switch_state *sw, struct err *err);
    /* As queues_touch for the next plans, queues_is_own and queues_follow. All NULL: its ports are
     * not this machine's, and the driver finds them itself. */
    void (*touch)(struct switch_state *sw, const int *ifindexes, uint32_t n);
    bool (*is_own)(const struct switch_state *sw, uint32_t port_id);
    void (*follow)(struct switch_state *sw, const struct ports_found *found, bool apply,
                   void (*say)(void *user, const char *text), void *user);
};

extern const struct switch_driver switch_linux;        /* ports of this machine, by qdisc.h */
extern const struct switch_driver switch_ovs;          /* OVSDB and OpenFlow 1.3 */
extern const struct switch_driver switch_sonic;        /* CONFIG_DB, by Redis */
extern const struct switch_driver switch_fastpath;     /* duopoly-fastpath, by its control socket */
extern const struct switch_driver *const switch_all[]; /* ends with NULL */

/* The entry of that name, NULL if there is none. */
const struct switch_driver *switch_find(const char *name);

/* Whether the settings select a port of this name. */
bool switch_selects(const struct switch_settings *settings, const char *port);

/* The former configuration, on disk in `state_dir`. switch_kept returns 0 and NULL if nothing is
 * recorded; the caller frees. −EFBIG: more than SWITCH_KEPT. */
int switch_keep(const char *state_dir, const char *text, struct err *err);
int switch_kept(const char *state_dir, char **ret_text, struct err *err);
int switch_forget(const char *state_dir, struct err *err);

/* Whether this port is left as it is, since somebody changes it again and again; `why` says so. */
bool switch_is_yielded(const struct switch_config *config, const char *port, struct err *why);

/* Computes what is wanted of a port. 1: done. 0: the port is left, which is added to the plan's
 * troubles. −ENOMEM. */
int switch_want(const struct port_wish *wish, const char *port, const struct port_facts *facts,
                struct switch_plan *plan, struct port *ret_want, struct err *err);

/* Adds a port to the troubles, with `why`, after the port's name unless it begins with that. 0,
 * −ENOMEM. */
int switch_trouble_add(struct switch_plan *plan, const char *port, const struct err *why, bool left,
                       struct err *err);
/* NULL: the port is not in trouble. O(troubles). */
const struct switch_trouble *switch_trouble_of(const struct switch_plan *plan, const char *port);
/* Frees steps and troubles, not the plan. */
void switch_plan_done(struct switch_plan *plan);

/* Adds a step to `plan`, which switch_plan_done frees. −E2BIG beyond SWITCH_STEPS. */
__attribute__((format(printf, 5, 6))) int switch_step_add(struct switch_plan *plan,
                                                          enum switch_verb verb, const char *port,
                                                          struct err *err, const char *format, ...);
