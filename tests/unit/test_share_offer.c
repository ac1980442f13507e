/* Requested amounts: the source's table 2 as corrected (its last column is wrong from row 3 on, and
 * the sixth row is missing there), granules, and what holds for any offers. */
#include "tests/unit/test.h"

#include "controller/engine/share/granule.h"
#include "controller/engine/share/offer.h"
#include "tests/model/offer_scan.h"

#include <errno.h>
#include <string.h>

enum { USERS = 6, DEBT_MAX = 400 };

struct world {
    struct sequence *sequence;
    struct offer offer;
    struct offer_user *user; /* the offer's */
    bool held[USERS];
    /* Each user's next task, 0: none; called when one has run. */
    uint64_t next[USERS];
    void (*ran)(struct world *w, uint32_t user);
    uint64_t stream, ran_in_all[USERS];
    const uint64_t *tasks[USERS];
};

static struct sequence *sequence_of(const uint32_t *shares, uint32_t n, enum sequence_order order)
{
    struct sequence_user users[SCAN_USERS];
    struct sequence *sequence;
    struct err err = {0};
    for (uint32_t i = 0; i < n; i++)
        users[i] = (struct sequence_user){i, shares[i]};
    if (sequence_create(users, n, order, &sequence, &err) < 0)
        fail_msg("%s", err.text);
    return sequence;
}

static void begin(struct world *w, const uint32_t *shares, uint32_t n, enum sequence_order order)
{
    w->sequence = sequence_of(shares, n, order);
    assert_int_equal(offer_init(&w->offer, n), 0);
    w->offer.sequence = w->sequence;
    w->offer.permille = 1000;
    w->offer.largest = true;
    w->offer.debt_max = OFFER_DEBT_MAX;
    w->user = w->offer.users;
    memset(w->held, 0, sizeof(w->held));
}

static void end(struct world *w)
{
    sequence_destroy(w->sequence);
    offer_done(&w->offer);
}

static void hold(struct world *w, uint32_t user, bool held)
{
    w->held[user] = held;
    offer_hold(&w->offer, user, held);
}

/* Of all users; their number: none fits. */
static uint32_t spare_of(const struct world *w, const uint64_t *sizes)
{
    static const uint32_t all[USERS] = {0, 1, 2, 3, 4, 5};
    return offer_spare(&w->offer, all, w->offer.n, sizes);
}

/* Steps 3 and 4. */
static void serve(struct world *w)
{
    struct offer *o = &w->offer;
    uint32_t spare;
    for (uint32_t i = 0; i < o->n; i++)
        while (w->next[i] && !w->held[i] && offer_run(o, i, w->next[i]))
            w->ran(w, i);
    uint64_t sizes[USERS];
    for (;;) {
        for (uint32_t i = 0; i < o->n; i++)
            sizes[i] = w->held[i] ? 0 : w->next[i];
        if ((spare = spare_of(w, sizes)) == o->n)
            return;
        assert_true(offer_lend(o, spare, sizes[spare]));
        w->ran(w, spare);
    }
}

static void ran_of_list(struct world *w, uint32_t user)
{
    w->ran_in_all[user] += w->next[user];
    w->next[user] = *++w->tasks[user];
}

static void test_table_2(void **state)
{
    (void)state;
    static const uint64_t a[] = {12, 15, 8, 6, 11, 10, 14, 9, 0};
    static const uint64_t b[] = {8, 6, 10, 11, 5, 7, 6, 5, 0};
    static const struct {
        uint64_t offer;
        uint32_t position;
        int64_t balance;
        uint64_t used_a, used_b;
    } rows[] = {{30, 2, 4, 12, 14},  {35, 3, 2, 35, 24},  {32, 7, 2, 52, 35},
                {31, 4, -3, 76, 40}, {20, 4, -2, 85, 47}, {33, 7, 4, 85, 58}};
    struct world w = {.ran = ran_of_list, .tasks = {a, b}, .next = {12, 8}};
    uint32_t shares[2];
    assert_int_equal(granule_share(1000000, 50000000, 0, &shares[0], NULL), 0);
    assert_int_equal(granule_share(1000000, 30000000, 1, &shares[1], NULL), 0);
    begin(&w, shares, 2, SEQUENCE_LITERAL);
    assert_int_equal(sequence_entries(w.sequence), 8);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        offer_idle(&w.offer, 0, !w.next[0]);
        offer_idle(&w.offer, 1, !w.next[1]);
        offer_open(&w.offer, rows[i].offer);
        serve(&w);
        offer_close(&w.offer);
        assert_int_equal(sequence_position(w.sequence), rows[i].position);
        assert_int_equal(w.user[0].balance, rows[i].balance);
        assert_int_equal(w.user[1].balance, -rows[i].balance);
        assert_int_equal(w.ran_in_all[0], rows[i].used_a);
        assert_int_equal(w.ran_in_all[1], rows[i].used_b);
    }
    end(&w);
}

