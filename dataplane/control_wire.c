#include "dataplane/control_wire.h"

#include "dataplane/pcapng.h"
#include "lib/now.h"
#include "lib/wire.h"
#include "lib/wire_unix.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_NS   600000000000u
#define NS_PER_MS UINT64_C(1000000)
#define UNMARKED  255 /* as a level on the wire */
#define FLOWS     (sizeof(((duopoly_SetFlows *)0)->flows) / sizeof(duopoly_FlowLevels))
#define PAGE_ROWS (sizeof(((duopoly_Page *)0)->counters) / sizeof(duopoly_CounterRow))

struct fastpath_control {
    struct wire_unix *server;
    struct workers *workers;
    duopoly_Envelope answer;
    struct workers_flow flows[FLOWS];
    bool is_switch;
    char folder[sizeof(((struct fastpath_settings *)0)->socket)]; /* of captures: the socket's */
    char captured_path[sizeof(((duopoly_Captured *)0)->path)];
    uint8_t dscp_of_level[PORT_LEVELS];
    struct workers_stats stats; /* of the listing that began last */
};

__attribute__((format(printf, 3, 4))) static void
refuse(struct fastpath_control *control, duopoly_Reason reason, const char *format, ...)
{
    duopoly_Refused *refused =
        &wire_begin(&control->answer, duopoly_Envelope_refused_tag)->body.refused;
    va_list words;
    refused->reason = reason;
    va_start(words, format);
    vsnprintf(refused->text, sizeof(refused->text), format, words);
    va_end(words);
}

static void accept_it(struct fastpath_control *control)
{
    wire_begin(&control->answer, duopoly_Envelope_accepted_tag);
}

static void take_lease(struct fastpath_control *control, const duopoly_Envelope *envelope)
{
    workers_set_lease(control->workers, envelope->body.lease.lease_ms * NS_PER_MS);
    accept_it(control);
}

static void take_mode(struct fastpath_control *control, const duopoly_Envelope *envelope)
{
    const duopoly_Mode *mode = &envelope->body.mode;
    if (mode->mode > 1) {
        refuse(control, duopoly_Reason_REASON_MALFORMED,
               "mode %" PRIu32 ": there are 0 (Coflow) and 1 (Macroflow)", mode->mode);
        return;
    }
    workers_set_mode(control->workers, mode->mode);
    accept_it(control);
}

static bool level_is_valid(uint32_t level)
{
    return level < PORT_LEVELS || level == UNMARKED;
}

static bool flow_take(const duopoly_FlowLevels *flow, struct workers_flow *ret_flow)
{
    if (!level_is_valid(flow->coflow_level) || !level_is_valid(flow->macroflow_level) ||
        flow->local_port > UINT16_MAX || flow->peer_port > UINT16_MAX)
        return false;
    *ret_flow = (struct workers_flow){
        .owner = flow->owner,
        .levels = {(uint8_t)flow->coflow_level, (uint8_t)flow->macroflow_level},
        .key = {.local_port = htons((uint16_t)flow->local_port),
                .peer_port = htons((uint16_t)flow->peer_port)}};
    memcpy(ret_flow->key.local, flow->local, sizeof(flow->local));
    memcpy(ret_flow->key.peer, flow->peer, sizeof(flow->peer));
    return true;
}

static void take_flows(struct fastpath_control *control, const duopoly_Envelope *envelope)
{
    const duopoly_SetFlows *message = &envelope->body.set_flows;
    for (pb_size_t i = 0; i < message->flows_count; i++)
        if (!flow_take(&message->flows[i], &control->flows[i])) {
            refuse(control, duopoly_Reason_REASON_MALFORMED,
                   "flow %u of this message: levels are 0 to 7, or 255 for none, ports at most "
                   "65535; none of its flows was set",
                   (unsigned)i);
            return;
        }
    if (workers_set_flows(control->workers, control->flows, message->flows_count) < 0)
        refuse(control, duopoly_Reason_REASON_LIMIT,
               "%d flows are on their way already: say it again in a moment", WORKERS_FLOWS);
    else
        accept_it(control);
}

static duopoly_Reason reason_of(int r)
{
    return r == -E2BIG    ? duopoly_Reason_REASON_LIMIT
           : r == -EINVAL ? duopoly_Reason_REASON_MALFORMED
                          : duopoly_Reason_REASON_STATE;
}

