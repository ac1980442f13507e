/* Hosts that others cannot read from. Private to controller/engine.
 *
 * An attempt whose fetch from a source host makes no progress says so (EVENT_SOURCE_STALLED), and
 * again when it flows (EVENT_SOURCE_FLOWS). The engine keeps who cannot read from whom as pairs of
 * hosts (reader, source). A pair stands as long as an attempt of the reader waits for the source,
 * and for `source_lost_ns` after the last such attempt ended without having read (longer after each
 * time the source was suspected in vain: twice, four times, up to 64 times). Reading ends it at
 * once: a report, or an attempt of the reader that has received all its input.
 *
 * Whose fault it is:
 *  - a reader that cannot read from two sources or more which all others read from, and has read
 *    from nobody since, is itself *suspect*; its pairs speak against no source;
 *  - so is a reader that could not read for source_lost_ns from more than lone_sources_max sources
 *    which all others read from, whatever else it says that it reads: one host's word alone puts no
 *    more of the others out of use;
 *  - a source that SOURCE_READERS other hosts cannot read from, or that cannot read from itself, is
 *    *suspect*. So is one that a single host cannot read from for source_lost_ns: with two hosts,
 * or with all readers on one, there is nobody else to ask, and running again elsewhere is safe;
 *  - never more hosts are suspect than stay up: beyond that it is the network that broke. So of two
 *    hosts one at most is, of one none.
 * A suspect host gets no new work and no block is read from it where another replica is; its own
 * tasks go on. A pair that is source_lost_ns old ends the waiting: the source's outputs count as
 * lost, if it is suspect as a source, and whatever still waits runs again, which is no failure of
 * its task. When its pairs have run out, a source that was suspect is on trial: it works as any
 * other, until it is read from (then all is forgotten) or one pair makes it suspect again.
 *
 * A block's reader does not wait that long: it runs again at once when another replica is there to
 * read from, also when its source is lost or becomes suspect.
 *
 * Cost: O(log pairs) per report, plus what changes: the pairs of a reader whose judgement changes,
 * the attempts that wait. A pair is at most one per (reader, source), and each attempt waits for at
 * most SOURCE_STALLS_MAX sources; more are ignored and counted. With source_lost_ns = 0 all of this
 * is off, as it was before logs had such events. */
#pragma once

#include "controller/engine/base/state.h"

enum {
    SOURCE_READERS = 2,      /* so many hosts must fail to read from one */
    SOURCE_STALLS_MAX = 256, /* sources that one attempt can wait for */
    SOURCE_STRIKES_MAX = 6   /* a suspicion in vain doubles the next, so often at most */
};

/* Events. */
void source_stalled(struct engine *engine, const struct event *event);
void source_flows(struct engine *engine, const struct event *event);

/* Whether it waits for that host, as it said. */
bool source_is_waited_for(const struct attempt *attempt, const struct host *source);

/* Where an attempt on `here` should read the task's block from; ENGINE_NONE when it is local,
 * absent, or nobody has it. Among replicas on hosts that are up and nobody complains of, from a
 * random one on; if there is none such, among those that are not lost. */
uint32_t source_choose(struct engine *engine, const struct task *task, const struct host *here,
                       uint64_t attempt);

/* The attempt reads its block from that host from now on. */
void source_set_block(struct engine *engine, struct attempt *attempt, uint32_t host);
/* It has received all its input: its sources can be read from. Before its end is told. */
void source_received(struct engine *engine, struct attempt *attempt);
/* The host is lost, or another one: nothing is known of it as a source or reader any more, and who
 * read a block there runs again. After its own attempts are gone. */
void source_host_lost(struct engine *engine, struct host *host);

/* One (reader, source). */
struct blind {
    struct host *reader, *source;
    int64_t since_ns, due_ns; /* INT64_MAX: it waits for its attempts */
    bool overdue;             /* it is source_lost_ns old, and what waited was told to run again */
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
