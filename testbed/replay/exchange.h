/* The protocol between a replay's task and the server of a map host, over TCP.
 *
 * The task writes requests of EXCHANGE_REQUEST_SIZE bytes, any number on one connection; the server
 * answers each in order with EXCHANGE_ANSWER_SIZE bytes and, for a fetch, the content (stream.h). A
 * probe asks whether an output is there and transfers nothing, so that a task learns of all missing
 * ones before it fetches the first. After a broken connection a fetch is repeated from its new
 * offset. All numbers little endian.
 *
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "testbed/replay/stream.h"

enum { EXCHANGE_REQUEST_SIZE = 56, EXCHANGE_ANSWER_SIZE = 16 };
enum exchange_kind { EXCHANGE_PROBE = 1, EXCHANGE_FETCH = 2 };
enum exchange_status { EXCHANGE_HERE = 0, EXCHANGE_MISSING = 1, EXCHANGE_MALFORMED = 2 };

struct exchange_request {
    enum exchange_kind kind;
    struct stream_key key; /* reader STREAM_BLOCK: an input block, which every server has */
    uint64_t attempt;      /* of the writer; 0 for blocks */
    uint64_t bytes;        /* of the whole transfer */
    uint64_t offset;       /* ≤ bytes: what was received already */
};
struct exchange_answer {
    enum exchange_status status;
    uint64_t bytes; /* that follow: 0 unless a fetch is HERE */
};

void exchange_encode_request(const struct exchange_request *request,
                             uint8_t ret_bytes[EXCHANGE_REQUEST_SIZE]);
void exchange_encode_answer(const struct exchange_answer *answer,
                            uint8_t ret_bytes[EXCHANGE_ANSWER_SIZE]);

/* false: these bytes are not such a message; *ret_… is set on success only. */
bool exchange_decode_request(const uint8_t bytes[EXCHANGE_REQUEST_SIZE],
                             struct exchange_request *ret_request);
bool exchange_decode_answer(const uint8_t bytes[EXCHANGE_ANSWER_SIZE],
                            struct exchange_answer *ret_answer);
