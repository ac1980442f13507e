#include "hostagent/queue_report.h"

#include "lib/wire.h"

#define MOST  (sizeof(((duopoly_AskedPart *)0)->queues) / sizeof(duopoly_QueueCounts))
#define PORTS (MOST / PORT_TRAFFIC)

static void queue_fill(const char *port, const struct queues_count *queue, duopoly_QueueCounts *row)
{
    *row = (duopoly_QueueCounts){.traffic = queue->traffic,
                                 .bytes = queue->bytes,
                                 .packets = queue->packets,
                                 .dropped_packets = queue->drops,
                                 .has_marked_packets = queue->marked >= 0,
                                 .backlog_packets = queue->backlog_packets,
                                 .has_backlog_bytes = queue->backlog_bytes >= 0,
                                 .has_rate_bps = queue->rate_bps >= 0};
    wire_copy(row->port, sizeof(row->port), port);
    if (row->has_marked_packets)
        row->marked_packets = (uint64_t)queue->marked;
    if (row->has_backlog_bytes)
        row->backlog_bytes = (uint64_t)queue->backlog_bytes;
    if (row->has_rate_bps)
        row->rate_bps = (uint64_t)queue->rate_bps;
}

static void ports_fill(const struct queues_counted *ports, uint32_t n, duopoly_AskedPart *part)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t q = 0; q < ports[i].n; q++)
            queue_fill(ports[i].port, &ports[i].queues[q], &part->queues[part->queues_count++]);
}

void queue_report(struct switches *switches, uint64_t cursor, duopoly_AskedPart *ret_part)
{
    struct queues_counted ports[PORTS];
    struct err err = {0};
    uint32_t n = 0;
    if (!switches || cursor > UINT32_MAX - PORTS) {
        wire_copy(ret_part->text, sizeof(ret_part->text),
                  switches ? "" : "the queues of its ports are not ours");
        return;
    }
    if (switches_queues(switches, (uint32_t)cursor, ports, PORTS, &n, &err) >= 0)
        ports_fill(ports, n, ret_part);
    ret_part->cursor = n == PORTS ? cursor + n : 0;
    wire_copy(ret_part->text, sizeof(ret_part->text), err.text);
}
