#include "controller/cli/combinations.h"

#include "controller/cli/table.h"

#define ROW duopoly_Combination
static struct value works(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return value_bool(!*((const ROW *)row)->refused);
}

static const struct cell cells[] = {
    CELL("turn", "TURN", TEXT, turn),
    CELL("place", "PLACE", TEXT, place),
    CELL("commit", "COMMIT", TEXT, commit),
    CELL("network", "NETWORK", TEXT, network),
    CELL("mode", "MODE", TEXT, mode),
    CELL("users", "USERS", TEXT, users),
    CELL("one_host", "ONE HOST", BOOL, one_host),
    CELL_OF("works", "WORKS", works),
    CELL("in_force", "IN FORCE", BOOL, in_force),
    CELL("text", "WHY NOT", TEXT, refused, UNLESS_NOTHING),
    {0},
};
static const struct list list_of_combinations =
    LIST_IN(LIST_COMBINATIONS, "combinations", cells, combination_page, rows);

int combinations_write(struct client *client, struct writer *writer, struct err *err)
{
    writer_schema(writer, list_of_combinations.key, list_of_combinations.key);
    return list_table(client, &list_of_combinations, (duopoly_List){0}, writer, NULL, err);
}
