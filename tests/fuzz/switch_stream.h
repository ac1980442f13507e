/* A stream to a switch that says what a fuzzer wants it to, byte by byte as it likes, then ends
 * (the linker's --wrap puts these in the place of stream.h's). */
#pragma once

#include "hostagent/switches/ovs/stream.h"

#include <errno.h>
#include <string.h>

static const uint8_t *stream_bytes;
static size_t stream_left;

int __wrap_stream_read(struct stream *stream, void *buffer, size_t size, struct err *err);
int __wrap_stream_read(struct stream *stream, void *buffer, size_t size, struct err *err)
{
    (void)stream;
    if (!stream_left)
        return err_set(err, ECONNRESET, "the switch ended the connection");
    size_t n = size < stream_left ? size : stream_left;
    n = n > 1 && stream_bytes[0] & 1 ? n / 2 : n; /* in two halves, now and then */
    memcpy(buffer, stream_bytes, n);
    stream_bytes += n;
    stream_left -= n;
    return (int)n;
}

int __wrap_stream_write(struct stream *stream, const void *bytes, size_t n, int wait_ms,
                        struct err *err);
int __wrap_stream_write(struct stream *stream, const void *bytes, size_t n, int wait_ms,
                        struct err *err)
{
    (void)stream, (void)bytes, (void)n, (void)wait_ms, (void)err;
    return 0;
}

int __wrap_stream_wait(struct stream *stream, uint64_t until_ns, struct err *err);
int __wrap_stream_wait(struct stream *stream, uint64_t until_ns, struct err *err)
{
    (void)stream, (void)until_ns, (void)err;
    return 0;
}

const char *__wrap_stream_where(const struct stream *stream);
const char *__wrap_stream_where(const struct stream *stream)
{
    (void)stream;
    return "unix:/fuzz";
}
