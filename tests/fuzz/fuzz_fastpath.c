/* Fuzz target of the data plane's control socket (dataplane/control_wire.c), of which only socket
 * and worker are scripted. An input is the client's standing, what the worker can do, and one
 * message.
 *
 * Whatever decodes is answered once, by a message that encodes; what is refused, and what is asked
 * by who may only look, changes nothing; what reaches the worker is in its ranges. */
#include "dataplane/control_wire.h"
#include "dataplane/pcapng.h"
#include "lib/wire.h"
#include "lib/wire_unix.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORKER_FULL = 1, WORKER_HANGS = 2, CLIENT = 7 };

struct wire_unix {
    struct wire_unix_handler handler;
    enum wire_unix_standing standing;
    unsigned answers;
    pb_size_t answer; /* its kind */
};
static struct wire_unix server;
static unsigned changes, worker_state;
static struct egress egress;
static bool captures;

int wire_unix_listen(sd_event *loop, const char *path, const struct wire_unix_groups *groups,
                     uint64_t idle_ns, const struct wire_unix_handler *handler,
                     struct wire_unix **ret_server, struct err *err)
{
    (void)loop, (void)path, (void)groups, (void)idle_ns, (void)err;
    server.handler = *handler;
    *ret_server = &server;
    return 0;
}

int wire_unix_peer(const struct wire_unix *unix_server, uint64_t client,
                   struct wire_unix_peer *ret_peer)
{
    if (client != CLIENT)
        abort();
    *ret_peer = (struct wire_unix_peer){.standing = unix_server->standing};
    return 0;
}

int wire_unix_send(struct wire_unix *unix_server, uint64_t client, const duopoly_Envelope *envelope)
{
    static uint8_t bytes[WIRE_MAX_BYTES];
    size_t length;
    if (client != CLIENT || wire_encode(envelope, bytes, sizeof(bytes), &length, NULL) < 0)
        abort();
    unix_server->answers++;
    unix_server->answer = envelope->which_body;
    return 0;
}

void wire_unix_close(struct wire_unix *unix_server)
{
    (void)unix_server;
}

void workers_set_mode(struct workers *workers, uint32_t mode)
{
    (void)workers;
    if (mode > 1)
        abort();
    changes++;
}

void workers_set_lease(struct workers *workers, uint64_t lease_ns)
{
    (void)workers, (void)lease_ns;
    changes++;
}

int workers_set_flows(struct workers *workers, const struct workers_flow *flows, uint32_t n)
{
    (void)workers;
    for (uint32_t i = 0; i < n; i++)
        for (int mode = 0; mode < 2; mode++)
            if (flows[i].levels[mode] >= PORT_LEVELS && flows[i].levels[mode] != FLOW_UNMARKED)
                abort();
    if (worker_state & WORKER_FULL)
        return -ENOBUFS;
    changes++;
    return 0;
}

int workers_stats(struct workers *workers, struct workers_stats *ret_stats)
{
    (void)workers;
    if (worker_state & WORKER_HANGS)
        return -ETIMEDOUT;
    memset(ret_stats, 0, sizeof(*ret_stats));
    ret_stats->ports_n = SIDES;
    for (uint32_t i = 0; i < SIDES; i++)
        ret_stats->ports[i].queues_n = PORT_TRAFFIC;
    return 0;
}

const struct egress *workers_egress(const struct workers *workers)
{
    (void)workers;
    return &egress;
}

int workers_set_egress(struct workers *workers, const struct egress *wanted, struct err *err)
{
    (void)workers;
    for (uint32_t i = 0; i < wanted->n; i++) {
        const struct port *port = &wanted->ports[i].now;
        struct queues *queues;
        if (port->link_bps == 0 || port->queues_n == 0 || port->queues_n > PORT_TRAFFIC ||
            queues_create(port, NULL, 0, &queues, NULL) < 0)
            abort();
        for (uint32_t kind = 0; kind < PORT_TRAFFIC; kind++)
            if (port->queue_of[kind] >= port->queues_n)
                abort();
        queues_destroy(queues);
    }
    if (worker_state & WORKER_HANGS)
        return err_set(err, ETIMEDOUT, "a worker does not answer");
    changes++;
    return 0;
}

struct pcapng *workers_pcapng(struct workers *workers)
{
    (void)workers;
    return NULL;
}

int pcapng_begin(struct pcapng *capture, const char *folder_of, const char *name, uint32_t port,
                 uint32_t frames, char *path, size_t size, struct err *err)
{
    (void)capture;
    if (folder_of[0] != '/' || !name[0] || (port >= egress.n && port != CAPTURE_ALL) ||
        frames == 0 || frames > CAPTURE_MOST)
        abort();
    if (captures)
        return err_set(err, EBUSY, "a capture goes on already");
    snprintf(path, size, "%s/x", folder_of);
    captures = true;
    changes++;
    return 0;
}

int pcapng_stop(struct pcapng *capture, struct err *err)
{
    (void)capture;
    return captures ? 0 : err_set(err, ENOENT, "no capture goes on");
}

bool pcapng_write(struct pcapng *capture)
{
    (void)capture;
    changes++;
    return true;
}

bool pcapng_goes_on(const struct pcapng *capture)
{
    (void)capture;
    return captures;
}

void pcapng_count(const struct pcapng *capture, uint64_t *ret_written, uint64_t *ret_lost)
{
    (void)capture;
    *ret_written = *ret_lost = 1;
}

static void ports_begin(const struct fastpath_settings *settings)
{
    egress = (struct egress){.n = SIDES, .packets_most = 1000};
    for (uint32_t i = 0; i < SIDES; i++) {
        struct egress_port *entry = &egress.ports[i];
        fastpath_facts(settings, i, 1000000000, &entry->facts);
        if (fastpath_port(settings, i, &entry->facts, &entry->configured, NULL) < 0)
            abort();
        entry->now = entry->configured;
    }
    strcpy(egress.ports[SIDE_NETWORK].owner, "somebody");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static duopoly_Envelope envelope;
    static const struct fastpath_settings settings = {.socket = "/run/fastpath.sock",
                                                      .mtu_bytes = 1500,
                                                      .queues = {.levels = 8,
                                                                 .leaf_packets = 100,
                                                                 .floor_permille = 10,
                                                                 .unmanaged_permille = 100,
                                                                 .control_permille = 10}};
    struct fastpath_control *control;
    if (size < 2 || wire_decode(data + 2, size - 2, &envelope, NULL) < 0)
        return 0;
    server = (struct wire_unix){.standing = (enum wire_unix_standing)(data[0] % (UNIX_ROOT + 1))};
    worker_state = data[1];
    changes = 0;
    captures = size % 2;
    ports_begin(&settings);
    if (fastpath_control_open(NULL, &settings, &control, NULL) < 0)
        return 0;
    fastpath_control_begin(control, NULL);
    server.handler.on_message(server.handler.user, CLIENT, &envelope);
    if (server.answers != 1 ||
        changes != (server.answer == duopoly_Envelope_accepted_tag ||
                    server.answer == duopoly_Envelope_captured_tag) ||
        (changes && server.standing < UNIX_MEMBER))
        abort();
    fastpath_control_close(control);
    return 0;
}
