/* The queues of all ports that this agent manages: put in place, kept, counted and taken back.
 *
 * Which ports these are is found by ports_nl.h, and changes while the agent runs. What stood
 * on a port before is written to `state_dir` before anything is replaced, so that a later run
 * (--restore after a crash too) can put it back; it is kept until it stands there again, also when a
 * run ended while it put it back. A port whose queues are ours already is changed in place, without
 * a gap.
 *
 * Blocking: a few exchanges with the kernel for each port. What stands on all ports is asked for at
 * once: O(ports). One thread. */
#pragma once

#include "hostagent/queues/qdisc.h"
#include "lib/port/port_names.h"

#include <stddef.h>

#define QUEUES_PORTS       4096
#define QUEUES_STATS_PORTS 64 /* whose counters are read at a time */

struct queues_config {
    const struct qdisc_driver *driver;
    const char *state_dir; /* exists; borrowed by queues_open */
    struct port_wish wish;
    bool nudge;   /* see qdisc_site */
    bool replace; /* a foreign root qdisc may make room */
    /* Whether a port is left as it stands, and `why`; NULL: none is. */
    bool (*is_left)(const void *user, const char *port, struct err *why);
    const void *user;
};

/* Ports by their names, in order; ports_nl.h adds and finds them. */
struct ports_found {
    uint32_t n;
    int ifindexes[QUEUES_PORTS];
    char names[QUEUES_PORTS][PORT_NAME];
    uint16_t by_number[QUEUES_PORTS]; /* places, in order of ifindexes */
    char lacks[128];                  /* the names and patterns that no interface has; "": none */
};

/* The state folder, a port: the file of what stood there before us. */
#define QUEUES_RECORD "%s/queues-%s"

struct queues;

/* Opens the driver for `n` ports by name (≤ QUEUES_PORTS); changes nothing yet. */
int queues_open(const struct queues_config *config, const char (*ports)[PORT_NAME], uint32_t n,
                struct queues **ret_queues, struct err *err);

/* What has to be done on each port, by its number. NULL: nothing, since it is not touched, it is in trouble, or
 * its link is down and says only when it is up how fast it is. */
struct queues_plans {
    bool again;
    uint32_t n;
    struct qdisc_plan *ports[];
};

/* What stands there, and what has to be done; changes nothing. `again`: where ours stood since queues_open,
 * whatever took their place may make room. A port that cannot have what is wished, since somebody's qdiscs or
 * another agent's stand there, it is gone, or there is nothing good for it, is in trouble from then on, until
 * it is planned without. −errno: nothing can be known of any. */
int queues_plan(struct queues *queues, bool again, struct queues_plans **ret_plans,
                struct err *err);
void queues_free_plans(struct queues_plans *plans); /* takes NULL */

/* Carries them out, each port by itself: changes nothing on one unless what is there is on record. One where
 * that fails is in trouble, and gets back what stood there, unless ours stood there: what stood there before us
 * then stays on record. −EAGAIN: the ports are others now. */
int queues_carry_out(struct queues *queues, struct queues_plans *plans, struct err *err);

/* Why the port of this number is in trouble; NULL: it is in none. EEXIST: another agent's queues are there. */
const struct err *queues_trouble(const struct queues *queues, uint32_t port);

/* Both at once, without `again`. */
int queues_apply(struct queues *queues, struct err *err);

/* From now on these are the ports. One that came has its queues when it returns, if `apply`; one that
 * left, but is still there, has what stood there before; of one that is gone the record is forgotten;
 * one with another name stays what it is. A port that cannot be given queues is left as it is, in
 * trouble; `say` gets a sentence for what else fails. One that is in trouble, or whose link was down when it
 * should have got them, gets them now if it can. O(ports · log ports), and a few
 * exchanges with the kernel for each port that came, left or waits. */
void queues_follow(struct queues *queues, const struct ports_found *found, bool apply,
                   void (*say)(void *user, const char *text), void *user);

/* The port of a number below queues_count, borrowed until queues_follow. */
uint32_t queues_count(const struct queues *queues);
const char *queues_port(const struct queues *queues, uint32_t port);

/* Puts back what stood there before on every port and forgets the records; goes on after a failure
 * and returns the first one. A port without a record, or that is gone, is left as it is. */
int queues_restore(struct queues *queues, struct err *err);

/* Who knows which ports somebody may have changed says so: until the next call queues_plan leaves
 * out the others, and so does who asks queues_is_touched. NULL: all. Borrowed until then. */
void queues_touch(struct queues *queues, const int *ifindexes, uint32_t n);
bool queues_is_touched(const struct queues *queues, uint32_t port);

/* The sum over all ports. At most QUEUES_STATS_PORTS of them are read anew, in turn: of more ports a
 * count is as old as the calls that a turn takes. A port not read yet counts as nothing. */
int queues_stats(struct queues *queues, struct qdisc_stats *ret_stats, struct err *err);

/* Of the port of this number: what it is, and what stands there; changes nothing. The caller owns the
 * text (free). Between queues_look and queues_look_away all ports take one exchange at most. */
int queues_look(struct queues *queues, struct err *err);
void queues_look_away(struct queues *queues);
int queues_facts(struct queues *queues, uint32_t port, struct port_facts *ret_facts,
                 struct err *err);
int queues_record(struct queues *queues, uint32_t port, char **ret_text, struct err *err);

/* Whether it was we who asked the kernel for a change that it tells of, by the port number of the asking
 * socket (netlink(7): nl_pid). */
bool queues_is_own(const struct queues *queues, uint32_t port_id);

/* In words for people: which driver serves a port, and why that one. */
void queues_why(struct queues *queues, const char *port, char *text, size_t size);

/* Closes sockets; the ports stay as they are. Takes NULL. */
void queues_close(struct queues *queues);
