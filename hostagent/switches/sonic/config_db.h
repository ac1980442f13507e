/* SONiC's CONFIG_DB in Redis (database 4), read as a value and changed in one transaction.
 *
 * What was read is watched: a change that is committed on the same connection is refused (−EAGAIN,
 * nothing changed) when anybody touched one of those rows, or made one that it would make, since. A
 * row of another type than a hash, or with what is no text, is no SONiC's: −EPROTO.
 *
 * Each call waits until `until_ns` (CLOCK_MONOTONIC) at most. After −EAGAIN the connection is good;
 * after any other failure close it. */
#pragma once

#include "hostagent/switches/sonic/redis.h"
#include "lib/sonic/sonic_steps.h"

#define CONFIG_DB_KEYS 262144 /* of the whole database */

/* The tables of sonic_ours and sonic_read; the caller drops its reference. −E2BIG: more keys. */
int config_db_read(struct redis *redis, uint64_t until_ns, json_t **ret_db, struct err *err);

/* The steps, from what was read, as one MULTI. Nothing is watched afterwards. */
int config_db_commit(struct redis *redis, uint64_t until_ns, const struct sonic_step *steps,
                     uint32_t n, struct err *err);

/* The reply of HGETALL as a row (new), NULL for an empty one; of SCAN as a cursor (borrows it) and
 * rows under `db`: empty ones where their table is one of those above. */
int config_db_row(const redisReply *reply, json_t **ret_row, struct err *err);
int config_db_scanned(const redisReply *reply, const char **ret_cursor, json_t *db,
                      uint32_t *keys_n, struct err *err);
