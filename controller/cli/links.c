#include "controller/cli/links.h"

#include "controller/cli/table.h"

#include <errno.h>

#define ROW duopoly_LinkRow
static bool is_gone(const void *row)
{
    return ((const ROW *)row)->gone;
}

static struct value use(uint64_t bps, uint64_t rate_bps)
{
    return rate_bps ? value_permille((uint64_t)((unsigned __int128)bps * 1000 / rate_bps))
                    : value_absent();
}

static struct value sent_use(const void *row, char words[CELL_WORDS])
{
    const duopoly_Link *link = &((const ROW *)row)->link;
    (void)words;
    return use(link->sent_bps, link->rate_bps);
}

static struct value received_use(const void *row, char words[CELL_WORDS])
{
    const duopoly_Link *link = &((const ROW *)row)->link;
    (void)words;
    return use(link->received_bps, link->rate_bps);
}

static const struct cell cells[] = {
    CELL("host", "HOST", TEXT, host),
    CELL("port", "PORT", TEXT, link.port),
    CELL("rate_bps", "RATE", BIT_RATE, link.rate_bps, UNLESS_NOTHING),
    {"sent_permille", "SENT USE", .value = sent_use, .lacks = is_gone},
    {"received_permille", "RECEIVED USE", .value = received_use, .lacks = is_gone},
    CELL("sent_bps", "SENT", BIT_RATE, link.sent_bps, .lacks = is_gone),
    CELL("sent_peak_bps", "SENT PEAK", BIT_RATE, link.sent_peak_bps, .lacks = is_gone),
    CELL("received_bps", "RECEIVED", BIT_RATE, link.received_bps, .lacks = is_gone),
    CELL("received_peak_bps", "RECEIVED PEAK", BIT_RATE, link.received_peak_bps, .lacks = is_gone),
    CELL("dropped", "DROPPED", NUMBER, link.dropped, .lacks = is_gone),
    CELL("age_ns", "TOLD", DURATION, age_ns),
    CELL("text", "NOTE", TEXT, text, UNLESS_NOTHING),
    {0},
};
static const struct list list_of_links = LIST_IN(LIST_LINKS, "links", cells, link_page, rows);

int host_name_check(const struct request *request, struct err *err)
{
    return !request->n_words || wire_name_valid(request->words[0])
               ? 0
               : err_set(err, EINVAL, "'%s' cannot be a host's name", request->words[0]);
}

int run_links(struct client *client, const struct request *request, struct writer *writer,
              struct err *err)
{
    writer_schema(writer, list_of_links.key, list_of_links.key);
    return list_table_of(client, &list_of_links, request->n_words ? request->words[0] : "",
                         "an agent's name", writer, err);
}
