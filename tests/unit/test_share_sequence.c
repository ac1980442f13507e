/* The sequence: the source's examples and its table 1, the orders' drifts, joining and leaving. */
#include "tests/unit/test.h"

#include "controller/engine/share/sequence.h"

#include <errno.h>
#include <string.h>

enum { USERS_MAX = 24 };

static struct sequence *make(const uint32_t *shares, uint32_t n, enum sequence_order order)
{
    struct sequence_user users[USERS_MAX];
    struct sequence *sequence = NULL;
    struct err err = {0};
    for (uint32_t i = 0; i < n; i++)
        users[i] = (struct sequence_user){i, shares[i]};
    if (sequence_create(users, n, order, &sequence, &err) < 0)
        fail_msg("%s", err.text);
    return sequence;
}

static void say(const struct sequence *sequence, uint32_t from, uint32_t amount, char *text)
{
    for (uint32_t k = 0; k < amount; k++)
        text[k] = (char)('A' + sequence_at(sequence, (from + k) % sequence_entries(sequence)));
    text[amount] = '\0';
}

static void assert_turn(const uint32_t *shares, uint32_t n, const char *expected)
{
    char text[64];
    struct sequence *sequence = make(shares, n, SEQUENCE_LITERAL);
    say(sequence, 0, sequence_entries(sequence), text);
    assert_string_equal(text, expected);
    sequence_destroy(sequence);
}

static void test_the_sources_examples(void **state)
{
    (void)state;
    assert_turn((uint32_t[]){5, 3}, 2, "ABAABABA");
    assert_turn((uint32_t[]){2, 1}, 2, "ABA");
    assert_turn((uint32_t[]){3, 1, 1}, 3, "AACBA");
    assert_turn((uint32_t[]){7}, 1, "A");
    /* Reduced by the greatest common divisor. */
    assert_turn((uint32_t[]){50, 30}, 2, "ABAABABA");
    assert_turn((uint32_t[]){1u << 31, 1u << 31}, 2, "BA");
}

static void test_two_an_offer_of_three_users(void **state)
{
    (void)state;
    static const char *const offers[] = {"AA", "CB", "AA", "AC", "BA"};
    struct sequence *sequence = make((uint32_t[]){3, 1, 1}, 3, SEQUENCE_LITERAL);
    int64_t totals[3] = {0};
    for (size_t i = 0; i < 5; i++) {
        char text[8];
        say(sequence, sequence_position(sequence), 2, text);
        assert_string_equal(text, offers[i]);
        sequence_take(sequence, 2, totals);
    }
    assert_int_equal(totals[0], 6);
    assert_int_equal(totals[1], 2);
    assert_int_equal(totals[2], 2);
    sequence_destroy(sequence);
}

/* Shares 5 and 3, five tasks an offer. */
static void test_table_1(void **state)
{
    (void)state;
    static const struct {
        const char *order;
        int64_t a, b;
    } rows[] = {{"ABAAB", 3, 2},  {"ABAAB", 6, 4},   {"AABAB", 9, 6},   {"AABAA", 13, 7},
                {"BABAA", 16, 9}, {"BAABA", 19, 11}, {"BAABA", 22, 13}, {"ABABA", 25, 15}};
    struct sequence *sequence = make((uint32_t[]){5, 3}, 2, SEQUENCE_LITERAL);
    int64_t totals[2] = {0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[8];
        say(sequence, sequence_position(sequence), 5, text);
        sequence_take(sequence, 5, totals);
        assert_string_equal(text, rows[i].order);
        assert_int_equal(totals[0], rows[i].a);
        assert_int_equal(totals[1], rows[i].b);
    }
    assert_int_equal(sequence_position(sequence), 0);
    sequence_destroy(sequence);
}

static struct sequence_drift drift_of(const uint32_t *shares, uint32_t n, enum sequence_order order)
{
    struct sequence *sequence = make(shares, n, order);
    struct sequence_drift drift = sequence_drift(sequence);
    sequence_destroy(sequence);
    return drift;
}

