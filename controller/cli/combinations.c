#include "controller/cli/combinations.h"

static const struct column columns[] = {
    {"turn", "TURN"},         {"place", "PLACE"},  {"commit", "COMMIT"},
    {"network", "NETWORK"},   {"mode", "MODE"},    {"works", "WORKS"},
    {"in_force", "IN FORCE"}, {"text", "WHY NOT"}, {NULL, NULL},
};

static void row_write(const duopoly_Combination *row, struct writer *writer)
{
    writer_cell(writer, value_text(row->turn));
    writer_cell(writer, value_text(row->place));
    writer_cell(writer, value_text(row->commit));
    writer_cell(writer, value_text(row->network));
    writer_cell(writer, value_text(row->mode));
    writer_cell(writer, value_bool(!*row->refused));
    writer_cell(writer, value_bool(row->in_force));
    writer_cell(writer, *row->refused ? value_text(row->refused) : value_absent());
}

int combinations_write(struct client *client, struct writer *writer, struct err *err)
{
    const duopoly_Envelope *answer;
    duopoly_List list = {.of = duopoly_ListOf_LIST_COMBINATIONS};
    writer_table(writer, "combinations", columns);
    do {
        client_request(client, duopoly_Envelope_list_tag)->body.list = list;
        int r = client_call(client, duopoly_Envelope_combination_page_tag, &answer, err);
        if (r < 0)
            return r;
        for (pb_size_t i = 0; i < answer->body.combination_page.rows_count; i++)
            row_write(&answer->body.combination_page.rows[i], writer);
        list.cursor = answer->body.combination_page.cursor;
    } while (list.cursor);
    writer_table_end(writer);
    return 0;
}
