#include "hostagent/frameworks/frameworks_relay.h"

#include "lib/keys.h"
#include "lib/log.h"
#include "lib/now.h"
#include "lib/unix_accept.h"
#include "lib/wire_stream.h"
#include "lib/wire_zmq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOK_AGAIN_USEC 10000
#define BEGIN_USEC      (1000000 / RELAY_BEGINS)
#define USERS           64 /* that are remembered, each at the place of its number */

struct driver {
    struct frameworks_relay *relay;
    struct ucred peer;
    struct wire_stream *stream;
    struct wire_zmq *controller;
    sd_event_source *again; /* whether more may be read */
    uint64_t second;        /* of the clock, in which it has sent */
    uint32_t sent;          /* this many messages */
};

/* How fast a user begins connections: a token bucket. One that takes another's place begins with a
 * full one. */
struct pace {
    uid_t uid;
    uint64_t full_usec; /* when it is full again */
};

struct frameworks_relay {
    struct pace paces[USERS];
    struct frameworks_relay_config config;
    sd_event *event;
    struct unix_accept *listener;
    struct driver *drivers[RELAYS_MAX];
};

static void driver_free(struct driver *driver)
{
    struct frameworks_relay *relay = driver->relay;
    for (int i = 0; i < RELAYS_MAX; i++)
        if (relay->drivers[i] == driver)
            relay->drivers[i] = NULL;
    sd_event_source_disable_unref(driver->again);
    wire_zmq_close(driver->controller);
    wire_stream_close(driver->stream);
    free(driver);
}

static void on_driver_end(void *user, const char *why)
{
    struct driver *driver = user;
    if (*why)
        log_warning(LOG_FAULT_PEER, "the framework of user %u, process %d, is cut: %s",
                    driver->peer.uid, driver->peer.pid, why);
    driver_free(driver);
}

static bool is_full(struct driver *driver)
{
    const uint64_t second = now_ns(CLOCK_MONOTONIC) / 1000000000;
    if (second != driver->second) {
        driver->second = second;
        driver->sent = 0;
    }
    return driver->sent >= RELAY_PER_SECOND ||
           wire_zmq_waiting(driver->controller) >= RELAY_WAITING;
}

/* The rest waits at the driver. */
static void look_again(struct driver *driver)
{
    const bool full = is_full(driver);
    if (full) {
        sd_event_source_set_time_relative(driver->again, LOOK_AGAIN_USEC);
        sd_event_source_set_enabled(driver->again, SD_EVENT_ONESHOT);
    }
    wire_stream_hold(driver->stream, full);
}

static int on_again(sd_event_source *source, uint64_t usec, void *user)
{
    (void)source, (void)usec;
    look_again(user);
    return 0;
}

static void on_driver_message(void *user, duopoly_Envelope *envelope)
{
    struct driver *driver = user;
    if (envelope->which_body == duopoly_Envelope_framework_hello_tag) {
        envelope->body.framework_hello.has_user = true;
        envelope->body.framework_hello.user = driver->peer.uid;
    }
    driver->sent++;
    int r = wire_zmq_send(driver->controller, 0, WIRE_RESULT, envelope);
    if (r < 0)
        wire_stream_end(driver->stream, "the controller does not take its messages in");
    else if (is_full(driver))
        look_again(driver);
}

static void on_controller_message(void *user, uint64_t peer, const char *identity,
                                  const duopoly_Envelope *envelope)
{
    const struct driver *driver = user;
    (void)peer, (void)identity;
    wire_stream_send(driver->stream, envelope);
}

static void on_controller_malformed(void *user, uint64_t peer, const struct err *err)
{
    const struct driver *driver = user;
    (void)peer;
    wire_stream_end(driver->stream, err->text);
}

static void on_up(void *user)
{
    look_again(user);
}

static void on_down(void *user)
{
    const struct driver *driver = user;
    wire_stream_end(driver->stream, "the connection to the controller broke");
}

static void on_refused(void *user)
{
    const struct driver *driver = user;
    wire_stream_end(driver->stream, "the controller does not take the frameworks' key");
}

static void on_unreached(void *user, const struct err *why)
{
    const struct driver *driver = user;
    log_warning(LOG_FAULT_PEER,
                "the framework of user %u, process %d, is not told to the controller: %s",
                driver->peer.uid, driver->peer.pid, why->text);
}

