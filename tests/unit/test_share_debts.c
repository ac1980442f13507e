/* Debts between users: transfers keep what everybody has in all, and nobody both owes and is
 * owed. */
#include "tests/unit/test.h"

#include "controller/engine/share/debts.h"

#include <errno.h>
#include <string.h>

enum { K = 1, M = 2, N = 3, USERS = 9 };

static struct debts *made;

static int begin(void **state)
{
    (void)state;
    made = debts_create();
    return made ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    debts_destroy(made);
    return 0;
}

static void lend(uint32_t lender, uint32_t borrower, uint64_t amount, int64_t now_ns)
{
    assert_int_equal(debts_lend(made, lender, borrower, amount, now_ns), 0);
}

/* k owes m 5, n owes m 4, and now k owes n r3. */
static void three_users(uint64_t r3)
{
    lend(M, K, 5, 10);
    lend(M, N, 4, 20);
    lend(N, K, r3, 30);
}

static void test_a_smaller_debt_is_transferred_whole(void **state)
{
    (void)state;
    three_users(3);
    assert_int_equal(debts_between(made, K, M), 8);
    assert_int_equal(debts_between(made, N, M), 1);
    assert_int_equal(debts_between(made, K, N), 0);
    assert_int_equal(debts_count(made), 2);
}

static void test_an_equal_debt_ends_both(void **state)
{
    (void)state;
    three_users(4);
    assert_int_equal(debts_between(made, K, M), 9);
    assert_int_equal(debts_count(made), 1);
}

static void test_a_larger_debt_is_transferred_in_part(void **state)
{
    (void)state;
    three_users(6);
    assert_int_equal(debts_between(made, K, M), 9);
    assert_int_equal(debts_between(made, K, N), 2);
    assert_int_equal(debts_count(made), 2);
}

static void test_what_two_owe_each_other_cancels(void **state)
{
    (void)state;
    lend(M, K, 5, 10);
    lend(K, M, 7, 20);
    struct debt debt;
    assert_true(debts_first(made, &debt));
    assert_int_equal(debt.borrower, M);
    assert_int_equal(debt.lender, K);
    assert_int_equal(debt.amount, 2);
    assert_int_equal(debt.since_ns, 20);
    assert_int_equal(debts_count(made), 1);
}

/* The borrower is owed something itself: those who owe it owe its lender. */
static void test_a_lender_that_borrows_passes_its_claims_on(void **state)
{
    (void)state;
    lend(K, M, 5, 10);
    lend(N, K, 3, 20);
    assert_int_equal(debts_between(made, M, K), 2);
    assert_int_equal(debts_between(made, M, N), 3);
    struct debt debt;
    assert_true(debts_after(made, M, K, &debt));
    assert_int_equal(debt.since_ns, 10);
    assert_false(debts_after(made, M, N, &debt));
}

static void test_getting_back(void **state)
{
    (void)state;
    /* A: the borrower's own free room, min(r, f). */
    lend(N, M, 5, 10);
    assert_int_equal(debts_repay(made, M, N, 2), 2);
    assert_int_equal(debts_repay(made, M, N, 9), 3);
    assert_int_equal(debts_count(made), 0);
    assert_int_equal(debts_repay(made, M, N, 1), 0);
    /* B: a third one's; r > f in part, then r ≤ f whole. */
    lend(N, M, 5, 10);
    assert_int_equal(debts_move(made, M, N, K, 2), 2);
    assert_int_equal(debts_between(made, M, N), 3);
    assert_int_equal(debts_between(made, M, K), 2);
    assert_int_equal(debts_move(made, M, N, K, 9), 3);
    assert_int_equal(debts_between(made, M, K), 5);
    assert_int_equal(debts_count(made), 1);
    assert_int_equal(debts_move(made, M, N, K, 9), 0);
}

