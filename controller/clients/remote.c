#include "controller/clients/remote.h"

#include "lib/invariant.h"
#include "lib/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

struct waiting {
    STAILQ_ENTRY(waiting) link;
    size_t length;
    uint8_t bytes[];
};

struct line {
    STAILQ_HEAD(, waiting) messages;
    uint32_t n;
};

struct client {
    uint64_t id; /* 0: free; REMOTE_BIT, generation · REMOTE_CLIENTS + place */
    uint64_t peer;
    struct key_holder who;
    bool held;
    struct line incoming, outgoing;
};

struct remote {
    struct remote_hooks hooks;
    struct client clients[REMOTE_CLIENTS];
    struct places places;
    uint64_t generation;
    sd_event_source *again; /* while something waits to be sent */
    duopoly_Envelope refusal, replay;
    uint8_t buffer[WIRE_MAX_BYTES];
};

static enum place_rank rank_of(const struct key_holder *who)
{
    switch (who->role) {
    case ROLE_ADMIN:
        return RANK_ADMINISTERS;
    case ROLE_OPERATOR:
        return RANK_OPERATES;
    case ROLE_SCHEDULER:
        return RANK_SUBMITS;
    default:
        return RANK_LOOKS;
    }
}

static void line_init(struct line *line)
{
    STAILQ_INIT(&line->messages);
    line->n = 0;
}

static int line_append(struct remote *remote, struct line *line, const duopoly_Envelope *envelope)
{
    size_t length;
    struct waiting *message = NULL;
    if (line->n < REMOTE_WAITING &&
        wire_encode(envelope, remote->buffer, sizeof(remote->buffer), &length, NULL) == 0)
        message = malloc(sizeof(*message) + length);
    if (!message)
        return -ENOBUFS;
    message->length = length;
    memcpy(message->bytes, remote->buffer, length);
    STAILQ_INSERT_TAIL(&line->messages, message, link);
    line->n++;
    return 0;
}

static void line_drop_first(struct line *line)
{
    struct waiting *message = STAILQ_FIRST(&line->messages);
    STAILQ_REMOVE_HEAD(&line->messages, link);
    line->n--;
    free(message);
}

static void waiting_drop(struct client *client)
{
    while (client->incoming.n)
        line_drop_first(&client->incoming);
    while (client->outgoing.n)
        line_drop_first(&client->outgoing);
}

static void client_cut(const struct remote *remote, const struct client *client, const char *why)
{
    if (*why)
        log_of(client->who.name, LOG_LEVEL_NOTE, LOG_FAULT_PEER,
               "key of %s: a connection is ended: %s", client->who.name, why);
    remote->hooks.cut(remote->hooks.send_user, client->peer);
}

static struct client *client_find(const struct remote *remote, uint64_t id)
{
    const struct client *client = &remote->clients[id % REMOTE_CLIENTS];
    return id && client->id == id ? (struct client *)client : NULL;
}

static struct client *client_of_peer(struct remote *remote, uint64_t peer)
{
    for (int i = 0; i < REMOTE_CLIENTS; i++)
        if (remote->clients[i].id && remote->clients[i].peer == peer)
            return &remote->clients[i];
    return NULL;
}

static bool has_place(const struct remote *remote, const struct key_holder *who)
{
    uint32_t same = 0;
    for (int i = 0; i < REMOTE_CLIENTS; i++)
        same += remote->clients[i].id && strcmp(remote->clients[i].who.name, who->name) == 0;
    return same < places_of_one(&remote->places) && places_left(&remote->places, rank_of(who));
}

/* NULL: all places that it may have are taken. */
static struct client *client_add(struct remote *remote, uint64_t peer, const struct key_holder *who)
{
    if (!has_place(remote, who))
        return NULL;
    remote->places.taken[rank_of(who)]++;
    for (uint64_t i = 0; i < REMOTE_CLIENTS; i++) {
        struct client *client = &remote->clients[i];
        if (client->id)
            continue;
        *client = (struct client){.id = REMOTE_BIT | (++remote->generation * REMOTE_CLIENTS + i),
                                  .peer = peer,
                                  .who = *who};
        line_init(&client->incoming);
        line_init(&client->outgoing);
        return client;
    }
    return NULL;
}

static void too_many_refuse(struct remote *remote, uint64_t peer)
{
    duopoly_Refused *refused =
        &wire_begin(&remote->refusal, duopoly_Envelope_refused_tag)->body.refused;
    refused->reason = duopoly_Reason_REASON_LIMIT;
    wire_copy(refused->text, sizeof(refused->text),
              "too many clients of this key or role are connected; try again when one has gone");
    remote->hooks.send(remote->hooks.send_user, peer, &remote->refusal);
}

/* Messages of a client are not read while its answers wait to be sent. */
static bool is_read(const struct client *client)
{
    return !client->held && !client->outgoing.n;
}

/* Whether the next message of a client is handled now. It may be held by asking so. */
static bool is_taken(const struct remote *remote, const struct client *client)
{
    return is_read(client) &&
           (!remote->hooks.on_ready || remote->hooks.on_ready(remote->hooks.user, client->id));
}

static void message_wait(struct remote *remote, struct client *client,
                         const duopoly_Envelope *envelope)
{
    if (line_append(remote, &client->incoming, envelope) < 0)
        client_cut(remote, client, "it asks on and on before it has its answers");
}

