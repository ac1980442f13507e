#include "controller/engine/users/turns.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/say.h"
#include "controller/engine/users/division.h"
#include "lib/invariant.h"
#include "lib/plural.h"

#include <inttypes.h>
#include <stdlib.h>

const struct engine_parameter parameter_even = {
    "even", ENGINE_UNIT_YES,
    0,      1,
    1,      "Users stay within one unit of their shares inside a turn; no: the source's order."};
const struct engine_parameter parameter_debt_max = {
    "debt_max", ENGINE_UNIT_COUNT,
    1,          OFFER_DEBT_MAX,
    1000000,    "Granules that a user may owe; what is lent beyond that is given."};

static int64_t value(const struct engine *engine, const struct engine_parameter *parameter)
{
    return policy_value(engine, QUESTION_USERS, parameter);
}

void turns_done(struct turns *turns)
{
    sequence_destroy(turns->offer.sequence);
    offer_done(&turns->offer);
    free(turns->who);
    free(turns->sizes);
    free(turns->parts);
    *turns = (struct turns){0};
}

/* WHY no other failure: shares without a turn are rejected (users_fit). */
static void make_sequence(struct engine *engine, struct turns *turns)
{
    uint32_t n = turns->offer.n;
    struct sequence_user *users = engine_allocate(engine, n, sizeof(*users));
    for (uint32_t i = 0; i < n; i++)
        users[i] = (struct sequence_user){turns->who[i]->number, turns->who[i]->share};
    int r =
        sequence_create(users, n, value(engine, &parameter_even) ? SEQUENCE_EVEN : SEQUENCE_LITERAL,
                        &turns->offer.sequence, NULL);
    free(users);
    if (r < 0)
        longjmp(engine->no_memory, 1);
    sequence_seek(turns->offer.sequence, engine->users_position);
}

void turns_build(struct engine *engine, struct turns *turns, uint32_t repay_permille)
{
    struct offer *offer = &turns->offer;
    uint32_t n = 0, all = (uint32_t)engine->users.n;
    turns_done(turns);
    if (offer_init(offer, all) < 0)
        longjmp(engine->no_memory, 1);
    offer->permille = repay_permille;
    offer->debt_max = value(engine, &parameter_debt_max);
    turns->sizes = engine_allocate(engine, all, sizeof(*turns->sizes));
    turns->parts = engine_allocate(engine, all, sizeof(*turns->parts));
    turns->who = engine_allocate(engine, all, sizeof(struct user *));
    for (struct sorted_node *node = sorted_first(&engine->users); node; node = sorted_next(node)) {
        struct user *user = container_of(node, struct user, by_number);
        offer_set(offer, n, debts_position(engine->debts, user->number), user->carry);
        turns->leaves |= user->leaves;
        user->turns_index = n;
        turns->who[n++] = user;
    }
    make_sequence(engine, turns);
    engine->users_changes++;
}

bool turns_knows(const struct turns *turns, const struct user *user)
{
    return user->turns_index < turns->offer.n && turns->who[user->turns_index] == user;
}

uint32_t turns_index(const struct turns *turns, const struct user *user)
{
    checked(turns_knows(turns, user));
    return user->turns_index;
}

static int64_t change(const struct offer_user *user)
{
    return user->balance - user->before;
}

/* Whose balance fell borrowed of those whose rose. WHY in order of users: so it is the same as if
 * all were looked at. */
static void settle_debts(struct engine *engine, struct turns *turns)
{
    struct offer *offer = &turns->offer;
    for (uint32_t k = 0, b = 0; k < offer->n_touched;) {
        while (b < offer->n_touched && change(&offer->users[offer->touched[b]]) >= 0)
            b++;
        uint32_t lender = offer->touched[k],
                 borrower = b < offer->n_touched ? offer->touched[b] : 0;
        int64_t lent = change(&offer->users[lender]),
                taken = b < offer->n_touched ? -change(&offer->users[borrower]) : 0;
        int64_t part = lent < taken ? lent : taken;
        if (part <= 0) {
            k++;
            continue;
        }
        if (debts_lend(engine->debts, turns->who[lender]->number, turns->who[borrower]->number,
                       (uint64_t)part, engine->now_ns) < 0)
            longjmp(engine->no_memory, 1);
        offer->users[lender].before += part;
        offer->users[borrower].before -= part;
    }
}

