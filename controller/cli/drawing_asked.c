#include "controller/cli/description.h"
#include "controller/cli/drawing.h"
#include "lib/plural.h"

#include <errno.h>
#include <string.h>

static int ask(struct client *client, duopoly_ListOf of, const char *name, uint64_t cursor,
               const duopoly_SwitchPage **ret_page, struct err *err)
{
    const duopoly_Envelope *answer;
    duopoly_List *list = &client_request(client, duopoly_Envelope_list_tag)->body.list;
    list->of = of;
    list->cursor = cursor;
    int r = wire_take(list->name, sizeof(list->name), name, "a switch's name", err);
    if (r == 0)
        r = client_call(client, duopoly_Envelope_switch_page_tag, &answer, err);
    if (r >= 0)
        *ret_page = &answer->body.switch_page;
    return r;
}

static int count_ports(const char *name, struct client *client, uint32_t *ret_n, struct err *err)
{
    const duopoly_SwitchPage *page = NULL;
    int r = ask(client, duopoly_ListOf_LIST_SWITCHES, name, 0, &page, err);
    /* Its place may come after the first page. */
    while (r >= 0 && !page->switches_count && page->cursor)
        r = ask(client, duopoly_ListOf_LIST_SWITCHES, name, page->cursor, &page, err);
    if (r < 0)
        return r;
    const duopoly_SwitchRow *row = page->switches_count ? &page->switches[0] : NULL;
    if (!row || !row->ports)
        return err_set(err, EINVAL, "no port of %s is known%s%s", name,
                       row && *row->text ? ": " : "", row ? row->text : "");
    if (row->ports > RENDER_PORTS)
        return err_set(err, EINVAL, "%s has %u ports; %d at most are written", name, row->ports,
                       RENDER_PORTS);
    *ret_n = row->ports;
    return 0;
}

static int take_wish(const duopoly_SwitchPage *page, const char *name, struct port_wish *ret_wish,
                     struct err *err)
{
    const duopoly_SwitchWish *said = &page->wish;
    if (!page->has_wish || said->dscp_of_level_count != PORT_LEVELS)
        return err_set(err, EINVAL,
                       "the agent of %s does not say what is wished of its ports (an older one?): "
                       "describe them in a file (--from)",
                       name);
    *ret_wish = (struct port_wish){.levels = said->levels,
                                   .queue_packets = said->queue_packets,
                                   .floor_permille = said->floor_permille,
                                   .unmanaged_permille = said->unmanaged_permille,
                                   .control_permille = said->control_permille,
                                   .unmanaged_joins = said->unmanaged_joins,
                                   .ecn = said->ecn,
                                   .ecn_packets = said->ecn_packets,
                                   .red_packets = said->red_packets};
    for (uint32_t level = 0; level < PORT_LEVELS; level++) {
        uint32_t dscp = said->dscp_of_level[level];
        ret_wish->dscp_of_level[level] = dscp < PORT_CODE_POINTS ? (uint8_t)dscp : 0;
    }
    return 0;
}

static int take_port(const duopoly_SwitchPort *row, struct port_facts *ret_facts,
                     struct err *ret_why, struct err *err)
{
    int r = description_name_check(row->name, err);
    if (r < 0)
        return r;
    if (!row->rate_bps)
        err_set(ret_why, EINVAL, "%s", row->text);
    else if (row->lossless)
        err_set(ret_why, EINVAL,
                "it has lossless queues: say in a file (--from) which, and which code points lead "
                "to them");
    *ret_facts = (struct port_facts){
        .link_bps = row->rate_bps, .mtu_bytes = row->mtu_bytes, .queues_n = DRAWING_QUEUES};
    memcpy(ret_facts->name, row->name, sizeof(ret_facts->name));
    return 0;
}

static bool is_known(const struct drawing *drawing, uint32_t n, const char *port)
{
    while (n && strcmp(drawing->facts[n - 1].name, port) != 0)
        n--;
    return n;
}

/* The ports of a page beyond the `*n` known ones. If they are reported again meanwhile, a page has
 * other ports than were counted, or some twice. */
static int take_page(struct drawing *drawing, const duopoly_SwitchPage *page, uint32_t *n,
                     struct err *err)
{
    for (pb_size_t i = 0; i < page->ports_count; i++) {
        const duopoly_SwitchPort *row = &page->ports[i];
        if (*n == drawing->sw.ports_n || is_known(drawing, *n, row->name))
            return err_set(err, EAGAIN, "the ports of %s are just being told anew: ask again",
                           drawing->sw.name);
        int r = take_port(row, &drawing->facts[*n], &drawing->why[*n], err);
        ++*n;
        if (r < 0)
            return r;
    }
    return 0;
}

int drawing_ask(struct drawing *drawing, struct client *client, const struct renderer *renderer,
                struct err *err)
{
    const char *name = drawing->sw.name;
    const duopoly_SwitchPage *page = NULL;
    uint32_t n = 0, ports_n = 0;
    if (renderer->needs_site)
        return err_set(err, EINVAL,
                       "%s is made from what is there: name it as site in a description (--from "
                       "FILE)",
                       renderer->name);
    int r = count_ports(name, client, &ports_n, err);
    if (r >= 0)
        r = drawing_room(drawing, ports_n, err);
    do {
        if (r >= 0)
            r = ask(client, duopoly_ListOf_LIST_SWITCH_PORTS, name, page ? page->cursor : 0, &page,
                    err);
        if (r >= 0)
            r = take_wish(page, name, &drawing->wish, err);
        if (r >= 0)
            r = take_page(drawing, page, &n, err);
    } while (r >= 0 && page->cursor);
    if (r >= 0 && n < ports_n)
        r = err_set(err, EAGAIN, "%u of %u port%s of %s are told yet: ask again", n, ports_n,
                    plural(ports_n), name);
    drawing->sw.queues_n = DRAWING_QUEUES;
    return r;
}
