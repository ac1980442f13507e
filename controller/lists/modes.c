#include "controller/lists/list.h"

struct value mode_value(uint32_t mode)
{
    return value_text(mode == 0 ? "slot-rich" : mode == 1 ? "slot-starved" : "unknown");
}

#define ROW duopoly_ModeRow
static struct value mode(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return mode_value(((const ROW *)row)->mode);
}

static const struct cell cells[] = {
    CELL("at", "AT", TIME, at_ns, UNLESS_NOTHING, .since = true),
    CELL_OF("mode", "MODE", TEXT, mode),
    CELL("lasted_ns", "LASTED", DURATION, lasted_ns),
    CELL("mode_rule", "RULE", TEXT, mode_rule),
    CELL("ready", "READY TASKS", SIGNED, ready),
    CELL("free", "FREE SLOTS", SIGNED, free),
    CELL("mode_sequence", "SEQUENCE", NUMBER, mode_sequence),
    CELL("text", "BECAUSE", TEXT, text),
    {0},
};
const struct list list_of_modes =
    LIST_IN(LIST_MODES, "mode_changes", cells, ModeRow, mode_page, rows);
