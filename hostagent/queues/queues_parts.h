/* What queues.c, queues_records.c and queues_follow.c share; queues.h has the contract. A port is
 * identified by its interface name, or by its index in `ports`. */
#pragma once

#include "hostagent/files.h"
#include "hostagent/queues/queues.h"

struct queues {
    struct queues_config config;
    struct qdisc *qdisc;
    char state_dir[FILES_PATH];
    uint32_t n;
    uint32_t stats_next; /* next port to read */
    struct queues_port {
        int ifindex;
        bool waits;         /* for its link: it has no queues yet */
        bool had;           /* ours was on it since queues_open */
        struct err trouble; /* code 0: none */
        char name[PORT_NAME];
        struct qdisc_stats stats, before; /* as last read, and the time before that */
        uint64_t stats_ns, before_ns;     /* when, on CLOCK_MONOTONIC; 0: never */
    } ports[QUEUES_PORTS];
    const int *touched; /* NULL: all */
    uint32_t touched_n;
    char *written; /* the last written record and its path */
    char written_path[FILES_PATH];
};

/* The file of a port's former configuration. */
void queues_record_path(const struct queues *queues, const char *port, char path[FILES_PATH]);
bool queues_has_record(const struct queues *queues, const char *port);

/* Writes it, unless the plan finds our queues there. */
int queues_keep(struct queues *queues, const char *port, const struct qdisc_plan *plan,
                struct err *err);

/* Restores it; queues_check_restored then deletes the record, or reports that the restore
 * failed. */
int queues_restore_port(struct queues *queues, const char *port, struct err *err);
int queues_check_restored(struct queues *queues, const char *port, struct err *err);

/* Whether an earlier agent ended while it restored a port. */
bool queues_was_putting(const struct queues *queues, uint32_t port);

/* The plan for one port; NULL for a link that is down and does not report its speed, and for a port
 * in trouble. */
struct qdisc_plan *queues_plan_port(struct queues *queues, uint32_t port, bool again);
/* Carries it out, as queues_carry_out. */
void queues_change_port(struct queues *queues, uint32_t port, const struct qdisc_plan *plan);