static void ran_for_ever(struct world *w, uint32_t user)
{
    w->ran_in_all[user] += w->next[user];
}

/* Offers that hold two tasks of one user and none of the other's: the other is owed, and nothing
 * bounds that but the rule. */
static void test_who_never_fits_is_owed_up_to_the_bound(void **state)
{
    (void)state;
    struct world w = {.ran = ran_for_ever, .next = {5, 40}};
    begin(&w, (uint32_t[]){1, 1}, 2, SEQUENCE_EVEN);
    w.offer.debt_max = DEBT_MAX;
    for (int i = 1; i <= 200; i++) {
        offer_open(&w.offer, 10);
        serve(&w);
        offer_close(&w.offer);
        assert_int_equal(w.user[1].balance, 5 * i < DEBT_MAX ? 5 * i : DEBT_MAX);
        assert_int_equal(w.user[0].balance, -w.user[1].balance);
    }
    /* What is paid back is only what is owed. */
    w.next[1] = 5;
    for (int i = 0; i < 1000; i++) {
        offer_open(&w.offer, 10);
        serve(&w);
        offer_close(&w.offer);
    }
    assert_int_equal(w.user[1].balance, 0);
    assert_int_equal(w.ran_in_all[1], 10000 / 2 + DEBT_MAX);
    end(&w);
}

