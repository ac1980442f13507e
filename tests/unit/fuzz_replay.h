/* Replays a fuzz target's seeds as a unit test; the includer has defined LLVMFuzzerTestOneInput. */
#pragma once

#include "tests/unit/test.h"

#include <glob.h>
#include <string.h>

enum { FUZZ_REPLAY_MAX = 65536 + 1, FUZZ_REPLAY_CUTS = 512, FUZZ_REPLAY_CHANGES = 500 };

static inline size_t fuzz_read(const char *path, uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(bytes, 1, size, file);
    fclose(file);
    return length;
}

/* The seeds, at least `least` of them, each cut at every length, and with bytes changed at
 * random. */
static inline void fuzz_replay(const char *pattern, size_t least)
{
    static uint8_t bytes[FUZZ_REPLAY_MAX], changed[FUZZ_REPLAY_MAX];
    uint64_t stream = test_seed();
    glob_t seeds;
    assert_int_equal(glob(pattern, 0, NULL, &seeds), 0);
    assert_true(seeds.gl_pathc >= least);
    for (size_t i = 0; i < seeds.gl_pathc; i++) {
        size_t length = fuzz_read(seeds.gl_pathv[i], bytes, sizeof(bytes));
        LLVMFuzzerTestOneInput(bytes, length);
        for (size_t cut = 0; cut < length && cut < FUZZ_REPLAY_CUTS; cut++)
            LLVMFuzzerTestOneInput(bytes, cut);
        for (int change = 0; change < FUZZ_REPLAY_CHANGES; change++) {
            memcpy(changed, bytes, length);
            for (int n = 0; n < 1 + change % 4 && length; n++)
                changed[test_random(&stream) % length] = (uint8_t)test_random(&stream);
            LLVMFuzzerTestOneInput(changed, length);
        }
    }
    globfree(&seeds);
}
