/* Always one mode. */
#include "controller/engine/mode/mode_rule.h"

static enum mode always_rich(const struct engine *engine, enum reason *ret_reason,
                             uint64_t *ret_ready, int64_t *ret_free)
{
    mode_numbers(engine, ret_ready, ret_free);
    *ret_reason = REASON_FIRST_FITS;
    return MODE_SLOT_RICH;
}

static enum mode always_starved(const struct engine *engine, enum reason *ret_reason,
                                uint64_t *ret_ready, int64_t *ret_free)
{
    mode_numbers(engine, ret_ready, ret_free);
    *ret_reason = REASON_FIRST_BLOCKED;
    return MODE_SLOT_STARVED;
}

static const struct policy_reason rich[] = {MODE_FIRST_FITS, {0}};
static const struct policy_reason starved[] = {MODE_FIRST_BLOCKED, {0}};

const struct mode_policy mode_rich = {
    .policy = {.name = "rich", .reasons = rich, .parameters = mode_parameters},
    .orders = mode_orders,
    .wanted = always_rich};
const struct mode_policy mode_starved = {
    .policy = {.name = "starved", .reasons = starved, .parameters = mode_parameters},
    .orders = mode_orders,
    .wanted = always_starved};
