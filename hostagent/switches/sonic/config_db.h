/* Reads SONiC's CONFIG_DB in Redis (database 4) as a value, and changes it in one transaction.
 *
 * What was read is watched: a commit on the same connection is refused (−EAGAIN, nothing changed)
 * if anybody has touched one of those rows since, or made one that it would make. A row that is not
 * a hash, or contains something else than text, is not SONiC's: −EPROTO.
 *
 * Each call waits until `until_ns` (CLOCK_MONOTONIC) at most. After −EAGAIN the connection is good;
 * after any other failure close it. */
#pragma once

#include "hostagent/switches/sonic/redis.h"
#include "lib/sonic/sonic_steps.h"

#define CONFIG_DB_KEYS 262144 /* of the whole database */

/* Reads the tables of sonic_ours and sonic_read; the caller drops its reference. −E2BIG: too many
 * keys. */
int config_db_read(struct redis *redis, uint64_t until_ns, json_t **ret_db, struct err *err);

/* Carries out the steps, which start from what was read, in one MULTI. Nothing is watched
 * afterwards. */
int config_db_commit(struct redis *redis, uint64_t until_ns, const struct sonic_step *steps,
                     uint32_t n, struct err *err);

/* Decode replies: of HGETALL to a row (new; NULL if empty); of SCAN to a cursor (borrows it) and
 * empty rows in `db` for the keys of the tables above. */
int config_db_row(const redisReply *reply, json_t **ret_row, struct err *err);
int config_db_scanned(const redisReply *reply, const char **ret_cursor, json_t *db,
                      uint32_t *keys_n, struct err *err);
