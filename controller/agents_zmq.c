#include "controller/agents_zmq.h"

#include "controller/own_key.h"
#include "lib/conf_check.h"
#include "lib/log.h"
#include "lib/places.h"
#include "lib/plural.h"
#include "lib/wire_zmq_pace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STORE_KIND        "key" /* of the store's settings */
#define AGENT_CONNECTIONS 8
#define TOLD_SO           8 /* connections that wait to be told that there is no place */

struct agents_zmq {
    sd_event *loop;
    struct wire_zmq *endpoint;
    struct conductor *conductor;
    const struct conductor_parts *parts; /* the conductor's */
    struct agents_zmq_clients clients;
    uint32_t most;           /* connections */
    struct own_key *own;     /* NULL: no gate */
    struct keyring *keyring; /* with a gate */
    sd_event_source *due;    /* a key's time comes */
    struct agents_zmq_refusals refusals;
    duopoly_Envelope answer;
};

static int64_t now_s(void)
{
    return time(NULL);
}

static void forbidden_refuse(struct agents_zmq *door, uint64_t peer, const struct key_holder *who,
                             const duopoly_Envelope *envelope)
{
    duopoly_Refused *refused =
        &wire_begin(&door->answer, duopoly_Envelope_refused_tag)->body.refused;
    door->refusals.forbidden++;
    refused->reason = duopoly_Reason_REASON_PERMISSION;
    refused->sequence = envelope->sequence;
    snprintf(refused->text, sizeof(refused->text), "%s may not send '%s'",
             who->role == ROLE_AGENT ? "an agent" : "a framework",
             wire_kind_name(envelope->which_body));
    log_of(who->name, LOG_LEVEL_WARNING, LOG_FAULT_PEER, "key of %s: %s: refused, %s", who->name,
           wire_kind_name(envelope->which_body), refused->text);
    char result[sizeof(refused->text) + 16];
    snprintf(result, sizeof(result), "refused, %s", refused->text);
    store_audit(door->parts->store, who->name, wire_kind_name(envelope->which_body), result);
    conductor_commit(door->conductor);
    wire_zmq_send(door->endpoint, peer, WIRE_RESULT, &door->answer);
}

static void agent_message(struct agents_zmq *door, uint64_t peer, const char *identity,
                          const duopoly_Envelope *envelope)
{
    const struct charged_work work = conductor_watch(door->conductor);
    const int64_t now_ns = clock_now_ns(door->parts->clock);
    agents_message(door->parts->agents, now_ns, peer, identity, envelope);
    conductor_commit(door->conductor);
    agents_note(door->parts->agents, now_ns, peer, identity,
                conductor_watched(door->conductor, &work));
}

/* WHY the number is looked up twice: HELLO begins a session, and what is wrong ends one. */
static void framework_message(struct agents_zmq *door, uint64_t peer, const char *identity,
                              const duopoly_Envelope *envelope)
{
    struct frameworks *frameworks = door->parts->frameworks;
    const uint64_t before = frameworks_application(frameworks, peer);
    const struct charged_work work = conductor_begin_work(door->conductor);
    frameworks_message(frameworks, clock_now_ns(door->parts->clock), peer, identity, envelope);
    const uint64_t application = frameworks_application(frameworks, peer);
    conductor_commit(door->conductor);
    conductor_charge(door->conductor, &work, application ? application : before);
}

static void framework_take(struct agents_zmq *door, uint64_t peer, const struct key_holder *who,
                           const duopoly_Envelope *envelope)
{
    if (!frameworks_take(envelope->which_body))
        forbidden_refuse(door, peer, who, envelope);
    else
        framework_message(door, peer, who->name, envelope);
}

/* Without a gate: a peer that says HELLO as a framework is one. */
static bool is_framework(const struct agents_zmq *door, uint64_t peer,
                         const duopoly_Envelope *envelope)
{
    return envelope->which_body == duopoly_Envelope_framework_hello_tag ||
           frameworks_knows(door->parts->frameworks, peer);
}

static void on_message(void *user, uint64_t peer, const char *identity,
                       const duopoly_Envelope *envelope)
{
    struct agents_zmq *door = user;
    struct key_holder who;
    if (!identity && is_framework(door, peer, envelope))
        framework_message(door, peer, NULL, envelope);
    else if (!identity)
        agent_message(door, peer, NULL, envelope);
    else if (keyring_holder(door->keyring, now_s(), identity, &who) < 0)
        door->refusals.late++;
    else if (who.role == ROLE_FRAMEWORK)
        framework_take(door, peer, &who, envelope);
    else if (who.role != ROLE_AGENT)
        door->clients.message(door->clients.user, peer, &who, envelope);
    else if (!agents_take(envelope->which_body))
        forbidden_refuse(door, peer, &who, envelope);
    else
        agent_message(door, peer, who.name, envelope);
}

static void on_malformed(void *user, uint64_t peer, const struct err *err)
{
    const struct agents_zmq *door = user;
    agents_malformed(door->parts->agents, clock_now_ns(door->parts->clock), peer, err->text);
    conductor_commit(door->conductor);
}