static void test_how_far_the_orders_drift(void **state)
{
    (void)state;
    static const struct {
        uint32_t shares[11], n;
        uint64_t entries, ahead, behind, even_percent;
    } cases[] = {
        {{20, 14, 8, 5}, 4, 47, 49, 34, 83},
        {{10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 11, 20, 90, 18, 90},
        {{100, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 11, 110, 990, 108, 95},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sequence_drift literal = drift_of(cases[i].shares, cases[i].n, SEQUENCE_LITERAL);
        struct sequence_drift even = drift_of(cases[i].shares, cases[i].n, SEQUENCE_EVEN);
        assert_int_equal(literal.ahead, cases[i].ahead);
        assert_int_equal(literal.behind, cases[i].behind);
        assert_true(even.ahead * 100 <= cases[i].even_percent * cases[i].entries);
        assert_true(even.behind * 100 <= cases[i].even_percent * cases[i].entries);
    }
}

static uint32_t draw_shares(uint64_t *stream, uint32_t *shares)
{
    uint32_t n = 1 + (uint32_t)(test_random(stream) % USERS_MAX);
    uint32_t most = test_random(stream) % 4 ? 12 : 120;
    uint32_t times = test_random(stream) % 3 ? 1 : 6;
    for (uint32_t i = 0; i < n; i++)
        shares[i] = times * (1 + (uint32_t)(test_random(stream) % most));
    return n;
}

/* Each user after each entry: within the order's bound of its share; a turn is exact. */
static void check_turn(const struct sequence *s, uint32_t n, enum sequence_order order)
{
    int64_t had[USERS_MAX] = {0}, entries = sequence_entries(s);
    uint64_t ahead = 0, behind = 0;
    for (uint32_t t = 1; t <= entries; t++) {
        had[sequence_at(s, t - 1)]++;
        for (uint32_t i = 0; i < n; i++) {
            int64_t share = sequence_share(s, i), off = had[i] * entries - t * share;
            int64_t even = n > 1 ? entries - entries / (2 * n - 2) : entries;
            assert_true(off > -entries);
            assert_true(off <= (order == SEQUENCE_EVEN ? even : (n - 1) * share));
            assert_true(order == SEQUENCE_LITERAL || off >= -even);
            ahead = off > 0 && (uint64_t)off > ahead ? (uint64_t)off : ahead;
            behind = off < 0 && (uint64_t)-off > behind ? (uint64_t)-off : behind;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(had[i], sequence_share(s, i));
    assert_int_equal(sequence_drift(s).ahead, ahead);
    assert_int_equal(sequence_drift(s).behind, behind);
}

static void test_random_shares_stay_within_the_bounds(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    uint32_t worse = 0, rounds = 600;
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t shares[USERS_MAX], n = draw_shares(&stream, shares);
        uint64_t most[SEQUENCE_ORDERS];
        for (enum sequence_order order = 0; order < SEQUENCE_ORDERS; order++) {
            struct sequence *sequence = make(shares, n, order);
            struct sequence_drift drift = sequence_drift(sequence);
            most[order] = drift.ahead > drift.behind ? drift.ahead : drift.behind;
            check_turn(sequence, n, order);
            sequence_destroy(sequence);
        }
        worse += most[SEQUENCE_EVEN] > most[SEQUENCE_LITERAL];
    }
    fprintf(stderr, "# even drifts further than literal for %u of %u shares\n", worse, rounds);
}

/* An offer counts what a walk over its entries would. */
static void offer_at_random(struct sequence *s, uint32_t n, uint64_t *stream, int64_t *counts,
                            int64_t *walked)
{
    uint64_t entries = sequence_entries(s), amount = test_random(stream) % (3 * entries + 2);
    uint64_t from = sequence_position(s);
    int64_t sign = test_random(stream) % 4 ? 1 : -1;
    uint32_t user = (uint32_t)(test_random(stream) % n);
    int64_t own = sequence_count(s, user, amount), had = walked[user];
    if (sign > 0)
        sequence_take(s, amount, counts);
    else
        sequence_back(s, amount, counts);
    uint64_t start = sign > 0 ? from : sequence_position(s);
    for (uint64_t k = 0; k < amount; k++)
        walked[sequence_at(s, (uint32_t)((start + k) % entries))] += sign;
    assert_int_equal(sequence_position(s),
                     (from + (sign > 0 ? amount : 4 * entries - amount)) % entries);
    assert_memory_equal(counts, walked, n * sizeof(*counts));
    if (sign > 0)
        assert_int_equal(own, walked[user] - had);
}

static void test_offers_count_as_a_walk_does(void **state)
{
    (void)state;
    uint64_t stream = test_seed() + 1;
    for (uint32_t round = 0; round < 1000; round++) {
        uint32_t shares[USERS_MAX], n = draw_shares(&stream, shares);
        struct sequence *sequence = make(shares, n, round % SEQUENCE_ORDERS);
        int64_t counts[USERS_MAX] = {0}, walked[USERS_MAX] = {0};
        for (uint32_t offer = 0; offer < 1000; offer++)
            offer_at_random(sequence, n, &stream, counts, walked);
        sequence_destroy(sequence);
    }
}

static void test_a_large_offer_costs_no_walk(void **state)
{
    (void)state;
    struct sequence *sequence = make((uint32_t[]){5, 3}, 2, SEQUENCE_EVEN);
    int64_t counts[2] = {0};
    sequence_take(sequence, (uint64_t)1 << 60, counts);
    assert_int_equal(counts[0], ((int64_t)1 << 57) * 5);
    sequence_back(sequence, (uint64_t)1 << 60, counts);
    assert_int_equal(counts[0], 0);
    assert_int_equal(counts[1], 0);
    sequence_destroy(sequence);
}

static uint64_t total_of(const uint32_t *shares, uint32_t n)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < n; i++)
        total += shares[i];
    return total;
}

/* By how many units each of n users is off in the turn in which `before` became `after`. */
static void check_change(const struct sequence *before, const struct sequence *after, uint32_t n,
                         uint64_t position)
{
    int64_t had[USERS_MAX] = {0};
    for (uint32_t t = 0; t < sequence_position(before); t++)
        had[sequence_at(before, t)]++;
    for (uint64_t t = 0; t < position; t++)
        had[sequence_at(after, (uint32_t)(t % sequence_entries(after)))]--;
    double most = 1;
    const struct sequence *both[] = {before, after};
    for (int k = 0; k < 2; k++) {
        struct sequence_drift d = sequence_drift(both[k]);
        most += (double)(d.ahead > d.behind ? d.ahead : d.behind) / sequence_entries(both[k]);
    }
    for (uint32_t i = 0; i < n; i++)
        assert_true((double)llabs(had[i]) <= most + 1e-9);
}

/* The last of n users joins, and leaves again. */
static void change_at_random(uint64_t *stream, enum sequence_order order)
{
    uint32_t shares[USERS_MAX], n = draw_shares(stream, shares);
    if (n < 2)
        return;
    uint64_t few = total_of(shares, n - 1), all = total_of(shares, n);
    struct sequence *without = make(shares, n - 1, order), *with = make(shares, n, order);
    sequence_seek(without, test_random(stream));
    uint64_t joined = sequence_joined(sequence_position(without), few, shares[n - 1]);
    assert_true(joined < all);
    check_change(without, with, n - 1, joined);
    sequence_seek(with, test_random(stream));
    uint64_t left = sequence_left(sequence_position(with), all, shares[n - 1]);
    assert_true(left <= few);
    check_change(with, without, n - 1, left);
    sequence_destroy(without);
    sequence_destroy(with);
}

static void test_who_stays_is_hardly_off_when_others_come_and_go(void **state)
{
    (void)state;
    uint64_t stream = test_seed() + 2;
    for (uint32_t round = 0; round < 4000; round++)
        change_at_random(&stream, round % SEQUENCE_ORDERS);
}

static void test_credit_of_those_who_come_and_go(void **state)
{
    (void)state;
    /* ⌊3/8·2 + ½⌋ = 1, ⌊4/8·3 + ½⌋ = 2 */
    assert_int_equal(sequence_joined(3, 8, 2), 4);
    assert_int_equal(sequence_joined(4, 8, 3), 6);
    assert_int_equal(sequence_left(4, 8, 3), 2);
    assert_int_equal(sequence_left(1, 10, 6), 0);
    assert_int_equal(sequence_joined(0, 0, 6), 0);
    assert_int_equal(sequence_joined((1u << 20) - 1, 1u << 20, 1u << 31),
                     (1u << 20) - 1 + (1u << 31) - 2048);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    struct sequence *sequence = NULL;
    struct err err;
    const struct sequence_user many[] = {{3, 1u << 20}, {9, 1}};
    assert_int_equal(sequence_create(many, 2, SEQUENCE_EVEN, &sequence, &err), -E2BIG);
    assert_string_equal(err.text, "a turn of these shares has 1048577 entries, at most 1048576 are "
                                  "possible: user 3 has 1048576, user 9 has 1; give shares with a "
                                  "larger common divisor");
    const struct sequence_user none[] = {{3, 5}, {4, 0}};
    assert_int_equal(sequence_create(none, 2, SEQUENCE_EVEN, &sequence, &err), -EINVAL);
    assert_string_equal(err.text, "the share of user 4 is 0, it must be 1 to 2147483648");
    const struct sequence_user large[] = {{7, (1u << 31) + 1}};
    assert_int_equal(sequence_create(large, 1, SEQUENCE_EVEN, &sequence, &err), -EINVAL);
    assert_null(sequence);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_shares_stay_within_the_bounds),
        cmocka_unit_test(test_offers_count_as_a_walk_does),
        cmocka_unit_test(test_who_stays_is_hardly_off_when_others_come_and_go),
        cmocka_unit_test(test_the_sources_examples),
        cmocka_unit_test(test_two_an_offer_of_three_users),
        cmocka_unit_test(test_table_1),
        cmocka_unit_test(test_how_far_the_orders_drift),
        cmocka_unit_test(test_a_large_offer_costs_no_walk),
        cmocka_unit_test(test_credit_of_those_who_come_and_go),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
