#include "testbed/verify/hops.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "testbed/verify/truth.h"

#define CE 3

int hops_add_port(struct hops *hops, const char *name, unsigned *ret_port, struct err *err)
{
    if (hops->n_ports == HOPS_PORTS)
        return err_set(err, ENOSPC, "more than %d ports are not taken", HOPS_PORTS);
    *ret_port = hops->n_ports;
    hops->ports[hops->n_ports++] = (struct hops_port){.name = name};
    return 0;
}

void hops_add(struct hops *hops, unsigned port, bool out, int64_t time_ns, uint32_t flow,
              const struct packet_frame *frame)
{
    if (hops->n == hops->allocated) {
        size_t allocated = hops->allocated ? hops->allocated * 2 : 4096;
        struct hops_sighting *grown =
            allocated > HOPS_MAX ? NULL : reallocarray(hops->at, allocated, sizeof(*grown));
        if (!grown) {
            hops->lost++;
            return;
        }
        hops->at = grown;
        hops->allocated = allocated;
    }
    hops->at[hops->n++] = (struct hops_sighting){
        time_ns, flow, frame->sequence, frame->id, (uint16_t)port, frame->dscp, frame->ecn, out};
}

/* HOPS_LEVELS: it is no level's. */
static unsigned level_of(uint8_t dscp)
{
    unsigned level = 0;
    while (level < HOPS_LEVELS && truth_dscp(level) != dscp)
        level++;
    return level;
}

void hops_count(struct hops *hops, unsigned port, uint8_t dscp, bool bare)
{
    unsigned level = level_of(dscp);
    if (level < HOPS_LEVELS)
        hops->ports[port].left[bare ? 0 : level]++;
}

/* The level whose queue serves this one there. */
static unsigned served_by(const struct hops_counters *counters, unsigned level)
{
    while (level && !counters->served[level])
        level--;
    return level;
}

static bool is_exit(const struct hops *hops, const struct hops_sighting *s)
{
    return s->out && hops->ports[s->port].edge;
}

/* A packet's entry first, its exit last, whatever the times: the clock may be set back meanwhile.
 */
static int by_packet_and_time(const void *a, const void *b, void *hops)
{
    const struct hops_sighting *x = a, *y = b;
    bool x_exit = is_exit(hops, x);
    if (x->flow != y->flow)
        return x->flow < y->flow ? -1 : 1;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->out != y->out)
        return x->out ? 1 : -1;
    if (x_exit != is_exit(hops, y))
        return x_exit ? 1 : -1;
    return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static bool same_packet(const struct hops_sighting *x, const struct hops_sighting *y)
{
    return x->flow == y->flow && x->sequence == y->sequence && x->id == y->id;
}

static void judge_packet(const struct hops *hops, const struct hops_sighting *at, size_t n,
                         struct hops_report *report)
{
    if (at->out) {
        report->strange++;
        return;
    }
    report->entered++;
    for (unsigned hop = 0; hop + 1 < n && hop < HOPS_ON_WAY; hop++) {
        struct hops_cell *cell = &report->cells[at[hop + 1].dscp][hop];
        report->changed += at[hop + 1].dscp != at->dscp;
        cell->packets++;
        cell->ce += at[hop + 1].ecn == CE;
        if (hop + 1 > report->longest)
            report->longest = hop + 1;
    }
    report->arrived += is_exit(hops, &at[n - 1]);
}

static void judge_port(const struct hops_port *port, uint64_t *worst, struct hops_report *report)
{
    uint64_t asked[HOPS_LEVELS] = {0}, off = 0;
    for (unsigned level = 0; level < HOPS_LEVELS; level++)
        asked[served_by(&port->after, level)] += port->left[level];
    for (unsigned level = 0; level < HOPS_LEVELS; level++) {
        uint64_t counted = port->after.packets[level] - port->before.packets[level];
        off += counted > asked[level] ? counted - asked[level] : asked[level] - counted;
        report->dropped += port->after.drops[level] - port->before.drops[level];
    }
    report->waiting += port->after.waiting;
    report->miscounted += off;
    if (off > *worst) {
        *worst = off;
        report->worst = port->name;
    }
}

static const struct hops_sighting *find_flow(const struct hops *hops, uint32_t flow)
{
    size_t low = 0, high = hops->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (hops->at[middle].flow < flow)
            low = middle + 1;
        else
            high = middle;
    }
    return hops->at + low;
}

