/* The content that the replay's tasks send each other: a stream of bytes that follows from its key
 * alone, at any offset, so that nothing is stored, a broken transfer resumes anywhere, and the
 * reader can check every byte by itself.
 *
 * The key says which task wrote the bytes for which task, never where they are or which attempt
 * wrote them: a map that runs again gives the same output.
 *
 * Word i (8 bytes, little endian) is splitmix64's output i of a state that is the key's XXH3 hash.
 * Not secret. Pure; about 3 GB/s. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct stream_key {
    uint64_t job;
    uint32_t stage, task;               /* of the writer, or of the task whose block it is */
    uint32_t reader_stage, reader_task; /* STREAM_BLOCK twice for an input block */
};
#define STREAM_BLOCK UINT32_MAX

/* The seed of a key's stream, to be computed once per transfer. */
uint64_t stream_seed(const struct stream_key *key);

/* Fills `size` bytes with the stream's content at `offset`. */
void stream_fill(uint64_t seed, uint64_t offset, void *ret_bytes, size_t size);
