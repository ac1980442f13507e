#include "controller/cli/units.h"

#include "lib/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct column columns[] = {
    {"host", "HOST"},
    {"unit", "UNIT"},
    {"name", "NAME"},
    {"has", "HAS"},
    {"free", "FREE"},
    {"running", "RUNNING"},
    {"tasks", "TASKS"},
    {"slots", NULL},
    {"slots_free", NULL},
    {"mem_bytes", NULL},
    {"mem_bytes_free", NULL},
    {"gpu_mem_bytes", NULL},
    {"gpu_mem_bytes_free", NULL},
    {NULL, NULL},
};

int units_check(const struct request *request, struct err *err)
{
    return !request->n_words || wire_name_valid(request->words[0])
               ? 0
               : err_set(err, EINVAL, "'%s' cannot be a host's name", request->words[0]);
}

/* "slots 4, gpu_milli 500": the amounts that it has. */
static const char *amounts_say(const duopoly_Resources *of, const duopoly_Resources *has,
                               char *text, size_t size)
{
    const struct {
        const char *name;
        int64_t amount, has;
    } all[] = {{"slots", of->slots, has->slots},
               {"cpu_milli", of->cpu_milli, has->cpu_milli},
               {"mem_bytes", of->mem_bytes, has->mem_bytes},
               {"gpu_milli", of->gpu_milli, has->gpu_milli},
               {"gpu_mem_bytes", of->gpu_mem_bytes, has->gpu_mem_bytes},
               {"io_bytes_s", of->io_bytes_s, has->io_bytes_s}};
    *text = '\0';
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        size_t used = strlen(text);
        if (all[i].has)
            snprintf(text + used, size - used, "%s%s %" PRId64, used ? ", " : "", all[i].name,
                     all[i].amount);
    }
    return text;
}

static void row_write(const duopoly_UnitRow *row, struct writer *writer)
{
    char has[256], free[256];
    const struct value none = value_absent();
    writer_cell(writer, value_text(row->host));
    writer_cell(writer, value_number(row->unit));
    writer_cell(writer, *row->name ? value_text(row->name) : none);
    writer_cell(writer, value_text(amounts_say(&row->total, &row->total, has, sizeof(has))));
    writer_cell(writer, row->gone
                            ? none
                            : value_text(amounts_say(&row->free, &row->total, free, sizeof(free))));
    writer_cell(writer, value_number(row->running));
    writer_cell(writer, *row->tasks ? value_text(row->tasks) : none);
    writer_cell(writer, value_signed(row->total.slots));
    writer_cell(writer, row->gone ? none : value_signed(row->free.slots));
    writer_cell(writer, value_signed(row->total.mem_bytes));
    writer_cell(writer, row->gone ? none : value_signed(row->free.mem_bytes));
    writer_cell(writer, value_signed(row->total.gpu_mem_bytes));
    writer_cell(writer, row->gone ? none : value_signed(row->free.gpu_mem_bytes));
}

int run_units(struct client *client, const struct request *request, struct writer *writer,
              struct err *err)
{
    const duopoly_Envelope *answer;
    duopoly_List list = {.of = duopoly_ListOf_LIST_UNITS};
    int r = request->n_words
                ? wire_take(list.name, sizeof(list.name), request->words[0], "a host's name", err)
                : 0;
    if (r < 0)
        return r;
    writer_table(writer, "units", columns);
    do {
        client_request(client, duopoly_Envelope_list_tag)->body.list = list;
        r = client_call(client, duopoly_Envelope_unit_page_tag, &answer, err);
        if (r < 0)
            return r;
        for (pb_size_t i = 0; i < answer->body.unit_page.rows_count; i++)
            row_write(&answer->body.unit_page.rows[i], writer);
        list.cursor = answer->body.unit_page.cursor;
    } while (list.cursor);
    writer_table_end(writer);
    return 0;
}