void remote_message(struct remote *remote, uint64_t peer, const struct key_holder *who,
                    const duopoly_Envelope *envelope)
{
    struct client *client = client_of_peer(remote, peer);
    if (envelope->which_body == duopoly_Envelope_acknowledge_tag) {
        /* A client's sign of life; without a place its connection is of no use. */
        if (!client)
            remote->hooks.cut(remote->hooks.send_user, peer);
        return;
    }
    if (!client)
        client = client_add(remote, peer, who);
    if (!client)
        too_many_refuse(remote, peer);
    else if (!is_taken(remote, client))
        message_wait(remote, client, envelope);
    else
        remote->hooks.on_message(remote->hooks.user, client->id, envelope);
}

void remote_gone(struct remote *remote, uint64_t peer)
{
    struct client *client = client_of_peer(remote, peer);
    if (!client)
        return;
    uint64_t id = client->id;
    waiting_drop(client);
    remote->hooks.on_close(remote->hooks.user, id);
    assert(remote->places.taken[rank_of(&client->who)] > 0);
    remote->places.taken[rank_of(&client->who)]--;
    client->id = 0;
}

/* WHY it is not restarted: each message in between would delay it. */
static void again_begin(struct remote *remote)
{
    int is_on = SD_EVENT_OFF;
    sd_event_source_get_enabled(remote->again, &is_on);
    if (is_on != SD_EVENT_OFF)
        return;
    sd_event_source_set_time_relative(remote->again, REMOTE_AGAIN_USEC);
    sd_event_source_set_enabled(remote->again, SD_EVENT_ONESHOT);
}

int remote_send(struct remote *remote, uint64_t id, const duopoly_Envelope *envelope)
{
    struct client *client = client_find(remote, id);
    if (!client)
        return -EHOSTUNREACH;
    int r = client->outgoing.n
                ? -ENOBUFS
                : remote->hooks.send(remote->hooks.send_user, client->peer, envelope);
    if (r == -ENOBUFS && (r = line_append(remote, &client->outgoing, envelope)) == 0)
        again_begin(remote);
    if (r < 0)
        client_cut(remote, client, r == -ENOBUFS ? "it does not take what it is sent" : "");
    return r;
}

bool remote_has_room(const struct remote *remote, uint64_t id)
{
    const struct client *client = client_find(remote, id);
    return client && !client->outgoing.n;
}

/* Handles messages that came while nothing was read. */
static void incoming_take(struct remote *remote, uint64_t id)
{
    struct client *client;
    const struct waiting *message;
    while ((client = client_find(remote, id)) &&
           (message = STAILQ_FIRST(&client->incoming.messages)) && is_taken(remote, client)) {
        int r = wire_decode(message->bytes, message->length, &remote->replay, NULL);
        line_drop_first(&client->incoming);
        if (r == 0)
            remote->hooks.on_message(remote->hooks.user, id, &remote->replay);
    }
}

void remote_hold(struct remote *remote, uint64_t id, bool hold)
{
    struct client *client = client_find(remote, id);
    if (!client)
        return;
    client->held = hold;
    incoming_take(remote, id);
}

/* Sends what waits for a client, as far as there is room; returns whether some still waits. */
static bool outgoing_send(struct remote *remote, struct client *client)
{
    const struct waiting *message;
    while ((message = STAILQ_FIRST(&client->outgoing.messages))) {
        int r = wire_decode(message->bytes, message->length, &remote->replay, NULL);
        if (r == 0)
            r = remote->hooks.send(remote->hooks.send_user, client->peer, &remote->replay);
        if (r == -ENOBUFS)
            return true;
        line_drop_first(&client->outgoing);
        if (r < 0)
            client_cut(remote, client, "");
    }
    return false;
}

static int on_again(sd_event_source *source, uint64_t usec, void *user)
{
    struct remote *remote = user;
    bool more = false;
    (void)source, (void)usec;
    for (int i = 0; i < REMOTE_CLIENTS; i++) {
        struct client *client = &remote->clients[i];
        const uint64_t id = client->id;
        if (!id || !client->outgoing.n)
            continue;
        if (outgoing_send(remote, client)) {
            more = true;
            continue;
        }
        incoming_take(remote, id);
        remote->hooks.on_room(remote->hooks.user, id);
    }
    if (more)
        again_begin(remote);
    return 0;
}

int remote_create(sd_event *loop, const struct remote_hooks *hooks, uint32_t connections,
                  struct remote **ret_remote)
{
    struct remote *remote = calloc(1, sizeof(*remote));
    int r =
        remote ? sd_event_add_time(loop, &remote->again, CLOCK_MONOTONIC, 0, 1000, on_again, remote)
               : -ENOMEM;
    if (r >= 0)
        r = sd_event_source_set_enabled(remote->again, SD_EVENT_OFF);
    if (r < 0) {
        remote_destroy(remote);
        return r;
    }
    remote->hooks = *hooks;
    remote->places = places_of(connections);
    *ret_remote = remote;
    return 0;
}

void remote_destroy(struct remote *remote)
{
    if (!remote)
        return;
    sd_event_source_disable_unref(remote->again);
    for (int i = 0; i < REMOTE_CLIENTS; i++)
        if (remote->clients[i].id)
            waiting_drop(&remote->clients[i]);
    free(remote);
}

const struct key_holder *remote_who(const struct remote *remote, uint64_t id)
{
    const struct client *client = client_find(remote, id);
    return client ? &client->who : NULL;
}
