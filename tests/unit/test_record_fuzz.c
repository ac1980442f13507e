#include "tests/unit/test.h"

#include "tests/fuzz/fuzz_record.c"

#include <glob.h>

enum { FUZZ_MAX = 4096 };

static size_t file_read(const char *path, uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(bytes, 1, size, file);
    fclose(file);
    return length;
}

/* The seeds, each cut at every length, and each with bytes changed at random. */
static void seeds_are_replayed(void **state)
{
    (void)state;
    static uint8_t bytes[FUZZ_MAX + 1], changed[FUZZ_MAX + 1];
    uint64_t stream = test_seed();
    glob_t seeds;
    assert_int_equal(glob("tests/fuzz/record/*", 0, NULL, &seeds), 0);
    for (size_t i = 0; i < seeds.gl_pathc; i++) {
        size_t length = file_read(seeds.gl_pathv[i], bytes, sizeof(bytes));
        LLVMFuzzerTestOneInput(bytes, length);
        for (size_t cut = 0; cut < length && cut < 512; cut++)
            LLVMFuzzerTestOneInput(bytes, cut);
        for (int change = 0; change < 500; change++) {
            memcpy(changed, bytes, length);
            for (int n = 0; n < 1 + change % 4 && length; n++)
                changed[test_random(&stream) % length] = (uint8_t)test_random(&stream);
            LLVMFuzzerTestOneInput(changed, length);
        }
    }
    assert_true(seeds.gl_pathc >= 10);
    globfree(&seeds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(seeds_are_replayed)};
    return cmocka_run_group_tests_name("record_fuzz", tests, NULL, NULL);
}