static int controller_connect(struct driver *driver, struct err *err)
{
    const struct frameworks_relay_config *config = &driver->relay->config;
    const struct wire_zmq_handler handler = {.on_message = on_controller_message,
                                             .on_malformed = on_controller_malformed,
                                             .on_up = on_up,
                                             .on_down = on_down,
                                             .on_refused = on_refused,
                                             .on_unreached = on_unreached,
                                             .user = driver};
    const bool keyed = *config->key_path;
    struct key_file key;
    int r = keyed ? key_file_read_of(config->key_path, ROLE_FRAMEWORK, NULL, &key, err) : 0;
    if (r >= 0)
        r = wire_zmq_connect(driver->relay->event, config->controller, keyed ? &key : NULL,
                             &handler, &driver->controller, err);
    if (keyed)
        key_file_wipe(&key);
    return r;
}

/* Whether it does not begin too many connections in too short a time; counts this one. */
static bool pace_take(struct frameworks_relay *relay, uid_t uid)
{
    struct pace *pace = &relay->paces[uid % USERS];
    const uint64_t now_usec = now_ns(CLOCK_MONOTONIC) / 1000;
    const bool waits = pace->uid == uid && pace->full_usec > now_usec;
    const uint64_t full_usec = (waits ? pace->full_usec : now_usec) + BEGIN_USEC;
    if (full_usec > now_usec + RELAY_BURST * BEGIN_USEC) {
        log_warning(LOG_FAULT_PEER,
                    "another framework of user %u is turned away: it began %d connections at once, "
                    "or %d a second",
                    uid, RELAY_BURST, RELAY_BEGINS);
        return false;
    }
    *pace = (struct pace){uid, full_usec};
    return true;
}

/* A place for it; NULL: none, which is logged. */
static struct driver **place_find(struct frameworks_relay *relay, uid_t uid)
{
    struct driver **place = NULL;
    int others = 0;
    for (int i = 0; i < RELAYS_MAX; i++) {
        if (!relay->drivers[i])
            place = &relay->drivers[i];
        else
            others += relay->drivers[i]->peer.uid == uid;
    }
    if (place && others < RELAYS_OF_USER)
        return pace_take(relay, uid) ? place : NULL;
    log_warning(LOG_FAULT_PEER,
                "another framework of user %u is turned away: %d are served, of all %d at most",
                uid, others, RELAYS_MAX);
    return NULL;
}

static void on_connection(void *user, int fd)
{
    struct frameworks_relay *relay = user;
    struct ucred peer;
    socklen_t size = sizeof(peer);
    struct err err = {0};
    struct driver **place = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0
                                ? place_find(relay, peer.uid)
                                : NULL;
    struct driver *driver = place ? calloc(1, sizeof(*driver)) : NULL;
    if (!driver) {
        close(fd);
        return;
    }
    const struct wire_stream_handler handler = {on_driver_message, on_driver_end, driver};
    driver->relay = relay;
    driver->peer = peer;
    *place = driver;
    int r = wire_stream_open(relay->event, fd, &handler, &driver->stream, &err);
    if (r >= 0) {
        r = sd_event_add_time_relative(relay->event, &driver->again, CLOCK_MONOTONIC, 0, 1000,
                                       on_again, driver);
        r = r < 0 ? err_sys(&err, -r, "a timer")
                  : sd_event_source_set_enabled(driver->again, SD_EVENT_OFF);
    }
    if (r >= 0)
        r = controller_connect(driver, &err);
    if (r >= 0)
        return;
    log_error(LOG_FAULT_CONFIGURATION, "a framework cannot be served: %s", err.text);
    driver_free(driver);
}

int frameworks_relay_open(const struct frameworks_relay_config *config, sd_event *event,
                          struct frameworks_relay **ret_relay, struct err *err)
{
    struct frameworks_relay *relay = calloc(1, sizeof(*relay));
    struct key_file key;
    if (!relay)
        return err_sys(err, ENOMEM, "the frameworks' socket");
    relay->config = *config;
    relay->event = event;
    int r =
        *config->key_path ? key_file_read_of(config->key_path, ROLE_FRAMEWORK, NULL, &key, err) : 0;
    if (*config->key_path)
        key_file_wipe(&key);
    if (r >= 0)
        r = unix_accept_open(event, relay->config.socket, config->group, on_connection, relay,
                             &relay->listener, err);
    if (r < 0) {
        frameworks_relay_close(relay);
        return r;
    }
    *ret_relay = relay;
    return 0;
}

void frameworks_relay_close(struct frameworks_relay *relay)
{
    if (!relay)
        return;
    for (int i = 0; i < RELAYS_MAX; i++)
        if (relay->drivers[i])
            driver_free(relay->drivers[i]);
    unix_accept_close(relay->listener);
    free(relay);
}
