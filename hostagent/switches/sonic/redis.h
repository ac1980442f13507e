/* A connection to a Redis server that sends commands and receives replies, without waiting for ever
 * or growing without a bound.
 *
 * hiredis (0.14) connects, formats commands and parses replies; every read, write and wait is here,
 * so that a caller in an event loop never waits (redis_pump, redis_next) and others wait until a
 * given time (redis_hear). A reply is at most REDIS_REPLY_BYTES, a list in it at most
 * REDIS_REPLY_ITEMS long; −EMSGSIZE otherwise. After any error except Redis's own ("-ERR …",
 * −EREMOTEIO) the connection is unusable: close it.
 *
 * One thread. The caller owns replies (freeReplyObject). */
#pragma once

#include "lib/err.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

#define REDIS_REPLY_BYTES (16u << 20)
#define REDIS_REPLY_ITEMS 262144
#define REDIS_AT          256

struct redis;

/* 0 if `at` is unix:PATH or tcp:ADDRESS:PORT with a numeric address (IPv6 in […]). */
int redis_check(const char *at, struct err *err);

/* Begins to connect; waits for nothing. `at` is borrowed until close. */
int redis_start(const char *at, struct redis **ret_redis, struct err *err);
void redis_close(struct redis *redis); /* takes NULL */

int redis_fd(const struct redis *redis);
/* Whether there is something to write: wait for the descriptor to be writable too. */
bool redis_writing(const struct redis *redis);

/* Queues a command of `n` words with these lengths (NULL: they end with NUL). */
int redis_say(struct redis *redis, uint32_t n, const char *const *words, const size_t *lengths,
              struct err *err);

/* Writes what can be written and reads what is there. */
int redis_pump(struct redis *redis, struct err *err);

/* 1: the next reply; 0: it has not come yet. An error sent by Redis is −EREMOTEIO. */
int redis_next(struct redis *redis, redisReply **ret_reply, struct err *err);

/* Waits for the next reply until `until_ns` (CLOCK_MONOTONIC): −ETIMEDOUT. */
int redis_hear(struct redis *redis, uint64_t until_ns, redisReply **ret_reply, struct err *err);

/* Parses replies from bytes without a server. The caller frees it (redisReaderFree). */
redisReader *redis_reader(void);
/* Feeds it bytes. `unanswered`: how many of them are not part of a whole reply yet; 0 at first. */
int redis_feed(redisReader *reader, const char *bytes, size_t n, size_t *unanswered,
               struct err *err);
/* As redis_next. */
int redis_reply(redisReader *reader, size_t *unanswered, redisReply **ret_reply, struct err *err);
