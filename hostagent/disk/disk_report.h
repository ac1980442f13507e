/* What an agent reports of its host's disk: what is asked of it and what it does, and when that is
 * told.
 *
 * Asked: the sum of what the tasks that read now ask (disk_reading.h), in per mille of the disk's
 * rate, and how many they are. The disk hangs when something is asked of it and it has answered
 * nothing for DISK_HANGS_NS; it hangs no more with its first answer, or when nothing is asked of
 * it.
 *
 * It is told with the next usual report when it changed, and every DISK_TELL_NS; at once when it
 * crosses a threshold: more is asked than the disk has (until that is DISK_CLEARED_PERMILLE or
 * less), or it hangs, or answers again. Pure, O(1); all numbers saturate. */
#pragma once

#include "hostagent/disk/disk_text.h"

#define DISK_HANGS_NS           UINT64_C(5000000000)
#define DISK_TELL_NS            UINT64_C(1000000000)
#define DISK_CLEARED_PERMILLE   900
#define DISK_CONGESTED_PERMILLE 1000

struct disk_asked {
    uint64_t bytes_s;
    uint32_t readers;
};
void disk_asked_add(struct disk_asked *asked, uint64_t bytes_s);

/* As its counters show; begin with zeros. */
struct disk_health {
    bool known; /* it was looked at */
    bool hangs;
    uint64_t read_bytes_s; /* in the last second */
    struct disk_counters last;
    uint64_t answered_ns;             /* the last time at which it owed no answer, or gave one */
    uint64_t window_ns, window_bytes; /* where the present second begins */
};
void disk_health_add(struct disk_health *health, uint64_t now_ns,
                     const struct disk_counters *counters);

struct disk_said {
    uint32_t permille, readers;
    bool hangs;
    uint64_t read_bytes_s;
};
struct disk_report {
    uint64_t disk_bytes_s; /* > 0 */
    struct disk_said now, told;
    bool congested;
    uint64_t told_ns; /* 0: not in this session */
};
/* True: it crossed a threshold. */
bool disk_report_set(struct disk_report *report, const struct disk_asked *asked,
                     const struct disk_health *health);
/* Whether a report that is sent now says it; then it is told. */
bool disk_report_tell(struct disk_report *report, uint64_t now_ns, struct disk_said *ret_said);
/* A session begins: tell all again. */
void disk_report_forget(struct disk_report *report);
