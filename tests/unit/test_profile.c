/* Profiles: what follows from them, and which are refused. */
#include "tests/unit/test.h"

#include "lib/profile.h"

#include <string.h>

#define SECOND UINT64_C(1000000000)

static struct profile random_profile(uint64_t *stream)
{
    return (struct profile){test_random(stream) >> (11 + test_random(stream) % 40),
                            test_random(stream) >> (1 + test_random(stream) % 62),
                            test_random(stream) % 2,
                            test_random(stream) >> (2 + test_random(stream) % 40)};
}

/* Reading and only computing are the whole; nothing asks for more than it can read. */
static void test_parts_are_the_whole(void **state)
{
    (void)state;
    uint64_t stream = test_seed(), good = 0;
    for (int i = 0; i < 100000; i++) {
        const struct profile p = random_profile(&stream);
        if (profile_check(&p, NULL) < 0)
            continue;
        good++;
        assert_true(profile_read_ns(&p) + profile_only_compute_ns(&p) == profile_lone_ns(&p));
        assert_true(profile_lone_ns(&p) >= p.compute_ns);
        assert_true(profile_asked_bytes_s(&p) <= p.read_bytes_s);
        assert_true(p.before || profile_lone_ns(&p) == p.compute_ns);
        assert_true(!p.before || profile_only_compute_ns(&p) == p.compute_ns);
    }
    assert_true(good > 10000 && good < 90000);
}

static void test_numbers(void **state)
{
    (void)state;
    const struct profile gpu = {SECOND, 125000000, 1, 2 * SECOND},
                         cpu = {64000000, 128000000, 0, 40 * SECOND}, nothing = {0},
                         computes = {.compute_ns = SECOND};
    assert_true(profile_read_ns(&gpu) == 8 * SECOND && profile_lone_ns(&gpu) == 10 * SECOND);
    assert_true(profile_asked_bytes_s(&gpu) == 125000000);
    assert_true(profile_read_ns(&cpu) == SECOND / 2 && profile_lone_ns(&cpu) == 40 * SECOND);
    assert_true(profile_only_compute_ns(&cpu) == 39 * SECOND + SECOND / 2);
    assert_true(profile_asked_bytes_s(&cpu) == 1600000); /* in the mean of its 40 s */
    assert_false(profile_is_known(&nothing));
    assert_true(profile_is_known(&computes) && !profile_asked_bytes_s(&computes));
    assert_int_equal(profile_check(&nothing, NULL), 0);
}

static void assert_refused(struct profile profile, const char *sentence)
{
    struct err err = {0};
    assert_true(profile_check(&profile, &err) < 0);
    assert_non_null(strstr(err.text, sentence));
}

static void test_wrong_ones_are_refused(void **state)
{
    (void)state;
    assert_refused((struct profile){5, 0, 1, 1}, "reads 5 bytes at rate 0");
    assert_refused((struct profile){64, 64, 0, SECOND - 1},
                   "reads for 1000 ms while it computes for 999 ms");
    assert_refused((struct profile){64, 64, 2, SECOND}, "neither before");
    assert_refused((struct profile){(UINT64_C(1) << 53) + 1, 64, 1, 0}, "more than 2^53 bytes");
    assert_refused((struct profile){64, 64, 1, (UINT64_C(1) << 62) + 1}, "over 146 years");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_are_the_whole),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_wrong_ones_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
