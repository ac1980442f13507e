#include "hostagent/link_report.h"

#include "hostagent/queues/link_speed.h"
#include "lib/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST ((pb_size_t)(sizeof(((duopoly_LinksPart *)0)->links) / sizeof(duopoly_Link)))

struct link_report {
    const struct ports_found *ports;
    struct link_table *table;
    duopoly_LinksPart part;
    uint64_t rates_bps[];
};

int link_report_open(const struct settings_resolved *resolved, struct link_report **ret_report,
                     struct err *err)
{
    uint32_t n = resolved->ports.n;
    *ret_report = NULL;
    if (!n)
        return 0;
    struct link_report *report = calloc(1, sizeof(*report) + n * sizeof(report->rates_bps[0]));
    int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int r = sock < 0  ? err_sys(err, errno, "asking about the links")
            : !report ? err_sys(err, ENOMEM, "links")
                      : link_table_open(n, &report->table, err);
    for (uint32_t i = 0; r >= 0 && i < n; i++)
        report->rates_bps[i] = settings_port_bps(resolved, i, sock);
    if (sock >= 0)
        close(sock);
    if (r < 0) {
        free(report);
        return r;
    }
    report->ports = &resolved->ports;
    *ret_report = report;
    return 0;
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
                          .rate_bps = report->rates_bps[place],
                          .sent_bps = use->sent_bps,
                          .received_bps = use->received_bps,
                          .sent_peak_bps = use->sent_peak_bps,
                          .received_peak_bps = use->received_peak_bps,
                          .dropped = use->dropped};
    wire_copy(row->port, sizeof(row->port), report->ports->names[place]);
}

void link_report_add(struct link_report *report, const struct links_nl *links,
                     struct uplink *uplink)
{
    struct link_use use;
    uint32_t next = 0, place;
    if (!link_table_add(report->table, links_nl_at_ns(links), links_nl_counters(links)))
        return;
    report->part.ports = report->ports->n;
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