void turns_settle(struct engine *engine, struct turns *turns)
{
    struct offer *offer = &turns->offer;
    bool leaves = turns->leaves;
    settle_debts(engine, turns);
    for (uint32_t k = 0; k < offer->n_touched; k++) {
        struct user *user = turns->who[offer->touched[k]];
        user->carry = offer->users[offer->touched[k]].carry;
        leaves |= user->leaves;
        engine->counters.visits++;
    }
    offer_forget(offer);
    engine->users_position = sequence_position(offer->sequence);
    engine->users_changes++;
    if (leaves)
        users_let_go(engine);
}

void turns_close(struct turns *turns)
{
    struct offer *offer = &turns->offer;
    offer_close(offer);
    turns->offers++;
    turns->closed = offer->amount - offer->left;
    for (uint32_t k = 0; k < offer->n_touched; k++) {
        const struct offer_user *u = &offer->users[offer->touched[k]];
        turns->parts[offer->touched[k]] = (struct turns_part){
            turns->offers, u->before, u->balance, u->quota + u->paid, u->paid, u->quota, u->used};
    }
}

/* Who had no part of the last offer had this balance after it. */
static struct turns_part no_part(const struct turns *turns, int64_t balance)
{
    return (struct turns_part){.offer = turns->offers, .before = balance, .after = balance};
}

void turns_return(struct turns *turns, uint32_t user, uint64_t size)
{
    struct offer *offer = &turns->offer;
    offer_return(offer, user, size);
    for (uint32_t k = 0; k < offer->n_touched; k++) {
        uint32_t i = offer->touched[k];
        if (turns->parts[i].offer != turns->offers)
            turns->parts[i] = no_part(turns, offer->users[i].before);
    }
}

/* Places of users with nothing ready are lent: those behind them do not wait for them. */
static void explain_queue(const struct turns *turns, uint32_t user, struct engine_explanation *e)
{
    struct division_queue queue = {.e = e};
    const struct sequence *sequence = turns->offer.sequence;
    int64_t *counts = calloc(turns->offer.n, sizeof(*counts)), waited = 0;
    if (!counts)
        return;
    uint32_t until = sequence_until(sequence, user, counts);
    for (uint32_t i = 0; i < turns->offer.n; i++) {
        if (!counts[i] || !turns->who[i]->ready_here)
            continue;
        division_queue_add(&queue, turns->who[i], (uint64_t)counts[i]);
        waited += counts[i];
    }
    say(e, "; its next place comes after %" PRIu32 ", ", until);
    division_queue_say(&queue);
    say_fact(e, "user_position", "%" PRIu32 " of %" PRIu32, sequence_position(sequence),
             sequence_entries(sequence));
    say_fact(e, "user_places", "%" PRIu32 " of %" PRIu32, sequence_share(sequence, user),
             sequence_entries(sequence));
    say_fact(e, "user_next_place", "%" PRIu32 " = %" PRId64 " waited for + %" PRId64 " lent", until,
             waited, until - waited);
    free(counts);
}

static void explain_offer(const struct turns *turns, uint32_t user, struct engine_explanation *e)
{
    int64_t now = turns->offer.users[user].balance;
    const struct turns_part none = no_part(turns, now),
                            *part = turns->parts[user].offer == turns->offers ? &turns->parts[user]
                                                                              : &none;
    int64_t given = part->after - (part->before + part->places - part->used);
    if (!turns->closed)
        return;
    say(e, "; of the last %" PRId64 " granule%s it had %" PRId64 " place%s and used %" PRId64,
        turns->closed, plural((uint64_t)turns->closed), part->places,
        plural((uint64_t)part->places), part->used);
    say_fact(e, "user_offer", "%" PRId64, turns->closed);
    say_fact(e, "user_quota", "%" PRId64 " = %" PRId64 " places - %" PRId64 " paid back",
             part->quota, part->places, part->paid);
    say_fact(e, "user_used", "%" PRId64, part->used);
    say_fact(e, "user_balance",
             "%" PRId64 " = %" PRId64 " before + %" PRId64 " places - %" PRId64 " used + %" PRId64
             " given + %" PRId64 " since",
             now, part->before, part->places, part->used, given, now - part->after);
}

void turns_explain(const struct turns *turns, const struct user *user, struct engine_explanation *e)
{
    uint32_t index = turns_index(turns, user);
    explain_queue(turns, index, e);
    explain_offer(turns, index, e);
}
