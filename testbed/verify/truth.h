/* What the marks should have been, from other sources: the controller's recording gives the level
 * of each attempt over time and the mode in force (schemas/recording.md); the tasks' files give the
 * attempt of each connection (schemas/ports.md).
 *
 * The level on the wire of an attempt at a time is its Coflow level in mode 0 and its Macroflow
 * level in mode 1. All times are CLOCK_BOOTTIME in ns, as in the recording's steps and the ports'
 * lines.
 *
 * A framework's task has the levels of the allow that it used, from its start on; none if its stage
 * reads no other's output: it needs an allow too, but its fetches are not a shuffle, and carry its
 * application's level. Its executor's connections belong to one task after another: in its file
 * each is open from the task's start to its end.
 *
 * Pure, line by line; truth_load_… read files. Attempts in a recording's dump are not used: a
 * rotated recording is read from its oldest file on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bsd/sys/tree.h>

#include "lib/err.h"
#include "testbed/verify/packets.h"

struct truth_levels {
    int64_t since_ns;
    uint64_t level[2]; /* by mode */
};
struct truth_attempt {
    RB_ENTRY(truth_attempt) entry;
    uint64_t attempt;
    struct truth_levels *levels; /* in order of time */
    size_t n_levels;
    uint64_t job, stage, task; /* of an allow and of a framework's task */
    bool allow, framework;     /* it is one; it is a framework's */
    int64_t ended_ns;          /* INT64_MAX: not in the recording */
};
/* A framework's stage that reads no other's output. */
struct truth_source {
    RB_ENTRY(truth_source) entry;
    uint64_t job, stage;
};
struct truth_mode {
    int64_t since_ns;
    unsigned mode;
};
/* One connection of one attempt, both directions. */
struct truth_connection {
    struct packet_end task, peer;
    int64_t opened_ns, closed_ns;        /* INT64_MAX: it was not closed */
    const struct truth_attempt *attempt; /* NULL: the recording does not know it */
    uint64_t number;                     /* number of the attempt */
};
RB_HEAD(truth_attempts, truth_attempt);
RB_HEAD(truth_sources, truth_source);

struct truth {
    struct truth_attempts attempts;
    struct truth_sources sources;
    struct truth_mode *modes; /* in order of time; empty: mode 0 */
    size_t n_modes;
    struct truth_connection *connections; /* by ends and time, once truth_finish was called */
    size_t n_connections, connections_allocated;
    int64_t now_ns; /* of the recording's step that is being read */
};

void truth_init(struct truth *truth);
/* One line of a recording; those that say nothing about levels are passed over. −EINVAL: a line of
 * a known kind without its fields; −ENOMEM. */
int truth_recording_line(struct truth *truth, const char *line, struct err *err);
/* One line of the file of `attempt`. −EINVAL, −ENOMEM. */
int truth_ports_line(struct truth *truth, uint64_t attempt, const char *line, struct err *err);
/* Sorts what was read; call it before any query. */
void truth_finish(struct truth *truth);
void truth_done(struct truth *truth);

/* Reads a file of a recording, or all files in its folder, oldest first (its controller is quiet
 * meanwhile); and every file of a directory of ports. −errno with FILE:LINE. */
int truth_load_recording(struct truth *truth, const char *path, struct err *err);
int truth_load_ports(struct truth *truth, const char *directory, struct err *err);

/* The connection that a packet of this flow at this time belonged to, from its opening (a second of
 * grace, for the handshake and packets before the task's line was written) to `grace_ns` after its
 * close; NULL: no task recorded it. O(log connections). */
const struct truth_connection *truth_connection(const struct truth *truth,
                                                const struct packet_key *key, int64_t time_ns,
                                                int64_t grace_ns);

/* The same ends' connection before this one, which another task of the same executor had; NULL. */
const struct truth_connection *truth_before(const struct truth *truth,
                                            const struct truth_connection *connection);

/* The level on the wire at a time, and since when (INT64_MIN: from the beginning). Before the
 * attempt's start: its first. */
uint64_t truth_level(const struct truth *truth, const struct truth_attempt *attempt,
                     int64_t time_ns, int64_t *ret_since_ns);

/* Until when, at most `time_ns`, a mark of this attempt's was last in force; INT64_MIN: never. This
 * includes a mark that the same step replaced: hosts carry out both decisions, one after the other.
 * O(levels × modes). */
int64_t truth_last_in_force(const struct truth *truth, const struct truth_attempt *attempt,
                            uint8_t dscp, int64_t time_ns);

/* A level's DSCP on the wire (design: the local-use pool, RFC 2474 §6). */
uint8_t truth_dscp(uint64_t level);
