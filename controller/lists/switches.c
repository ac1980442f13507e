#include "controller/lists/list.h"

#define SECOND INT64_C(1000000000)

#define ROW duopoly_SwitchRow
static struct value switch_stance(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return stance_value(((const ROW *)row)->stance);
}

static struct value confirm_within(const void *row, char words[CELL_WORDS])
{
    const uint32_t confirm_s = ((const ROW *)row)->confirm_s;
    (void)words;
    return confirm_s ? value_duration(confirm_s * SECOND) : value_absent();
}

static const struct cell switch_cells[] = {
    CELL("name", "SWITCH", TEXT, name),
    CELL("state", "STATE", TEXT, state, UNLESS_NOTHING),
    CELL("driver", "DRIVER", TEXT, driver),
    CELL_OF("stance", "STANCE", TEXT, switch_stance),
    CELL("port_count", "PORTS", NUMBER, ports),
    CELL("steps", "TO DO", NUMBER, steps),
    CELL("differs_ns", "DIFFERS", DURATION, differs_ns, UNLESS_NEGATIVE),
    CELL_OF("confirm_ns", "CONFIRM WITHIN", DURATION, confirm_within),
    CELL("text", "NOTE", TEXT, text, UNLESS_NOTHING),
    {0},
};
#undef ROW

#define ROW duopoly_SwitchPort
static const struct cell port_cells[] = {
    CELL("name", "PORT", TEXT, name),
    CELL("rate_bps", "RATE", BIT_RATE, rate_bps, UNLESS_NOTHING),
    CELL("queues", "QUEUES", NUMBER, queues, UNLESS_NOTHING),
    CELL("text", "NOTE", TEXT, text, UNLESS_NOTHING),
    {0},
};
#undef ROW

#define ROW duopoly_SwitchStep
static const struct cell step_cells[] = {
    CELL("verb", "DO", TEXT, verb),
    CELL("port", "PORT", TEXT, port, UNLESS_NOTHING),
    CELL("text", "WHAT", TEXT, text),
    {0},
};
#undef ROW

const struct list list_of_switches =
    LIST_IN(LIST_SWITCHES, "switches", switch_cells, SwitchRow, switch_page, switches);
const struct list list_of_ports =
    LIST_IN(LIST_SWITCH_PORTS, "ports", port_cells, SwitchPort, switch_page, ports);
const struct list list_of_steps =
    LIST_IN(LIST_SWITCH_STEPS, "plan", step_cells, SwitchStep, switch_page, steps);