static void on_flood(void *user, uint64_t peer)
{
    const struct agents_zmq *door = user;
    agents_flood(door->parts->agents, peer);
    conductor_commit(door->conductor);
}

static void on_address_cut(void *user, enum wire_zmq_fault why, const char *address)
{
    (void)user;
    if (why == WIRE_ZMQ_ENDLESS)
        log_of(address, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
               "a connection from %s sends a message that does not end: it is cut off, and its "
               "address for a while",
               address);
    else
        log_of(address, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
               "%s begins more than %d connections at once, or %d a second: the rest is ended or "
               "waits, and so may others of that address",
               address, PACE_BURST, PACE_PER_SECOND);
}

static void on_gone(void *user, uint64_t peer, bool cut)
{
    const struct agents_zmq *door = user;
    const uint64_t application = frameworks_application(door->parts->frameworks, peer);
    const struct charged_work work = conductor_begin_work(door->conductor);
    if (cut)
        agents_cut(door->parts->agents, peer);
    frameworks_gone(door->parts->frameworks, peer);
    conductor_run(door->conductor);
    conductor_charge(door->conductor, &work, application);
    door->clients.gone(door->clients.user, peer);
}

static void on_admit(void *user, const char *public, const char *address,
                     char ret_identity[WIRE_USER_ID])
{
    struct agents_zmq *door = user;
    const char *why, *identity = keyring_admit(door->keyring, now_s(), public, &why);
    snprintf(ret_identity, WIRE_USER_ID, "%s", identity ? identity : "");
    if (identity)
        return;
    door->refusals.unknown_keys++;
    log_of(address, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
           "a connection from %s is refused: %s (%.8s…)", address, why, public);
}

/* A framework's key may serve many applications. */
static uint32_t on_most(void *user, const char *identity)
{
    const struct agents_zmq *door = user;
    struct key_holder who;
    const struct places places = places_of(door->most);
    if (keyring_holder(door->keyring, now_s(), identity, &who) < 0 || who.role == ROLE_AGENT)
        return AGENT_CONNECTIONS;
    return who.role == ROLE_FRAMEWORK ? door->most / 4 : places_of_one(&places) + TOLD_SO;
}

static void on_unasked(void *user, const char *address, const char *why)
{
    struct agents_zmq *door = user;
    door->refusals.unasked++;
    log_of(address, LOG_LEVEL_WARNING, LOG_FAULT_PEER, "a connection%s%s is refused: %s",
           *address ? " from " : "", address, why);
}

static void on_keep(void *user, const char *identity, const char *value)
{
    const struct agents_zmq *door = user;
    store_set(door->parts->store, STORE_KIND, identity, value);
}

static void on_cut(void *user, const char *identity)
{
    const struct agents_zmq *door = user;
    wire_zmq_cut(door->endpoint, identity);
}

static void own_keys_tell(const struct agents_zmq *door)
{
    duopoly_ControllerKeys keys;
    own_key_public(door->own, &keys);
    agents_believe(door->parts->agents, &keys);
    conductor_run(door->conductor);
}

static void own_key_take_effect(struct agents_zmq *door)
{
    struct err err;
    if (own_key_change(door->own, &err) < 0) {
        log_error(LOG_FAULT_US, "%s", err.text);
        return;
    }
    log_note("the controller's new key is in force; everybody connects anew");
    own_keys_tell(door);
    if (wire_zmq_listen_anew(door->endpoint, &err) == 0)
        return;
    log_error(LOG_FAULT_US, "%s", err.text);
    sd_event_exit(door->loop, EXIT_FAILURE);
}

static int on_due(sd_event_source *source, uint64_t usec, void *user)
{
    struct agents_zmq *door = user;
    (void)source, (void)usec;
    if (own_key_due_s(door->own) <= now_s())
        own_key_take_effect(door);
    agents_zmq_keys_changed(door);
    return 0;
}

void agents_zmq_keys_changed(struct agents_zmq *door)
{
    int64_t key_s = keyring_expire(door->keyring, now_s()), own_s = own_key_due_s(door->own);
    int64_t next_s = key_s < own_s ? key_s : own_s;
    if (next_s == INT64_MAX) {
        sd_event_source_set_enabled(door->due, SD_EVENT_OFF);
        return;
    }
    /* A change that failed is tried again. */
    if (next_s <= now_s())
        next_s = now_s() + 1;
    sd_event_source_set_time(door->due, (uint64_t)next_s * 1000000);
    sd_event_source_set_enabled(door->due, SD_EVENT_ONESHOT);
}

int agents_zmq_rotate(struct agents_zmq *door, int64_t overlap_s, struct err *err)
{
    int r = own_key_make_next(door->own, now_s() + overlap_s, err);
    if (r < 0)
        return r;
    own_keys_tell(door);
    agents_zmq_keys_changed(door);
    return 0;
}

void agents_zmq_own_keys(const struct agents_zmq *door, duopoly_ControllerKeys *ret_keys)
{
    own_key_public(door->own, ret_keys);
}

