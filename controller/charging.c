#include "controller/charging.h"

#include "controller/cost.h"
#include "lib/now.h"

/* What one event, one decision and the rest of a step cost each, in looks. */
enum { LOOKS_OF_OTHERS = 256 };

struct charged_work charging_begin(const struct charging *charging)
{
    return (struct charged_work){cost_now_ns(), charging->charged_ns};
}

int64_t charging_end(struct charging *charging, const struct charged_work *work)
{
    const int64_t others_ns = charging->charged_ns - work->before_ns,
                  spent_ns = cost_now_ns() - work->began_ns - others_ns;
    charging->charged_ns += spent_ns;
    return spent_ns;
}

struct charged_work charging_watch(const struct charging *charging)
{
    return (struct charged_work){(int64_t)now_ns(CLOCK_MONOTONIC), charging->charged_ns};
}

int64_t charging_watched(struct charging *charging, const struct charged_work *work)
{
    const int64_t others_ns = charging->charged_ns - work->before_ns,
                  took_ns = (int64_t)now_ns(CLOCK_MONOTONIC) - work->began_ns - others_ns;
    if (took_ns <= 0)
        return 0;
    charging->charged_ns += took_ns;
    charging->noted_ns += took_ns;
    return took_ns;
}

/* WHY from the end of the last one where such a step is all that the loop's turn does: a turn costs
 * something beside the step, too, and has no other cause. */
void charging_step(struct charging *charging, bool woken)
{
    charging->due = woken && engine_has_backlog(charging->engine);
    charging->left = charging->due || engine_has_backlog(charging->engine) ||
                     engine_removed_bytes(charging->engine);
    if (charging->left)
        charging->step_ns = charging->due ? charging->over_ns : cost_now_ns();
}

void charging_stepped(struct charging *charging, int64_t now_ns, size_t others)
{
    if (!charging->left)
        return;
    const int64_t over_ns = cost_now_ns();
    if (charging->due)
        charging->over_ns = over_ns;
    charging->woken |= charging->due;
    const struct engine_charges charges = engine_charges(charging->engine);
    const double spent_ns = (double)(over_ns - charging->step_ns),
                 all = (double)(charges.looks + LOOKS_OF_OTHERS * (1 + (uint64_t)others));
    for (size_t i = 0; i < charges.n; i++) {
        const struct engine_charge *one = &charges.at[i];
        const double part = (double)(one->looks + LOOKS_OF_OTHERS * one->decisions);
        const int64_t part_ns = (int64_t)(spent_ns * part / all);
        charging->charged_ns += part_ns;
        frameworks_spent(charging->frameworks, now_ns, one->application, part_ns);
    }
}

void charging_timers(struct charging *charging)
{
    charging->timers_ns = cost_now_ns();
}

void charging_timers_over(struct charging *charging)
{
    charging->over_ns += cost_now_ns() - charging->timers_ns;
}

void charging_turn_over(struct charging *charging, int64_t ended_ns)
{
    const int64_t now_ns = engine_has_backlog(charging->engine) ? cost_now_ns() : ended_ns;
    charging->over_ns = charging->woken ? charging->over_ns + now_ns - ended_ns : now_ns;
    charging->woken = false;
}
