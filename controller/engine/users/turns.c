#include "controller/engine/users/turns.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/say.h"
#include "controller/engine/users/division.h"

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
    free(turns->offer.users);
    free(turns->offer.parts);
    free(turns->who);
    free(turns->sizes);
    free(turns->parts);
    turns->offer = (struct offer){0};
    turns->who = NULL;
    turns->sizes = NULL;
    turns->parts = NULL;
    turns->closed = 0;
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
    uint32_t n = 0;
    turns_done(turns);
    offer->n = (uint32_t)engine->users.n;
    offer->permille = repay_permille;
    offer->debt_max = value(engine, &parameter_debt_max);
    offer->users = engine_allocate(engine, offer->n, sizeof(*offer->users));
    offer->parts = engine_allocate(engine, offer->n, sizeof(*offer->parts));
    turns->sizes = engine_allocate(engine, offer->n, sizeof(*turns->sizes));
    turns->parts = engine_allocate(engine, offer->n, sizeof(*turns->parts));
    turns->who = engine_allocate(engine, offer->n, sizeof(struct user *));
    for (struct sorted_node *node = sorted_first(&engine->users); node; node = sorted_next(node)) {
        struct user *user = container_of(node, struct user, by_number);
        offer->users[n].balance = debts_position(engine->debts, user->number);
        offer->users[n].carry = user->carry;
        turns->who[n++] = user;
    }
    make_sequence(engine, turns);
    engine->users_changes++;
}

uint32_t turns_index(const struct turns *turns, const struct user *user)
{
    uint32_t from = 0, to = turns->offer.n;
    while (from + 1 < to) {
        uint32_t half = from + (to - from) / 2;
        if (turns->who[half]->number <= user->number)
            from = half;
        else
            to = half;
    }
    return from;
}

static int64_t change(const struct offer_user *user)
{
    return user->balance - user->before;
}

/* Whose balance fell borrowed of those whose rose. */
void turns_settle(struct engine *engine, struct turns *turns)
{
    struct offer_user *users = turns->offer.users;
    bool leaves = false;
    for (uint32_t lender = 0, borrower = 0; lender < turns->offer.n;) {
        while (borrower < turns->offer.n && change(&users[borrower]) >= 0)
            borrower++;
        int64_t lent = change(&users[lender]),
                taken = borrower < turns->offer.n ? -change(&users[borrower]) : 0;
        int64_t part = lent < taken ? lent : taken;
        if (part <= 0) {
            lender++;
            continue;
        }
        if (debts_lend(engine->debts, turns->who[lender]->number, turns->who[borrower]->number,
                       (uint64_t)part, engine->now_ns) < 0)
            longjmp(engine->no_memory, 1);
        users[lender].before += part;
        users[borrower].before -= part;
    }
    for (uint32_t i = 0; i < turns->offer.n; i++) {
        turns->who[i]->carry = users[i].carry;
        leaves |= turns->who[i]->leaves;
    }
    engine->users_position = sequence_position(turns->offer.sequence);
    engine->users_changes++;
    if (leaves)
        users_let_go(engine);
}

void turns_close(struct turns *turns)
{
    offer_close(&turns->offer);
    turns->closed = turns->offer.amount - turns->offer.left;
    for (uint32_t i = 0; i < turns->offer.n; i++) {
        const struct offer_user *u = &turns->offer.users[i];
        turns->parts[i] = (struct turns_part){u->before, u->balance, u->quota + u->paid,
                                              u->paid,   u->quota,   u->used};
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
    const struct turns_part *part = &turns->parts[user];
    int64_t now = turns->offer.users[user].balance;
    int64_t given = part->after - (part->before + part->places - part->used);
    if (!turns->closed)
        return;
    say(e, "; of the last %" PRId64 " granules it had %" PRId64 " places and used %" PRId64,
        turns->closed, part->places, part->used);
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
