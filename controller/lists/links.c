#include "controller/lists/list.h"

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
    CELL_OF("sent_permille", "SENT USE", PERMILLE, sent_use, .lacks = is_gone),
    CELL_OF("received_permille", "RECEIVED USE", PERMILLE, received_use, .lacks = is_gone),
    CELL("sent_bps", "SENT", BIT_RATE, link.sent_bps, .lacks = is_gone),
    CELL("sent_peak_bps", "SENT PEAK", BIT_RATE, link.sent_peak_bps, .lacks = is_gone),
    CELL("received_bps", "RECEIVED", BIT_RATE, link.received_bps, .lacks = is_gone),
    CELL("received_peak_bps", "RECEIVED PEAK", BIT_RATE, link.received_peak_bps, .lacks = is_gone),
    CELL("dropped", "DROPPED", NUMBER, link.dropped, .lacks = is_gone),
    CELL("age_ns", "TOLD", DURATION, age_ns, .since = true),
    CELL("text", "NOTE", TEXT, text, UNLESS_NOTHING),
    {0},
};
const struct list list_of_links = LIST_IN(LIST_LINKS, "links", cells, LinkRow, link_page, rows);
