/* Which ports of a switch have not got what is wished, as its driver found when it was asked last, and
 * which of that was told already.
 *
 * In order of the ports' names; O(log n) to find one. One thread. */
#pragma once

#include "hostagent/switches/switch.h"

struct troubles { /* zero to begin with */
    uint32_t n, left_n;
    struct switch_trouble *items;
};

void troubles_done(struct troubles *troubles);

/* Becomes what the plan has. −ENOMEM: stays as it was. */
int troubles_take(struct troubles *troubles, const struct switch_plan *plan, struct err *err);

/* Becomes these. As troubles_take. */
int troubles_set(struct troubles *troubles, const struct switch_trouble *items, uint32_t n,
                 struct err *err);

/* NULL: this port is in none. */
const struct switch_trouble *troubles_of(const struct troubles *troubles, const char *port);

/* Logs each that `told` has not, and each port that is in trouble no more; `told` is the same then. Returns
 * whether there was anything to log. */
bool troubles_log(const struct troubles *troubles, struct troubles *told);

/* In a sentence, how many of `ports_n` have none of our queues or not those that are wished, and why the
 * first has not. "" without any. Returns `text`. */
const char *troubles_say(const struct troubles *troubles, uint32_t ports_n, char *text,
                         size_t size);
