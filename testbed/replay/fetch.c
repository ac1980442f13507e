#include "testbed/replay/fetch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <xxhash.h>

#include "testbed/replay/exchange.h"

enum {
    RECEIVE_SIZE = 256 << 10,
    BACKOFF_FIRST_MS = 50,
    BACKOFF_LAST_MS = 1000,
    MISSING_GRACE_MS = 500,
    STALL_LOOKS = 4,  /* in stall_ms */
    STALL_LONGEST = 4 /* stall_ms between two reports on one source */
};

struct source {
    struct fetch *fetch;
    const struct input_part *parts; /* all at one address */
    size_t n, current;
    uint64_t offset; /* of the current part: what has arrived and been checked */
    uint64_t seed;   /* of the current part */
    XXH3_state_t *got, *want;

    int fd; /* −1 while waiting for the next try */
    bool connected;
    sd_event_source *io, *retry;
    unsigned backoff_ms;
    struct ports_connection connection;

    uint8_t *out; /* this connection's requests */
    size_t out_size, out_sent;
    size_t probes_left; /* answers to probes that come before those to fetches */
    uint8_t answer[EXCHANGE_ANSWER_SIZE];
    size_t answer_have;
    bool in_body;
    bool probed, missing;

    uint64_t moved_us; /* when the last byte came, or the fetch began */
    uint64_t told_us;  /* when its stall was reported; 0: it has none */
    uint64_t again_us; /* after this time it is reported again */
};

struct fetch {
    sd_event *event;
    const struct input *input;
    struct fetch_listener listener;
    uint16_t port;
    sd_event_source *grace; /* also the one call of an empty fetch */
    sd_event_source *look;  /* for stalled sources */
    size_t n_sources, n_left;
    bool any_missing, any_content, finished;
    struct source *sources;
    uint8_t received[RECEIVE_SIZE], expected[RECEIVE_SIZE];
};

static int source_connect(struct source *source);

static void fetch_finish(struct fetch *fetch, const struct err *err)
{
    if (fetch->finished)
        return;
    fetch->finished = true;
    fetch->listener.finished(fetch->listener.context, err);
}

static struct stream_key part_key(const struct source *source, const struct input_part *part)
{
    const struct input *input = source->fetch->input;
    if (part->block)
        return (struct stream_key){input->job, input->stage, input->task, STREAM_BLOCK,
                                   STREAM_BLOCK};
    return (struct stream_key){input->job, part->stage, part->task, input->stage, input->task};
}

static void source_close(struct source *source)
{
    source->io = sd_event_source_disable_unref(source->io);
    if (source->connected)
        source->fetch->listener.closed(source->fetch->listener.context, &source->connection);
    if (source->fd >= 0)
        close(source->fd);
    source->fd = -1;
    source->connected = source->in_body = false;
    source->answer_have = 0;
    free(source->out);
    source->out = NULL;
    source->out_size = source->out_sent = 0;
}

/* A handler's result: a failure of this machine ends the fetch instead of a retry. */
static int source_check(struct source *source, int r)
{
    struct err err;
    if (r >= 0)
        return 0;
    err_sys(&err, -r, "cannot fetch from %s", source->parts[0].address);
    fetch_finish(source->fetch, &err);
    return 0;
}

static int on_retry(sd_event_source *s, uint64_t usec, void *context)
{
    struct source *source = context;
    (void)s;
    (void)usec;
    return source_check(source, source_connect(source));
}

static int add_timer(struct fetch *fetch, sd_event_source **timer, unsigned ms,
                     sd_event_time_handler_t handler, void *context)
{
    *timer = sd_event_source_disable_unref(*timer);
    return sd_event_add_time_relative(fetch->event, timer, CLOCK_MONOTONIC, ms * (uint64_t)1000, 1,
                                      handler, context);
}

