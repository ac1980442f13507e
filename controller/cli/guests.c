#include "controller/cli/guests.h"

#include "controller/cli/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Calls `each`, which may fail, for every row; a controller that knows no guests has none. */
static int rows_read(struct client *client,
                     int (*each)(void *user, const void *row, struct err *err), void *user,
                     struct err *err)
{
    int r = list_read(client, &list_of_guests, (duopoly_List){0}, each, NULL, user, NULL, err);
    return r == -EREMOTEIO && client_refusal(client) == duopoly_Reason_REASON_UNSUPPORTED ? 0 : r;
}

struct host_table {
    struct writer *writer;
    bool begun;
    struct table table;
};

static int host_row(void *user, const void *row, struct err *err)
{
    struct host_table *hosts = user;
    if (!hosts->begun)
        table_begin(&hosts->table, list_of_guests.key, list_of_guests.cells, NULL, hosts->writer);
    hosts->begun = true;
    return table_row(&hosts->table, row, err);
}

int guests_write(struct client *client, struct writer *writer, struct err *err)
{
    struct host_table hosts = {.writer = writer};
    int r = rows_read(client, host_row, &hosts, err);
    return hosts.begun ? table_end(&hosts.table, r) : r;
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

static int sum_row(void *user, const void *row, struct err *err)
{
    const duopoly_GuestApplication *here = &((const duopoly_GuestRow *)row)->application;
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

#define ROW struct sum
static struct value lowest_rung(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return value_text(rung_word(((const ROW *)row)->whole.rung));
}

static const struct cell application_cells[] = {
    CELL("application", "APPLICATION", TEXT, whole.name),
    CELL("user", "USER", ID, whole.user),
    CELL_OF("rung", "RUNG", TEXT, lowest_rung),
    CELL("level", "LEVEL", SIGNED, whole.level, UNLESS_NEGATIVE),
    CELL("hosts", "HOSTS", NUMBER, hosts),
    CELL("executors", "EXECUTORS", NUMBER, whole.guests),
    CELL("marked", "MARKED", NUMBER, whole.marked),
    CELL("received_bytes", "RECEIVED", BYTES, whole.received_bytes),
    CELL("text", "WHY NO HIGHER RUNG", TEXT, whole.text, UNLESS_NOTHING),
    {0},
};
#undef ROW

int guests_write_applications(struct client *client, struct writer *writer, struct err *err)
{
    struct sums sums = {0};
    struct table table;
    int r = rows_read(client, sum_row, &sums, err);
    if (r >= 0 && sums.n) {
        table_begin(&table, "applications", application_cells, NULL, writer);
        for (size_t i = 0; r == 0 && i < sums.n; i++)
            r = table_row(&table, &sums.all[i], err);
        r = table_end(&table, r);
    }
    free(sums.all);
    return r;
}