/* How long after the change the first packet under the new mark left each hop. */
static int follow_change(const struct hops *hops, const struct judge_seen *seen,
                         struct hops_report *report)
{
    const struct hops_sighting *end = hops->at + hops->n, *s = find_flow(hops, seen->flow);
    while (s < end && s->flow == seen->flow && (s->out || s->time_ns != seen->time_ns))
        s++;
    if (s == end || s->flow != seen->flow)
        return 0;
    for (unsigned hop = 0; hop < HOPS_ON_WAY && s + hop + 1 < end && same_packet(s, s + hop + 1);
         hop++)
        if (judge_add_delay(&report->delays[hop], s[hop + 1].time_ns - seen->change_ns) < 0)
            return -ENOMEM;
    return 0;
}

int hops_judge(struct hops *hops, const struct verdict *verdict, struct hops_report *ret_report,
               struct err *err)
{
    uint64_t worst = 0;
    *ret_report = (struct hops_report){0};
    if (hops->n)
        qsort_r(hops->at, hops->n, sizeof(*hops->at), by_packet_and_time, hops);
    for (size_t first = 0, end; first < hops->n; first = end) {
        for (end = first + 1; end < hops->n && same_packet(&hops->at[first], &hops->at[end]);)
            end++;
        judge_packet(hops, hops->at + first, end - first, ret_report);
    }
    for (unsigned i = 0; i < hops->n_ports; i++)
        judge_port(&hops->ports[i], &worst, ret_report);
    uint64_t missing = ret_report->entered - ret_report->arrived;
    uint64_t known = ret_report->dropped + ret_report->waiting;
    ret_report->vanished = missing > known ? missing - known : 0;
    for (size_t i = 0; i < verdict->n_seen; i++)
        if (follow_change(hops, &verdict->seen[i], ret_report) < 0)
            return err_sys(err, ENOMEM, "cannot judge %zu sightings", hops->n);
    for (unsigned hop = 0; hop < HOPS_ON_WAY; hop++)
        judge_sort_delays(&ret_report->delays[hop]);
    return 0;
}

uint64_t hops_unexplained(const struct hops_report *r)
{
    return r->strange + r->changed + r->vanished + r->miscounted;
}

static void print_queue(const struct hops *hops, uint8_t dscp, FILE *out)
{
    unsigned level = level_of(dscp);
    if (level == HOPS_LEVELS)
        fprintf(out, "unmanaged");
    else
        fprintf(out, "%9u", hops->n_ports ? served_by(&hops->ports[0].after, level) : level);
}

static void print_row(const struct hops *hops, const struct hops_report *r, uint8_t dscp, FILE *out)
{
    if (!r->cells[dscp][0].packets)
        return;
    fprintf(out, "  %4u  ", dscp);
    print_queue(hops, dscp, out);
    for (unsigned hop = 0; hop < r->longest; hop++)
        fprintf(out, "  %9" PRIu64 "  %7" PRIu64, r->cells[dscp][hop].packets,
                r->cells[dscp][hop].ce);
    fputc('\n', out);
}

void hops_print(const struct hops *hops, const struct hops_report *r, FILE *out)
{
    fprintf(out,
            "hop by hop on %u ports: %" PRIu64 " payload packets came in, %" PRIu64
            " left towards a host, %" PRIu64 " unexplained",
            hops->n_ports, r->entered, r->arrived, hops_unexplained(r));
    if (hops_unexplained(r))
        fprintf(out,
                " (%" PRIu64 " came in nowhere, %" PRIu64 " changed their mark, %" PRIu64
                " vanished, %" PRIu64 " are not as the queues count, most at %s)",
                r->strange, r->changed, r->vanished, r->miscounted, r->worst ? r->worst : "none");
    fprintf(out, "; the queues dropped %" PRIu64 " and hold %" PRIu64 "\n", r->dropped, r->waiting);
    fprintf(out, "  DSCP      queue");
    for (unsigned hop = 0; hop < r->longest; hop++)
        fprintf(out, "  out hop %u  with CE", hop + 1);
    fputc('\n', out);
    for (unsigned dscp = 0; dscp < HOPS_DSCPS; dscp++)
        print_row(hops, r, (uint8_t)dscp, out);
    for (unsigned hop = 0; hop < r->longest; hop++)
        if (r->delays[hop].n)
            fprintf(out,
                    "  mode switch to a flowing connection's first packet with the new mark out of "
                    "hop %u: %zu, median %.2f ms, p99 %.2f ms\n",
                    hop + 1, r->delays[hop].n, judge_median_ms(&r->delays[hop]),
                    judge_delay_ms(&r->delays[hop], 990));
}

void hops_report_done(struct hops_report *report)
{
    for (unsigned hop = 0; hop < HOPS_ON_WAY; hop++)
        free(report->delays[hop].at_ns);
}

void hops_done(struct hops *hops)
{
    free(hops->at);
}
