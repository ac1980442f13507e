#include "controller/lists/list.h"

#define ROW duopoly_Combination
static struct value works(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return value_bool(!*((const ROW *)row)->refused);
}

static const struct cell combination_cells[] = {
    CELL("turn", "TURN", TEXT, turn),
    CELL("place", "PLACE", TEXT, place),
    CELL("commit", "COMMIT", TEXT, commit),
    CELL("network", "NETWORK", TEXT, network),
    CELL("mode", "MODE", TEXT, mode),
    CELL("users", "USERS", TEXT, users),
    CELL("one_host", "ONE HOST", BOOL, one_host),
    CELL_OF("works", "WORKS", BOOL, works),
    CELL("in_force", "IN FORCE", BOOL, in_force),
    CELL("text", "WHY NOT", TEXT, refused, UNLESS_NOTHING),
    {0},
};
#undef ROW
const struct list list_of_combinations = LIST_IN(
    LIST_COMBINATIONS, "combinations", combination_cells, Combination, combination_page, rows);

#define ROW duopoly_PolicyRow
static bool is_without_parameter(const void *row)
{
    return !*((const ROW *)row)->word;
}

static const struct cell policy_cells[] = {
    CELL("question", "QUESTION", TEXT, question),
    CELL("policy", "POLICY", TEXT, policy),
    CELL("parameter", "PARAMETER", TEXT, word, UNLESS_NOTHING),
    CELL("value", "VALUE", TEXT, value, .lacks = is_without_parameter),
    CELL("what", "WHAT", TEXT, what, .lacks = is_without_parameter),
    {0},
};
#undef ROW
/* All of them are in one answer, which has more than these. */
const struct list list_of_policies = {.key = "policies",
                                      .cells = policy_cells,
                                      .fields = duopoly_PolicyRow_fields,
                                      .row_bytes = sizeof(duopoly_PolicyRow),
                                      .local = true};
