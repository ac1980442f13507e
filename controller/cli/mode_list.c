#include "controller/cli/mode_list.h"

#include "controller/cli/table.h"

const char *mode_word(uint32_t mode)
{
    return mode == 0 ? "slot-rich" : mode == 1 ? "slot-starved" : "unknown";
}

#define ROW duopoly_ModeRow
static struct value mode(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return value_text(mode_word(((const ROW *)row)->mode));
}

static const struct cell cells[] = {
    CELL("at", "AT", TIME, at_ns, UNLESS_NOTHING),
    CELL_OF("mode", "MODE", mode),
    CELL("lasted_ns", "LASTED", DURATION, lasted_ns),
    CELL("mode_rule", "RULE", TEXT, mode_rule),
    CELL("ready", "READY TASKS", SIGNED, ready),
    CELL("free", "FREE SLOTS", SIGNED, free),
    CELL("mode_sequence", "SEQUENCE", NUMBER, mode_sequence),
    CELL("text", "BECAUSE", TEXT, text),
    {0},
};
static const struct list list_of_modes =
    LIST_IN(LIST_MODES, "mode_changes", cells, mode_page, rows);

int mode_history_write(struct client *client, struct writer *writer, struct err *err)
{
    writer_schema(writer, list_of_modes.key, list_of_modes.key);
    return list_table(client, &list_of_modes, (duopoly_List){0}, writer, NULL, err);
}
