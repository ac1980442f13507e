/* Installs, keeps, counts and removes the queues of all ports that this agent manages.
 *
 * ports_nl.h finds the ports, which change while the agent runs. A port's former configuration is
 * recorded in `state_dir` before anything is replaced, so that a later run (also --restore after a
 * crash) can restore it; the record is kept until the restore is complete. A port that has our
 * queues already is changed in place, without a gap.
 *
 * Blocking: a few exchanges with the kernel for each port. The state of all ports is read at once:
 * O(ports). One thread. */
#pragma once

#include "hostagent/queues/qdisc.h"
#include "lib/port/port_names.h"

#include <stddef.h>

#define QUEUES_PORTS       4096
#define QUEUES_STATS_PORTS 64 /* ports whose counters are read at a time */
#define QUEUES_RATE_NS     UINT64_C(200000000)

struct queues_config {
    const struct qdisc_driver *driver;
    const char *state_dir; /* exists; borrowed by queues_open */
    struct port_wish wish;
    bool nudge;   /* see qdisc_site */
    bool replace; /* a foreign root qdisc may be replaced */
    /* Whether a port is left as it is, and `why`; NULL: none is. */
    bool (*is_left)(const void *user, const char *port, struct err *why);
    const void *user;
};

/* Ports by their names, in order; ports_nl.h adds and finds them. */
struct ports_found {
    uint32_t n;
    int ifindexes[QUEUES_PORTS];
    char names[QUEUES_PORTS][PORT_NAME];
    uint16_t by_number[QUEUES_PORTS]; /* places, sorted by ifindex */
    char lacks[128];                  /* names and patterns that no interface matches; "": none */
};

/* In the state folder: the record of a port's former configuration. */
#define QUEUES_RECORD "%s/queues-%s"

struct queues;

/* Opens the driver for `n` ports by name (≤ QUEUES_PORTS); changes nothing yet. */
int queues_open(const struct queues_config *config, const char (*ports)[PORT_NAME], uint32_t n,
                struct queues **ret_queues, struct err *err);

/* The changes of each port, by its number. NULL: no change, since the port is not touched, is in
 * trouble, or its link is down and reports its speed only when it is up. */
struct queues_plans {
    bool again;
    uint32_t n;
    struct qdisc_plan *ports[];
};

/* Compares the state with what is wanted; changes nothing. `again`: on a port that had our queues
 * since queues_open, whatever replaced them may be replaced. A port that cannot have its queues (it
 * has another owner's qdiscs or another agent's, it is gone, or no driver suits it) is in trouble
 * from then on, until a plan succeeds. −errno: the state of no port can be read. */
int queues_plan(struct queues *queues, bool again, struct queues_plans **ret_plans,
                struct err *err);
void queues_free_plans(struct queues_plans *plans); /* takes NULL */

/* Carries out the plans, port by port. Nothing is changed on a port before its former configuration
 * is recorded. A port where a change fails is in trouble; its former configuration is restored,
 * unless our queues were there before: then the record is kept. −EAGAIN: the ports have changed. */
int queues_carry_out(struct queues *queues, struct queues_plans *plans, struct err *err);

/* Why the port of this number is in trouble; NULL: it is not. EEXIST: it has another agent's
 * queues. */
const struct err *queues_trouble(const struct queues *queues, uint32_t port);

/* Plans and carries out, without `again`. */
int queues_apply(struct queues *queues, struct err *err);

/* From now on these are the ports. A new one gets its queues before the call returns, if `apply`;
 * one that is no longer ours gets its former configuration back; the record of one that is gone is
 * deleted; a renamed one is kept. A port that cannot have queues is left as it is, in trouble;
 * `say` gets a sentence for any other failure. A port in trouble, or whose link was down, gets its
 * queues now if possible. O(ports · log ports), and a few exchanges with the kernel for each port
 * that is new, gone or waiting. */
void queues_follow(struct queues *queues, const struct ports_found *found, bool apply,
                   void (*say)(void *user, const char *text), void *user);

/* The port of a number below queues_count, borrowed until queues_follow. */
uint32_t queues_count(const struct queues *queues);
const char *queues_port(const struct queues *queues, uint32_t port);

/* Restores every port's former configuration and deletes the records. Continues after a failure and
 * returns the first one. A port without a record, or that is gone, is left as it is. */
int queues_restore(struct queues *queues, struct err *err);

/* Names the ports that others may have changed: until the next call queues_plan and
 * queues_is_touched leave out the others. NULL: all ports. Borrowed until then. */
void queues_touch(struct queues *queues, const int *ifindexes, uint32_t n);
bool queues_is_touched(const struct queues *queues, uint32_t port);

/* The sum over all ports. At most QUEUES_STATS_PORTS of them are read at a call, in turn: with more
 * ports, a count is as old as the calls that a round takes. A port that was not read yet counts as
 * 0. */
int queues_stats(struct queues *queues, struct qdisc_stats *ret_stats, struct err *err);

/* The queues of one port, the most urgent first. */
struct queues_counted {
    char port[64];
    uint32_t n;
    struct queues_count {
        enum port_traffic traffic; /* the most urgent that it serves */
        uint64_t bytes, packets, drops;
        uint64_t backlog_packets; /* now */
        int64_t backlog_bytes;    /* now; −1: not counted */
        int64_t marked;   /* packets, with CE; −1: it marks none, or they are not counted */
        int64_t rate_bps; /* since it was read before; −1: it was not */
    } queues[PORT_TRAFFIC];
};
/* Those of the ports from `first` on, at most `most` ports, as they are now; *ret_n 0: there are no
 * more. A port that cannot be read has none. Rates are since the last queues_stats that read the
 * port QUEUES_RATE_NS ago or earlier. */
int queues_read(struct queues *queues, uint32_t first, struct queues_counted *ret, uint32_t most,
                uint32_t *ret_n, struct err *err);

/* Facts and present configuration of the port of this number; changes nothing. The caller owns the
 * text (free). Between queues_look and queues_look_away all ports together take at most one
 * exchange. */
int queues_look(struct queues *queues, struct err *err);
void queues_look_away(struct queues *queues);
int queues_facts(struct queues *queues, uint32_t port, struct port_facts *ret_facts,
                 struct err *err);
int queues_record(struct queues *queues, uint32_t port, char **ret_text, struct err *err);

/* Whether we caused a change that the kernel reports, by the port number of the requesting socket
 * (netlink(7): nl_pid). */
bool queues_is_own(const struct queues *queues, uint32_t port_id);

/* Says in words which driver serves a port, and why. */
void queues_why(struct queues *queues, const char *port, char *text, size_t size);

/* Closes sockets; the ports stay as they are. Takes NULL. */
void queues_close(struct queues *queues);
