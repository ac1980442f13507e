#include "controller/cli/queues.h"

#include "controller/cli/stance.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROW 64

static const struct column columns[] = {
    {"name", "HOST"},     {"port", "PORT"},     {"state", "STATE"},   {"role", "ROLE"},
    {"stance", "STANCE"}, {"rate_bps", "RATE"}, {"queues", "QUEUES"}, {NULL, NULL}};

struct rows {
    duopoly_HostRow *items; /* owned */
    uint32_t n;
    bool changed;
};

static struct value text_or_none(const char *text)
{
    return *text ? value_text(text) : value_absent();
}

static int keep(struct rows *rows, const duopoly_HostRow *row, struct err *err)
{
    if (rows->n % GROW == 0) {
        duopoly_HostRow *items = reallocarray(rows->items, rows->n + GROW, sizeof(*items));
        if (!items)
            return err_sys(err, ENOMEM, "%u hosts", rows->n);
        rows->items = items;
    }
    rows->items[rows->n++] = *row;
    return 0;
}

static int read_hosts(struct client *client, struct rows *rows, struct err *err)
{
    const duopoly_Envelope *answer;
    duopoly_List list = {.of = duopoly_ListOf_LIST_HOSTS};
    int r = 0;
    do {
        client_request(client, duopoly_Envelope_list_tag)->body.list = list;
        r = client_call(client, duopoly_Envelope_page_tag, &answer, err);
        if (r < 0)
            return r;
        const duopoly_Page *page = &answer->body.page;
        for (pb_size_t i = 0; r >= 0 && i < page->hosts_count; i++)
            r = keep(rows, &page->hosts[i], err);
        rows->changed |= page->changed;
        list.cursor = page->cursor;
        list.version = page->version;
    } while (r >= 0 && list.cursor);
    return r;
}

static void write_row(const duopoly_HostRow *host, const char *port, uint64_t rate_bps,
                      const char *queues, struct writer *writer)
{
    bool is_switch = host->role == duopoly_Role_ROLE_SWITCH;
    writer_cell(writer, value_text(host->name));
    writer_cell(writer, text_or_none(port));
    writer_cell(writer, value_text(host->state));
    writer_cell(writer, value_text(is_switch ? "switch" : "host"));
    writer_cell(writer, text_or_none(stance_word(host->stance)));
    writer_cell(writer, rate_bps ? value_bit_rate(rate_bps) : value_absent());
    writer_cell(writer, text_or_none(queues));
}

static void write_port(const duopoly_HostRow *host, const duopoly_SwitchPort *port,
                       struct writer *writer)
{
    char queues[sizeof(port->by) + sizeof(port->text) + 8];
    if (port->queues)
        snprintf(queues, sizeof(queues), "%s%s%s", port->by, *port->by && *port->text ? "; " : "",
                 port->text);
    else
        snprintf(queues, sizeof(queues), "none: %s", port->text);
    write_row(host, port->name, port->rate_bps, queues, writer);
}

/* Returns the number of ports; 0: its ports are not known yet. */
static int write_ports(struct client *client, const duopoly_HostRow *host, struct writer *writer,
                       struct err *err)
{
    const duopoly_Envelope *answer;
    duopoly_List list = {.of = duopoly_ListOf_LIST_SWITCH_PORTS};
    int n = 0;
    wire_copy(list.name, sizeof(list.name), host->name);
    do {
        client_request(client, duopoly_Envelope_list_tag)->body.list = list;
        int r = client_call(client, duopoly_Envelope_switch_page_tag, &answer, err);
        if (r == -EREMOTEIO && client_refusal(client) == duopoly_Reason_REASON_UNKNOWN)
            return 0;
        if (r < 0)
            return r;
        const duopoly_SwitchPage *page = &answer->body.switch_page;
        for (pb_size_t i = 0; i < page->ports_count; i++)
            write_port(host, &page->ports[i], writer);
        n += (int)page->ports_count;
        list.cursor = page->cursor;
    } while (list.cursor);
    return n;
}

int run_queues(struct client *client, const struct request *request, struct writer *writer,
               struct err *err)
{
    struct rows rows = {0};
    (void)request;
    int r = read_hosts(client, &rows, err);
    writer_table(writer, "queues", columns);
    for (uint32_t i = 0; r >= 0 && i < rows.n; i++) {
        const duopoly_HostRow *host = &rows.items[i];
        r = host->role == duopoly_Role_ROLE_SWITCH ? write_ports(client, host, writer, err) : 0;
        if (r == 0)
            write_row(host, "", 0, host->queues, writer);
    }
    writer_table_end(writer);
    writer_field(writer, "changed", NULL, value_bool(rows.changed));
    free(rows.items);
    return r < 0 ? r : 0;
}
