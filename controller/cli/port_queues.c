#include "controller/cli/port_queues.h"

#include "controller/cli/asked.h"

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

static const struct cell cells[] = {
    CELL("port", "PORT", TEXT, port),
    CELL_OF("traffic", "TRAFFIC", traffic),
    {"level", "LEVEL", .value = level, .lacks = is_of_no_level},
    CELL("rate_bps", "RATE", BIT_RATE, rate_bps, .lacks = is_unrated),
    CELL("backlog_packets", "WAITING", NUMBER, backlog_packets),
    CELL("backlog_bytes", "WAITING BYTES", BYTES, backlog_bytes, .lacks = is_unweighed),
    CELL("dropped_packets", "DROPPED", NUMBER, dropped_packets),
    CELL("marked_packets", "MARKED", NUMBER, marked_packets, .lacks = is_unmarking),
    CELL("sent_packets", "SENT", NUMBER, packets),
    CELL("sent_bytes", "SENT BYTES", BYTES, bytes),
    {0},
};
static const struct list list_of_port_queues =
    LIST_IN(LIST_QUEUES, "port_queues", cells, asked_page, queues);

int port_queues_write(struct client *client, const char *host, struct writer *writer,
                      struct err *err)
{
    return asked_write(client, &list_of_port_queues, host, writer, err);
}
