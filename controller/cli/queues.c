#include "controller/cli/queues.h"

#include "controller/cli/asked.h"
#include "lib/grow.h"
#include "lib/join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    char name[sizeof(((duopoly_HostRow *)0)->name)];
    char state[sizeof(((duopoly_HostRow *)0)->state)];
    char port[sizeof(((duopoly_SwitchPort *)0)->name)]; /* "": of a host, or not known yet */
    char queues[320];
    bool is_switch;
    duopoly_Stance stance;
    uint64_t rate_bps;
};
#define ROW struct row

static struct value role(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return value_text(((const ROW *)row)->is_switch ? "switch" : "host");
}

static struct value stance(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return stance_value(((const ROW *)row)->stance);
}

static const struct cell cells[] = {
    CELL("name", "HOST", TEXT, name),
    CELL("port", "PORT", TEXT, port, UNLESS_NOTHING),
    CELL("state", "STATE", TEXT, state),
    CELL_OF("role", "ROLE", TEXT, role),
    CELL_OF("stance", "STANCE", TEXT, stance),
    CELL("rate_bps", "RATE", BIT_RATE, rate_bps, UNLESS_NOTHING),
    CELL("queues", "QUEUES", TEXT, queues, UNLESS_NOTHING),
    {0},
};
const struct list list_of_queues = {
    .key = "queues", .cells = cells, .row_bytes = sizeof(ROW), .local = true};

struct hosts {
    duopoly_HostRow *at; /* owned */
    size_t n, allocated;
    struct list_seen seen;
};

static int keep(void *user, const void *row, struct err *err)
{
    struct hosts *hosts = user;
    if (!array_grow(hosts->at, hosts->n, hosts->allocated, 64))
        return err_sys(err, ENOMEM, "%zu hosts", hosts->n);
    hosts->at[hosts->n++] = *(const duopoly_HostRow *)row;
    return 0;
}

static struct row row_of(const duopoly_HostRow *host)
{
    struct row row = {.is_switch = host->role == duopoly_Role_ROLE_SWITCH, .stance = host->stance};
    wire_copy(row.name, sizeof(row.name), host->name);
    wire_copy(row.state, sizeof(row.state), host->state);
    wire_copy(row.queues, sizeof(row.queues), host->queues);
    return row;
}

struct ports {
    const duopoly_HostRow *host;
    struct table *table;
    uint32_t n;
    bool enough; /* no more rows are wanted */
};

static int port_take(void *user, const void *told, struct err *err)
{
    struct ports *ports = user;
    const duopoly_SwitchPort *port = told;
    struct row row = row_of(ports->host);
    wire_copy(row.port, sizeof(row.port), port->name);
    row.rate_bps = port->rate_bps;
    if (port->queues) {
        wire_copy(row.queues, sizeof(row.queues), port->by);
        if (*port->text)
            join_word(row.queues, sizeof(row.queues), "; ", port->text);
    } else {
        snprintf(row.queues, sizeof(row.queues), "none: %s", port->text);
    }
    ports->n++;
    int r = table_row(ports->table, &row, err);
    ports->enough = r > 0;
    return r;
}

/* 1: no more rows are wanted. A switch whose ports are not known yet has a row like a host. */
static int host_write(struct client *client, const duopoly_HostRow *host, struct table *table,
                      struct err *err)
{
    struct ports ports = {.host = host, .table = table};
    duopoly_List list = {0};
    int r = 0;
    wire_copy(list.name, sizeof(list.name), host->name);
    if (host->role == duopoly_Role_ROLE_SWITCH)
        r = list_read(client, &list_of_ports, list, port_take, NULL, &ports, NULL, err);
    if (r == -EREMOTEIO && client_refusal(client) == duopoly_Reason_REASON_UNKNOWN)
        r = 0;
    if (r < 0 || ports.n)
        return r < 0 ? r : ports.enough;
    const struct row row = row_of(host);
    return table_row(table, &row, err);
}

int run_queues(struct client *client, const struct request *request, struct writer *writer,
               struct err *err)
{
    struct selection selection;
    struct hosts hosts = {0};
    struct table table;
    if (request->n_words)
        return asked_write(client, &list_of_port_queues, request, writer, err);
    int r = selection_read(request, &list_of_queues, &selection, err);
    if (r < 0)
        return r;
    selection_schema(&selection, writer);
    table_begin(&table, list_of_queues.key, cells, &selection, writer);
    r = list_read(client, &list_of_hosts, (duopoly_List){0}, keep, NULL, &hosts, &hosts.seen, err);
    for (size_t i = 0; r == 0 && i < hosts.n; i++) {
        r = host_write(client, &hosts.at[i], &table, err);
        table_settle(&table);
    }
    free(hosts.at);
    if (table_end(&table, r) < 0)
        return r;
    writer_field(writer, "changed", NULL, value_bool(hosts.seen.changed));
    return 0;
}
