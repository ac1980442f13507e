#include "tests/unit/test.h"

#include "tests/fuzz/fuzz_wire.c"

#include "tests/unit/fuzz_replay.h"

static void seeds_are_replayed(void **state)
{
    (void)state;
    fuzz_replay("tests/fuzz/wire/*", 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(seeds_are_replayed)};
    return cmocka_run_group_tests_name("wire_fuzz", tests, NULL, NULL);
}
