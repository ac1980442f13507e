#include "controller/clients/listing_links.h"

#include "controller/clients/listing.h"
#include "controller/clients/listing_rows.h"
#include "lib/bit_rate.h"

#include <stdio.h>

static bool find(const struct conductor_parts *parts, const struct agent_view *agent, uint32_t *row)
{
    (void)parts;
    while (*row < agent->links->n && !agent->links->rows[*row].told_ns)
        ++*row;
    return *row < agent->links->n;
}

static void ceilings_say(const duopoly_Link *link, char *text, size_t size)
{
    char sent[BIT_RATE_WORDS], received[BIT_RATE_WORDS], both[2 * BIT_RATE_WORDS + 32] = "";
    bit_rate_words(link->sent_ceiling_bps, sent);
    bit_rate_words(link->received_ceiling_bps, received);
    if (link->sent_ceiling_bps && link->received_ceiling_bps)
        snprintf(both, sizeof(both), "never over %s sent, %s received", sent, received);
    else if (link->sent_ceiling_bps)
        snprintf(both, sizeof(both), "never over %s sent", sent);
    else if (link->received_ceiling_bps)
        snprintf(both, sizeof(both), "never over %s received", received);
    wire_copy(text, size, both);
}

static void fill(const struct conductor_parts *parts, const struct agent_view *agent, uint32_t row,
                 void *to)
{
    duopoly_LinkRow *told = to;
    const struct agent_link *link = &agent->links->rows[row];
    const int64_t now_ns = clock_now_ns(parts->clock);
    *told =
        (duopoly_LinkRow){.has_link = true, .link = link->link, .age_ns = now_ns - link->told_ns};
    wire_copy(told->host, sizeof(told->host), agent->name);
    told->gone = listing_gone(agent, now_ns, told->text, sizeof(told->text));
    if (!told->gone)
        ceilings_say(&link->link, told->text, sizeof(told->text));
}

void listing_links(const struct conductor_parts *parts, const duopoly_List *list,
                   struct sieve *sieve, duopoly_Envelope *answer)
{
    static const struct listing_rows links = {find, fill, LISTING_IN(link_page)};
    listing_rows(parts, list, &links, sieve, answer);
}