static void test_a_turn_pays_a_part(void **state)
{
    (void)state;
    uint32_t carry = 0;
    assert_int_equal(debts_due(10, 4, true, 1000, &carry), 4);
    assert_int_equal(debts_due(3, 4, true, 1000, &carry), 3);
    assert_int_equal(debts_due(10, 4, true, 500, &carry), 2);
    assert_int_equal(debts_due(10, 4, false, 500, &carry), 4);
    assert_int_equal(carry, 0);
    /* Units one by one: every third. */
    uint64_t paid = 0;
    for (int turn = 1; turn <= 3000; turn++) {
        paid += debts_due(1000000, 1, true, 333, &carry);
        assert_true(paid <= (uint64_t)turn * 333 / 1000);
        assert_true(paid + 1 > (uint64_t)turn * 333 / 1000);
        assert_true(carry < 1000);
    }
}

/* Whatever its room: what it owes is repaid after so many turns as the header says. */
static void test_a_debt_is_repaid_in_time(void **state)
{
    (void)state;
    uint64_t stream = test_seed() + 9;
    for (uint32_t round = 0; round < 20000; round++) {
        uint32_t permille = 1 + (uint32_t)(test_random(&stream) % 1000), carry = 0;
        uint64_t owed = 1 + test_random(&stream) % 40, rooms = 1 + test_random(&stream) % 20,
                 turns = owed * ((1000 + permille - 1) / permille), kept = 0, room_in_all = 0;
        for (; owed; turns--) {
            assert_true(turns > 0);
            uint64_t room = 1 + test_random(&stream) % rooms,
                     paid = debts_due(owed, room, true, permille, &carry);
            owed -= paid;
            kept += room - paid;
            room_in_all += room;
            assert_true((kept + 1) * 1000 >= room_in_all * (1000 - permille));
        }
    }
}

static void test_who_leaves_is_inherited(void **state)
{
    (void)state;
    const struct debts_heir heirs[] = {{K, 3}, {M, 2}, {4, 2}};
    lend(N, M, 10, 10);
    assert_int_equal(debts_leave(made, M, heirs, 3), -EBUSY);
    /* ⌊3/7·10⌋ = 4 to k, ⌊2/7·10⌋ = 2 to user 4; m's own 2 and the rest of 2 are cancelled. */
    assert_int_equal(debts_leave(made, N, heirs, 3), 0);
    assert_int_equal(debts_between(made, M, K), 4);
    assert_int_equal(debts_between(made, M, 4), 2);
    assert_int_equal(debts_count(made), 2);
    assert_int_equal(debts_position(made, N), 0);
    assert_int_equal(debts_leave(made, N, heirs, 3), 0);
}

static void test_debtors_inherit_from_each_other(void **state)
{
    (void)state;
    const struct debts_heir heirs[] = {{K, 1}, {M, 1}};
    lend(N, K, 10, 10);
    lend(N, M, 6, 10);
    /* k owes m 5, m owes k 3. */
    assert_int_equal(debts_leave(made, N, heirs, 2), 0);
    assert_int_equal(debts_between(made, K, M), 2);
    assert_int_equal(debts_count(made), 1);
}

/* What everybody has in all, kept beside. */
struct world {
    int64_t position[USERS];
    uint64_t stream;
    int64_t now_ns;
};

static uint64_t draw(struct world *w, uint64_t below)
{
    return test_random(&w->stream) % below;
}

static void lend_at_random(struct world *w)
{
    uint32_t lender = (uint32_t)draw(w, USERS), borrower = (uint32_t)draw(w, USERS);
    uint64_t amount = draw(w, 50);
    lend(lender, borrower, amount, w->now_ns);
    if (lender == borrower)
        return;
    w->position[lender] += (int64_t)amount;
    w->position[borrower] -= (int64_t)amount;
}

static bool any_debt(struct world *w, struct debt *ret_debt)
{
    return debts_after(made, (uint32_t)draw(w, USERS), (uint32_t)draw(w, USERS), ret_debt) ||
           debts_first(made, ret_debt);
}

static void repay_at_random(struct world *w)
{
    struct debt debt;
    if (!any_debt(w, &debt))
        return;
    uint64_t amount = draw(w, 60), paid = debts_repay(made, debt.borrower, debt.lender, amount);
    assert_int_equal(paid, amount < debt.amount ? amount : debt.amount);
    w->position[debt.borrower] += (int64_t)paid;
    w->position[debt.lender] -= (int64_t)paid;
}

