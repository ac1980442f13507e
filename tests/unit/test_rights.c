/* Who runs by right next, beside a look at all users each time. */
#include "tests/unit/test.h"

#include "controller/engine/base/state.h"
#include "controller/engine/users/rights.h"

#include <string.h>

enum { USERS = 40 };

struct world {
    struct rights rights;
    struct turns turns;
    struct user user[USERS], *who[USERS];
    uint64_t stream;
    uint32_t n;
    bool holds;
    /* The model. */
    int64_t behind[USERS];
    bool asked[USERS];
    uint32_t entry, at;
};

static uint32_t draw(struct world *w, uint64_t below)
{
    return (uint32_t)(test_random(&w->stream) % below);
}

static void begin(struct world *w)
{
    struct sequence_user shares[USERS];
    int64_t rest = 0;
    uint32_t busy = 1 + draw(w, 12); /* one of so many is */
    w->n = 1 + draw(w, USERS);
    assert_int_equal(offer_init(&w->turns.offer, w->n), 0);
    assert_int_equal(rights_init(&w->rights, w->n), 0);
    for (uint32_t i = 0; i < w->n; i++) {
        shares[i] = (struct sequence_user){i, 1 + draw(w, 5)};
        w->who[i] = &w->user[i];
        w->user[i].ready_here = !draw(w, busy);
        int64_t balance = i + 1 < w->n ? (int64_t)draw(w, 9) - 4 : -rest;
        rest += balance;
        offer_set(&w->turns.offer, i, balance, 0);
        offer_idle(&w->turns.offer, i, !w->user[i].ready_here);
    }
    assert_int_equal(sequence_create(shares, w->n, SEQUENCE_EVEN, &w->turns.offer.sequence, NULL),
                     0);
    w->turns.who = w->who;
    w->turns.offer.permille = 500;
    w->turns.offer.debt_max = OFFER_DEBT_MAX;
}

static void end(struct world *w)
{
    sequence_destroy(w->turns.offer.sequence);
    offer_done(&w->turns.offer);
    rights_done(&w->rights);
}

static void place_touched(struct world *w)
{
    const struct offer *offer = &w->turns.offer;
    for (uint32_t t = 0; t < offer->n_touched; t++)
        rights_place(&w->rights, &w->turns, offer->touched[t]);
}

static void open_offer(struct world *w)
{
    struct offer *offer = &w->turns.offer;
    w->holds = draw(w, 2);
    w->entry = sequence_position(offer->sequence);
    w->at = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        w->behind[i] = offer->users[i].balance;
        w->asked[i] = false;
    }
    w->behind[sequence_at(offer->sequence, w->entry)]++;
    rights_open(&w->rights, &w->turns, w->holds);
    offer_open(offer, draw(w, draw(w, 2) ? 4 : 5 * USERS));
    place_touched(w);
}

static bool has_room(const struct world *w, uint32_t i)
{
    return w->user[i].ready_here && offer_room(&w->turns.offer, i) > 0;
}

static uint32_t next_of_model(struct world *w)
{
    uint32_t best = w->n, next = sequence_at(w->turns.offer.sequence, w->entry);
    while (!w->holds && w->at < w->n && !has_room(w, w->at))
        w->at++;
    if (!w->holds)
        return w->at;
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->asked[i] || !has_room(w, i))
            continue;
        if (best == w->n || w->behind[i] > w->behind[best] ||
            (w->behind[i] == w->behind[best] && i == next))
            best = i;
    }
    return best;
}

static void pass(struct world *w, uint32_t i)
{
    w->asked[i] = true;
    w->at = i + 1;
    rights_pass(&w->rights, &w->turns, i);
}

static void use(struct world *w, uint32_t i)
{
    struct offer *offer = &w->turns.offer;
    uint32_t size = 1 + draw(w, draw(w, 4) ? 2 : 2 * USERS),
             all = sequence_entries(offer->sequence);
    if (size > offer->left && draw(w, 4))
        return;
    if (size > offer->left) {
        offer_more(offer, (uint64_t)size - (uint64_t)offer->left);
        place_touched(w);
    }
    assert_true(offer_lend(offer, i, size));
    rights_use(&w->rights, &w->turns, i, size);
    w->behind[i] -= size;
    for (; size; size--) {
        w->entry = (w->entry + 1) % all;
        w->behind[sequence_at(offer->sequence, w->entry)]++;
    }
}

static void flip(struct world *w, uint32_t i)
{
    w->user[i].ready_here = !w->user[i].ready_here;
    offer_idle(&w->turns.offer, i, !w->user[i].ready_here);
    rights_place(&w->rights, &w->turns, i);
}

static void close_offer(struct world *w)
{
    rights_close(&w->rights);
    offer_close(&w->turns.offer);
    place_touched(w);
    offer_forget(&w->turns.offer);
    assert_int_equal(standings_first(&w->rights.line), w->n);
}

static void test_who_is_next_is_who_a_look_at_all_finds(void **state)
{
    (void)state;
    struct world w = {.stream = test_seed() + 1};
    for (uint32_t round = 0; round < 300; round++) {
        begin(&w);
        for (uint32_t k = 0; k < 60; k++) {
            open_offer(&w);
            for (uint32_t step = draw(&w, 40); step; step--) {
                uint32_t next = rights_next(&w.rights, &w.turns);
                assert_int_equal(next, next_of_model(&w));
                if (next < w.n && !draw(&w, 3))
                    pass(&w, next);
                else if (draw(&w, 5))
                    use(&w, next < w.n && draw(&w, 4) ? next : draw(&w, w.n));
                else
                    flip(&w, draw(&w, w.n));
            }
            close_offer(&w);
        }
        end(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_next_is_who_a_look_at_all_finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
