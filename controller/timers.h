/* Deadlines: many timers, one clock. The owner of a timer embeds it, arms it with a time and is
 * called once when the time has come. Timers that are due together fire in order of their times,
 * then of their arming, so that a run under scripted time repeats exactly.
 *
 * Pure: the time is a parameter. A timer may be armed, disarmed and its owner freed (disarmed
 * first) from any handler. Nothing is allocated. Arming, disarming and firing are O(log n). */
#pragma once

#include <bsd/sys/tree.h>
#include <stdbool.h>
#include <stdint.h>

struct timer {
    RB_ENTRY(timer) node;
    int64_t due_ns;
    uint64_t order;
    bool armed;
    void (*fire)(struct timer *timer, int64_t now_ns);
};

struct timers {
    RB_HEAD(timer_tree, timer) tree;
    uint64_t order;
};

void timers_init(struct timers *timers);

/* Arms, or moves an armed one. timer->fire is set. */
void timers_arm(struct timers *timers, struct timer *timer, int64_t due_ns);

/* Does nothing if it is not armed. */
void timers_disarm(struct timers *timers, struct timer *timer);

/* When the next one is due; INT64_MAX: none is armed. */
int64_t timers_next_ns(const struct timers *timers);

/* Fires all that are due at now_ns, including those armed meanwhile for a time up to now_ns. */
void timers_run(struct timers *timers, int64_t now_ns);
