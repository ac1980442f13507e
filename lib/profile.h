/* The profile of a way to run a stage: what one of its tasks reads from its host's disk, and how
 * long it takes when it is alone there. Sent with a submission; placements predict by it.
 *
 * A task reads *before* it computes (a GPU task fetches its whole split first), and then takes its
 * reading and its computing; or *while* it computes (a CPU task reads and computes by turns), and
 * then its reading is a part of its computing time. HDAS (doi 10.3772/j.issn.1002-0470.2016.04.002)
 * 1.1, formulas (1) and (2): rate = V / T, T = computing + reading; copying between host and device
 * is not counted.
 *
 * Pure, O(1), no allocation. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { PROFILE_NUMBERS = 4 /* of a profile in an event: its members in order */ };

/* All 0: nothing is known. */
struct profile {
    uint64_t read_bytes;   /* 0…2^53 */
    uint64_t read_bytes_s; /* at which a lone task reads, while it does; > 0 with read_bytes */
    uint64_t before;       /* 1: before it computes; 0: while */
    uint64_t compute_ns;   /* of a task, in the mean; with the reading where that is meanwhile */
};

static inline bool profile_is_known(const struct profile *profile)
{
    return profile->read_bytes || profile->compute_ns;
}

/* Whether a task can be so: 0 or −EINVAL with the rest of a sentence that begins with what has the
 * profile. */
int profile_check(const struct profile *profile, struct err *err);

/* How long a lone task reads, and how long it takes in all. Of a valid profile. */
uint64_t profile_read_ns(const struct profile *profile);
uint64_t profile_lone_ns(const struct profile *profile);
/* How long it only computes. */
uint64_t profile_only_compute_ns(const struct profile *profile);
/* Bytes a second that a lone task asks of the disk as long as it reads: of one that reads while it
 * computes, in the mean over its turns. */
uint64_t profile_asked_bytes_s(const struct profile *profile);