static void take_ports(struct fastpath_control *control, const duopoly_Envelope *envelope)
{
    const duopoly_SetDataplanePorts *message = &envelope->body.set_dataplane_ports;
    struct egress egress;
    struct err err = {0};
    int r = egress_read(workers_egress(control->workers), message, &egress, &err);
    if (r == 0)
        r = workers_set_egress(control->workers, &egress, &err);
    if (r < 0)
        refuse(control, reason_of(r), "%s", err.text);
    else
        accept_it(control);
}

static void fill_counters(const struct workers_port *from, duopoly_DataplanePort *port)
{
    port->came_bytes = from->came_bytes;
    port->went_bytes = from->went_bytes;
    for (pb_size_t q = 0; q < port->queues_count; q++) {
        const struct queue_counters *counters = &from->queues[q];
        port->queues[q].out_bytes = counters->out_bytes;
        port->queues[q].out_packets = counters->out_packets;
        port->queues[q].dropped_packets = counters->dropped_packets;
        port->queues[q].marked_packets = counters->marked_packets;
        port->queues[q].waiting = from->waiting[q];
    }
}

static void tell_ports(struct fastpath_control *control, const duopoly_Envelope *envelope)
{
    struct workers_stats stats;
    (void)envelope;
    if (workers_stats(control->workers, &stats) < 0) {
        refuse(control, duopoly_Reason_REASON_STATE, "a worker does not answer");
        return;
    }
    duopoly_DataplanePorts *message =
        &wire_begin(&control->answer, duopoly_Envelope_dataplane_ports_tag)->body.dataplane_ports;
    egress_write(workers_egress(control->workers), message);
    for (pb_size_t i = 0; i < message->ports_count; i++)
        fill_counters(&stats.ports[i], &message->ports[i]);
    memcpy(message->dscp_of_level, control->dscp_of_level, sizeof(control->dscp_of_level));
}

static void tell_captured(struct fastpath_control *control)
{
    const struct pcapng *capture = workers_pcapng(control->workers);
    duopoly_Captured *captured =
        &wire_begin(&control->answer, duopoly_Envelope_captured_tag)->body.captured;
    wire_copy(captured->path, sizeof(captured->path), control->captured_path);
    pcapng_count(capture, &captured->frames, &captured->lost);
    captured->goes_on = pcapng_goes_on(capture);
}

/* CAPTURE_ALL without a name; −ENODEV. */
static int capture_place(const struct egress *egress, const char *name, uint32_t *ret_place,
                         struct err *err)
{
    *ret_place = CAPTURE_ALL;
    for (uint32_t i = 0; i < egress->n; i++)
        if (strcmp(egress->ports[i].facts.name, name) == 0)
            *ret_place = i;
    return name[0] && *ret_place == CAPTURE_ALL
               ? err_set(err, ENODEV, "%s: this data plane has no such port", name)
               : 0;
}

static void begin_capture(struct fastpath_control *control, const duopoly_Envelope *envelope)
{
    const duopoly_BeginCapture *message = &envelope->body.begin_capture;
    struct err err = {0};
    uint32_t place;
    char path[sizeof(control->captured_path)];
    int r = message->frames == 0 || message->frames > CAPTURE_MOST
                ? err_set(&err, EINVAL, "a capture is of 1 to %u frames", CAPTURE_MOST)
                : capture_place(workers_egress(control->workers), message->port, &place, &err);
    if (r == 0)
        r = pcapng_begin(workers_pcapng(control->workers), control->folder,
                         message->port[0] ? message->port : "all", place, message->frames, path,
                         sizeof(path), &err);
    if (r < 0) {
        refuse(control, reason_of(r), "%s", err.text);
        return;
    }
    memcpy(control->captured_path, path, sizeof(path));
    tell_captured(control);
}

/* The worker has taken its last one when it has answered. */
static void end_capture(struct fastpath_control *control, const duopoly_Envelope *envelope)
{
    struct err err = {0};
    (void)envelope;
    int r = pcapng_stop(workers_pcapng(control->workers), &err);
    if (r == 0 && workers_stats(control->workers, &control->stats) < 0)
        r = err_set(&err, ETIMEDOUT, "a worker does not answer");
    if (r < 0) {
        refuse(control, duopoly_Reason_REASON_STATE, "%s", err.text);
        return;
    }
    pcapng_write(workers_pcapng(control->workers));
    tell_captured(control);
}

