#include "controller/cli/guests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct column columns[] = {
    {"application", "APPLICATION"},
    {"host", "HOST"},
    {"user", "USER"},
    {"rung", "RUNG"},
    {"level", "LEVEL"},
    {"executors", "EXECUTORS"},
    {"marked", "MARKED"},
    {"cores", "CORES"},
    {"received_bytes", "RECEIVED"},
    {"text", "WHY NO HIGHER RUNG"},
    {NULL, NULL},
};

static const char *rung_word(duopoly_Rung rung)
{
    static const char *const words[] = {"none", "read", "observe", "mark", "hold"};
    return (uint32_t)rung < sizeof(words) / sizeof(words[0]) ? words[rung] : "other";
}

static void guest_row(const duopoly_GuestRow *row, struct writer *writer)
{
    const duopoly_GuestApplication *application = &row->application;
    writer_cell(writer, value_text(application->name));
    writer_cell(writer, value_text(row->host));
    writer_cell(writer, value_number(application->user));
    writer_cell(writer, value_text(rung_word(application->rung)));
    writer_cell(writer, application->level < 0 ? value_absent() : value_signed(application->level));
    writer_cell(writer, value_number(application->guests));
    writer_cell(writer, value_number(application->marked));
    writer_cell(writer, value_number(application->cores));
    writer_cell(writer, value_bytes(application->received_bytes));
    writer_cell(writer, *application->text ? value_text(application->text) : value_absent());
}

/* Calls `each`, which may fail, for every row. */
static int rows_read(struct client *client,
                     int (*each)(void *user, const duopoly_GuestRow *row, struct err *err),
                     void *user, struct err *err)
{
    const duopoly_Envelope *answer;
    duopoly_List list = {.of = duopoly_ListOf_LIST_GUESTS};
    do {
        client_request(client, duopoly_Envelope_list_tag)->body.list = list;
        int r = client_call(client, duopoly_Envelope_guest_page_tag, &answer, err);
        if (r < 0)
            return client_refusal(client) == duopoly_Reason_REASON_UNSUPPORTED ? 0 : r;
        const duopoly_GuestPage *page = &answer->body.guest_page;
        for (pb_size_t i = 0; r >= 0 && i < page->rows_count; i++)
            r = each(user, &page->rows[i], err);
        if (r < 0)
            return r;
        list.cursor = page->cursor;
    } while (list.cursor);
    return 0;
}

struct host_table {
    struct writer *writer;
    bool begun;
};

static int host_row(void *user, const duopoly_GuestRow *row, struct err *err)
{
    struct host_table *table = user;
    (void)err;
    if (!table->begun)
        writer_table(table->writer, "guests", columns);
    table->begun = true;
    guest_row(row, table->writer);
    return 0;
}

int guests_write(struct client *client, struct writer *writer, struct err *err)
{
    struct host_table table = {.writer = writer};
    int r = rows_read(client, host_row, &table, err);
    if (r >= 0 && table.begun)
        writer_table_end(writer);
    return r;
}

struct sums {
    size_t n;
    struct sum {
        duopoly_GuestApplication whole;
        uint32_t hosts;
    } * all;
};

static struct sum *sum_get(struct sums *sums, const duopoly_GuestApplication *row)
{
    for (size_t i = 0; i < sums->n; i++)
        if (sums->all[i].whole.user == row->user && strcmp(sums->all[i].whole.name, row->name) == 0)
            return &sums->all[i];
    struct sum *more = reallocarray(sums->all, sums->n + 1, sizeof(*more));
    if (!more)
        return NULL;
    sums->all = more;
    struct sum *sum = &sums->all[sums->n++];
    *sum = (struct sum){.whole = *row};
    sum->whole.guests = sum->whole.marked = 0;
    sum->whole.received_bytes = 0;
    return sum;
}

static int sum_row(void *user, const duopoly_GuestRow *row, struct err *err)
{
    const duopoly_GuestApplication *here = &row->application;
    struct sum *sum = sum_get(user, here);
    if (!sum)
        return err_sys(err, ENOMEM, "applications of guests");
    sum->hosts++;
    sum->whole.guests += here->guests;
    sum->whole.marked += here->marked;
    sum->whole.received_bytes += here->received_bytes;
    if (here->level > sum->whole.level)
        sum->whole.level = here->level;
    if (here->rung < sum->whole.rung) {
        sum->whole.rung = here->rung;
        memcpy(sum->whole.text, here->text, sizeof(here->text));
    }
    return 0;
}

static const struct column application_columns[] = {
    {"application", "APPLICATION"},
    {"user", "USER"},
    {"rung", "RUNG"},
    {"level", "LEVEL"},
    {"hosts", "HOSTS"},
    {"executors", "EXECUTORS"},
    {"marked", "MARKED"},
    {"received_bytes", "RECEIVED"},
    {"text", "WHY NO HIGHER RUNG"},
    {NULL, NULL},
};

static void application_row(const struct sum *sum, struct writer *writer)
{
    const duopoly_GuestApplication *whole = &sum->whole;
    writer_cell(writer, value_text(whole->name));
    writer_cell(writer, value_number(whole->user));
    writer_cell(writer, value_text(rung_word(whole->rung)));
    writer_cell(writer, whole->level < 0 ? value_absent() : value_signed(whole->level));
    writer_cell(writer, value_number(sum->hosts));
    writer_cell(writer, value_number(whole->guests));
    writer_cell(writer, value_number(whole->marked));
    writer_cell(writer, value_bytes(whole->received_bytes));
    writer_cell(writer, *whole->text ? value_text(whole->text) : value_absent());
}

int guests_write_applications(struct client *client, struct writer *writer, struct err *err)
{
    struct sums sums = {0};
    int r = rows_read(client, sum_row, &sums, err);
    if (r >= 0 && sums.n) {
        writer_table(writer, "applications", application_columns);
        for (size_t i = 0; i < sums.n; i++)
            application_row(&sums.all[i], writer);
        writer_table_end(writer);
    }
    free(sums.all);
    return r;
}
