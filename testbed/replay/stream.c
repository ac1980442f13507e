#include "testbed/replay/stream.h"

#include <endian.h>
#include <string.h>

#include <xxhash.h>

uint64_t stream_seed(const struct stream_key *key)
{
    const uint64_t words[3] = {htole64(key->job), htole64((uint64_t)key->stage << 32 | key->task),
                               htole64((uint64_t)key->reader_stage << 32 | key->reader_task)};
    return XXH3_64bits(words, sizeof(words));
}

static uint64_t word_at(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return htole64(z ^ (z >> 31));
}

void stream_fill(uint64_t seed, uint64_t offset, void *ret_bytes, size_t size)
{
    unsigned char *out = ret_bytes;
    uint64_t index = offset / 8;
    size_t skip = offset % 8;
    while (size > 0) {
        uint64_t word = word_at(seed, index++);
        size_t n = 8 - skip < size ? 8 - skip : size;
        memcpy(out, (unsigned char *)&word + skip, n);
        out += n;
        size -= n;
        skip = 0;
    }
}
