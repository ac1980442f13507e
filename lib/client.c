#include "lib/client.h"
#include "lib/client_transport.h"
#include "lib/keys.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

struct kept_event {
    STAILQ_ENTRY(kept_event) link;
    duopoly_JobEvent event;
};

struct client {
    struct client_transport transport;
    char *address, *key_path; /* as it was opened; key_path NULL: a socket of this machine */
    int timeout_ms;
    bool dry_run;
    uint64_t if_version;
    duopoly_Reason refusal;
    STAILQ_HEAD(, kept_event) events;
    size_t kept;
    duopoly_Envelope outgoing, incoming;
    uint8_t buffer[WIRE_MAX_BYTES + 1];
};

int64_t client_monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int client_left_ms(int64_t deadline_ms)
{
    int64_t left = deadline_ms - client_monotonic_ms();
    return deadline_ms < 0 ? -1 : left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

/* NULL: no memory. */
static struct client *client_new(const char *address, const char *key_path)
{
    struct client *client = calloc(1, sizeof(*client));
    if (!client)
        return NULL;
    STAILQ_INIT(&client->events);
    client->timeout_ms = CLIENT_TIMEOUT_MS;
    client->address = strdup(address);
    client->key_path = key_path ? strdup(key_path) : NULL;
    if (client->address && !client->key_path == !key_path)
        return client;
    client_close(client);
    return NULL;
}

/* Learns the controller's announced keys: it may be changing the one that the file names. */
static int keys_learn(struct client *client, const char *key_path, struct err *err)
{
    const duopoly_Envelope *answer;
    struct key_file keys;
    client_request(client, duopoly_Envelope_get_controller_keys_tag);
    int r = client_call(client, duopoly_Envelope_controller_keys_tag, &answer, err);
    if (r == 0 && (r = key_file_read(key_path, &keys, err)) == 0) {
        r = key_file_learn(key_path, &keys, &answer->body.controller_keys, err);
        key_file_wipe(&keys);
    }
    /* An unwritable file works as long as its key does. */
    return r == -EACCES || r == -EROFS ? 0 : r;
}

static int client_connect(struct client *client, struct err *err)
{
    if (!client->key_path)
        return client_unix_open(client->address, &client->transport, err);
    int r = client_zmq_open(client->address, client->key_path,
                            client_monotonic_ms() + client->timeout_ms, &client->transport, err);
    return r < 0 ? r : keys_learn(client, client->key_path, err);
}

static int client_begin(const char *address, const char *key_path, struct client **ret_client,
                        struct err *err)
{
    struct client *client = client_new(address, key_path);
    if (!client)
        return err_sys(err, ENOMEM, "%s", address);
    int r = client_connect(client, err);
    if (r < 0)
        client_close(client);
    else
        *ret_client = client;
    return r;
}

int client_open(const char *path, struct client **ret_client, struct err *err)
{
    return client_begin(path, NULL, ret_client, err);
}

int client_open_remote(const char *address, const char *key_path, struct client **ret_client,
                       struct err *err)
{
    return client_begin(address, key_path, ret_client, err);
}

static void client_disconnect(struct client *client)
{
    if (client->transport.close)
        client->transport.close(client->transport.wire);
    client->transport = (struct client_transport){.wire = NULL};
}

int client_reopen(struct client *client, struct err *err)
{
    client_disconnect(client);
    int r = client_connect(client, err);
    if (r < 0)
        client_disconnect(client);
    return r;
}

duopoly_Envelope *client_request(struct client *client, pb_size_t kind)
{
    duopoly_Envelope *request = wire_begin(&client->outgoing, kind);
    request->dry_run = client->dry_run;
    request->if_version = client->if_version;
    return request;
}

const duopoly_Envelope *client_outgoing(const struct client *client)
{
    return &client->outgoing;
}

static int gone(const struct client *client, int code, struct err *err)
{
    if (code == ETIMEDOUT)
        return err_set(err, code, "the controller at %s did not answer within %d s",
                       client->transport.name, client->timeout_ms / 1000);
    if (code == EPIPE || code == ECONNRESET)
        return err_set(err, ECONNRESET, "the controller at %s closed the connection",
                       client->transport.name);
    return err_sys(err, code, "the connection to %s broke", client->transport.name);
}

void client_patience(struct client *client, int timeout_ms)
{
    client->timeout_ms = timeout_ms;
}

int client_send(struct client *client, struct err *err)
{
    size_t length;
    int r = wire_encode(&client->outgoing, client->buffer, WIRE_MAX_BYTES, &length, err);
    if (r < 0)
        return r;
    const struct client_transport *transport = &client->transport;
    int64_t deadline_ms = client_monotonic_ms() + client->timeout_ms;
    while ((r = transport->send(transport->wire, client->buffer, length)) == -EAGAIN)
        if ((r = transport->wait(transport->wire, POLLOUT, deadline_ms)) < 0)
            break;
    return r < 0 ? gone(client, -r, err) : 0;
}

/* Receives one message into client->incoming. −ETIMEDOUT is left without a sentence. */
static int receive(struct client *client, int64_t deadline_ms, struct err *err)
{
    const struct client_transport *transport = &client->transport;
    ssize_t length;
    int r;
    while ((length = transport->receive(transport->wire, client->buffer, sizeof(client->buffer))) ==
           -EAGAIN)
        if ((r = transport->wait(transport->wire, POLLIN, deadline_ms)) < 0)
            return r == -ETIMEDOUT ? r : gone(client, -r, err);
    if (length <= 0)
        return gone(client, length ? (int)-length : ECONNRESET, err);
    r = wire_decode(client->buffer, (size_t)length, &client->incoming, err);
    return r < 0 ? err_prefix(err, "%s", client->transport.name) : 0;
}

static int event_keep(struct client *client, struct err *err)
{
    struct kept_event *kept = client->kept < CLIENT_EVENTS ? malloc(sizeof(*kept)) : NULL;
    if (!kept)
        return err_set(err, ENOBUFS, "%s: too many job events came during one call",
                       client->transport.name);
    kept->event = client->incoming.body.job_event;
    STAILQ_INSERT_TAIL(&client->events, kept, link);
    client->kept++;
    return 0;
}

/* Receives an answer; events that come before it are kept. −ETIMEDOUT has no sentence. */
static int answer_receive(struct client *client, int64_t deadline_ms, struct err *err)
{
    int r;
    do {
        r = receive(client, deadline_ms, err);
        if (r == 0 && client->incoming.which_body == duopoly_Envelope_job_event_tag)
            r = event_keep(client, err);
        if (r < 0)
            return r;
    } while (client->incoming.which_body == duopoly_Envelope_job_event_tag);
    return 0;
}

/* Whether what was received is what was asked for. */
static int answer_look(struct client *client, pb_size_t answer_kind,
                       const duopoly_Envelope **ret_answer, struct err *err)
{
    if (client->incoming.which_body == duopoly_Envelope_refused_tag) {
        client->refusal = client->incoming.body.refused.reason;
        return err_set(err, EREMOTEIO, "%s", client->incoming.body.refused.text);
    }
    if (client->incoming.which_body != answer_kind)
        return err_set(err, EPROTO, "%s answered '%s' where '%s' was expected",
                       client->transport.name, wire_kind_name(client->incoming.which_body),
                       wire_kind_name(answer_kind));
    if (client->incoming.which_body == duopoly_Envelope_accepted_tag)
        client->if_version = 0;
    *ret_answer = &client->incoming;
    return 0;
}

int client_answer_or(struct client *client, pb_size_t kind, pb_size_t other_kind,
                     const duopoly_Envelope **ret_answer, struct err *err)
{
    int r = answer_receive(client, client_monotonic_ms() + client->timeout_ms, err);
    if (r == -ETIMEDOUT)
        return gone(client, ETIMEDOUT, err);
    if (r == 0 && client->incoming.which_body == other_kind)
        kind = other_kind;
    return r < 0 ? r : answer_look(client, kind, ret_answer, err);
}

int client_answer(struct client *client, pb_size_t answer_kind, const duopoly_Envelope **ret_answer,
                  struct err *err)
{
    return client_answer_or(client, answer_kind, answer_kind, ret_answer, err);
}

int client_take(struct client *client, pb_size_t answer_kind, const duopoly_Envelope **ret_answer,
                struct err *err)
{
    int r = answer_receive(client, client_monotonic_ms(), err);
    if (r == -ETIMEDOUT)
        return -EAGAIN;
    return r < 0 ? r : answer_look(client, answer_kind, ret_answer, err);
}

int client_call(struct client *client, pb_size_t answer_kind, const duopoly_Envelope **ret_answer,
                struct err *err)
{
    int r = client_send(client, err);
    return r < 0 ? r : client_answer(client, answer_kind, ret_answer, err);
}

static int status_ask(struct client *client, const duopoly_Status **ret_status, struct err *err)
{
    const duopoly_Envelope *answer;
    client_request(client, duopoly_Envelope_get_status_tag);
    int r = client_call(client, duopoly_Envelope_status_tag, &answer, err);
    if (r == 0)
        *ret_status = &answer->body.status;
    return r;
}

int client_dry_run(struct client *client, struct err *err)
{
    const duopoly_Status *status = NULL;
    int r = status_ask(client, &status, err);
    if (r == 0 && !status->dry_runs)
        return err_set(err, EOPNOTSUPP,
                       "the controller at %s knows no --dry-run and would carry it out: it was not "
                       "asked",
                       client->transport.name);
    client->dry_run = r == 0;
    return r;
}

int client_if_version(struct client *client, uint64_t version, struct err *err)
{
    const duopoly_Status *status = NULL;
    int r = status_ask(client, &status, err);
    if (r == 0 && !status->version)
        return err_set(err, EOPNOTSUPP,
                       "the controller at %s knows no --if-version and would ignore it: it was not "
                       "asked",
                       client->transport.name);
    client->if_version = r == 0 ? version : 0;
    return r;
}

int client_may_confirm(struct client *client, struct err *err)
{
    const duopoly_Status *status = NULL;
    int r = status_ask(client, &status, err);
    if (r == 0 && !status->confirms)
        return err_set(err, EOPNOTSUPP,
                       "the controller at %s knows no --confirm here and would not undo it: it was "
                       "not asked",
                       client->transport.name);
    return r;
}

int client_may_filter(struct client *client, struct err *err)
{
    const duopoly_Status *status = NULL;
    int r = status_ask(client, &status, err);
    if (r == 0 && !status->filters)
        return err_set(err, EOPNOTSUPP,
                       "the controller at %s knows no --filter and no --since and would list "
                       "everything: it was not asked",
                       client->transport.name);
    return r;
}

int client_may_limit(struct client *client, struct err *err)
{
    const duopoly_Status *status = NULL;
    int r = status_ask(client, &status, err);
    if (r == 0 && !status->limits)
        return err_set(err, EOPNOTSUPP,
                       "the controller at %s is older and cannot list a part of its rows alone: it "
                       "was not asked",
                       client->transport.name);
    return r;
}

duopoly_Reason client_refusal(const struct client *client)
{
    return client->refusal;
}

void client_refusal_set(struct client *client, duopoly_Reason reason)
{
    client->refusal = reason;
}

int client_watch(struct client *client, uint64_t job, struct err *err)
{
    const duopoly_Envelope *answer;
    client_request(client, duopoly_Envelope_watch_tag)->body.watch.job = job;
    return client_call(client, duopoly_Envelope_accepted_tag, &answer, err);
}

static bool kept_take(struct client *client, duopoly_JobEvent *ret_event)
{
    struct kept_event *kept = STAILQ_FIRST(&client->events);
    if (!kept)
        return false;
    *ret_event = kept->event;
    STAILQ_REMOVE_HEAD(&client->events, link);
    client->kept--;
    free(kept);
    return true;
}

int client_event(struct client *client, int timeout_ms, duopoly_JobEvent *ret_event,
                 struct err *err)
{
    if (kept_take(client, ret_event))
        return 0;
    int r = receive(client, timeout_ms < 0 ? -1 : client_monotonic_ms() + timeout_ms, err);
    if (r == -ETIMEDOUT)
        return err_set(err, ETIMEDOUT, "no job ended within %d ms", timeout_ms);
    if (r < 0)
        return r;
    if (client->incoming.which_body != duopoly_Envelope_job_event_tag)
        return err_set(err, EPROTO, "%s sent '%s' without being asked", client->transport.name,
                       wire_kind_name(client->incoming.which_body));
    *ret_event = client->incoming.body.job_event;
    return 0;
}

int client_fd(const struct client *client)
{
    return client->transport.fd(client->transport.wire);
}

void client_close(struct client *client)
{
    duopoly_JobEvent event;
    if (!client)
        return;
    while (kept_take(client, &event))
        ;
    client_disconnect(client);
    free(client->address);
    free(client->key_path);
    free(client);
}
