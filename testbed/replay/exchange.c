#include "testbed/replay/exchange.h"

#include <endian.h>
#include <string.h>

#define REQUEST_MAGIC 0x31515244u /* "DRQ1" */
#define ANSWER_MAGIC  0x31415244u /* "DRA1" */

static void put32(uint8_t *at, uint32_t number)
{
    number = htole32(number);
    memcpy(at, &number, sizeof(number));
}

static void put64(uint8_t *at, uint64_t number)
{
    number = htole64(number);
    memcpy(at, &number, sizeof(number));
}

static uint32_t get32(const uint8_t *at)
{
    uint32_t number;
    memcpy(&number, at, sizeof(number));
    return le32toh(number);
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t number;
    memcpy(&number, at, sizeof(number));
    return le64toh(number);
}

void exchange_encode_request(const struct exchange_request *request,
                             uint8_t ret_bytes[EXCHANGE_REQUEST_SIZE])
{
    put32(ret_bytes, REQUEST_MAGIC);
    put32(ret_bytes + 4, (uint32_t)request->kind);
    put64(ret_bytes + 8, request->key.job);
    put32(ret_bytes + 16, request->key.stage);
    put32(ret_bytes + 20, request->key.task);
    put32(ret_bytes + 24, request->key.reader_stage);
    put32(ret_bytes + 28, request->key.reader_task);
    put64(ret_bytes + 32, request->attempt);
    put64(ret_bytes + 40, request->bytes);
    put64(ret_bytes + 48, request->offset);
}

bool exchange_decode_request(const uint8_t bytes[EXCHANGE_REQUEST_SIZE],
                             struct exchange_request *ret_request)
{
    struct exchange_request request = {
        .kind = (enum exchange_kind)get32(bytes + 4),
        .key = {.job = get64(bytes + 8),
                .stage = get32(bytes + 16),
                .task = get32(bytes + 20),
                .reader_stage = get32(bytes + 24),
                .reader_task = get32(bytes + 28)},
        .attempt = get64(bytes + 32),
        .bytes = get64(bytes + 40),
        .offset = get64(bytes + 48),
    };
    if (get32(bytes) != REQUEST_MAGIC || request.offset > request.bytes ||
        (request.kind != EXCHANGE_PROBE && request.kind != EXCHANGE_FETCH))
        return false;
    *ret_request = request;
    return true;
}

void exchange_encode_answer(const struct exchange_answer *answer,
                            uint8_t ret_bytes[EXCHANGE_ANSWER_SIZE])
{
    put32(ret_bytes, ANSWER_MAGIC);
    put32(ret_bytes + 4, (uint32_t)answer->status);
    put64(ret_bytes + 8, answer->bytes);
}

bool exchange_decode_answer(const uint8_t bytes[EXCHANGE_ANSWER_SIZE],
                            struct exchange_answer *ret_answer)
{
    uint32_t status = get32(bytes + 4);
    if (get32(bytes) != ANSWER_MAGIC || status > EXCHANGE_MALFORMED)
        return false;
    *ret_answer =
        (struct exchange_answer){.status = (enum exchange_status)status, .bytes = get64(bytes + 8)};
    return true;
}
