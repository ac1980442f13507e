/* Which ports of a switch lack what is wished, as its driver last found, and which of that was
 * reported.
 *
 * Sorted by the ports' names; O(log n) to find one. One thread. */
#pragma once

#include "hostagent/switches/switch.h"

struct troubles { /* zero it first */
    uint32_t n, left_n;
    struct switch_trouble *items;
};

void troubles_done(struct troubles *troubles);

/* Takes over the plan's troubles. −ENOMEM: unchanged. */
int troubles_take(struct troubles *troubles, const struct switch_plan *plan, struct err *err);

/* Takes over these. As troubles_take. */
int troubles_set(struct troubles *troubles, const struct switch_trouble *items, uint32_t n,
                 struct err *err);

/* NULL: this port is not in trouble. */
const struct switch_trouble *troubles_of(const struct troubles *troubles, const char *port);

/* Logs each trouble that `told` lacks, and each port that is out of trouble; `told` is equal
 * afterwards. Returns whether it logged anything. */
bool troubles_log(const struct troubles *troubles, struct troubles *told);

/* Says in a sentence how many of `ports_n` have none of our queues or not the wished ones, and why
 * the first one lacks them. "" without any. Returns `text`. */
const char *troubles_say(const struct troubles *troubles, uint32_t ports_n, char *text,
                         size_t size);