static int source_retry(struct source *source)
{
    source_close(source);
    unsigned wait_ms = source->backoff_ms;
    source->backoff_ms = wait_ms * 2 < BACKOFF_LAST_MS ? wait_ms * 2 : BACKOFF_LAST_MS;
    return add_timer(source->fetch, &source->retry, wait_ms, on_retry, source);
}

static int source_fail(struct source *source, const char *what, const char *why)
{
    const struct input_part *part = &source->parts[source->current];
    struct err err;
    err_set(&err, EBADMSG, "%s of stage %u task %u from %s: %s", what, part->stage, part->task,
            part->address, why);
    fetch_finish(source->fetch, &err);
    return 0;
}

static void part_begin(struct source *source)
{
    const struct stream_key key = part_key(source, &source->parts[source->current]);
    source->seed = stream_seed(&key);
    source->offset = 0;
    XXH3_64bits_reset(source->got);
    XXH3_64bits_reset(source->want);
}

static void source_end(struct source *source)
{
    source_close(source);
    if (--source->fetch->n_left == 0)
        fetch_finish(source->fetch, NULL);
}

static int part_end(struct source *source)
{
    if (XXH3_64bits_digest(source->got) != XXH3_64bits_digest(source->want))
        return source_fail(source, "the content", "its hash is not that of the stream it must be");
    source->in_body = false;
    if (++source->current == source->n)
        source_end(source);
    else
        part_begin(source);
    return 0;
}

static int on_grace(sd_event_source *s, uint64_t usec, void *context)
{
    struct fetch *fetch = context;
    struct err err;
    (void)s;
    (void)usec;
    if (!fetch->any_missing) {
        fetch_finish(fetch, NULL);
        return 0;
    }
    err_set(&err, ENOENT, "outputs that were to be fetched are missing at their sources");
    fetch_finish(fetch, &err);
    return 0;
}

static int part_missing(struct source *source, const struct input_part *part)
{
    struct fetch *fetch = source->fetch;
    source->missing = true;
    fetch->listener.missing(fetch->listener.context, part);
    if (fetch->any_missing)
        return 0;
    fetch->any_missing = true;
    return add_timer(fetch, &fetch->grace, MISSING_GRACE_MS, on_grace, fetch);
}

/* An answer has arrived whole; the order of requests tells which one it is. */
static int take_answer(struct source *source)
{
    struct exchange_answer answer;
    source->answer_have = 0;
    if (!exchange_decode_answer(source->answer, &answer))
        return source_fail(source, "an answer", "it is none");
    if (answer.status == EXCHANGE_MALFORMED)
        return source_fail(source, "a request", "the server does not understand it");
    if (source->probes_left > 0) {
        const struct input_part *part = &source->parts[source->n - source->probes_left--];
        source->probed = source->probes_left == 0;
        return answer.status == EXCHANGE_MISSING ? part_missing(source, part) : 0;
    }
    const struct input_part *part = &source->parts[source->current];
    if (answer.status == EXCHANGE_MISSING) {
        /* Known from its probe, or lost since. Nothing after it can be used: wait for the end. */
        source->io = sd_event_source_disable_unref(source->io);
        return source->missing ? 0 : part_missing(source, part);
    }
    if (answer.bytes != part->bytes - source->offset)
        return source_fail(source, "an answer", "it has another length than was asked for");
    source->in_body = true;
    return answer.bytes == 0 ? part_end(source) : 0;
}

static size_t take_body(struct source *source, const uint8_t *bytes, size_t size)
{
    struct fetch *fetch = source->fetch;
    uint64_t left = source->parts[source->current].bytes - source->offset;
    size_t n = left < size ? (size_t)left : size;
    uint8_t *expected = fetch->expected;
    if (!fetch->any_content)
        fetch->listener.first(fetch->listener.context, &source->connection);
    fetch->any_content = true;
    stream_fill(source->seed, source->offset, expected, n);
    XXH3_64bits_update(source->want, expected, n);
    XXH3_64bits_update(source->got, bytes, n);
    source->offset += n;
    return n;
}

