/* Fuzz target of what a Redis server says: taken apart as replies, each of them as a row and as
 * keys, in pieces of any length, without reading beyond an end or taking more than there is. */
#include "hostagent/switches/sonic/config_db.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(const redisReply *reply)
{
    struct err err;
    uint32_t keys_n = 0;
    const char *cursor;
    json_t *row = NULL, *db = json_object();
    if (config_db_scanned(reply, &cursor, db, &keys_n, &err) >= 0 && keys_n > CONFIG_DB_KEYS)
        abort();
    if (config_db_row(reply, &row, &err) >= 0 && row && json_object_size(row) == 0)
        abort();
    json_decref(row);
    json_decref(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    redisReader *reader = redis_reader();
    size_t unanswered = 0, piece = size ? 1 + data[0] % 64u : 1;
    struct err err;
    for (size_t at = 0; at < size; at += piece) {
        redisReply *reply;
        size_t n = size - at < piece ? size - at : piece;
        int r = redis_feed(reader, (const char *)data + at, n, &unanswered, &err);
        while (r >= 0 && (r = redis_reply(reader, &unanswered, &reply, &err)) > 0) {
            take(reply);
            freeReplyObject(reply);
        }
        if (unanswered > at + n)
            abort();
        if (r < 0)
            break;
    }
    redisReaderFree(reader);
    return 0;
}
