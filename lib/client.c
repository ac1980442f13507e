#include "lib/client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

struct kept_event {
    STAILQ_ENTRY(kept_event) link;
    duopoly_JobEvent event;
};

struct client {
    int fd, timeout_ms;
    duopoly_Reason refusal;
    STAILQ_HEAD(, kept_event) events;
    size_t kept;
    duopoly_Envelope outgoing, incoming;
    uint8_t buffer[WIRE_MAX_BYTES + 1];
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

static int connect_fail(int code, const char *path, struct err *err)
{
    if (code == ENOENT || code == ECONNREFUSED)
        return err_set(err, code,
                       "no controller listens on %s; is duopolyd running, and is this its socket?",
                       path);
    if (code == EACCES)
        return err_set(err, code, "%s may be used by root and the members of its group only", path);
    return err_sys(err, code, "cannot connect to %s", path);
}

int client_open(const char *path, struct client **ret_client, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return err_set(err, ENAMETOOLONG, "%s: a socket's path has at most %zu bytes", path,
                       sizeof(address.sun_path) - 1);
    strcpy(address.sun_path, path);
    struct client *client = calloc(1, sizeof(*client));
    if (!client)
        return err_sys(err, ENOMEM, "%s", path);
    STAILQ_INIT(&client->events);
    client->timeout_ms = CLIENT_TIMEOUT_MS;
    strcpy(client->path, path);
    client->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (client->fd < 0 || connect(client->fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        int r = connect_fail(errno, path, err);
        client_close(client);
        return r;
    }
    *ret_client = client;
    return 0;
}

duopoly_Envelope *client_request(struct client *client, pb_size_t kind)
{
    return wire_begin(&client->outgoing, kind);
}

const duopoly_Envelope *client_outgoing(const struct client *client)
{
    return &client->outgoing;
}

static int64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for `events` until deadline_ms (−1: for ever). 0, −ETIMEDOUT, −errno. */
static int fd_wait(int fd, short events, int64_t deadline_ms)
{
    for (;;) {
        struct pollfd poller = {fd, events, 0};
        int64_t left = deadline_ms < 0 ? -1 : deadline_ms - monotonic_ms();
        int r = poll(&poller, 1, deadline_ms < 0 ? -1 : left < 0 ? 0 : (int)left);
        if (r > 0)
            return 0;
        if (r == 0)
            return -ETIMEDOUT;
        if (errno != EINTR)
            return -errno;
    }
}

static int gone(const struct client *client, int code, struct err *err)
{
    if (code == ETIMEDOUT)
        return err_set(err, code, "the controller at %s did not answer within %d s", client->path,
                       client->timeout_ms / 1000);
    if (code == EPIPE || code == ECONNRESET)
        return err_set(err, ECONNRESET, "the controller at %s closed the connection", client->path);
    return err_sys(err, code, "the connection to %s broke", client->path);
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
    int64_t deadline_ms = monotonic_ms() + client->timeout_ms;
    while (send(client->fd, client->buffer, length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        r = errno == EAGAIN  ? fd_wait(client->fd, POLLOUT, deadline_ms)
            : errno == EINTR ? 0
                             : -errno;
        if (r < 0)
            return gone(client, -r, err);
    }
    return 0;
}

/* Receives one message into client->incoming. −ETIMEDOUT is left without a sentence. */
static int receive(struct client *client, int64_t deadline_ms, struct err *err)
{
    int r = fd_wait(client->fd, POLLIN, deadline_ms);
    if (r == -ETIMEDOUT)
        return r;
    ssize_t length = r < 0 ? r : recv(client->fd, client->buffer, sizeof(client->buffer), 0);
    if (length <= 0)
        return gone(client, r < 0 ? -r : length < 0 ? errno : ECONNRESET, err);
    r = wire_decode(client->buffer, (size_t)length, &client->incoming, err);
    return r < 0 ? err_prefix(err, "%s", client->path) : 0;
}

static int event_keep(struct client *client, struct err *err)
{
    struct kept_event *kept = client->kept < CLIENT_EVENTS ? malloc(sizeof(*kept)) : NULL;
    if (!kept)
        return err_set(err, ENOBUFS, "%s: too many job events came during one call", client->path);
    kept->event = client->incoming.body.job_event;
    STAILQ_INSERT_TAIL(&client->events, kept, link);
    client->kept++;
    return 0;
}

int client_answer(struct client *client, pb_size_t answer_kind, const duopoly_Envelope **ret_answer,
                  struct err *err)
{
    int64_t deadline_ms = monotonic_ms() + client->timeout_ms;
    int r;
    do {
        r = receive(client, deadline_ms, err);
        if (r == -ETIMEDOUT)
            return gone(client, ETIMEDOUT, err);
        if (r == 0 && client->incoming.which_body == duopoly_Envelope_job_event_tag)
            r = event_keep(client, err);
        if (r < 0)
            return r;
    } while (client->incoming.which_body == duopoly_Envelope_job_event_tag);
    if (client->incoming.which_body == duopoly_Envelope_refused_tag) {
        client->refusal = client->incoming.body.refused.reason;
        return err_set(err, EREMOTEIO, "%s", client->incoming.body.refused.text);
    }
    if (client->incoming.which_body != answer_kind)
        return err_set(err, EPROTO, "%s answered '%s' where '%s' was expected", client->path,
                       wire_kind_name(client->incoming.which_body), wire_kind_name(answer_kind));
    *ret_answer = &client->incoming;
    return 0;
}

int client_call(struct client *client, pb_size_t answer_kind, const duopoly_Envelope **ret_answer,
                struct err *err)
{
    int r = client_send(client, err);
    return r < 0 ? r : client_answer(client, answer_kind, ret_answer, err);
}

duopoly_Reason client_refusal(const struct client *client)
{
    return client->refusal;
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
    int r = receive(client, timeout_ms < 0 ? -1 : monotonic_ms() + timeout_ms, err);
    if (r == -ETIMEDOUT)
        return err_set(err, ETIMEDOUT, "no job ended within %d ms", timeout_ms);
    if (r < 0)
        return r;
    if (client->incoming.which_body != duopoly_Envelope_job_event_tag)
        return err_set(err, EPROTO, "%s sent '%s' without being asked", client->path,
                       wire_kind_name(client->incoming.which_body));
    *ret_event = client->incoming.body.job_event;
    return 0;
}

int client_fd(const struct client *client)
{
    return client->fd;
}

void client_close(struct client *client)
{
    duopoly_JobEvent event;
    if (!client)
        return;
    while (kept_take(client, &event))
        ;
    if (client->fd >= 0)
        close(client->fd);
    free(client);
}
