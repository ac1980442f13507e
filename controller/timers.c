#include "controller/timers.h"

#include "lib/invariant.h"

#include <stddef.h>

static int timer_compare(const struct timer *a, const struct timer *b)
{
    if (a->due_ns != b->due_ns)
        return a->due_ns < b->due_ns ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

RB_PROTOTYPE(timer_tree, timer, node, timer_compare)
RB_GENERATE(timer_tree, timer, node, timer_compare)

void timers_init(struct timers *timers)
{
    RB_INIT(&timers->tree);
    timers->order = 0;
}

void timers_arm(struct timers *timers, struct timer *timer, int64_t due_ns)
{
    assert(timer->fire);
    timers_disarm(timers, timer);
    timer->due_ns = due_ns;
    timer->order = timers->order++;
    timer->armed = true;
    RB_INSERT(timer_tree, &timers->tree, timer);
}

void timers_disarm(struct timers *timers, struct timer *timer)
{
    if (!timer->armed)
        return;
    checked(RB_FIND(timer_tree, &timers->tree, timer) == timer);
    RB_REMOVE(timer_tree, &timers->tree, timer);
    timer->armed = false;
}

int64_t timers_next_ns(const struct timers *timers)
{
    const struct timer *first = RB_MIN(timer_tree, (struct timer_tree *)&timers->tree);
    return first ? first->due_ns : INT64_MAX;
}

void timers_run(struct timers *timers, int64_t now_ns)
{
    struct timer *first;
    while ((first = RB_MIN(timer_tree, &timers->tree)) && first->due_ns <= now_ns) {
        timers_disarm(timers, first);
        first->fire(first, now_ns);
    }
}
