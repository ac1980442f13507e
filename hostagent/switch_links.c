#include "hostagent/switch_links.h"

#include "hostagent/link_report.h"
#include "lib/now.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE 100 /* samples, after one that failed */

struct switch_links {
    struct switches *switches;
    struct switch_counters *last; /* whose ports the report is of; NULL: there is none */
    struct link_report *report;
    struct link_counters *counters;
    uint32_t pause;
};

int switch_links_open(struct switches *switches, struct switch_links **ret_links, struct err *err)
{
    *ret_links = NULL;
    if (!switches_counts(switches))
        return 0;
    struct switch_links *links = calloc(1, sizeof(*links));
    if (!links)
        return err_sys(err, ENOMEM, "links");
    links->switches = switches;
    *ret_links = links;
    return 0;
}

static void forget_ports(struct switch_links *links)
{
    link_report_close(links->report);
    free(links->counters);
    free(links->last);
    links->report = NULL;
    links->counters = NULL;
    links->last = NULL;
}

void switch_links_close(struct switch_links *links)
{
    if (links)
        forget_ports(links);
    free(links);
}

void switch_links_forget(struct switch_links *links)
{
    if (links && links->report)
        link_report_forget(links->report);
}

static bool same_ports(const struct switch_counters *a, const struct switch_counters *b)
{
    if (!a || a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (strcmp(a->ports[i].name, b->ports[i].name) != 0 ||
            a->ports[i].rate_bps != b->ports[i].rate_bps)
            return false;
    return true;
}

static bool begin_report(struct switch_links *links, const struct switch_counters *now)
{
    forget_ports(links);
    links->counters = calloc(now->n ? now->n : 1, sizeof(*links->counters));
    if (!now->n || !links->counters || link_report_open(now->n, &links->report, NULL) < 0)
        return false;
    for (uint32_t i = 0; i < now->n; i++)
        link_report_name(links->report, i, now->ports[i].name, now->ports[i].rate_bps);
    return true;
}

void switch_links_sample(struct switch_links *links, struct uplink *uplink)
{
    struct switch_counters *now = NULL;
    if (!links || (links->pause && links->pause--))
        return;
    if (switches_counters(links->switches, &now, NULL) < 0) {
        links->pause = PAUSE;
        return;
    }
    if (!same_ports(links->last, now) && !begin_report(links, now)) {
        free(now);
        return;
    }
    for (uint32_t i = 0; i < now->n; i++)
        links->counters[i] = (struct link_counters){.sent_bytes = now->ports[i].sent_bytes,
                                                    .received_bytes = now->ports[i].received_bytes,
                                                    .dropped = now->ports[i].dropped};
    link_report_add(links->report, now_ns(CLOCK_MONOTONIC), links->counters, uplink);
    free(links->last);
    links->last = now;
}
