#include "controller/clients/listing_switches.h"

#include "controller/clients/absent_host.h"
#include "controller/clients/listing.h"
#include "controller/clients/listing_place.h"
#include "controller/clients/refusal.h"
#include "lib/fnv1a.h"

#include <string.h>

#define MOST(rows) (sizeof(rows) / sizeof((rows)[0]))

static const char *const states[] = {[AGENT_JOINING] = "joining",
                                     [AGENT_UP] = "up",
                                     [AGENT_FULL] = "full",
                                     [AGENT_SILENT] = "silent",
                                     [AGENT_LOST] = "lost"};

static void fill_row(const struct conductor_parts *parts, const struct inventory_switch *one,
                     duopoly_SwitchRow *row)
{
    int64_t now_ns = clock_now_ns(parts->clock);
    struct agent_view agent;
    wire_copy(row->name, sizeof(row->name), one->name);
    wire_copy(row->driver, sizeof(row->driver), one->head.driver);
    wire_copy(row->text, sizeof(row->text), one->head.text);
    row->ports = one->head.ports;
    row->steps = one->head.steps;
    row->differs_ns = inventory_differs_ns(one, now_ns);
    row->confirm_s = inventory_confirm_s(one, now_ns);
    if (agents_named(parts->agents, one->name, &agent) < 0)
        return;
    wire_copy(row->state, sizeof(row->state), states[agent.state]);
    if (listing_gone(&agent, now_ns, row->text, sizeof(row->text))) {
        row->differs_ns = -1;
        return;
    }
    row->stance = agent.stance;
    if (!*row->text)
        wire_copy(row->text, sizeof(row->text), agent.trouble);
}

static bool switch_at(const void *list, uint32_t place, uint64_t *ret_identity)
{
    const struct inventory *inventory = list;
    if (place >= inventory->n)
        return false;
    const char *name = inventory->switches[place]->name;
    *ret_identity = fnv1a(FNV1A_NOTHING, name, strlen(name));
    return true;
}

static void switches_page(const struct conductor_parts *parts, const duopoly_List *list,
                          struct sieve *sieve, duopoly_SwitchPage *page)
{
    const struct inventory *inventory = parts->switches;
    const struct listing_order order = {switch_at, inventory};
    uint32_t row;
    for (uint32_t i = listing_resume(&order, list->cursor, &row); i < inventory->n; i++) {
        const struct inventory_switch *one = inventory->switches[i];
        if (page->switches_count == MOST(page->switches) || sieve_is_worn(sieve)) {
            page->cursor = listing_cursor(&order, i, 0);
            return;
        }
        if (*list->name && strcmp(list->name, one->name) != 0)
            continue;
        fill_row(parts, one, &page->switches[page->switches_count]);
        page->switches_count += sieve_keeps(sieve, &page->switches[page->switches_count]);
    }
}

static void ports_page(const struct inventory_switch *one, uint64_t cursor, struct sieve *sieve,
                       duopoly_SwitchPage *page)
{
    page->has_wish = one->head.has_wish;
    page->wish = one->head.wish;
    for (uint64_t i = cursor; i < one->ports_n; i++) {
        if (page->ports_count == MOST(page->ports) || sieve_is_worn(sieve)) {
            page->cursor = i;
            return;
        }
        page->ports[page->ports_count] = one->ports[i];
        page->ports_count += sieve_keeps(sieve, &page->ports[page->ports_count]);
    }
}

static void steps_page(const struct inventory_switch *one, uint64_t cursor, struct sieve *sieve,
                       duopoly_SwitchPage *page)
{
    for (uint64_t i = cursor; i < one->steps_n; i++) {
        if (page->steps_count == MOST(page->steps) || sieve_is_worn(sieve)) {
            page->cursor = i;
            return;
        }
        page->steps[page->steps_count] = one->steps[i];
        page->steps_count += sieve_keeps(sieve, &page->steps[page->steps_count]);
    }
}

static void absent_answer(const struct conductor_parts *parts, const char *name,
                          duopoly_Envelope *answer)
{
    struct agent_view agent;
    if (agents_named(parts->agents, name, &agent) < 0)
        absent_host_answer(parts->agents, ABSENT_SWITCH, name, answer);
    else
        refused_answer(answer, duopoly_Reason_REASON_UNKNOWN,
                       "there is no switch %s: its agent has said nothing of one", name);
}

void listing_switches(const struct conductor_parts *parts, const duopoly_List *list,
                      struct sieve *sieve, duopoly_Envelope *answer)
{
    const struct inventory_switch *one = inventory_find(parts->switches, list->name);
    if (*list->name && !one) {
        absent_answer(parts, list->name, answer);
        return;
    }
    if (!one && list->of != duopoly_ListOf_LIST_SWITCHES) {
        refused_answer(answer, duopoly_Reason_REASON_MALFORMED, "ports and steps of which switch?");
        return;
    }
    duopoly_SwitchPage *page =
        &wire_begin(answer, duopoly_Envelope_switch_page_tag)->body.switch_page;
    if (list->of == duopoly_ListOf_LIST_SWITCHES)
        switches_page(parts, list, sieve, page);
    else if (list->of == duopoly_ListOf_LIST_SWITCH_PORTS)
        ports_page(one, list->cursor, sieve, page);
    else
        steps_page(one, list->cursor, sieve, page);
}
