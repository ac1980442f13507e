/* Hosts that others cannot read from. Private to controller/engine.
 *
 * An attempt reports when its fetch from a source host makes no progress (EVENT_SOURCE_STALLED),
 * and when it flows again (EVENT_SOURCE_FLOWS). The engine keeps pairs of hosts (reader, source)
 * that cannot read. A pair exists while an attempt of the reader waits for the source, and for
 * `source_lost_ns` after the last such attempt ended without having read (longer after each time
 * the source was suspected in vain: twice, four times, up to 64 times). Reading ends it at once: a
 * report, or an attempt of the reader that has received all its input.
 *
 * Which host is at fault:
 *  - a reader that cannot read from two sources or more which all others read from, and has read
 *    from no host since, is itself *suspect*; its pairs do not count against their sources;
 *  - so is a reader that could not read for source_lost_ns from more than lone_sources_max sources
 *    which all others read from, whatever else it reports to read: one host's reports alone put no
 *    more of the others out of use;
 *  - a source that SOURCE_READERS other hosts cannot read from, or that cannot read from itself, is
 *    *suspect*. So is one that a single host cannot read from for source_lost_ns: with two hosts,
 *    or with all readers on one, there is no other witness, and running again elsewhere is safe;
 *  - never more hosts are suspect than stay up: beyond that the network is at fault. So of two
 *    hosts at most one, of one none.
 * A suspect host gets no new work, and no block is read from it where another replica is; its own
 * tasks go on. A pair that is source_lost_ns old ends the waiting: if the source is suspect as a
 * source, its outputs count as lost, and attempts that still wait run again, which is no failure of
 * their tasks. When its pairs have run out, a formerly suspect source is on trial: it works as any
 * other, until it is read from (then all is forgotten) or one pair makes it suspect again.
 *
 * A block's reader does not wait that long: it runs again at once when another replica is there to
 * read from, also when its source is lost or becomes suspect.
 *
 * Cost: O(log pairs) per report, plus what changes: the pairs of a reader whose judgement changes,
 * the attempts that wait. There is at most one pair per (reader, source), and each attempt waits
 * for at most SOURCE_STALLS_MAX sources; more are ignored and counted. With source_lost_ns = 0 all
 * of this is off, as in older logs. */
#pragma once

#include "controller/engine/base/state.h"

enum {
    SOURCE_READERS = 2,      /* hosts that must fail to read from one */
    SOURCE_STALLS_MAX = 256, /* sources that one attempt can wait for */
    SOURCE_STRIKES_MAX = 6   /* doublings of the next suspicion after one in vain, at most */
};

/* Events. */
void source_stalled(struct engine *engine, const struct event *event);
void source_flows(struct engine *engine, const struct event *event);

/* Whether it reported to wait for that host. */
bool source_is_waited_for(const struct attempt *attempt, const struct host *source);

/* Where an attempt on `here` should read the task's block from; ENGINE_NONE when it is local,
 * absent, or on no host. From a random replica on, the first on a host that is up and in no pair;
 * else the first on a host that is not lost. */
uint32_t source_choose(struct engine *engine, const struct task *task, const struct host *here,
                       uint64_t attempt);

/* Sets the host from which the attempt reads its block. */
void source_set_block(struct engine *engine, struct attempt *attempt, uint32_t host);
/* It has received all its input: its sources can be read from. Call before its end is announced. */
void source_received(struct engine *engine, struct attempt *attempt);
/* The host is lost, or its number has another host: forgets it as source and reader; readers of a
 * block there run again. Call after its own attempts are gone. */
void source_host_lost(struct engine *engine, struct host *host);

/* One (reader, source). */
struct blind {
    struct host *reader, *source;
    int64_t since_ns, due_ns; /* INT64_MAX: it waits for its attempts */
    bool overdue;             /* it is source_lost_ns old; attempts that waited were run again */
    uint32_t n_stalls;
    TAILQ_HEAD(stalls, stall) stalls; /* in order of attempts */
    struct sorted_node by_source;     /* engine->blind: (source, reader) */
    struct sorted_node by_reader;     /* engine->blind_of_reader: (reader, source) */
    struct sorted_node timer;         /* engine->blind_timers: (due, source, reader) */
};

/* An attempt that waits for a source. */
struct stall {
    struct attempt *attempt;
    struct blind *blind;
    TAILQ_ENTRY(stall) of_blind, of_attempt;
};

/* For dump and load. */
struct blind *source_find(const struct engine *engine, uint32_t reader, uint32_t source);
struct blind *source_restore(struct engine *engine, struct host *reader, struct host *source,
                             int64_t since_ns, int64_t due_ns, bool overdue);
void source_restore_stall(struct engine *engine, struct blind *blind, struct attempt *attempt);
void source_done(struct engine *engine);

extern const struct listener source_hears;