static void test_what_is_a_loan(void **state)
{
    (void)state;
    static const struct {
        uint64_t next; /* of the second user */
        bool held;
        int64_t owed;
    } cases[] = {{0, false, 4}, {9, false, 4}, {2, true, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world w = {.ran = ran_for_ever, .next = {1, cases[i].next}};
        begin(&w, (uint32_t[]){1, 1}, 2, SEQUENCE_EVEN);
        offer_idle(&w.offer, 1, !cases[i].next);
        hold(&w, 1, cases[i].held);
        offer_open(&w.offer, 8);
        serve(&w);
        offer_close(&w.offer);
        assert_int_equal(w.ran_in_all[0], 8);
        assert_int_equal(w.user[1].balance, cases[i].owed);
        assert_int_equal(w.user[0].balance, -cases[i].owed);
        end(&w);
    }
}

/* What an idle user is owed waits until it has work: others keep what is theirs. */
static void test_who_is_idle_is_not_paid(void **state)
{
    (void)state;
    struct world w = {.ran = ran_for_ever, .next = {1, 1, 0}};
    begin(&w, (uint32_t[]){1, 1, 1}, 3, SEQUENCE_EVEN);
    offer_set(&w.offer, 0, -6, 0);
    offer_set(&w.offer, 2, 6, 0);
    offer_idle(&w.offer, 2, true);
    offer_open(&w.offer, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(w.user[i].quota, 1);
    serve(&w);
    offer_close(&w.offer);
    assert_int_equal(w.user[0].balance, -6);
    assert_int_equal(w.user[1].balance, -1);
    offer_idle(&w.offer, 2, false);
    offer_open(&w.offer, 3);
    assert_int_equal(w.user[0].quota, 0);
    assert_int_equal(w.user[1].quota, 0);
    assert_int_equal(w.user[2].quota, 3);
    end(&w);
}

static void test_what_did_not_run_is_offered_again(void **state)
{
    (void)state;
    struct world w = {.ran = ran_for_ever, .next = {3, 2}};
    begin(&w, (uint32_t[]){3, 2}, 2, SEQUENCE_EVEN);
    offer_open(&w.offer, 5);
    serve(&w);
    offer_close(&w.offer);
    assert_int_equal(w.user[0].balance, 0);
    uint32_t position = sequence_position(w.sequence);
    offer_return(&w.offer, 0, 3);
    assert_int_equal(w.user[0].balance + w.user[1].balance, 0);
    offer_open(&w.offer, 3);
    assert_true(offer_lend(&w.offer, 0, 3));
    offer_close(&w.offer);
    assert_int_equal(w.user[0].balance, 0);
    assert_int_equal(sequence_position(w.sequence), position);
    end(&w);
}

/* The largest that fits; of equals whose user has most left for its share. */
static void test_which_spare_runs(void **state)
{
    (void)state;
    struct world w = {.ran = ran_for_ever};
    begin(&w, (uint32_t[]){4, 2, 2}, 3, SEQUENCE_EVEN);
    offer_open(&w.offer, 8);
    assert_int_equal(spare_of(&w, (uint64_t[]){3, 5, 9}), 1);
    assert_int_equal(spare_of(&w, (uint64_t[]){9, 0, 9}), 3);
    assert_true(offer_lend(&w.offer, 0, 3));
    assert_true(offer_lend(&w.offer, 1, 1));
    /* 1 of 4, 1 of 2, 2 of 2 are left. */
    assert_int_equal(spare_of(&w, (uint64_t[]){2, 2, 2}), 2);
    assert_int_equal(spare_of(&w, (uint64_t[]){2, 2, 0}), 1);
    w.offer.largest = false; /* whatever their size */
    assert_int_equal(spare_of(&w, (uint64_t[]){5, 4, 1}), 2);
    assert_int_equal(spare_of(&w, (uint64_t[]){5, 4, 9}), 1);
    offer_close(&w.offer);
    end(&w);
}

static void test_a_borrower_with_work_keeps_its_part(void **state)
{
    (void)state;
    struct world w = {.ran = ran_for_ever, .next = {1, 1}};
    begin(&w, (uint32_t[]){1, 1}, 2, SEQUENCE_EVEN);
    w.offer.permille = 250;
    offer_set(&w.offer, 0, -1000, 0);
    offer_set(&w.offer, 1, 1000, 0);
    for (uint64_t i = 1; i <= 2000; i++) {
        offer_open(&w.offer, 2);
        serve(&w);
        offer_close(&w.offer);
        /* A quarter of its own goes back; the lender is repaid as fast as that. */
        assert_true(4 * w.ran_in_all[0] + 3 >= 3 * i);
        assert_true(4 * (w.user[1].balance - 1000) <= -(int64_t)i + 3);
    }
    end(&w);
}

/* --- any offers --- */

static uint64_t draw(struct world *w, uint64_t below)
{
    return test_random(&w->stream) % below;
}

static void ran_at_random(struct world *w, uint32_t user)
{
    w->ran_in_all[user] += w->next[user];
    w->next[user] = draw(w, 12) ? 1 + draw(w, 1 + 6 * user) : 0;
}

static void check(const struct world *w)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < w->offer.n; i++) {
        sum += w->user[i].balance;
        assert_true(w->user[i].balance >= -w->offer.debt_max);
        assert_true(w->user[i].balance <= (int64_t)(w->offer.n - 1) * w->offer.debt_max);
        assert_true(w->user[i].carry < 1000);
    }
    assert_int_equal(sum, 0);
}

static void prepare(struct world *w)
{
    for (uint32_t i = 0; i < w->offer.n; i++) {
        if (!w->next[i] && !draw(w, 4))
            w->next[i] = 1 + draw(w, 30);
        offer_idle(&w->offer, i, !w->next[i]);
        hold(w, i, w->next[i] && !draw(w, 20));
    }
    w->offer.permille = 1 + (uint32_t)draw(w, 1000);
    w->offer.largest = draw(w, 2);
}

