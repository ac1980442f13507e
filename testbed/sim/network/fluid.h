/* The fluid network: the rate of every flow, and when the next one ends.
 *
 * A Macroflow is all flows into one task: bytes per source host, one target host, one level.
 * Between two changes every flow moves at a constant rate: strict priority between levels (0 is the
 * most urgent), exact max-min fairness per flow inside a level. No packets, no ACKs, no round-trip
 * times.
 *
 * WHY it is fast. Flows of one level on one path always have one rate: they are counted, not
 * visited. They move at the rate of their bottleneck link, so a link keeps one counter of the bytes
 * that each flow that it limits got, which tells when flows end; a rate change of a link costs O(1)
 * however many flows it limits. Changes at one instant are solved once, and only in the levels and
 * links whose shares they can reach.
 *
 * Big switches of up to 256 hosts, or 384 with at most 16 levels, are matrices, one for each level
 * in use (dense.h); all others are a graph of links and bundles (sparse.h). Both give the same
 * rates up to rounding; matrices give the same bits with and without AVX2.
 *
 * Time is integer nanoseconds: a flow ends at the first nanosecond at or after its last byte. Bytes
 * are doubles inside and whole in results. Equal calls give equal results, bit for bit. Not
 * thread-safe; distinct networks are independent. Bounds: FLUID_LEVELS_MAX levels, 2³²−1 live
 * flows. Without memory a call returns −ENOMEM, after which only fluid_destroy is allowed.
 *
 * Source: Tian et al., section 6 (flow-level simulator, one big switch); max-min by progressive
 * filling (Bertsekas and Gallager, Data Networks, 6.5.2). */
#pragma once

#include "lib/err.h"
#include "testbed/sim/network/topology.h"

#include <stdbool.h>
#include <stdint.h>

enum { FLUID_LEVELS_MAX = 65536 };
#define FLUID_NEVER INT64_MAX

struct fluid;

struct fluid_source {
    uint32_t host;
    int64_t bytes; /* ≥ 0 */
};

enum fluid_event_kind {
    FLUID_ENDED, /* a Macroflow's last byte arrived; `subject` as given to fluid_start */
    FLUID_HOT,   /* an uplink went over hot_per_mille of its rate; `subject` is the host */
    FLUID_COOL,  /* a hot uplink went under cool_per_mille; `subject` is the host */
};

struct fluid_event {
    enum fluid_event_kind kind;
    uint64_t subject;
    uint32_t per_mille; /* use of the uplink; FLUID_HOT and FLUID_COOL only */
};

struct fluid_config {
    const struct topology *topology; /* borrows until destroy */
    uint32_t levels;                 /* 1…FLUID_LEVELS_MAX */
    bool local_free; /* bytes from the target host itself arrive at once and use no link */
    uint32_t hot_per_mille, cool_per_mille; /* 0, 0: no FLUID_HOT or FLUID_COOL */
    bool sparse; /* even where the network would be matrices: for comparing the two */
    bool plain;  /* matrices without AVX2 even where the processor has it, likewise */
};

int fluid_create(const struct fluid_config *config, struct fluid **ret_fluid, struct err *err);
void fluid_destroy(struct fluid *f); /* takes NULL */

/* Starts a Macroflow at the network's present instant. `sources` is borrowed for the call; several
 * entries of one host are several flows; entries of 0 bytes are none. A Macroflow without flows
 * ends at once (FLUID_ENDED from the next fluid_poll). `subject` is the caller's name for it.
 * *ret_id is valid until its FLUID_ENDED was polled or fluid_stop. 0 or −ENOMEM. O(flows × log
 * flows). */
int fluid_start(struct fluid *f, uint32_t target, uint32_t level,
                const struct fluid_source *sources, uint32_t n_sources, uint64_t subject,
                uint32_t *ret_id);

/* Moves what is still on its way to another level. Does nothing if it ended. */
int fluid_set_level(struct fluid *f, uint32_t id, uint32_t level);

/* Takes it off the network: the rest of its bytes never arrives, and no FLUID_ENDED follows. */
int fluid_stop(struct fluid *f, uint32_t id);

/* Bytes that arrived by the present instant, local ones included, rounded down. O(its flows). */
int64_t fluid_received_bytes(const struct fluid *f, uint32_t id);

/* The present instant: that of the last fluid_advance. */
int64_t fluid_now_ns(const struct fluid *f);

/* The instant at which the next flow ends; FLUID_NEVER: none; the present one if events wait to be
 * polled. Updates rates first; 0 or −ENOMEM. */
int fluid_next_ns(struct fluid *f, int64_t *ret_ns);

/* Moves the present instant to now_ns, not before it and not after the result of fluid_next_ns. */
int fluid_advance(struct fluid *f, int64_t now_ns);

/* The next event up to the present instant; false: none. Order: by instant; at one instant ended
 * Macroflows by subject, then uplinks by host. */
bool fluid_poll(struct fluid *f, struct fluid_event *ret_event);

/* Updates rates; by host, the bytes a second on its downlink, all levels together. 0 or −ENOMEM.
 * O(hosts × levels in use), as matrices O(hosts). */
int fluid_downlinks_used(struct fluid *f, double *ret_bytes_s);

/* Rate of each flow of Macroflow `id` from that host (of the first one if they take several paths),
 * in bytes a second; 0 if none is left. */
int fluid_flow_rate(struct fluid *f, uint32_t id, uint32_t host, double *ret_bytes_s);