static size_t take_answer_bytes(struct source *source, const uint8_t *bytes, size_t size)
{
    size_t room = EXCHANGE_ANSWER_SIZE - source->answer_have;
    size_t n = room < size ? room : size;
    memcpy(source->answer + source->answer_have, bytes, n);
    source->answer_have += n;
    return n;
}

static int take_bytes(struct source *source, const uint8_t *bytes, size_t size)
{
    int r = 0;
    while (r == 0 && size > 0 && source->io && !source->fetch->finished) {
        size_t n = source->in_body ? take_body(source, bytes, size)
                                   : take_answer_bytes(source, bytes, size);
        bytes += n;
        size -= n;
        if (source->in_body && source->offset == source->parts[source->current].bytes)
            r = part_end(source);
        else if (source->answer_have == EXCHANGE_ANSWER_SIZE)
            r = take_answer(source);
    }
    return r;
}

static uint64_t now_us(const struct fetch *fetch)
{
    uint64_t now = 0;
    sd_event_now(fetch->event, CLOCK_MONOTONIC, &now);
    return now;
}

static void source_moved(struct source *source)
{
    source->moved_us = now_us(source->fetch);
    if (!source->told_us)
        return;
    source->told_us = 0;
    source->fetch->listener.flows(source->fetch->listener.context, source->parts[0].address);
}

