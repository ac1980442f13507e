/* Judges from rounds of one packet each whether packets bypass our program on a port, in one
 * direction (pure).
 *
 * One round without a count may be chance: the neighbour was just being resolved. PROBE_MISSES in a
 * row are not. A round that proves nothing (no packet was sent, no answer came) changes nothing. */
#pragma once

#include <stdbool.h>

#define PROBE_MISSES 3

enum probe_round { PROBE_NOTHING, PROBE_COUNTED, PROBE_MISSED };
enum probe_verdict { PROBE_UNKNOWN, PROBE_RUNS, PROBE_PASSED_BY };

struct probe_judge { /* {0}: nothing is known */
    enum probe_verdict verdict;
    int misses;
};

/* Whether the verdict has changed. */
bool probe_judge(struct probe_judge *judge, enum probe_round round);
