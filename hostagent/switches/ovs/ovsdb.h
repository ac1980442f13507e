/* A client of an OVSDB server (RFC 7047) for one database, "Open_vSwitch".
 *
 * Requests wait for their answer, for at most so long as switch.h says; between them what the server
 * tells of changes is taken in without waiting. The server's echo is answered. An answer is at most
 * OVSDB_BYTES long and OVSDB_DEPTH deep: a longer one ends the connection.
 *
 * JSON values are jansson's. One thread. */
#pragma once

#include "hostagent/switches/ovs/stream.h"

#include <jansson.h>
#include <stdbool.h>

#define OVSDB_BYTES (32u << 20)
#define OVSDB_DEPTH 32

/* ---- pure ---- */

/* Where the first JSON value of a stream ends. Zero to begin with; `done` bytes were looked at. */
struct ovsdb_frame {
    size_t done;
    uint32_t depth;
    bool in_string, escaped;
};

/* Goes on with the bytes from frame->done. The length of the value (> 0), 0: there is more to come,
 * −EBADMSG: no object begins here, or one deeper than OVSDB_DEPTH. */
long ovsdb_frame_next(struct ovsdb_frame *frame, const char *bytes, size_t n);

/* The strings of an OVSDB map as an object; NULL if it is none, or for want of memory. The caller
 * owns it. Keys that are numbers become their digits; values that are rows their UUID. */
json_t *ovsdb_map(const json_t *value);

/* The UUID of ["uuid", …], or of a set of one; "" of an empty set, NULL of anything else. */
const char *ovsdb_uuid(const json_t *value);

/* ---- a connection ---- */

struct ovsdb;

/* Takes the stream, that is connected or about to be. */
int ovsdb_open(struct stream *stream, struct ovsdb **ret_db, struct err *err);
void ovsdb_close(struct ovsdb *db); /* takes NULL */

/* Asks to be told of changes from now on. `tables`: as of RFC 7047 §4.1.5, taken. The answer is not
 * waited for; a refusal is an error of the next call. */
int ovsdb_watch(struct ovsdb *db, json_t *tables, struct err *err);

/* One transaction; `operations` (an array, borrowed). The results are the caller's (json_decref).
 * −EAGAIN: a `wait` was not met. Another error of the server: −EPROTO with its words; or what the
 * stream says. */
int ovsdb_transact(struct ovsdb *db, json_t *operations, json_t **ret_results, struct err *err);

/* Takes in what came. 1: something that is watched changed since the last call; 0: not. */
int ovsdb_notice(struct ovsdb *db, struct err *err);