static int source_read(struct source *source)
{
    ssize_t n = recv(source->fd, source->fetch->received, RECEIVE_SIZE, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return source_retry(source);
    source->backoff_ms = BACKOFF_FIRST_MS;
    source_moved(source);
    return take_bytes(source, source->fetch->received, (size_t)n);
}

static void put_request(struct source *source, const struct input_part *part,
                        enum exchange_kind kind, uint64_t offset)
{
    const struct exchange_request request = {.kind = kind,
                                             .key = part_key(source, part),
                                             .attempt = part->attempt,
                                             .bytes = part->bytes,
                                             .offset = offset};
    exchange_encode_request(&request, source->out + source->out_size);
    source->out_size += EXCHANGE_REQUEST_SIZE;
}

/* Sends probes of all parts on the first connection, then fetches of what is left. */
static int make_requests(struct source *source)
{
    source->probes_left = source->probed ? 0 : source->n - source->current;
    size_t fetches = source->n - source->current;
    source->out = reallocarray(NULL, source->probes_left + fetches, EXCHANGE_REQUEST_SIZE);
    if (!source->out)
        return -ENOMEM;
    for (size_t i = source->n - source->probes_left; i < source->n; i++)
        put_request(source, &source->parts[i], EXCHANGE_PROBE, 0);
    for (size_t i = source->current; i < source->n; i++)
        put_request(source, &source->parts[i], EXCHANGE_FETCH,
                    i == source->current ? source->offset : 0);
    return 0;
}

static int source_write(struct source *source)
{
    ssize_t n = send(source->fd, source->out + source->out_sent,
                     source->out_size - source->out_sent, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return source_retry(source);
    source->out_sent += n > 0 ? (size_t)n : 0;
    if (source->out_sent < source->out_size)
        return 0;
    return sd_event_source_set_io_events(source->io, EPOLLIN);
}

static int describe_end(const struct sockaddr_storage *end, char *ret_text, uint16_t *ret_port)
{
    const struct sockaddr_in *v4 = (const void *)end;
    const struct sockaddr_in6 *v6 = (const void *)end;
    bool is_v6 = end->ss_family == AF_INET6;
    *ret_port = ntohs(is_v6 ? v6->sin6_port : v4->sin_port);
    if (!inet_ntop(end->ss_family, is_v6 ? (const void *)&v6->sin6_addr : &v4->sin_addr, ret_text,
                   INET6_ADDRSTRLEN))
        return -errno;
    return 0;
}

/* A connecting socket has its own end already, but no peer that getpeername would name. */
static int describe_ends(const struct source *source, const struct sockaddr_storage *peer,
                         struct ports_connection *ret_connection)
{
    struct ports_connection c;
    struct sockaddr_storage local;
    socklen_t size = sizeof(local);
    if (getsockname(source->fd, (struct sockaddr *)&local, &size) < 0)
        return -errno;
    int r = describe_end(&local, c.local, &c.local_port);
    if (r == 0)
        r = describe_end(peer, c.peer, &c.peer_port);
    if (r == 0)
        *ret_connection = c;
    return r;
}

static int source_connected(struct source *source)
{
    int failure = 0;
    socklen_t failure_size = sizeof(failure);
    if (getsockopt(source->fd, SOL_SOCKET, SO_ERROR, &failure, &failure_size) < 0 || failure)
        return source_retry(source);
    source->connected = true;
    source->fetch->listener.opened(source->fetch->listener.context, &source->connection);
    return make_requests(source);
}

static int on_socket(sd_event_source *s, int fd, uint32_t events, void *context)
{
    struct source *source = context;
    (void)s;
    (void)fd;
    int r = 0;
    if (source->fetch->finished)
        return 0;
    if (!source->connected)
        r = source_connected(source);
    if (r == 0 && source->connected && source->out_sent < source->out_size)
        r = source_write(source);
    if (r == 0 && source->connected && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        r = source_read(source);
    return source_check(source, r);
}

static socklen_t make_address(const char *text, uint16_t port, struct sockaddr_storage *ret_address)
{
    struct sockaddr_in *v4 = (void *)ret_address;
    struct sockaddr_in6 *v6 = (void *)ret_address;
    memset(ret_address, 0, sizeof(*ret_address));
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        return sizeof(*v4);
    }
    inet_pton(AF_INET6, text, &v6->sin6_addr);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    return sizeof(*v6);
}

/* A peer that vanished without closing is noticed after two minutes; a shorter time would kill
 * starved connections. */
static void set_keepalive(int fd)
{
    const int on = 1, idle_s = 60, interval_s = 10, count = 6;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

static int source_connect(struct source *source)
{
    struct sockaddr_storage address;
    socklen_t size = make_address(source->parts[0].address, source->fetch->port, &address);
    source->fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (source->fd < 0)
        return -errno;
    set_keepalive(source->fd);
    if (connect(source->fd, (struct sockaddr *)&address, size) < 0 && errno != EINPROGRESS)
        return source_retry(source);
    if (describe_ends(source, &address, &source->connection) < 0)
        return source_retry(source);
    source->fetch->listener.connecting(source->fetch->listener.context, &source->connection);
    return sd_event_add_io(source->fetch->event, &source->io, source->fd, EPOLLIN | EPOLLOUT,
                           on_socket, source);
}

static bool source_waits(const struct source *source)
{
    return source->current < source->n && !source->missing;
}

static unsigned count_moved_since(const struct fetch *fetch, uint64_t us)
{
    unsigned n = 0;
    for (size_t i = 0; i < fetch->n_sources; i++)
        n += fetch->sources[i].moved_us > us;
    return n;
}

static void source_look(struct source *source, uint64_t now, uint64_t stall_us)
{
    struct fetch *fetch = source->fetch;
    bool due = source->told_us ? now - source->told_us >= source->again_us
                               : now - source->moved_us >= stall_us;
    if (!source_waits(source) || !due)
        return;
    source->again_us = source->told_us ? 2 * source->again_us : stall_us;
    if (source->again_us > STALL_LONGEST * stall_us)
        source->again_us = STALL_LONGEST * stall_us;
    source->told_us = now;
    fetch->listener.stalled(fetch->listener.context, source->parts[0].address,
                            count_moved_since(fetch, source->moved_us));
}

static int on_look(sd_event_source *s, uint64_t usec, void *context)
{
    struct fetch *fetch = context;
    uint64_t now = now_us(fetch), stall_us = fetch->input->stall_ms * (uint64_t)1000;
    (void)usec;
    for (size_t i = 0; i < fetch->n_sources && !fetch->finished; i++)
        source_look(&fetch->sources[i], now, stall_us);
    if (fetch->n_left == 0 || fetch->finished)
        return sd_event_source_set_enabled(s, SD_EVENT_OFF);
    int r = sd_event_source_set_time(s, now + stall_us / STALL_LOOKS);
    return r < 0 ? r : sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int begin_looking(struct fetch *fetch)
{
    unsigned stall_ms = fetch->input->stall_ms;
    if (!stall_ms || !fetch->n_left)
        return 0;
    return add_timer(fetch, &fetch->look, stall_ms / STALL_LOOKS, on_look, fetch);
}

/* `parts` has n entries at one address, `first` of the input's. */
static int add_source(struct fetch *fetch, const struct input_part *parts, size_t n)
{
    struct source *source = &fetch->sources[fetch->n_sources++];
    *source = (struct source){
        .fetch = fetch, .parts = parts, .n = n, .fd = -1, .backoff_ms = BACKOFF_FIRST_MS};
    source->moved_us = now_us(fetch);
    fetch->n_left++;
    source->got = XXH3_createState();
    source->want = XXH3_createState();
    if (!source->got || !source->want)
        return -ENOMEM;
    part_begin(source);
    return source_connect(source);
}

/* Whether a part has bytes. An empty transfer between others is requested like them, but an address
 * with nothing else is no source. */
static bool has_bytes(const struct input_part *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (parts[i].bytes > 0)
            return true;
    return false;
}

/* Where the parts of the address of part `first` end. */
static size_t address_end(const struct input *input, size_t first)
{
    size_t end = first + 1;
    while (end < input->n_parts &&
           strcmp(input->parts[first].address, input->parts[end].address) == 0)
        end++;
    return end;
}

static int add_sources(struct fetch *fetch)
{
    const struct input *input = fetch->input;
    size_t room = 1;
    int r = 0;
    for (size_t first = 0; first < input->n_parts; first = address_end(input, first))
        room++;
    fetch->sources = calloc(room, sizeof(*fetch->sources));
    if (!fetch->sources)
        return -ENOMEM;
    for (size_t first = 0, end; r == 0 && first < input->n_parts; first = end) {
        end = address_end(input, first);
        if (has_bytes(&input->parts[first], end - first))
            r = add_source(fetch, &input->parts[first], end - first);
    }
    return r;
}

int fetch_create(sd_event *event, const struct input *input, uint16_t port,
                 const struct fetch_listener *listener, struct fetch **ret_fetch, struct err *err)
{
    struct fetch *fetch = calloc(1, sizeof(*fetch));
    int r = -ENOMEM;
    if (!fetch)
        goto fail;
    *fetch = (struct fetch){
        .event = sd_event_ref(event), .input = input, .port = port, .listener = *listener};
    if ((r = add_sources(fetch)) < 0 || (r = begin_looking(fetch)) < 0)
        goto fail;
    if (fetch->n_left == 0 && (r = add_timer(fetch, &fetch->grace, 0, on_grace, fetch)) < 0)
        goto fail;
    *ret_fetch = fetch;
    return 0;
fail:
    fetch_destroy(fetch);
    return err_sys(err, -r, "cannot start to fetch");
}

void fetch_destroy(struct fetch *fetch)
{
    if (!fetch)
        return;
    for (size_t i = 0; i < fetch->n_sources; i++) {
        struct source *source = &fetch->sources[i];
        sd_event_source_disable_unref(source->io);
        sd_event_source_disable_unref(source->retry);
        if (source->fd >= 0)
            close(source->fd);
        XXH3_freeState(source->got);
        XXH3_freeState(source->want);
        free(source->out);
    }
    sd_event_source_disable_unref(fetch->grace);
    sd_event_source_disable_unref(fetch->look);
    sd_event_unref(fetch->event);
    free(fetch->sources);
    free(fetch);
}
