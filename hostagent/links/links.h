/* How full a link is: per mille of its rate over the last 100 ms, and when that crosses a threshold
 * (pure).
 *
 * Samples come every LINKS_SAMPLE_MS, so that a crossing is reported within one sample and not with
 * the next report. The controller's configuration defines a hot link (policy.congested and
 * cleared), and WELCOME brings it; before that nothing crosses. The thresholds have a gap, so that
 * use around one of them is not reported again and again. O(1). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LINKS_SAMPLE_MS 20
#define LINKS_SAMPLES   5 /* kept; the next one ends a window of 100 ms */

struct links_sample {
    uint64_t at_ns;
    uint64_t sent_bytes, received_bytes; /* counters that only grow; 64 bits */
};

struct links {
    uint64_t rate_bps;
    uint32_t hot_permille,
        cool_permille; /* above the first: hot; below the second: not any more; 0, 0: unknown */
    struct links_sample samples[LINKS_SAMPLES];
    uint32_t n, next;
    bool up_hot, down_hot;
};

struct links_use {
    uint32_t up_permille, down_permille; /* 0…1000 */
    bool crossed; /* either direction became hot, or not hot any more, by this sample */
};

/* rate_bps > 0. */
void links_init(struct links *links, uint64_t rate_bps);

/* Sets them from now on; cool_permille ≤ hot_permille ≤ 1000. */
void links_set_thresholds(struct links *links, uint32_t hot_permille, uint32_t cool_permille);

/* A counter that fell (the interface was made again) counts as 0; a sample that is not later than
 * the last one is ignored. */
struct links_use links_add(struct links *links, const struct links_sample *sample);
