#include "controller/lists/list.h"

#include <string.h>

#define ROW duopoly_ConfigRow
/* What would bring the file's word into force. */
static struct value taken_by(const void *row, char words[CELL_WORDS])
{
    const ROW *key = row;
    (void)words;
    return value_text(!key->live                          ? "restart"
                      : strcmp(key->from, "command") == 0 ? "nothing"
                                                          : "reload");
}

static const struct cell cells[] = {
    CELL("key", "KEY", TEXT, key),
    CELL("value", "VALUE", TEXT, value),
    CELL("from", "FROM", TEXT, from),
    CELL("line", "LINE", NUMBER, line, UNLESS_NOTHING),
    CELL("column", NULL, NUMBER, column, UNLESS_NOTHING),
    CELL("configured", NULL, TEXT, configured),
    CELL("reloads", "RELOADS", BOOL, live),
    {0},
};
static const struct cell change_cells[] = {
    CELL("key", "KEY", TEXT, key),
    CELL("value", "IN FORCE", TEXT, value),
    CELL("from", "FROM", TEXT, from),
    CELL("configured", NULL, TEXT, configured),
    CELL("next", "FILE", TEXT, next),
    CELL("next_line", "LINE", NUMBER, next_line, UNLESS_NOTHING),
    CELL("next_column", NULL, NUMBER, next_column, UNLESS_NOTHING),
    CELL_OF("taken_by", "TAKEN BY", TEXT, taken_by),
    {0},
};
const struct list list_of_config =
    LIST_IN(LIST_CONFIG, "config", cells, ConfigRow, config_page, rows);
const struct list list_of_config_changes =
    LIST_IN(LIST_CONFIG_CHANGES, "config_changes", change_cells, ConfigRow, config_page, rows);
const struct list list_of_file_changes = {.key = "config_changes",
                                          .cells = change_cells,
                                          .fields = duopoly_ConfigRow_fields,
                                          .row_bytes = sizeof(ROW),
                                          .local = true};
