#include "hostagent/link_report.h"

#include "hostagent/queues/link_speed.h"
#include "lib/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST ((pb_size_t)(sizeof(((duopoly_LinksPart *)0)->links) / sizeof(duopoly_Link)))

struct link_report {
    struct link_table *table;
    duopoly_LinksPart part;
    uint32_t n;
    struct named_link {
        char port[sizeof(((duopoly_Link *)0)->port)];
        uint64_t rate_bps;
    } links[];
};

int link_report_open(uint32_t n, struct link_report **ret_report, struct err *err)
{
    struct link_report *report = calloc(1, sizeof(*report) + n * sizeof(report->links[0]));
    int r = report ? link_table_open(n, &report->table, err) : err_sys(err, ENOMEM, "links");
    if (r < 0) {
        free(report);
        return r;
    }
    report->n = n;
    *ret_report = report;
    return 0;
}

void link_report_name(struct link_report *report, uint32_t place, const char *port,
                      uint64_t rate_bps)
{
    struct named_link *link = &report->links[place];
    wire_copy(link->port, sizeof(link->port), port);
    link->rate_bps = rate_bps;
    link_table_rate(report->table, place, rate_bps);
}

int link_report_open_resolved(const struct settings_resolved *resolved,
                              struct link_report **ret_report, struct err *err)
{
    const struct ports_found *ports = &resolved->ports;
    *ret_report = NULL;
    if (!ports->n)
        return 0;
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int r = sock < 0 ? err_sys(err, errno, "asking about the links")
                     : link_report_open(ports->n, ret_report, err);
    for (uint32_t i = 0; r >= 0 && i < ports->n; i++)
        link_report_name(*ret_report, i, ports->names[i], settings_port_bps(resolved, i, sock));
    if (sock >= 0)
        close(sock);
    return r;
}

void link_report_close(struct link_report *report)
{
    if (!report)
        return;
    link_table_close(report->table);
    free(report);
}

void link_report_forget(struct link_report *report)
{
    if (report)
        link_table_forget(report->table);
}

static void fill(const struct link_report *report, uint32_t place, const struct link_use *use,
                 duopoly_Link *row)
{
    *row = (duopoly_Link){.place = place,
                          .rate_bps = report->links[place].rate_bps,
                          .sent_bps = use->sent_bps,
                          .received_bps = use->received_bps,
                          .sent_peak_bps = use->sent_peak_bps,
                          .received_peak_bps = use->received_peak_bps,
                          .dropped = use->dropped,
                          .sent_ceiling_bps = use->sent_ceiling_bps,
                          .received_ceiling_bps = use->received_ceiling_bps};
    memcpy(row->port, report->links[place].port, sizeof(row->port));
}

void link_report_add(struct link_report *report, uint64_t at_ns,
                     const struct link_counters *counters, struct uplink *uplink)
{
    struct link_use use;
    uint32_t next = 0, place;
    if (!link_table_add(report->table, at_ns, counters))
        return;
    report->part.ports = report->n;
    report->part.links_count = 0;
    while (link_table_next(report->table, &next, &place, &use)) {
        fill(report, place, &use, &report->part.links[report->part.links_count++]);
        if (report->part.links_count == MOST) {
            uplink_report_links(uplink, &report->part);
            report->part.links_count = 0;
        }
    }
    if (report->part.links_count)
        uplink_report_links(uplink, &report->part);
}
