/* Replays a fuzz target's seeds as a unit test. The program's name says whose they are:
 * test_fuzz_NAME replays tests/fuzz/NAME. */
#include "tests/unit/test.h"

#include <errno.h>
#include <glob.h>
#include <string.h>

/* Of a target that says what it says (said.h). */
extern uint64_t said __attribute__((weak));

enum { REPLAY_MAX = 65536 + 1, REPLAY_CUTS = 512, REPLAY_CHANGES = 500, REPLAY_SEEDS = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* A target that needs none has none. */
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

static size_t seed_read(const char *path, uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(bytes, 1, size, file);
    fclose(file);
    return length;
}

/* In memory of its own, so that the sanitizers see who reads beyond its end. */
static uint64_t try_once(const uint8_t *bytes, size_t length)
{
    uint8_t *copy = malloc(length ? length : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, length);
    LLVMFuzzerTestOneInput(copy, length);
    free(copy);
    return &said ? said : 0;
}

/* It says the same again. */
static void try(const uint8_t *bytes, size_t length)
{
    uint64_t once = try_once(bytes, length);
    assert_int_equal(try_once(bytes, length), once);
}

/* The seed, cut at every length, with bytes changed at random, and once more after all that. */
static void seed_try(const char *path, uint64_t *stream)
{
    static uint8_t bytes[REPLAY_MAX], changed[REPLAY_MAX];
    size_t length = seed_read(path, bytes, sizeof(bytes));
    uint64_t at_first = try_once(bytes, length);
    for (size_t cut = 0; cut < length && cut < REPLAY_CUTS; cut++)
        try(bytes, cut);
    for (int change = 0; change < REPLAY_CHANGES && length; change++) {
        memcpy(changed, bytes, length);
        for (int n = 0; n < 1 + change % 4; n++)
            changed[test_random(stream) % length] = (uint8_t)test_random(stream);
        try(changed, length);
    }
    assert_int_equal(try_once(bytes, length), at_first);
}

static void seeds_are_replayed(void **state)
{
    char pattern[256];
    uint64_t stream = test_seed();
    glob_t seeds;
    snprintf(pattern, sizeof(pattern), "tests/fuzz/%s/*", (const char *)*state);
    if (glob(pattern, 0, NULL, &seeds) != 0 || seeds.gl_pathc < REPLAY_SEEDS)
        fail_msg("%s: fewer than %d seeds", pattern, REPLAY_SEEDS);
    for (size_t i = 0; i < seeds.gl_pathc; i++)
        seed_try(seeds.gl_pathv[i], &stream);
    globfree(&seeds);
}

int main(int argc, char **argv)
{
    static const char before[] = "test_fuzz_";
    const char *target = strstr(program_invocation_short_name, before);
    if (!target || LLVMFuzzerInitialize(&argc, &argv) != 0)
        return 2;
    const struct CMUnitTest tests[] = {{"seeds_are_replayed", seeds_are_replayed, NULL, NULL,
                                        (void *)(uintptr_t)(target + sizeof(before) - 1)}};
    return cmocka_run_group_tests_name(target, tests, NULL, NULL);
}