struct listing {
    duopoly_Page *page;
    uint64_t cursor, n; /* rows before it are passed over */
};

static void row(struct listing *listing, const char *source, const char *name, uint64_t value)
{
    duopoly_Page *page = listing->page;
    if (listing->n++ < listing->cursor)
        return;
    if (page->counters_count == PAGE_ROWS) {
        page->cursor = listing->cursor + PAGE_ROWS;
        return;
    }
    duopoly_CounterRow *to = &page->counters[page->counters_count++];
    wire_copy(to->source, sizeof(to->source), source);
    wire_copy(to->name, sizeof(to->name), name);
    to->value = value;
}

static void rows_of_queue(struct listing *listing, const struct workers_port *port,
                          const char *name, uint32_t q)
{
    char source[sizeof(((duopoly_CounterRow *)0)->source)];
    const struct queue_counters *queue = &port->queues[q];
    snprintf(source, sizeof(source), "%s queue %" PRIu32, name, q);
    row(listing, source, "in_packets", queue->in_packets);
    row(listing, source, "out_packets", queue->out_packets);
    row(listing, source, "out_bytes", queue->out_bytes);
    row(listing, source, "dropped_packets", queue->dropped_packets);
    row(listing, source, "marked_packets", queue->marked_packets);
    row(listing, source, "waiting", port->waiting[q]);
}

static void rows_of_switching(struct listing *listing, const char *name,
                              const struct workers_port *port)
{
    const struct switching_counters *counters = &port->switching.counters;
    const uint64_t now = now_ns(CLOCK_BOOTTIME), until = port->switching.shut_until_ns;
    row(listing, name, "copied_packets", port->copied_packets);
    row(listing, name, "flooded_packets", counters->flooded_packets);
    row(listing, name, "over_limit_packets", counters->over_limit_packets);
    row(listing, name, "filtered_packets", counters->filtered_packets);
    row(listing, name, "shut_packets", counters->shut_packets);
    row(listing, name, "shuts", counters->shuts);
    row(listing, name, "shut_ms", until > now ? (until - now) / NS_PER_MS + 1 : 0);
}

static void rows_of_port(struct listing *listing, const struct workers_port *port, const char *name,
                         bool is_switch)
{
    row(listing, name, "came_packets", port->came_packets);
    row(listing, name, "went_packets", port->went_packets);
    row(listing, name, "too_long_packets", port->too_long_packets);
    if (is_switch)
        rows_of_switching(listing, name, port);
    for (uint32_t q = 0; q < port->queues_n; q++)
        rows_of_queue(listing, port, name, q);
}

static void rows_of_macs(struct listing *listing, const struct workers_macs *macs)
{
    row(listing, "macs", "alive", macs->alive);
    row(listing, "macs", "moved", macs->moved);
    row(listing, "macs", "full", macs->full);
}

static void rows_of_marks(struct listing *listing, const struct workers_stats *stats)
{
    char name[sizeof(((duopoly_CounterRow *)0)->name)];
    for (int level = 0; level < PORT_LEVELS; level++) {
        snprintf(name, sizeof(name), "level%d_bytes", level);
        row(listing, "marks", name, stats->marking.marked_bytes[level]);
    }
    row(listing, "marks", "unmarked_bytes", stats->marking.unmarked_bytes);
    row(listing, "marks", "control_bytes", stats->marking.control_bytes);
    row(listing, "marks", "bleached_packets", stats->marking.bleached_packets);
    row(listing, "marks", "overtaken_packets", stats->marking.overtaken_packets);
    row(listing, "flows", "alive", stats->flows_alive);
    row(listing, "flows", "kept", stats->flows.kept);
    row(listing, "flows", "made", stats->flows.made);
    row(listing, "flows", "ended", stats->flows.ended);
    row(listing, "flows", "evictions", stats->flows.evictions);
    row(listing, "worker", "sleeps", stats->sleeps);
    row(listing, "worker", "busy_cycles", stats->busy_cycles);
}