static void offer_at_random(struct world *w)
{
    prepare(w);
    offer_open(&w->offer, draw(w, 80));
    int64_t quotas = 0;
    for (uint32_t i = 0; i < w->offer.n; i++) {
        assert_true(w->user[i].quota >= 0);
        quotas += w->user[i].quota;
    }
    assert_int_equal(quotas, w->offer.amount);
    serve(w);
    /* Nothing is left that some user's next task fits, save what is held on purpose. */
    for (uint32_t i = 0; i < w->offer.n; i++)
        assert_true(!w->next[i] || w->held[i] || w->next[i] > (uint64_t)w->offer.left);
    offer_close(&w->offer);
    check(w);
}

static void test_any_offers_keep_the_balances(void **state)
{
    (void)state;
    struct world w = {.ran = ran_at_random, .stream = test_seed() + 4};
    for (uint32_t round = 0; round < 1000; round++) {
        uint32_t shares[USERS], n = 2 + (uint32_t)draw(&w, USERS - 1);
        for (uint32_t i = 0; i < n; i++)
            shares[i] = 1 + (uint32_t)draw(&w, 20);
        begin(&w, shares, n, round % SEQUENCE_ORDERS);
        w.offer.debt_max = 1 + (int64_t)draw(&w, 300);
        for (uint32_t k = 0; k < 1000; k++) {
            offer_at_random(&w);
            if (!draw(&w, 10))
                offer_return(&w.offer, (uint32_t)draw(&w, n), draw(&w, 20));
            check(&w);
        }
        end(&w);
    }
}

/* --- beside looks at all users --- */

struct pair {
    struct offer offer;
    struct scan scan;
    uint64_t stream;
    uint64_t busy; /* one of so many is */
};

static uint64_t draw_of(struct pair *p, uint64_t below)
{
    return test_random(&p->stream) % below;
}

static void begin_pair(struct pair *p, uint32_t n, enum sequence_order order)
{
    uint32_t shares[SCAN_USERS];
    for (uint32_t i = 0; i < n; i++)
        shares[i] = 1 + (uint32_t)draw_of(p, 9);
    assert_int_equal(offer_init(&p->offer, n), 0);
    p->scan = (struct scan){.n = n, .debt_max = 1 + (int64_t)draw_of(p, 200)};
    p->offer.debt_max = p->scan.debt_max;
    p->busy = 1 + draw_of(p, 40);
    p->offer.sequence = sequence_of(shares, n, order);
    p->scan.sequence = sequence_of(shares, n, order);
}

static void end_pair(struct pair *p)
{
    sequence_destroy(p->offer.sequence);
    sequence_destroy(p->scan.sequence);
    offer_done(&p->offer);
}

static void assert_alike(const struct pair *p, bool open)
{
    assert_int_equal(sequence_position(p->offer.sequence), sequence_position(p->scan.sequence));
    for (uint32_t i = 0; i < p->scan.n; i++) {
        const struct offer_user *a = &p->offer.users[i];
        const struct scan_user *b = &p->scan.users[i];
        assert_int_equal(a->carry, b->carry);
        assert_int_equal(a->used, b->used);
        if (!open)
            assert_int_equal(a->balance, b->balance);
        /* Of who only lends not before it has lent. */
        if (open && b->idle && b->before >= 0)
            continue;
        assert_int_equal(a->quota, b->quota);
        assert_int_equal(a->paid, b->paid);
        if (open)
            assert_int_equal(offer_standing(&p->offer, i), scan_standing(&p->scan, i));
    }
}

static void assert_balances(const struct pair *p)
{
    assert_int_equal(sequence_position(p->offer.sequence), sequence_position(p->scan.sequence));
    for (uint32_t i = 0; i < p->scan.n; i++)
        assert_int_equal(p->offer.users[i].balance, p->scan.users[i].balance);
}

/* Of what changed, and of nobody else, the engine hears. */
static void assert_told(const struct pair *p, const int64_t *before)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < p->scan.n; i++) {
        bool told = k < p->offer.n_touched && p->offer.touched[k] == i;
        k += told;
        assert_true(told || p->offer.users[i].balance == before[i]);
    }
    assert_int_equal(k, p->offer.n_touched);
}

static void idle_pair(struct pair *p, uint32_t user, bool idle)
{
    p->scan.users[user].idle = idle;
    offer_idle(&p->offer, user, idle);
}

