/* The MAC table: behind which port of a switch each station is, by the frames that it sent (IEEE
 * 802.1Q §8.7, §8.8; pure; bounded; all memory is allocated at creation).
 *
 * No live entry is evicted: a station without room stays unknown, and frames to it are flooded. So
 * forged addresses cause nothing but flooding. O(1). One thread. */
#pragma once

#include "lib/err.h"

#include <stdint.h>

#define MACS_BYTES     6
#define MACS_NONE      (-1)
#define MACS_WINDOW_NS 1000000000u

enum macs_verdict {
    MACS_KNOWN,
    MACS_NEW,
    MACS_MOVED,
    MACS_FLAPS, /* it moved too often within MACS_WINDOW_NS, and stays where it was */
    MACS_FULL   /* there is no room for it */
};

struct macs;

/* For `most` stations, or a little more; an entry expires after `age_ns` of silence, and may move
 * `moves` times within MACS_WINDOW_NS. −ENOMEM. */
int macs_create(uint32_t most, uint64_t age_ns, uint32_t moves, struct macs **ret_macs,
                struct err *err);
void macs_destroy(struct macs *macs); /* takes NULL */
/* Changes the bounds from now on, also for known stations. */
void macs_change(struct macs *macs, uint64_t age_ns, uint32_t moves);

/* A frame came from this station through this port, now; `now_ns` never falls. */
enum macs_verdict macs_learn(struct macs *macs, const uint8_t mac[MACS_BYTES], uint32_t port,
                             uint64_t now_ns);

/* Its port; MACS_NONE: unknown. */
int macs_find(const struct macs *macs, const uint8_t mac[MACS_BYTES], uint64_t now_ns);

/* Checks the next `most` places, in turn, and removes expired entries. */
void macs_expire(struct macs *macs, uint64_t now_ns, uint32_t most);

uint32_t macs_alive(const struct macs *macs);
