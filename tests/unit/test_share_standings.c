/* Users in order of an amount, and sums of weights, beside a look at all of them. */
#include "tests/unit/test.h"

#include "controller/engine/share/standings.h"
#include "controller/engine/share/weights.h"

#include <string.h>

__extension__ typedef __int128 wide;

enum { USERS = 40 };

struct world {
    struct standings standings;
    uint64_t stream;
    uint32_t n, share[USERS];
    int64_t amount[USERS];
    bool in[USERS];
};

static uint64_t draw(struct world *w, uint64_t below)
{
    return test_random(&w->stream) % below;
}

/* Near each other, so that many are equal, or as large as they may be. */
static int64_t draw_amount(struct world *w)
{
    int64_t small = (int64_t)draw(w, 9) - 4, large = ((int64_t)1 << 62) - (int64_t)draw(w, 3);
    return draw(w, 4) ? small : draw(w, 2) ? large : -large;
}

static uint32_t draw_share(struct world *w)
{
    return draw(w, 2) ? 1 + (uint32_t)draw(w, 4)
                      : (1u << STANDINGS_SHARE_BITS) - (uint32_t)draw(w, 3);
}

/* −1: a has more; 1: less. */
static int compare(const struct world *w, uint32_t a, uint32_t b)
{
    bool counts = w->standings.for_share;
    wide x = (wide)w->amount[a] * (counts ? w->share[b] : 1),
         y = (wide)w->amount[b] * (counts ? w->share[a] : 1);
    return x > y ? -1 : x < y;
}

static bool is_before(const struct world *w, uint32_t a, uint32_t b)
{
    int order = compare(w, a, b);
    return order ? order < 0 : a < b;
}

/* Of those behind `after`; NULL: of all. */
static uint32_t first_by_look(const struct world *w, const uint32_t *after)
{
    uint32_t best = w->n;
    for (uint32_t i = 0; i < w->n; i++)
        if (w->in[i] && (!after || is_before(w, *after, i)) &&
            (best == w->n || is_before(w, i, best)))
            best = i;
    return best;
}

static void assert_order(const struct world *w)
{
    uint32_t i = standings_first(&w->standings);
    assert_int_equal(i, first_by_look(w, NULL));
    while (i < w->n) {
        uint32_t next = standings_after(&w->standings, i);
        assert_int_equal(next, first_by_look(w, &i));
        if (next < w->n)
            assert_int_equal(standings_are_equal(&w->standings, i, next), !compare(w, i, next));
        i = next;
    }
}

static void change(struct world *w)
{
    uint32_t i = (uint32_t)draw(w, w->n);
    w->in[i] = draw(w, 4);
    w->amount[i] = draw_amount(w);
    if (w->in[i])
        standings_place(&w->standings, i, w->amount[i], w->share[i]);
    else
        standings_remove(&w->standings, i);
}

static void test_the_order_is_that_of_a_look_at_all(void **state)
{
    (void)state;
    struct world w = {.stream = test_seed() + 1};
    for (uint32_t round = 0; round < 200; round++) {
        w.n = 1 + (uint32_t)draw(&w, USERS);
        memset(w.in, 0, sizeof(w.in));
        assert_int_equal(standings_init(&w.standings, w.n, round % 2), 0);
        for (uint32_t i = 0; i < w.n; i++)
            w.share[i] = draw_share(&w);
        for (int k = 0; k < 100; k++) {
            change(&w);
            assert_order(&w);
        }
        standings_done(&w.standings);
    }
}

static void test_equals_are_told(void **state)
{
    (void)state;
    struct standings s;
    assert_int_equal(standings_init(&s, 4, true), 0);
    standings_place(&s, 0, 1, 3);
    standings_place(&s, 1, 2, 6);
    standings_place(&s, 2, 3, 10);
    assert_true(standings_are_equal(&s, 0, 1));
    assert_false(standings_are_equal(&s, 0, 2));
    assert_false(standings_are_equal(&s, 0, 3));
    assert_int_equal(standings_first(&s), 0);
    standings_remove(&s, 1);
    assert_false(standings_are_equal(&s, 0, 1));
    standings_done(&s);
}

static void test_who_is_marked_is_taken_once(void **state)
{
    (void)state;
    struct standings s;
    assert_int_equal(standings_init(&s, 3, false), 0);
    standings_mark(&s, 2);
    standings_mark(&s, 0);
    standings_mark(&s, 2);
    assert_int_equal(standings_take_marked(&s), 0);
    assert_int_equal(standings_take_marked(&s), 2);
    assert_int_equal(standings_take_marked(&s), 3);
    standings_mark(&s, 2);
    assert_int_equal(standings_take_marked(&s), 2);
    standings_done(&s);
}

static void test_sums_of_weights(void **state)
{
    (void)state;
    struct world w = {.stream = test_seed() + 2};
    for (uint32_t round = 0; round < 500; round++) {
        struct weights weights;
        int64_t of[USERS] = {0};
        w.n = 1 + (uint32_t)draw(&w, USERS);
        assert_int_equal(weights_init(&weights, w.n), 0);
        for (int k = 0; k < 50; k++) {
            uint32_t changed = (uint32_t)draw(&w, w.n);
            of[changed] = draw(&w, 3) ? (int64_t)draw(&w, 20) : 0;
            weights_set(&weights, changed, of[changed]);
            int64_t sum = 0;
            for (uint32_t i = 0; i < w.n; i++) {
                for (int64_t at = sum + 1; at <= sum + of[i]; at++)
                    assert_int_equal(weights_at(&weights, at), i);
                sum += of[i];
                assert_int_equal(weights_upto(&weights, i), sum);
            }
            assert_int_equal(weights.total, sum);
        }
        weights_done(&weights);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_order_is_that_of_a_look_at_all),
        cmocka_unit_test(test_sums_of_weights),
        cmocka_unit_test(test_equals_are_told),
        cmocka_unit_test(test_who_is_marked_is_taken_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
