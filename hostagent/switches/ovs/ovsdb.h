/* A client of an OVSDB server (RFC 7047) for one database, "Open_vSwitch".
 *
 * Requests wait for their answer within the times of switch.h; between them, reports of changes are
 * received without waiting. The server's echo is answered. An answer is at most OVSDB_BYTES long
 * and OVSDB_DEPTH deep: a longer one ends the connection.
 *
 * JSON values are jansson's. One thread. */
#pragma once

#include "hostagent/switches/ovs/stream.h"

#include <jansson.h>
#include <stdbool.h>

#define OVSDB_BYTES (32u << 20)
#define OVSDB_DEPTH 32

/* ---- pure ---- */

/* Finds where the first JSON value of a stream ends. Zero it first; `done` bytes were read. */
struct ovsdb_frame {
    size_t done;
    uint32_t depth;
    bool in_string, escaped;
};

/* Continues at frame->done. Returns the length of the value (> 0), 0: it is incomplete, −EBADMSG:
 * no object begins here, or one deeper than OVSDB_DEPTH. */
long ovsdb_frame_next(struct ovsdb_frame *frame, const char *bytes, size_t n);

/* The strings of an OVSDB map as an object; NULL if it is not a map, or out of memory. The caller
 * owns it. Numeric keys become their digits; values that are rows become their UUID. */
json_t *ovsdb_map(const json_t *value);

/* The UUID of ["uuid", …], or of a set of one; "" of an empty set, NULL of anything else. */
const char *ovsdb_uuid(const json_t *value);

/* ---- a connection ---- */

struct ovsdb;

/* Takes the stream, which is connected or about to be. */
int ovsdb_open(struct stream *stream, struct ovsdb **ret_db, struct err *err);
void ovsdb_close(struct ovsdb *db); /* takes NULL */

/* Asks for reports of changes from now on. `tables`: as in RFC 7047 §4.1.5, taken. Does not wait
 * for the answer; a refusal is an error of the next call. */
int ovsdb_watch(struct ovsdb *db, json_t *tables, struct err *err);

/* Runs one transaction; `operations` is an array, borrowed. The caller owns the results
 * (json_decref). −EAGAIN: a `wait` was not met. −EPROTO: another error of the server, with its
 * words; or the stream's error. */
int ovsdb_transact(struct ovsdb *db, json_t *operations, json_t **ret_results, struct err *err);

/* Receives messages. 1: something watched changed since the last call; 0: nothing. */
int ovsdb_notice(struct ovsdb *db, struct err *err);

/* Whether ovsdb_notice has news that the connection is not readable for: they were received with an
 * answer. */
bool ovsdb_has_news(const struct ovsdb *db);
