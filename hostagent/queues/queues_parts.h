/* What queues.c, queues_records.c and queues_follow.c share; queues.h says what it is for. A port is
 * named by its interface, or by its place among `ports`. */
#pragma once

#include "hostagent/files.h"
#include "hostagent/queues/queues.h"

struct queues {
    struct queues_config config;
    struct qdisc *qdisc;
    char state_dir[FILES_PATH];
    uint32_t n;
    uint32_t stats_next; /* port to read */
    struct queues_port {
        int ifindex;
        bool waits;         /* for its link: it has no queues yet */
        bool had;           /* ours, since queues_open */
        struct err trouble; /* code 0: none */
        char name[PORT_NAME];
        struct qdisc_stats stats; /* when they were read last */
    } ports[QUEUES_PORTS];
    const int *touched; /* NULL: all */
    uint32_t touched_n;
    char *written; /* the record that was written last, and where */
    char written_path[FILES_PATH];
};

/* The file of what stood on a port before us. */
void queues_record_path(const struct queues *queues, const char *port, char path[FILES_PATH]);
bool queues_has_record(const struct queues *queues, const char *port);

/* Writes it, unless the plan finds ours there. */
int queues_keep(struct queues *queues, const char *port, const struct qdisc_plan *plan,
                struct err *err);

/* Puts it back; queues_check_restored then forgets it, or says that it did not come back. */
int queues_restore_port(struct queues *queues, const char *port, struct err *err);
int queues_check_restored(struct queues *queues, const char *port, struct err *err);

/* Whether an agent before us ended while it put back what stood on a port. */
bool queues_was_putting(const struct queues *queues, uint32_t port);

/* What has to be done on one port; NULL for a link that is down and does not say how fast it is, and for a
 * port in trouble. */
struct qdisc_plan *queues_plan_port(struct queues *queues, uint32_t port, bool again);
/* Does it, as queues_carry_out. */
void queues_change_port(struct queues *queues, uint32_t port, const struct qdisc_plan *plan);
