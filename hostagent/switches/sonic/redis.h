/* A connection to a Redis server: commands out, replies in, nothing in between that can wait for ever
 * or grow without a bound.
 *
 * hiredis (0.14) connects, puts commands together and takes replies apart; every read, write and wait
 * is here, so that a caller of an event loop never waits (redis_pump, redis_next) and others wait
 * until a time that they say (redis_hear). A reply is at most REDIS_REPLY_BYTES, a list in it at
 * most REDIS_REPLY_ITEMS long; −EMSGSIZE otherwise. After any error but Redis's own ("-ERR …",
 * −EREMOTEIO) the connection is of no more use: close it.
 *
 * One thread. Replies are the caller's (freeReplyObject). */
#pragma once

#include "lib/err.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

#define REDIS_REPLY_BYTES (16u << 20)
#define REDIS_REPLY_ITEMS 262144
#define REDIS_AT          256

struct redis;

/* 0 when `at` is unix:PATH or tcp:ADDRESS:PORT with a numeric address ([…] around one of IPv6). */
int redis_check(const char *at, struct err *err);

/* Begins to connect; waits for nothing. `at` is borrowed until close. */
int redis_start(const char *at, struct redis **ret_redis, struct err *err);
void redis_close(struct redis *redis); /* takes NULL */

int redis_fd(const struct redis *redis);
/* Whether there is something to write: wait for the descriptor to be writable too. */
bool redis_writing(const struct redis *redis);

/* A command to be sent, of `n` words of those lengths (NULL: they end with NUL). */
int redis_say(struct redis *redis, uint32_t n, const char *const *words, const size_t *lengths,
              struct err *err);

/* Writes what can be written and reads what is there. */
int redis_pump(struct redis *redis, struct err *err);

/* 1: the next reply; 0: it is not there yet. An error that Redis tells is −EREMOTEIO. */
int redis_next(struct redis *redis, redisReply **ret_reply, struct err *err);

/* Waits for the next reply until `until_ns` (CLOCK_MONOTONIC): −ETIMEDOUT. */
int redis_hear(struct redis *redis, uint64_t until_ns, redisReply **ret_reply, struct err *err);

/* What takes replies apart, for whoever has bytes and no server. The caller frees (redisReaderFree). */
redisReader *redis_reader(void);
/* Gives it bytes. `unanswered`: how many of them no whole reply was made of yet, 0 at first. */
int redis_feed(redisReader *reader, const char *bytes, size_t n, size_t *unanswered,
               struct err *err);
/* As redis_next. */
int redis_reply(redisReader *reader, size_t *unanswered, redisReply **ret_reply, struct err *err);
