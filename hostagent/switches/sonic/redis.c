#include "hostagent/switches/sonic/redis.h"

#include "lib/invariant.h"
#include "lib/now.h"
#include "lib/number.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct redis {
    const char *at;
    redisContext *context; /* connects */
    redisReader *reader;
    char *out; /* commands that are not written yet */
    size_t out_n, out_allocated;
    size_t unanswered; /* bytes that are not part of a whole reply yet */
};

struct address {
    char path[REDIS_AT]; /* "" for tcp */
    char host[REDIS_AT];
    uint64_t port;
};

static int split(const char *at, struct address *ret, struct err *err)
{
    struct address address = {.port = 0};
    const char *colon = strrchr(at, ':');
    unsigned char number[16];
    if (strncmp(at, "unix:/", 6) == 0 && strlen(at) < sizeof(address.path)) {
        snprintf(address.path, sizeof(address.path), "%s", at + 5);
        *ret = address;
        return 0;
    }
    if (strncmp(at, "tcp:", 4) == 0 && colon > at + 4 && strlen(at) < sizeof(address.host) &&
        number_read(colon + 1, 1, 65535, &address.port) >= 0) {
        bool v6 = at[4] == '[' && colon[-1] == ']';
        snprintf(address.host, sizeof(address.host), "%.*s", (int)(colon - at) - 4 - 2 * v6,
                 at + 4 + v6);
        if (inet_pton(v6 ? AF_INET6 : AF_INET, address.host, number) == 1) {
            *ret = address;
            return 0;
        }
    }
    return err_set(err, EINVAL, "'%s' is neither unix:PATH nor tcp:ADDRESS:PORT", at);
}

int redis_check(const char *at, struct err *err)
{
    struct address address;
    return split(at, &address, err);
}

/* ---- replies ----------------------------------------------------------------------------------
 */

static redisReplyObjectFunctions made, bounded;

static void *bounded_array(const redisReadTask *task, int elements)
{
    return elements > REDIS_REPLY_ITEMS ? NULL : made.createArray(task, elements);
}

redisReader *redis_reader(void)
{
    redisReader *reader = redisReaderCreate();
    if (!reader)
        return NULL;
    if (!made.createArray)
        made = *reader->fn;
    bounded = made;
    bounded.createArray = bounded_array;
    reader->fn = &bounded;
    return reader;
}

static int too_much(struct err *err)
{
    return err_set(err, EMSGSIZE, "Redis answers with more than %u bytes or a list of more than %d",
                   REDIS_REPLY_BYTES, REDIS_REPLY_ITEMS);
}

int redis_feed(redisReader *reader, const char *bytes, size_t n, size_t *unanswered,
               struct err *err)
{
    *unanswered += n;
    if (*unanswered > REDIS_REPLY_BYTES)
        return too_much(err);
    return redisReaderFeed(reader, bytes, n) == REDIS_OK ? 0 : err_sys(err, ENOMEM, "Redis");
}

int redis_reply(redisReader *reader, size_t *unanswered, redisReply **ret_reply, struct err *err)
{
    void *reply = NULL;
    if (redisReaderGetReply(reader, &reply) != REDIS_OK)
        return reader->err == REDIS_ERR_OOM
                   ? too_much(err)
                   : err_set(err, EPROTO, "what answers is no Redis: %s", reader->errstr);
    if (!reply)
        return 0;
    *unanswered = reader->len - reader->pos;
    *ret_reply = reply;
    return 1;
}

/* ---- the connection ---------------------------------------------------------------------------
 */

static int connected(struct redis *redis, struct err *err)
{
    if (!redis->context || !redis->reader)
        return err_sys(err, ENOMEM, "%s", redis->at);
    if (redis->context->err)
        return err_set(err, ECONNREFUSED, "no connection to Redis at %s: %s", redis->at,
                       redis->context->errstr);
    return 0;
}

int redis_start(const char *at, struct redis **ret_redis, struct err *err)
{
    struct address address;
    int r = split(at, &address, err);
    if (r < 0)
        return r;
    struct redis *redis = calloc(1, sizeof(*redis));
    if (!redis)
        return err_sys(err, ENOMEM, "%s", at);
    redis->at = at;
    redis->reader = redis_reader();
    redis->context = address.path[0] ? redisConnectUnixNonBlock(address.path)
                                     : redisConnectNonBlock(address.host, (int)address.port);
    r = connected(redis, err);
    if (r < 0) {
        redis_close(redis);
        return r;
    }
    *ret_redis = redis;
    return 0;
}

