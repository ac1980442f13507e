#include "hostagent/switches/ovs/openflow_link.h"

#include "hostagent/switches/switch.h"
#include "lib/invariant.h"
#include "lib/now.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct openflow {
    struct stream *stream;
    uint8_t buffer[2 * (OF_MOST + 1)];
    size_t begin, used; /* an incomplete message */
    bool heard;         /* its HELLO */
    bool changed;
    uint32_t xid;
};

/* Takes the messages of an answer. 1: the answer is complete; 0: there is more. */
typedef int (*take_fn)(void *user, const uint8_t *message, const struct of_header *header);

int openflow_open(struct stream *stream, struct openflow **ret_link, struct err *err)
{
    struct openflow *link = calloc(1, sizeof(*link));
    if (!link) {
        stream_close(stream);
        return err_sys(err, ENOMEM, "OpenFlow");
    }
    link->stream = stream;
    *ret_link = link;
    return 0;
}

void openflow_close(struct openflow *link)
{
    if (!link)
        return;
    stream_close(link->stream);
    free(link);
}

static int send_bytes(struct openflow *link, const uint8_t *bytes, size_t n, struct err *err)
{
    return stream_write(link->stream, bytes, n, SWITCH_WAIT_MS, err);
}

int openflow_greet(struct openflow *link, struct err *err)
{
    uint8_t bytes[OF_FLOW_BYTES];
    return send_bytes(link, bytes, of_put_hello(bytes), err);
}

bool openflow_greeted(const struct openflow *link)
{
    return link->heard;
}

static int bad(struct openflow *link, const char *what, struct err *err)
{
    return err_set(err, EBADMSG, "%s: this is no OpenFlow switch: %s", stream_where(link->stream),
                   what);
}

static int wrong_version(struct openflow *link, uint32_t versions, struct err *err)
{
    char words[OF_VERSIONS_WORDS];
    return err_set(
        err, EPROTO,
        "%s: the switch speaks OpenFlow %s, not OpenFlow 1.3: allow it (ovs-vsctl add bridge "
        "BRIDGE protocols OpenFlow13)",
        stream_where(link->stream), of_versions_words(versions, words));
}

static int take_error(struct openflow *link, const uint8_t *message, size_t length, struct err *err)
{
    uint16_t type, code;
    if (of_get_error(message, length, &type, &code) < 0)
        return bad(link, "an error without a number", err);
    if (type == 0)
        return wrong_version(link, 1u << message[0], err);
    return err_set(err, EPROTO, "%s: the switch refuses what it is asked: OpenFlow error %u.%u",
                   stream_where(link->stream), type, code);
}

static int answer_echo(struct openflow *link, const uint8_t *message, size_t length,
                       struct err *err)
{
    uint8_t head[OF_HEADER];
    memcpy(head, message, sizeof(head));
    head[1] = OF_ECHO_REPLY;
    int r = send_bytes(link, head, sizeof(head), err);
    return r < 0 ? r : send_bytes(link, message + OF_HEADER, length - OF_HEADER, err);
}

/* Only a switch with 1.3 is sent anything more: another one closes after any other message, and its
 * earlier message would be lost. */
static int take_hello(struct openflow *link, const uint8_t *message, size_t length, struct err *err)
{
    uint8_t bytes[2 * OF_FLOW_BYTES];
    uint32_t versions = of_hello_versions(message, length);
    if (!(versions & 1u << OF_VERSION))
        return wrong_version(link, versions, err);
    if (link->heard)
        return 0;
    link->heard = true;
    return send_bytes(link, bytes, of_put_wishes(bytes), err);
}

static int take_message(struct openflow *link, const uint8_t *message,
                        const struct of_header *header, take_fn take, void *user, struct err *err)
{
    if (header->type == OF_HELLO)
        return take_hello(link, message, header->length, err);
    if (header->type == OF_ERROR)
        return take_error(link, message, header->length, err);
    if (!link->heard)
        return bad(link, "it does not begin with HELLO", err);
    if (header->version != OF_VERSION)
        return wrong_version(link, 1u << header->version, err);
    if (header->type == OF_ECHO)
        return answer_echo(link, message, header->length, err);
    if (header->type == OF_FLOW_REMOVED)
        link->changed = true;
    if (!take || header->xid != link->xid)
        return 0;
    int r = take(user, message, header);
    return r < 0 ? bad(link, "an answer that cannot be read", err) : r;
}

/* Takes the complete messages, until one ends the answer (1). */
static int take_whole(struct openflow *link, take_fn take, void *user, struct err *err)
{
    int r = 0;
    while (r == 0 && link->used - link->begin >= OF_HEADER) {
        const uint8_t *message = link->buffer + link->begin;
        struct of_header header;
        if (of_get_header(message, &header) < 0)
            return bad(link, "an invalid header", err);
        if (link->used - link->begin < header.length)
            break;
        r = take_message(link, message, &header, take, user, err);
        link->begin += header.length;
    }
    assert(link->begin <= link->used);
    memmove(link->buffer, link->buffer + link->begin, link->used - link->begin);
    link->used -= link->begin;
    link->begin = 0;
    return r;
}

/* Takes everything that is there now, or until the answer is complete (1). `ret_n` grows by the
 * number of bytes. */
static int take_in(struct openflow *link, take_fn take, void *user, size_t *ret_n, struct err *err)
{
    for (;;) {
        int r = take_whole(link, take, user, err);
        if (r != 0)
            return r;
        r = stream_read(link->stream, link->buffer + link->used, sizeof(link->buffer) - link->used,
                        err);
        if (r <= 0)
            return r;
        link->used += (size_t)r;
        *ret_n += (size_t)r;
        if (*ret_n > OPENFLOW_BYTES)
            return err_set(err, EMSGSIZE, "%s: the switch says more than %u MiB at once",
                           stream_where(link->stream), OPENFLOW_BYTES >> 20);
    }
}

