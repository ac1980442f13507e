/* Watches a Redis for changes by others, by its keyspace notifications (redis.io/docs/manual/
 * keyspace-notifications), on a connection of its own that is made again when it is lost.
 *
 * Never waits. One thread. */
#pragma once

#include "lib/err.h"

#define REDIS_WATCH_QUIET_MS  100
#define REDIS_WATCH_LATEST_MS 500
#define REDIS_WATCH_RETRY_MS  200

struct redis_watch;

/* `patterns` ends with NULL; it and `at` (redis.h) are borrowed until close. Begins to connect. */
int redis_watch_open(const char *at, const char *const *patterns, struct redis_watch **ret_watch,
                     struct err *err);
void redis_watch_close(struct redis_watch *watch); /* takes NULL */

/* Readable when redis_watch_notice has something to do; the same until close. */
int redis_watch_fd(const struct redis_watch *watch);

/* 1: something changed; 2: the connection was lost and is back, so anything may have changed.
 * Reported when nothing else changed for REDIS_WATCH_QUIET_MS, at the latest REDIS_WATCH_LATEST_MS
 * after the first change, so that a reload is one change. 0: nothing. −errno: the connection was
 * lost just now; reported once, and made again every REDIS_WATCH_RETRY_MS. */
int redis_watch_notice(struct redis_watch *watch, struct err *err);
