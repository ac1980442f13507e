#include "controller/cli/flows.h"

#include "controller/cli/asked.h"
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

static const struct cell cells[] = {
    CELL_OF("local", "LOCAL", local_end),
    CELL_OF("peer", "PEER", peer_end),
    CELL("peer_host", "PEER HOST", TEXT, peer_host, UNLESS_NOTHING),
    CELL_OF("opened_by", "OPENED BY", opened_by),
    CELL("job", "JOB", ID, job, .lacks = is_nobodys),
    CELL("stage", "STAGE", ID, stage, .lacks = is_nobodys),
    CELL("task", "TASK", ID, task, .lacks = is_nobodys),
    CELL("attempt", "ATTEMPT", ID, flow.attempt, UNLESS_NOTHING),
    CELL("application", "APPLICATION", TEXT, flow.name, UNLESS_NOTHING),
    CELL("coflow_level", "COFLOW", SIGNED, coflow_level, .lacks = is_nobodys),
    CELL("macroflow_level", "MACROFLOW", SIGNED, macroflow_level, .lacks = is_nobodys),
    CELL("level", "LEVEL", SIGNED, level, .lacks = is_nobodys),
    CELL("wire_level", "WIRE", NUMBER, flow.wire_level, .lacks = is_unmarked),
    CELL("sent_bytes", "SENT", BYTES, flow.sent_bytes, .lacks = is_uncounted),
    CELL("received_bytes", "RECEIVED", BYTES, flow.received_bytes, .lacks = is_uncounted),
    CELL("sent_age_ns", "LAST SENT", DURATION, flow.sent_age_ns, UNLESS_NEGATIVE),
    CELL("received_age_ns", "LAST RECEIVED", DURATION, flow.received_age_ns, UNLESS_NEGATIVE),
    {0},
};

static const struct list list_of_flows = LIST_IN(LIST_FLOWS, "flows", cells, asked_page, flows);

int run_flows(struct client *client, const struct request *request, struct writer *writer,
              struct err *err)
{
    return asked_write(client, &list_of_flows, request->words[0], writer, err);
}
