/* What an agent tells when it is asked: connections, and queues of ports. */
#include "controller/lists/list.h"
#include "lib/address.h"

#include <inttypes.h>
#include <stdio.h>

#define ROW duopoly_FlowRow
static bool is_nobodys(const void *row)
{
    return !((const ROW *)row)->known;
}

static bool is_unmarked(const void *row)
{
    return !((const ROW *)row)->flow.has_wire_level;
}

static bool is_uncounted(const void *row)
{
    return !((const ROW *)row)->flow.has_sent_bytes;
}

static bool is_untimed(const void *row)
{
    return !((const ROW *)row)->flow.has_sent_bps;
}

static struct value end(const uint8_t address[16], uint32_t port, char words[CELL_WORDS])
{
    char text[INET6_ADDRSTRLEN];
    address_print(address, text);
    snprintf(words, CELL_WORDS, address_is_v4(address) ? "%s:%" PRIu32 : "[%s]:%" PRIu32, text,
             port);
    return value_text(words);
}

static struct value local_end(const void *row, char words[CELL_WORDS])
{
    const duopoly_Flow *flow = &((const ROW *)row)->flow;
    return end(flow->local, flow->local_port, words);
}

static struct value peer_end(const void *row, char words[CELL_WORDS])
{
    const duopoly_Flow *flow = &((const ROW *)row)->flow;
    return end(flow->peer, flow->peer_port, words);
}

static struct value opened_by(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return value_text(((const ROW *)row)->flow.accepted ? "peer" : "host");
}

static const struct cell flow_cells[] = {
    CELL_OF("local", "LOCAL", TEXT, local_end),
    CELL_OF("peer", "PEER", TEXT, peer_end),
    CELL("peer_host", "PEER HOST", TEXT, peer_host, UNLESS_NOTHING),
    CELL_OF("opened_by", "OPENED BY", TEXT, opened_by),
    CELL("port", "PORT", TEXT, flow.port, UNLESS_NOTHING),
    CELL("job", "JOB", ID, job, .lacks = is_nobodys),
    CELL("stage", "STAGE", ID, stage, .lacks = is_nobodys),
    CELL("task", "TASK", ID, task, .lacks = is_nobodys),
    CELL("attempt", "ATTEMPT", ID, flow.attempt, UNLESS_NOTHING),
    CELL("application", "APPLICATION", TEXT, flow.name, UNLESS_NOTHING),
    CELL("coflow_level", "COFLOW", SIGNED, coflow_level, .lacks = is_nobodys),
    CELL("macroflow_level", "MACROFLOW", SIGNED, macroflow_level, .lacks = is_nobodys),
    CELL("level", "LEVEL", SIGNED, level, .lacks = is_nobodys),
    CELL("wire_level", "WIRE", NUMBER, flow.wire_level, .lacks = is_unmarked),
    CELL("sent_bps", "SENDS", BIT_RATE, flow.sent_bps, .lacks = is_untimed),
    CELL("received_bps", "RECEIVES", BIT_RATE, flow.received_bps, .lacks = is_untimed),
    CELL("sent_bytes", "SENT", BYTES, flow.sent_bytes, .lacks = is_uncounted),
    CELL("received_bytes", "RECEIVED", BYTES, flow.received_bytes, .lacks = is_uncounted),
    CELL("sent_age_ns", "LAST SENT", DURATION, flow.sent_age_ns, UNLESS_NEGATIVE),
    CELL("received_age_ns", "LAST RECEIVED", DURATION, flow.received_age_ns, UNLESS_NEGATIVE),
    {0},
};
#undef ROW

#define ROW duopoly_QueueCounts
static bool is_unmarking(const void *row)
{
    return !((const ROW *)row)->has_marked_packets;
}

static bool is_unweighed(const void *row)
{
    return !((const ROW *)row)->has_backlog_bytes;
}

static bool is_unrated(const void *row)
{
    return !((const ROW *)row)->has_rate_bps;
}

enum { CONTROL = 0, UNMANAGED = 9 }; /* as the schema numbers them, the levels in between */

static bool is_of_no_level(const void *row)
{
    const uint32_t traffic = ((const ROW *)row)->traffic;
    return traffic == CONTROL || traffic >= UNMANAGED;
}

static struct value traffic(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return value_text(((const ROW *)row)->traffic == CONTROL ? "control"
                      : is_of_no_level(row)                  ? "unmanaged"
                                                             : "level");
}

static struct value level(const void *row, char words[CELL_WORDS])
{
    (void)words;
    return value_number(((const ROW *)row)->traffic - 1);
}

static const struct cell queue_cells[] = {
    CELL("port", "PORT", TEXT, port),
    CELL_OF("traffic", "TRAFFIC", TEXT, traffic),
    CELL_OF("level", "LEVEL", NUMBER, level, .lacks = is_of_no_level),
    CELL("rate_bps", "RATE", BIT_RATE, rate_bps, .lacks = is_unrated),
    CELL("backlog_packets", "WAITING", NUMBER, backlog_packets),
    CELL("backlog_bytes", "WAITING BYTES", BYTES, backlog_bytes, .lacks = is_unweighed),
    CELL("dropped_packets", "DROPPED", NUMBER, dropped_packets),
    CELL("marked_packets", "MARKED", NUMBER, marked_packets, .lacks = is_unmarking),
    CELL("sent_packets", "SENT", NUMBER, packets),
    CELL("sent_bytes", "SENT BYTES", BYTES, bytes),
    {0},
};
#undef ROW

const struct list list_of_flows =
    LIST_IN(LIST_FLOWS, "flows", flow_cells, FlowRow, asked_page, flows, .local = true);
const struct list list_of_port_queues = LIST_IN(LIST_QUEUES, "port_queues", queue_cells,
                                                QueueCounts, asked_page, queues, .local = true);