static int in_part(struct openflow *link, struct err *err)
{
    return err_set(err, ETIMEDOUT, "%s: the switch answers only in part",
                   stream_where(link->stream));
}

static int wait_for(struct openflow *link, take_fn take, void *user, struct err *err)
{
    uint64_t until_ns = now_ns(CLOCK_MONOTONIC) + SWITCH_WAIT_MS * 1000000ull;
    size_t n = 0;
    for (;;) {
        int r = take_in(link, take, user, &n, err);
        if (r == 0 && now_ns(CLOCK_MONOTONIC) > until_ns)
            r = in_part(link, err);
        if (r == 0)
            r = stream_wait(link->stream, until_ns, err);
        if (r != 0)
            return r < 0 ? r : 0;
    }
}

/* Nothing is requested before that. */
static int wait_for_hello(struct openflow *link, struct err *err)
{
    uint64_t until_ns = now_ns(CLOCK_MONOTONIC) + SWITCH_WAIT_MS * 1000000ull;
    size_t n = 0;
    int r = 0;
    while (r >= 0 && !link->heard) {
        r = take_in(link, NULL, NULL, &n, err);
        if (r >= 0 && !link->heard)
            r = now_ns(CLOCK_MONOTONIC) > until_ns ? in_part(link, err)
                                                   : stream_wait(link->stream, until_ns, err);
    }
    return r;
}

struct reading {
    uint8_t table;
    struct openflow_table *found;
};

static void keep_flow(struct reading *reading, const struct of_flow *flow)
{
    struct openflow_table *found = reading->found;
    for (size_t i = 0; i < sizeof(found->jumps); i++)
        found->jumps[i] |= flow->jumps[i];
    if (flow->table != reading->table)
        return;
    found->more |= found->n == OPENFLOW_FLOWS;
    if (!found->more)
        found->flows[found->n++] = *flow;
}

static int take_flows(void *user, const uint8_t *message, const struct of_header *header)
{
    uint16_t kind;
    bool more;
    if (header->type != OF_MULTIPART_REPLY ||
        of_get_part(message, header->length, &kind, &more) < 0 || kind != OF_MULTIPART_FLOW)
        return -EBADMSG;
    size_t at = OF_PART_BEGIN;
    struct of_flow flow;
    int r;
    while ((r = of_next_flow(message, header->length, &at, &flow)) > 0)
        keep_flow(user, &flow);
    return r < 0 ? r : !more;
}

int openflow_read(struct openflow *link, uint8_t table, bool all, struct openflow_table *ret_table,
                  struct err *err)
{
    struct reading reading = {.table = table, .found = ret_table};
    uint8_t bytes[OF_FLOW_BYTES];
    ret_table->n = 0;
    ret_table->more = false;
    memset(ret_table->jumps, 0, sizeof(ret_table->jumps));
    int r = wait_for_hello(link, err);
    if (r >= 0)
        r = send_bytes(link, bytes,
                       of_put_ask_flows(bytes, ++link->xid, all ? OF_ANY_TABLE : table), err);
    return r < 0 ? r : wait_for(link, take_flows, &reading, err);
}

static int take_barrier(void *user, const uint8_t *message, const struct of_header *header)
{
    (void)user;
    (void)message;
    return header->type == OF_BARRIER_REPLY ? 1 : -EBADMSG;
}

int openflow_change(struct openflow *link, const struct openflow_change *changes, uint32_t n,
                    struct err *err)
{
    uint8_t bytes[OF_FLOW_BYTES];
    int r = wait_for_hello(link, err);
    for (uint32_t i = 0; r >= 0 && i < n; i++)
        r = send_bytes(link, bytes,
                       of_put_flow(bytes, ++link->xid, changes[i].command, &changes[i].flow), err);
    if (r >= 0)
        r = send_bytes(link, bytes, of_put_header(bytes, OF_BARRIER, ++link->xid), err);
    return r < 0 ? r : wait_for(link, take_barrier, NULL, err);
}

struct counting {
    void (*each)(void *user, const struct of_queue_stats *stats);
    void *user;
};

static int take_queues(void *user, const uint8_t *message, const struct of_header *header)
{
    const struct counting *counting = user;
    uint16_t kind;
    bool more;
    if (header->type != OF_MULTIPART_REPLY ||
        of_get_part(message, header->length, &kind, &more) < 0 || kind != OF_MULTIPART_QUEUE)
        return -EBADMSG;
    size_t at = OF_PART_BEGIN;
    struct of_queue_stats stats;
    int r;
    while ((r = of_next_queue(message, header->length, &at, &stats)) > 0)
        counting->each(counting->user, &stats);
    return r < 0 ? r : !more;
}

int openflow_queues(struct openflow *link,
                    void (*each)(void *user, const struct of_queue_stats *stats), void *user,
                    struct err *err)
{
    struct counting counting = {.each = each, .user = user};
    uint8_t bytes[OF_FLOW_BYTES];
    int r = wait_for_hello(link, err);
    if (r >= 0)
        r = send_bytes(link, bytes, of_put_ask_queues(bytes, ++link->xid), err);
    return r < 0 ? r : wait_for(link, take_queues, &counting, err);
}

int openflow_notice(struct openflow *link, struct err *err)
{
    size_t n = 0;
    int r = take_in(link, NULL, NULL, &n, err);
    bool changed = link->changed;
    link->changed = false;
    return r < 0 ? r : changed;
}

bool openflow_has_news(const struct openflow *link)
{
    return link->changed || link->used;
}