static void prepare_pair(struct pair *p)
{
    offer_hold_nobody(&p->offer);
    p->offer.permille = p->scan.permille = 1 + (uint32_t)draw_of(p, 1000);
    for (uint32_t i = 0; i < p->scan.n; i++) {
        if (!draw_of(p, 4))
            idle_pair(p, i, draw_of(p, p->busy) > 0);
        p->scan.users[i].held = !draw_of(p, 8);
        offer_hold(&p->offer, i, p->scan.users[i].held);
    }
}

static void use_pair(struct pair *p)
{
    uint32_t user = (uint32_t)draw_of(p, p->scan.n);
    uint64_t size = 1 + draw_of(p, 6);
    if (!draw_of(p, 4))
        idle_pair(p, user, draw_of(p, 2));
    if (size > (uint64_t)p->scan.left && !draw_of(p, 4)) {
        offer_more(&p->offer, size - (uint64_t)p->scan.left);
        scan_more(&p->scan, size - (uint64_t)p->scan.left);
    }
    if (size > (uint64_t)p->scan.left)
        return;
    assert_true(offer_lend(&p->offer, user, size));
    scan_lend(&p->scan, user, size);
}

/* From few entries to several turns. */
static uint64_t draw_amount(struct pair *p)
{
    return draw_of(p, draw_of(p, 3) ? 6 : 3 * SCAN_USERS * 9);
}

static void offer_pair(struct pair *p)
{
    int64_t before[SCAN_USERS];
    uint64_t amount = draw_amount(p), size = draw_amount(p);
    uint32_t user = (uint32_t)draw_of(p, p->scan.n);
    prepare_pair(p);
    for (uint32_t i = 0; i < p->scan.n; i++)
        before[i] = p->scan.users[i].balance;
    offer_open(&p->offer, amount);
    scan_open(&p->scan, amount);
    assert_alike(p, true);
    for (uint64_t k = draw_of(p, 8); k; k--)
        use_pair(p);
    assert_alike(p, true);
    offer_close(&p->offer);
    scan_close(&p->scan);
    assert_alike(p, false);
    assert_told(p, before);
    if (draw_of(p, 4))
        return;
    offer_return(&p->offer, user, size);
    scan_return(&p->scan, user, size);
    assert_balances(p);
}

static void test_offers_are_as_by_looks_at_all(void **state)
{
    (void)state;
    struct pair p = {.stream = test_seed() + 7};
    for (uint32_t round = 0; round < 300; round++) {
        begin_pair(&p, 1 + (uint32_t)draw_of(&p, SCAN_USERS), round % SEQUENCE_ORDERS);
        for (uint32_t k = 0; k < 300; k++)
            offer_pair(&p);
        end_pair(&p);
    }
}

/* However much it is, and however many users have nothing ready. */
static void test_an_offer_touches_few(void **state)
{
    (void)state;
    uint32_t shares[SCAN_USERS];
    for (uint32_t i = 0; i < SCAN_USERS; i++)
        shares[i] = 1;
    struct offer offer;
    assert_int_equal(offer_init(&offer, SCAN_USERS), 0);
    offer.sequence = sequence_of(shares, SCAN_USERS, SEQUENCE_EVEN);
    offer.permille = 1000;
    offer.debt_max = OFFER_DEBT_MAX;
    for (uint32_t i = 0; i < SCAN_USERS; i++)
        offer_idle(&offer, i, i > 0);
    for (int k = 0; k < 1000; k++) {
        offer_open(&offer, k % 2 ? 1 : 1000);
        assert_in_range(offer.n_touched, 0, 1);
        assert_true(offer_lend(&offer, 0, 1));
        offer_close(&offer);
        assert_in_range(offer.n_touched, 1, 2);
    }
    sequence_destroy(offer.sequence);
    offer_done(&offer);
}

