#include "hostagent/links/link_table.h"

#include <errno.h>
#include <stdlib.h>

#define NS_PER_S 1000000000u
#define LEAST    1000 /* bit/s */

struct ceiling {
    uint64_t bps;     /* the fullest tenth of the seconds that were full */
    uint32_t seconds; /* that were full at it */
};

struct row {
    struct link_counters first, last; /* of this second; as sampled last */
    uint64_t rate_bps;
    struct ceiling sent, received;
    uint64_t sent_peak_bps, received_peak_bps;
    struct link_use use, told; /* reported; over the last second; as last reported */
    uint32_t seconds;          /* since the report; LINK_TABLE_AGAIN: due */
};

struct link_table {
    uint64_t first_ns, last_ns; /* 0: no sample yet */
    uint32_t tenths, n;
    struct row rows[];
};

int link_table_open(uint32_t n, struct link_table **ret_table, struct err *err)
{
    struct link_table *table = calloc(1, sizeof(*table) + n * sizeof(table->rows[0]));
    if (!table)
        return err_sys(err, ENOMEM, "a table of %u links", n);
    table->n = n;
    link_table_forget(table);
    *ret_table = table;
    return 0;
}

void link_table_rate(struct link_table *table, uint32_t link, uint64_t rate_bps)
{
    table->rows[link].rate_bps = rate_bps;
}

void link_table_close(struct link_table *table)
{
    free(table);
}

void link_table_forget(struct link_table *table)
{
    for (uint32_t i = 0; i < table->n; i++)
        table->rows[i].seconds = LINK_TABLE_AGAIN;
}

static uint64_t rate(uint64_t before, uint64_t after, uint64_t ns)
{
    return after <= before ? 0
                           : (uint64_t)((unsigned __int128)(after - before) * 8 * NS_PER_S / ns);
}

static bool differs(uint64_t a, uint64_t b)
{
    uint64_t high = a > b ? a : b, apart = high - (a > b ? b : a);
    return apart > LEAST && apart > high / LINK_TABLE_STEP;
}

/* A second with this mean and this fullest tenth. */
static uint64_t ceiling_add(struct ceiling *ceiling, uint64_t mean_bps, uint64_t peak_bps,
                            uint64_t rate_bps)
{
    bool full = mean_bps >= peak_bps - peak_bps / 8 && mean_bps > rate_bps / LINK_TABLE_LEAST,
         more = peak_bps > ceiling->bps + ceiling->bps / 8,
         less = peak_bps < ceiling->bps - ceiling->bps / 8;
    if (more || (full && less))
        *ceiling = (struct ceiling){full ? peak_bps : 0, 0};
    if (full && ceiling->seconds < LINK_TABLE_CEILING)
        ceiling->seconds++;
    return ceiling->seconds == LINK_TABLE_CEILING && ceiling->bps < rate_bps / 2 ? ceiling->bps : 0;
}

static bool is_news(const struct link_use *use, const struct link_use *told)
{
    return use->dropped != told->dropped || differs(use->sent_bps, told->sent_bps) ||
           differs(use->received_bps, told->received_bps) ||
           differs(use->sent_peak_bps, told->sent_peak_bps) ||
           differs(use->received_peak_bps, told->received_peak_bps) ||
           differs(use->sent_ceiling_bps, told->sent_ceiling_bps) ||
           differs(use->received_ceiling_bps, told->received_ceiling_bps);
}

static void end_second(struct row *row, uint64_t ns)
{
    row->use = (struct link_use){.sent_bps = rate(row->first.sent_bytes, row->last.sent_bytes, ns),
                                 .received_bps =
                                     rate(row->first.received_bytes, row->last.received_bytes, ns),
                                 .sent_peak_bps = row->sent_peak_bps,
                                 .received_peak_bps = row->received_peak_bps,
                                 .dropped = row->last.dropped};
    row->use.sent_ceiling_bps =
        ceiling_add(&row->sent, row->use.sent_bps, row->sent_peak_bps, row->rate_bps);
    row->use.received_ceiling_bps =
        ceiling_add(&row->received, row->use.received_bps, row->received_peak_bps, row->rate_bps);
    row->first = row->last;
    row->sent_peak_bps = row->received_peak_bps = 0;
    row->seconds += row->seconds < LINK_TABLE_AGAIN;
    if (is_news(&row->use, &row->told))
        row->seconds = LINK_TABLE_AGAIN;
}

static void add_tenth(struct row *row, const struct link_counters *counters, uint64_t ns)
{
    uint64_t sent = rate(row->last.sent_bytes, counters->sent_bytes, ns),
             received = rate(row->last.received_bytes, counters->received_bytes, ns);
    if (sent > row->sent_peak_bps)
        row->sent_peak_bps = sent;
    if (received > row->received_peak_bps)
        row->received_peak_bps = received;
    row->last = *counters;
}

bool link_table_add(struct link_table *table, uint64_t at_ns, const struct link_counters *counters)
{
    if (at_ns <= table->last_ns)
        return false;
    if (!table->last_ns) {
        for (uint32_t i = 0; i < table->n; i++)
            table->rows[i].first = table->rows[i].last = counters[i];
        table->first_ns = table->last_ns = at_ns;
        return false;
    }
    for (uint32_t i = 0; i < table->n; i++)
        add_tenth(&table->rows[i], &counters[i], at_ns - table->last_ns);
    table->last_ns = at_ns;
    if (++table->tenths < LINK_TABLE_TENTHS)
        return false;
    for (uint32_t i = 0; i < table->n; i++)
        end_second(&table->rows[i], at_ns - table->first_ns);
    table->first_ns = at_ns;
    table->tenths = 0;
    return true;
}

bool link_table_next(struct link_table *table, uint32_t *place, uint32_t *ret_link,
                     struct link_use *ret_use)
{
    while (*place < table->n && table->rows[*place].seconds < LINK_TABLE_AGAIN)
        ++*place;
    if (*place == table->n)
        return false;
    struct row *row = &table->rows[*place];
    row->seconds = 0;
    row->told = row->use;
    *ret_use = row->use;
    *ret_link = (*place)++;
    return true;
}