static void move_at_random(struct world *w)
{
    struct debt debt;
    if (!any_debt(w, &debt))
        return;
    uint32_t third = (uint32_t)draw(w, USERS);
    int64_t moved = debts_move(made, debt.borrower, debt.lender, third, draw(w, 60));
    assert_true(moved >= 0 && moved <= (int64_t)debt.amount);
    w->position[debt.lender] -= moved;
    w->position[third] += moved;
}

static void leave_at_random(struct world *w)
{
    struct debts_heir heirs[USERS];
    uint32_t n = 0, user = (uint32_t)draw(w, USERS);
    uint64_t before = 0, after = 0;
    for (uint32_t i = 0; i < USERS; i++) {
        before += w->position[i] > 0 ? (uint64_t)w->position[i] : 0;
        if (i != user)
            heirs[n++] = (struct debts_heir){i, 1 + (uint32_t)draw(w, 9)};
    }
    int r = debts_leave(made, user, heirs, n);
    assert_int_equal(r, w->position[user] < 0 ? -EBUSY : 0);
    for (uint32_t i = 0; i < USERS; i++) {
        w->position[i] = debts_position(made, i);
        after += w->position[i] > 0 ? (uint64_t)w->position[i] : 0;
    }
    assert_true(after <= before);
    assert_true(r || !w->position[user]);
}

/* Written out and read again. */
static void copy(void)
{
    struct debts *copied = debts_create();
    struct debt debt;
    bool more = debts_first(made, &debt);
    for (; more; more = debts_after(made, debt.borrower, debt.lender, &debt))
        assert_int_equal(debts_lend(copied, debt.lender, debt.borrower, debt.amount, debt.since_ns),
                         0);
    assert_int_equal(debts_count(copied), debts_count(made));
    debts_destroy(made);
    made = copied;
}

static void check(const struct world *w)
{
    bool owes[USERS] = {false}, owed[USERS] = {false};
    int64_t sum = 0;
    struct debt debt;
    bool more = debts_first(made, &debt);
    for (; more; more = debts_after(made, debt.borrower, debt.lender, &debt)) {
        assert_true(debt.amount > 0 && debt.since_ns <= w->now_ns);
        owes[debt.borrower] = owed[debt.lender] = true;
    }
    for (uint32_t i = 0; i < USERS; i++) {
        assert_false(owes[i] && owed[i]);
        assert_int_equal(debts_position(made, i), w->position[i]);
        sum += w->position[i];
    }
    assert_int_equal(sum, 0);
    assert_true(debts_count(made) <= USERS * USERS / 4);
}

static void test_random_debts_keep_what_everybody_has(void **state)
{
    (void)state;
    struct world w = {.stream = test_seed() + 3};
    for (uint32_t round = 0; round < 1000000; round++) {
        uint64_t what = draw(&w, 1000);
        w.now_ns++;
        if (what < 500)
            lend_at_random(&w);
        else if (what < 800)
            repay_at_random(&w);
        else if (what < 990)
            move_at_random(&w);
        else if (what < 998)
            leave_at_random(&w);
        else
            copy();
        if (round % 4 == 0)
            check(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_debts_keep_what_everybody_has, begin, end),
        cmocka_unit_test_setup_teardown(test_a_smaller_debt_is_transferred_whole, begin, end),
        cmocka_unit_test_setup_teardown(test_an_equal_debt_ends_both, begin, end),
        cmocka_unit_test_setup_teardown(test_a_larger_debt_is_transferred_in_part, begin, end),
        cmocka_unit_test_setup_teardown(test_what_two_owe_each_other_cancels, begin, end),
        cmocka_unit_test_setup_teardown(test_a_lender_that_borrows_passes_its_claims_on, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_getting_back, begin, end),
        cmocka_unit_test_setup_teardown(test_who_leaves_is_inherited, begin, end),
        cmocka_unit_test_setup_teardown(test_debtors_inherit_from_each_other, begin, end),
        cmocka_unit_test(test_a_turn_pays_a_part),
        cmocka_unit_test(test_a_debt_is_repaid_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