/* Always busy, in single units: each user has its entries, whatever the offers. */
static void test_busy_users_have_their_entries(void **state)
{
    (void)state;
    struct world w = {.ran = ran_for_ever, .stream = test_seed() + 5};
    for (uint32_t round = 0; round < 200; round++) {
        uint32_t shares[USERS], n = 2 + (uint32_t)draw(&w, USERS - 1);
        for (uint32_t i = 0; i < n; i++) {
            shares[i] = 1 + (uint32_t)draw(&w, 20);
            w.next[i] = 1;
        }
        memset(w.ran_in_all, 0, sizeof(w.ran_in_all));
        begin(&w, shares, n, SEQUENCE_EVEN);
        uint64_t offered = 0, entries = sequence_entries(w.sequence);
        for (uint32_t k = 0; k < 200; k++) {
            uint64_t amount = draw(&w, 30);
            offered += amount;
            offer_open(&w.offer, amount);
            serve(&w);
            offer_close(&w.offer);
            for (uint32_t i = 0; i < n; i++) {
                int64_t off = (int64_t)(w.ran_in_all[i] * entries) -
                              (int64_t)(offered * sequence_share(w.sequence, i));
                assert_int_equal(w.user[i].balance, 0);
                assert_true(llabs(off) < (int64_t)entries);
            }
        }
        end(&w);
    }
}

static void test_granules(void **state)
{
    (void)state;
    const int64_t granule[] = {1000, 0, 1 << 20};
    struct err err;
    uint32_t share;
    /* As many as fit in every dimension; as many as the largest takes. */
    assert_int_equal(granule_offer(granule, (int64_t[]){4500, 0, 3 << 20}, 3), 3);
    assert_int_equal(granule_offer(granule, (int64_t[]){4500, 0, 9 << 20}, 3), 4);
    assert_int_equal(granule_offer(granule, (int64_t[]){-1, 7, 9 << 20}, 3), 0);
    assert_int_equal(granule_task(granule, (int64_t[]){1001, 99, 1 << 20}, 3), 2);
    assert_int_equal(granule_task(granule, (int64_t[]){1000, 99, (5 << 20) + 1}, 3), 6);
    assert_int_equal(granule_task(granule, (int64_t[]){0, 99, 0}, 3), 1);
    assert_int_equal(granule_share(7, 5, 3, &share, &err), -ERANGE);
    assert_string_equal(err.text, "the granule of 7 is larger than the share of user 3, 5; choose "
                                  "one that divides every share");
    assert_int_equal(granule_share(2, 5, 3, &share, &err), -EINVAL);
    assert_int_equal(granule_share(0, 5, 3, &share, &err), -EINVAL);
    assert_int_equal(granule_share(1, (uint64_t)1 << 32, 3, &share, &err), -EINVAL);
}

/* A task that fits its quota fits what is left. */
static void test_tasks_within_a_quota_fit(void **state)
{
    (void)state;
    uint64_t stream = test_seed() + 6;
    for (int round = 0; round < 100000; round++) {
        int64_t granule[3], room[3];
        for (int d = 0; d < 3; d++) {
            granule[d] = 1 + (int64_t)(test_random(&stream) % 50);
            room[d] = (int64_t)(test_random(&stream) % 5000);
        }
        uint64_t left = granule_offer(granule, room, 3);
        for (int k = 0; k < 20; k++) {
            int64_t demand[3];
            for (int d = 0; d < 3; d++)
                demand[d] = (int64_t)(test_random(&stream) % 300);
            uint64_t size = granule_task(granule, demand, 3);
            if (size > left)
                continue;
            left -= size;
            for (int d = 0; d < 3; d++)
                assert_true((room[d] -= demand[d]) >= 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_offers_keep_the_balances),
        cmocka_unit_test(test_offers_are_as_by_looks_at_all),
        cmocka_unit_test(test_an_offer_touches_few),
        cmocka_unit_test(test_busy_users_have_their_entries),
        cmocka_unit_test(test_tasks_within_a_quota_fit),
        cmocka_unit_test(test_table_2),
        cmocka_unit_test(test_who_never_fits_is_owed_up_to_the_bound),
        cmocka_unit_test(test_what_is_a_loan),
        cmocka_unit_test(test_who_is_idle_is_not_paid),
        cmocka_unit_test(test_what_did_not_run_is_offered_again),
        cmocka_unit_test(test_which_spare_runs),
        cmocka_unit_test(test_a_borrower_with_work_keeps_its_part),
        cmocka_unit_test(test_granules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
