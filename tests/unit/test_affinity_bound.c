/* Bounds of what tasks take by their profiles: no profile of those that are bounded takes less,
 * whatever is asked of the disk, and where nothing is over-asked the bound of one is what it
 * takes. */
#include "controller/engine/place/affinity_model.h"
#include "tests/unit/test.h"

__extension__ typedef unsigned __int128 wide;

enum { SETS = 20000, PROFILES = 6, DISKS = 8 };

static uint64_t draw(uint64_t *stream, uint64_t n)
{
    return test_random(stream) % n;
}

/* Of any magnitude up to 2^bits. */
static uint64_t draw_bits(uint64_t *stream, uint64_t bits)
{
    return test_random(stream) >> (63 - draw(stream, bits)) >> 1;
}

static struct profile random_profile(uint64_t *stream)
{
    struct profile profile = {.read_bytes = draw(stream, 4) ? draw_bits(stream, 53) : 0,
                              .read_bytes_s = 1 + draw_bits(stream, draw(stream, 3) ? 33 : 62),
                              .before = draw(stream, 2)};
    profile.compute_ns = draw_bits(stream, draw(stream, 3) ? 40 : 61);
    if (!profile.before && profile_read_ns(&profile) > profile.compute_ns)
        profile.compute_ns += profile_read_ns(&profile);
    if (profile_check(&profile, NULL) < 0)
        profile = (struct profile){.compute_ns = 1};
    return profile;
}

/* Half of them are asked for about what they have. */
static struct affinity_disk random_disk(uint64_t *stream)
{
    struct affinity_disk disk = {.bytes_s = draw_bits(stream, draw(stream, 3) ? 34 : 63),
                                 .readers = draw(stream, 70000)};
    disk.asked_bytes_s =
        draw(stream, 2) ? disk.bytes_s / 8 * draw(stream, 16) : draw_bits(stream, 62);
    if (disk.asked_bytes_s > AFFINITY_NEVER_NS)
        disk.asked_bytes_s = AFFINITY_NEVER_NS;
    return disk;
}

static void check_one(const struct profile *profile, uint64_t by_ns,
                      const struct affinity_bound *of_all, const struct affinity_disk *disk,
                      enum affinity_stretch stretch)
{
    const struct affinity_bound own = affinity_bound_of(profile, by_ns);
    const uint64_t predicted = affinity_predict_ns(profile, disk, stretch),
                   bound = affinity_bound_at(&own, disk, stretch),
                   all = affinity_bound_at(of_all, disk, stretch);
    bool exact;
    const uint64_t parts = affinity_parts(predicted, by_ns, &exact);
    assert_true(bound <= parts);
    assert_true(all <= bound);
    assert_true(!exact || (wide)parts * by_ns == (wide)predicted * AFFINITY_ONE);
    if (predicted == by_ns)
        assert_true(exact && parts == AFFINITY_ONE);
}

static void test_nothing_takes_less(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int set = 0; set < SETS; set++) {
        struct profile profiles[PROFILES];
        uint64_t by_ns[PROFILES];
        struct affinity_bound of_all = AFFINITY_BOUND_OF_NONE;
        for (int i = 0; i < PROFILES; i++) {
            profiles[i] = random_profile(&stream);
            by_ns[i] = affinity_lone_ns(&profiles[i]);
            if (draw(&stream, 2)) /* by a shorter way, or there is none */
                by_ns[i] = draw(&stream, 8) ? 1 + draw(&stream, by_ns[i]) % (UINT64_C(1) << 53) : 0;
            const struct affinity_bound own = affinity_bound_of(&profiles[i], by_ns[i]);
            of_all = affinity_bound_join(&of_all, &own);
        }
        for (int d = 0; d < DISKS; d++) {
            const struct affinity_disk disk = random_disk(&stream);
            for (int i = 0; i < PROFILES; i++) {
                check_one(&profiles[i], by_ns[i], &of_all, &disk, AFFINITY_ASKED);
                check_one(&profiles[i], by_ns[i], &of_all, &disk, AFFINITY_PARTS);
            }
        }
    }
}

/* So that a search ends at once among those that are not delayed at all, and leaves out those that
 * are clearly delayed more. */
static void test_bounds_are_near(void **state)
{
    (void)state;
    const struct profile reads = {100000000, 100000000, 1, 3000000000}; /* 1 s of 4 */
    const struct affinity_disk idle = {100000000, 0, 0, false},
                               full = {100000000, 100000000, 1, false};
    const struct affinity_bound bound = affinity_bound_of(&reads, affinity_lone_ns(&reads));
    assert_int_equal(affinity_bound_at(&bound, &idle, AFFINITY_ASKED), AFFINITY_ONE);
    assert_int_equal(affinity_predict_ns(&reads, &full, AFFINITY_ASKED), 5000000000);
    const uint64_t at = affinity_bound_at(&bound, &full, AFFINITY_ASKED);
    assert_true(at > AFFINITY_ONE / 4 * 5 - 16 && at <= AFFINITY_ONE / 4 * 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_takes_less),
        cmocka_unit_test(test_bounds_are_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