void redis_close(struct redis *redis)
{
    if (!redis)
        return;
    if (redis->context)
        redisFree(redis->context);
    if (redis->reader)
        redisReaderFree(redis->reader);
    free(redis->out);
    free(redis);
}

int redis_fd(const struct redis *redis)
{
    return redis->context->fd;
}

bool redis_writing(const struct redis *redis)
{
    return redis->out_n != 0;
}

static int reserve(struct redis *redis, size_t more)
{
    size_t allocated = redis->out_allocated ? redis->out_allocated : 4096;
    while (allocated < redis->out_n + more)
        allocated *= 2;
    char *out = allocated > redis->out_allocated ? realloc(redis->out, allocated) : redis->out;
    if (!out)
        return -ENOMEM;
    redis->out = out;
    redis->out_allocated = allocated;
    return 0;
}

int redis_say(struct redis *redis, uint32_t n, const char *const *words, const size_t *lengths,
              struct err *err)
{
    char *bytes = NULL;
    int length = redisFormatCommandArgv(&bytes, (int)n, (const char **)words, lengths);
    if (length < 0 || reserve(redis, (size_t)length) < 0) {
        redisFreeCommand(bytes);
        return err_sys(err, ENOMEM, "%s", redis->at);
    }
    memcpy(redis->out + redis->out_n, bytes, (size_t)length);
    redis->out_n += (size_t)length;
    redisFreeCommand(bytes);
    return 0;
}

/* WHY not by hiredis: SIGPIPE ends a program that does not ignore it. */
static int write_some(struct redis *redis, struct err *err)
{
    ssize_t n = send(redis->context->fd, redis->out, redis->out_n, MSG_NOSIGNAL);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR
                   ? 0
                   : err_sys(err, ECONNRESET, "no connection to Redis at %s", redis->at);
    assert((size_t)n <= redis->out_n);
    redis->out_n -= (size_t)n;
    memmove(redis->out, redis->out + n, redis->out_n);
    return 0;
}

static int read_some(struct redis *redis, struct err *err)
{
    char bytes[65536];
    ssize_t n = read(redis->context->fd, bytes, sizeof(bytes));
    if (n > 0) {
        int r = redis_feed(redis->reader, bytes, (size_t)n, &redis->unanswered, err);
        if (r < 0)
            err_prefix(err, "%s", redis->at);
        return r;
    }
    if (n == 0)
        return err_set(err, ECONNRESET, "Redis at %s closed the connection", redis->at);
    return errno == EAGAIN || errno == EINTR ? 0 : err_sys(err, errno, "Redis at %s", redis->at);
}

int redis_pump(struct redis *redis, struct err *err)
{
    int r = redis_writing(redis) ? write_some(redis, err) : 0;
    return r < 0 ? r : read_some(redis, err);
}

int redis_next(struct redis *redis, redisReply **ret_reply, struct err *err)
{
    redisReply *reply = NULL;
    int r = redis_reply(redis->reader, &redis->unanswered, &reply, err);
    if (r < 0)
        err_prefix(err, "%s", redis->at);
    if (r <= 0)
        return r;
    if (reply->type == REDIS_REPLY_ERROR) {
        r = err_set(err, EREMOTEIO, "Redis at %s refuses: %s", redis->at, reply->str);
        freeReplyObject(reply);
        return r;
    }
    *ret_reply = reply;
    return 1;
}

int redis_hear(struct redis *redis, uint64_t until_ns, redisReply **ret_reply, struct err *err)
{
    int r;
    while ((r = redis_next(redis, ret_reply, err)) == 0) {
        uint64_t now = now_ns(CLOCK_MONOTONIC);
        short out = redis_writing(redis) ? POLLOUT : 0;
        struct pollfd poll_for = {.fd = redis->context->fd, .events = (short)(POLLIN | out)};
        if (now >= until_ns || poll(&poll_for, 1, (int)((until_ns - now) / 1000000) + 1) == 0)
            return err_set(err, ETIMEDOUT, "Redis at %s does not answer in time", redis->at);
        r = redis_pump(redis, err);
        if (r < 0)
            return r;
    }
    return r < 0 ? r : 0;
}