int agents_zmq_check(const struct settings *settings, struct err *err)
{
    if (settings->trust == SETTINGS_TRUST_EVERYBODY)
        return 0;
    if (own_key_is_there(settings->keys) || conf_address_is_loopback(settings->listen))
        return own_key_check(settings->keys, err);
    return err_set(err, EPERM,
                   "listen: %s can be reached by others, and %s/controller.key is not there: make "
                   "it with `duopolyctl keys make controller --role controller --out %s`",
                   settings->listen, settings->keys, settings->keys);
}

static int gate_open(struct agents_zmq *door, const struct settings *settings, struct err *err)
{
    const struct keyring_hooks hooks = {on_keep, on_cut, door};
    int r = agents_zmq_check(settings, err);
    if (r == 0 && settings->trust == SETTINGS_TRUST_KEYS)
        r = own_key_open(settings->keys, now_s(), &door->own, err);
    else if (r == 0)
        log_warning(LOG_FAULT_CONFIGURATION,
                    "whoever reaches %s may say that it is any agent (trust)", settings->listen);
    if (r < 0 || !door->own)
        return r;
    if ((r = keyring_create(&hooks, &door->keyring)) < 0)
        return err_sys(err, -r, "the keys");
    r = sd_event_add_time(door->loop, &door->due, CLOCK_REALTIME, UINT64_MAX, 1000, on_due, door);
    if (r >= 0)
        r = sd_event_source_set_enabled(door->due, SD_EVENT_OFF);
    return r < 0 ? err_sys(err, -r, "a timer") : 0;
}

int agents_zmq_open(sd_event *loop, const struct settings *settings,
                    const struct wire_zmq_limits *limits, struct agents_zmq **ret_door,
                    struct err *err)
{
    struct agents_zmq *door = calloc(1, sizeof(*door));
    if (!door)
        return err_sys(err, ENOMEM, "%s", settings->listen);
    const struct wire_zmq_handler handler = {.on_message = on_message,
                                             .on_malformed = on_malformed,
                                             .on_gone = on_gone,
                                             .on_flood = on_flood,
                                             .on_cut = on_address_cut,
                                             .user = door};
    door->loop = sd_event_ref(loop);
    door->most = limits->most;
    int r = gate_open(door, settings, err);
    if (r == 0) {
        const struct wire_zmq_guard guard = {.own = door->own ? own_key_pair(door->own) : NULL,
                                             .admit = on_admit,
                                             .most = on_most,
                                             .refused = on_unasked,
                                             .user = door};
        r = wire_zmq_listen(loop, settings->listen, limits, door->own ? &guard : NULL, &handler,
                            &door->endpoint, err);
    }
    if (r < 0)
        agents_zmq_close(door);
    else
        *ret_door = door;
    return r;
}

static void key_load(void *user, const char *identity, const char *value)
{
    struct agents_zmq *door = user;
    if (keyring_load(door->keyring, identity, value) < 0)
        log_error(LOG_FAULT_US, "the store's key %s is invalid: it is left out", identity);
}

void agents_zmq_attach(struct agents_zmq *door, struct conductor *conductor,
                       const struct agents_zmq_clients *clients)
{
    door->conductor = conductor;
    door->parts = conductor_parts(conductor);
    door->clients = *clients;
    if (!door->own)
        return;
    store_settings(door->parts->store, STORE_KIND, key_load, door);
    uint32_t keys = keyring_count(door->keyring);
    log_note("knows %u key%s", keys, plural(keys));
    own_keys_tell(door);
    agents_zmq_keys_changed(door);
}

int agents_zmq_send(void *user, uint64_t peer, const duopoly_Envelope *envelope)
{
    const struct agents_zmq *door = user;
    return wire_zmq_send(door->endpoint, peer, WIRE_RESULT, envelope);
}

void agents_zmq_cut(void *user, uint64_t peer)
{
    const struct agents_zmq *door = user;
    wire_zmq_cut_peer(door->endpoint, peer);
}

bool agents_zmq_comes_from(void *user, uint64_t peer, const uint8_t address[16])
{
    const struct agents_zmq *door = user;
    return wire_zmq_comes_from(door->endpoint, peer, address);
}

uint32_t agents_zmq_most(const struct agents_zmq *door)
{
    return door->most;
}

struct keyring *agents_zmq_keyring(const struct agents_zmq *door)
{
    return door->keyring;
}

const char *agents_zmq_address(const struct agents_zmq *door)
{
    return wire_zmq_address(door->endpoint);
}

const struct wire_zmq_counters *agents_zmq_counters(const struct agents_zmq *door)
{
    return wire_zmq_counters(door->endpoint);
}

const struct wire_zmq_door_counters *agents_zmq_connections(const struct agents_zmq *door)
{
    return wire_zmq_connections(door->endpoint);
}

const struct agents_zmq_refusals *agents_zmq_refusals(const struct agents_zmq *door)
{
    return &door->refusals;
}

void agents_zmq_close(struct agents_zmq *door)
{
    if (!door)
        return;
    wire_zmq_close(door->endpoint);
    sd_event_source_disable_unref(door->due);
    keyring_destroy(door->keyring);
    own_key_close(door->own);
    sd_event_unref(door->loop);
    free(door);
}
