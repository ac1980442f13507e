#include "controller/cli/queues.h"

#include "controller/cli/lists.h"
#include "controller/cli/port_queues.h"
#include "controller/cli/stance.h"
#include "controller/cli/switches.h"

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

static int keep(void *user, const void *row, struct err *err)
{
    struct rows *rows = user;
    if (rows->n % GROW == 0) {
        duopoly_HostRow *items = reallocarray(rows->items, rows->n + GROW, sizeof(*items));
        if (!items)
            return err_sys(err, ENOMEM, "%u hosts", rows->n);
        rows->items = items;
    }
    rows->items[rows->n++] = *(const duopoly_HostRow *)row;
    return 0;
}

static void write_row(const duopoly_HostRow *host, const char *port, uint64_t rate_bps,
                      const char *queues, struct writer *writer)
{
    bool is_switch = host->role == duopoly_Role_ROLE_SWITCH;
    writer_cell(writer, value_text(host->name));
    writer_cell(writer, text_or_none(port));
    writer_cell(writer, value_text(host->state));
    writer_cell(writer, value_text(is_switch ? "switch" : "host"));
    writer_cell(writer, stance_value(host->stance));
    writer_cell(writer, rate_bps ? value_bit_rate(rate_bps) : value_absent());
    writer_cell(writer, text_or_none(queues));
}

struct ports {
    const duopoly_HostRow *host;
    struct writer *writer;
    uint32_t n;
};

static int write_port(void *user, const void *row, struct err *err)
{
    struct ports *ports = user;
    const duopoly_SwitchPort *port = row;
    char queues[sizeof(port->by) + sizeof(port->text) + 8];
    (void)err;
    if (port->queues)
        snprintf(queues, sizeof(queues), "%s%s%s", port->by, *port->by && *port->text ? "; " : "",
                 port->text);
    else
        snprintf(queues, sizeof(queues), "none: %s", port->text);
    write_row(ports->host, port->name, port->rate_bps, queues, ports->writer);
    ports->n++;
    return 0;
}

/* The number of ports; 0: its ports are not known yet. */
static int write_ports(struct client *client, const duopoly_HostRow *host, uint32_t *ret_n,
                       struct writer *writer, struct err *err)
{
    struct ports ports = {.host = host, .writer = writer};
    duopoly_List list = {0};
    wire_copy(list.name, sizeof(list.name), host->name);
    int r = list_read(client, &list_of_ports, list, write_port, &ports, NULL, err);
    bool unknown = r == -EREMOTEIO && client_refusal(client) == duopoly_Reason_REASON_UNKNOWN;
    *ret_n = unknown ? 0 : ports.n;
    return unknown ? 0 : r;
}

int run_queues(struct client *client, const struct request *request, struct writer *writer,
               struct err *err)
{
    struct rows rows = {0};
    if (request->n_words)
        return port_queues_write(client, request->words[0], writer, err);
    int r = list_read(client, &list_of_hosts, (duopoly_List){0}, keep, &rows, &rows.changed, err);
    writer_schema(writer, "queues", "queues");
    writer_table(writer, "queues", columns);
    for (uint32_t i = 0; r == 0 && i < rows.n; i++) {
        const duopoly_HostRow *host = &rows.items[i];
        uint32_t ports = 0;
        if (host->role == duopoly_Role_ROLE_SWITCH)
            r = write_ports(client, host, &ports, writer, err);
        if (r == 0 && !ports)
            write_row(host, "", 0, host->queues, writer);
    }
    writer_table_end(writer);
    writer_field(writer, "changed", NULL, value_bool(rows.changed));
    free(rows.items);
    return r;
}