static void list(struct fastpath_control *control, const duopoly_Envelope *envelope)
{
    const duopoly_List *request = &envelope->body.list;
    const struct workers_stats *stats = &control->stats;
    if (request->of != duopoly_ListOf_LIST_COUNTERS) {
        refuse(control, duopoly_Reason_REASON_UNSUPPORTED, "a data plane lists counters only");
        return;
    }
    if (request->cursor == 0 && workers_stats(control->workers, &control->stats) < 0) {
        refuse(control, duopoly_Reason_REASON_STATE, "a worker does not answer");
        return;
    }
    struct listing listing = {
        .page = &wire_begin(&control->answer, duopoly_Envelope_page_tag)->body.page,
        .cursor = request->cursor};
    for (uint32_t i = 0; i < stats->ports_n; i++)
        rows_of_port(&listing, &stats->ports[i],
                     workers_egress(control->workers)->ports[i].facts.name, control->is_switch);
    if (control->is_switch)
        rows_of_macs(&listing, &stats->macs);
    rows_of_marks(&listing, stats);
}

/* The requests of a data plane's clients. */
static const struct {
    void (*take)(struct fastpath_control *control, const duopoly_Envelope *envelope);
    bool looks; /* changes nothing: readers may ask it */
} requests[WIRE_KINDS] = {
    [WIRE_KIND(begin_capture)] = {.take = begin_capture},
    [WIRE_KIND(end_capture)] = {.take = end_capture},
    [WIRE_KIND(get_dataplane_ports)] = {.take = tell_ports, .looks = true},
    [WIRE_KIND(lease)] = {.take = take_lease},
    [WIRE_KIND(list)] = {.take = list, .looks = true},
    [WIRE_KIND(mode)] = {.take = take_mode},
    [WIRE_KIND(set_flows)] = {.take = take_flows},
    [WIRE_KIND(set_dataplane_ports)] = {.take = take_ports},
};

static bool may(struct fastpath_control *control, uint64_t client, pb_size_t kind)
{
    struct wire_unix_peer peer;
    return requests[kind].looks ||
           (wire_unix_peer(control->server, client, &peer) == 0 && peer.standing >= UNIX_MEMBER);
}

static void handle(struct fastpath_control *control, uint64_t client,
                   const duopoly_Envelope *request)
{
    const pb_size_t kind = request->which_body;
    if (request->version < WIRE_VERSION_MIN || request->version > WIRE_VERSION_MAX)
        refuse(control, duopoly_Reason_REASON_VERSION,
               "this data plane speaks version %d, not %" PRIu32, WIRE_VERSION_MAX,
               request->version);
    else if (!may(control, client, kind))
        refuse(control, duopoly_Reason_REASON_PERMISSION,
               "you may only list counters and ports here");
    else if (requests[kind].take)
        requests[kind].take(control, request);
    else
        refuse(control, duopoly_Reason_REASON_UNSUPPORTED,
               "a data plane takes lease, mode, set_flows, ports, captures and list, not %s",
               wire_kind_name(kind));
}

static void on_message(void *user, uint64_t client, const duopoly_Envelope *request)
{
    struct fastpath_control *control = user;
    handle(control, client, request);
    control->answer.version = WIRE_VERSION_MAX;
    wire_unix_send(control->server, client, &control->answer);
}

static void on_close(void *user, uint64_t client)
{
    (void)user, (void)client;
}

void fastpath_control_change(struct fastpath_control *control,
                             const struct fastpath_settings *settings)
{
    const struct marking_settings marking = fastpath_marking(settings);
    control->is_switch = settings->role == ROLE_OF_SWITCH;
    memcpy(control->dscp_of_level, marking.dscp_of_level, sizeof(control->dscp_of_level));
}

int fastpath_control_open(sd_event *loop, const struct fastpath_settings *settings,
                          struct fastpath_control **ret_control, struct err *err)
{
    struct fastpath_control *control = calloc(1, sizeof(*control));
    const struct wire_unix_groups groups = {settings->group, settings->readers};
    const struct wire_unix_handler handler = {
        .on_message = on_message, .on_close = on_close, .user = control};
    if (!control)
        return err_set(err, ENOMEM, "no memory for the control socket");
    fastpath_control_change(control, settings);
    strcpy(control->folder, settings->socket);
    *strrchr(control->folder, '/') = '\0'; /* it is a whole path */
    int r =
        wire_unix_listen(loop, settings->socket, &groups, IDLE_NS, &handler, &control->server, err);
    if (r < 0)
        fastpath_control_close(control);
    else
        *ret_control = control;
    return r;
}

void fastpath_control_begin(struct fastpath_control *control, struct workers *workers)
{
    control->workers = workers;
}

void fastpath_control_close(struct fastpath_control *control)
{
    if (control)
        wire_unix_close(control->server);
    free(control);
}
