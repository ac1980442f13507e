#include "controller/clients/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct waiting {
    STAILQ_ENTRY(waiting) link;
    size_t length;
    uint8_t bytes[];
};

struct client {
    uint64_t id; /* 0: free; REMOTE_BIT, generation · REMOTE_CLIENTS + place */
    uint64_t peer;
    struct key_holder who;
    bool held;
    STAILQ_HEAD(, waiting) waiting;
    uint32_t n_waiting;
};

struct remote {
    struct remote_hooks hooks;
    struct client clients[REMOTE_CLIENTS];
    struct places places;
    uint64_t generation;
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

int remote_create(const struct remote_hooks *hooks, uint32_t connections,
                  struct remote **ret_remote)
{
    struct remote *remote = calloc(1, sizeof(*remote));
    if (!remote)
        return -ENOMEM;
    remote->hooks = *hooks;
    remote->places = places_of(connections);
    *ret_remote = remote;
    return 0;
}

static void waiting_drop(struct client *client)
{
    struct waiting *message;
    while ((message = STAILQ_FIRST(&client->waiting))) {
        STAILQ_REMOVE_HEAD(&client->waiting, link);
        free(message);
    }
    client->n_waiting = 0;
}

void remote_destroy(struct remote *remote)
{
    if (!remote)
        return;
    for (int i = 0; i < REMOTE_CLIENTS; i++)
        if (remote->clients[i].id)
            waiting_drop(&remote->clients[i]);
    free(remote);
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
        STAILQ_INIT(&client->waiting);
        return client;
    }
    return NULL;
}

static void message_wait(struct remote *remote, struct client *client,
                         const duopoly_Envelope *envelope)
{
    size_t length;
    struct waiting *message = NULL;
    if (client->n_waiting < REMOTE_WAITING &&
        wire_encode(envelope, remote->buffer, sizeof(remote->buffer), &length, NULL) == 0)
        message = malloc(sizeof(*message) + length);
    if (!message) {
        remote->hooks.cut(remote->hooks.send_user, client->peer);
        return;
    }
    message->length = length;
    memcpy(message->bytes, remote->buffer, length);
    STAILQ_INSERT_TAIL(&client->waiting, message, link);
    client->n_waiting++;
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

void remote_message(struct remote *remote, uint64_t peer, const struct key_holder *who,
                    const duopoly_Envelope *envelope)
{
    struct client *client = client_of_peer(remote, peer);
    if (envelope->which_body == duopoly_Envelope_acknowledge_tag) {
        /* A client says that it is there; who is none has no use for its connection. */
        if (!client)
            remote->hooks.cut(remote->hooks.send_user, peer);
        return;
    }
    if (!client)
        client = client_add(remote, peer, who);
    if (!client)
        too_many_refuse(remote, peer);
    else if (client->held)
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
    remote->places.taken[rank_of(&client->who)]--;
    client->id = 0;
}

int remote_send(struct remote *remote, uint64_t id, const duopoly_Envelope *envelope)
{
    const struct client *client = client_find(remote, id);
    if (!client)
        return -EHOSTUNREACH;
    int r = remote->hooks.send(remote->hooks.send_user, client->peer, envelope);
    if (r < 0)
        remote->hooks.cut(remote->hooks.send_user, client->peer);
    return r;
}

void remote_hold(struct remote *remote, uint64_t id, bool hold)
{
    struct client *client = client_find(remote, id);
    struct waiting *message;
    if (!client)
        return;
    client->held = hold;
    while ((client = client_find(remote, id)) && !client->held &&
           (message = STAILQ_FIRST(&client->waiting))) {
        STAILQ_REMOVE_HEAD(&client->waiting, link);
        client->n_waiting--;
        int r = wire_decode(message->bytes, message->length, &remote->replay, NULL);
        free(message);
        if (r == 0)
            remote->hooks.on_message(remote->hooks.user, id, &remote->replay);
    }
}

const struct key_holder *remote_who(const struct remote *remote, uint64_t id)
{
    const struct client *client = client_find(remote, id);
    return client ? &client->who : NULL;
}
