/* Shares of the loop's time: who is put off, and whose turn it is. The loop is scripted here: it
 * serves what has come in order, one message a turn, and its clock is the time that this takes. */
#include "tests/unit/test.h"

#include "controller/loop_shares.h"

#include <stdlib.h>
#include <string.h>

#define MS INT64_C(1000000)

enum { CLIENTS = 200 };

/* Asks again as soon as it is answered, if it floods. */
struct client {
    struct loop_turn turn;
    TAILQ_ENTRY(client) next;
    int64_t cost_ns;
    bool floods, queued;
    uint32_t served;
};

static struct {
    struct loop_shares *shares;
    TAILQ_HEAD(ready, client) ready;
    struct client clients[CLIENTS];
    int64_t now_ns;
    uint32_t served;
} world;

static int set_up(void **state)
{
    memset(&world, 0, sizeof(world));
    world.shares = calloc(1, sizeof(*world.shares));
    assert_non_null(world.shares);
    *state = world.shares;
    world.shares->share = (struct loop_share){100, 100 * MS};
    TAILQ_INIT(&world.ready);
    world.now_ns = 1000 * MS;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(world.shares);
    return 0;
}

static void ask(struct client *client)
{
    assert_false(client->queued);
    client->queued = true;
    TAILQ_INSERT_TAIL(&world.ready, client, next);
}

/* Clients [first, first + n) of one owner. */
static void come(uint32_t first, uint32_t n, uint64_t owner, int64_t cost_ns, bool floods)
{
    for (uint32_t i = first; i < first + n; i++) {
        struct client *client = &world.clients[i];
        client->cost_ns = cost_ns;
        client->floods = floods;
        loop_turn_begin(world.shares, &client->turn, owner, "", false, world.now_ns);
        if (floods)
            ask(client);
    }
}

static struct client *client_of(struct loop_turn *turn)
{
    return turn ? (struct client *)turn : NULL;
}

/* In a turn of its own. */
static void charge(struct loop_turn *turn, int64_t ns)
{
    const struct loop_spent spent = {world.now_ns, ns, ns};
    loop_turn_note(world.shares, turn, ns);
    loop_shares_charge(world.shares, &spent);
}

static void serve(struct client *client)
{
    world.now_ns += client->cost_ns;
    charge(&client->turn, client->cost_ns);
    client->served++;
    world.served++;
    if (client->floods)
        ask(client);
}

static void turn_give(bool idle)
{
    struct client *client = client_of(loop_shares_next(world.shares, world.now_ns, idle));
    if (client)
        ask(client);
}

/* One turn of the loop; false: there was nothing to do. */
static bool loop_turn(void)
{
    struct client *client;
    if (loop_shares_due_ns(world.shares, world.now_ns) <= world.now_ns)
        turn_give(false);
    if (TAILQ_EMPTY(&world.ready))
        turn_give(true);
    if (!(client = TAILQ_FIRST(&world.ready)))
        return false;
    TAILQ_REMOVE(&world.ready, client, next);
    client->queued = false;
    if (loop_turn_take(world.shares, &client->turn, world.now_ns))
        serve(client);
    return true;
}

static void turns(uint32_t n)
{
    while (n-- > 0)
        loop_turn();
}

static uint32_t served_of(uint32_t first, uint32_t n)
{
    uint32_t served = 0;
    for (uint32_t i = first; i < first + n; i++)
        served += world.clients[i].served;
    return served;
}

/* How many messages are served before the client's that has just come. */
static uint32_t others_before(struct client *client)
{
    const uint32_t before = world.served, had = client->served;
    ask(client);
    while (client->served == had)
        assert_true(loop_turn());
    return world.served - before - 1;
}

/* 64 connections of one flood; another one's request waits for one message at most, after the
 * flood's burst. */
static void a_flood_over_many_connections_is_served_after_others(void **state)
{
    uint32_t most = 0;
    (void)state;
    come(0, 64, 1, MS / 5, true);
    come(100, 1, 2, MS / 50, false);
    turns(2000);
    assert_true(world.shares->put_off > 0);
    for (int i = 0; i < 1000; i++) {
        const uint32_t before = others_before(&world.clients[100]);
        most = before > most ? before : most;
        turns(20); /* it thinks */
    }
    assert_in_range(most, 0, 1);
    assert_int_equal(world.shares->owners[1].put_off, 0);
}

static void without_a_limit_nobody_is_put_off(void **state)
{
    (void)state;
    world.shares->share.permille = 0;
    come(0, 64, 1, MS / 5, true);
    come(100, 1, 2, MS / 50, false);
    turns(2000);
    assert_int_equal(others_before(&world.clients[100]), 64);
    assert_int_equal(world.shares->put_off, 0);
}

static void who_asks_alone_is_served_at_once(void **state)
{
    (void)state;
    come(0, 8, 1, MS, true);
    const int64_t began_ns = world.now_ns;
    while (world.served < 10000)
        assert_true(loop_turn());
    assert_int_equal(world.now_ns - began_ns, 10000 * MS); /* the loop never waited */
    assert_in_range(served_of(0, 1), 10000 / 8 - 1, 10000 / 8 + 1);
}

/* Each connection of a client has its turn. */
static void a_share_is_had_while_the_loop_is_never_idle(void **state)
{
    (void)state;
    come(0, 1, 1, MS, true);
    come(100, 1, 2, MS, true);
    world.clients[100].turn.owner->first = true; /* takes all that it gets */
    turns(3000);
    const uint32_t before = served_of(0, 1), all = world.served;
    turns(20000);
    const uint32_t permille = (served_of(0, 1) - before) * 1000 / (world.served - all);
    assert_in_range(permille, 90, 110);
}

static void owners_over_their_shares_have_equal_time(void **state)
{
    (void)state;
    come(0, 64, 1, MS / 4, true);
    come(100, 1, 2, MS, true);
    turns(5000);
    const uint32_t first = served_of(0, 64), second = served_of(100, 1);
    turns(20000);
    const double ratio =
        (double)(served_of(0, 64) - first) / 4 / (double)(served_of(100, 1) - second);
    assert_true(ratio > 0.8 && ratio < 1.25);
}

static void credit_comes_back(void **state)
{
    (void)state;
    come(0, 1, 1, MS, true);
    turns(5000);
    struct client *client = &world.clients[0];
    client->floods = false;
    while (loop_turn())
        ;
    assert_int_equal(loop_turn_credit(world.shares, &client->turn, world.now_ns), -100 * MS);
    assert_false(loop_turn_take(world.shares, &client->turn, world.now_ns));
    const int64_t due_ns = loop_shares_due_ns(world.shares, world.now_ns);
    assert_in_range(due_ns - world.now_ns, 1000 * MS, 1001 * MS);
    assert_null(loop_shares_next(world.shares, due_ns - MS, false));
    assert_ptr_equal(loop_shares_next(world.shares, due_ns, false), &client->turn);
    assert_true(loop_turn_take(world.shares, &client->turn, due_ns));
    assert_int_equal(loop_turn_credit(world.shares, &client->turn, due_ns + 3000 * MS), 100 * MS);
    assert_int_equal(loop_shares_due_ns(world.shares, due_ns), INT64_MAX);
}

/* In line, and given a turn that it does not use. */
static void who_goes_keeps_nobody_waiting(void **state)
{
    (void)state;
    come(0, 3, 1, 200 * MS, false);
    serve(&world.clients[0]);
    for (int i = 0; i < 3; i++)
        assert_false(loop_turn_take(world.shares, &world.clients[i].turn, world.now_ns));
    assert_int_equal(world.shares->waiting, 3);
    loop_turn_end(world.shares, &world.clients[1].turn);
    assert_int_equal(world.shares->waiting, 2);
    assert_ptr_equal(loop_shares_next(world.shares, world.now_ns, true), &world.clients[0].turn);
    world.now_ns += 2000 * MS;
    assert_int_equal(loop_shares_due_ns(world.shares, world.now_ns) > world.now_ns, false);
    loop_turn_end(world.shares, &world.clients[0].turn);
    assert_ptr_equal(loop_shares_next(world.shares, world.now_ns, false), &world.clients[2].turn);
    loop_turn_end(world.shares, &world.clients[2].turn);
    assert_int_equal(world.shares->waiting, 0);
    assert_null(loop_shares_next(world.shares, world.now_ns, true));
    assert_int_equal(world.shares->owners[0].clients, 0);
}

/* A turn that is not used keeps the owner's line for LOOP_TURN_NS, but not from an idle loop. */
static void a_turn_is_used_before_the_next_one_is_given(void **state)
{
    (void)state;
    come(0, 3, 1, 200 * MS, false);
    serve(&world.clients[0]);
    for (int i = 0; i < 3; i++)
        assert_false(loop_turn_take(world.shares, &world.clients[i].turn, world.now_ns));
    const int64_t due_ns = loop_shares_due_ns(world.shares, world.now_ns);
    assert_ptr_equal(loop_shares_next(world.shares, due_ns, false), &world.clients[0].turn);
    assert_null(loop_shares_next(world.shares, due_ns, false));
    assert_int_equal(loop_shares_due_ns(world.shares, due_ns), due_ns + LOOP_TURN_NS);
    assert_ptr_equal(loop_shares_next(world.shares, due_ns, true), &world.clients[1].turn);
    assert_ptr_equal(loop_shares_next(world.shares, due_ns + LOOP_TURN_NS, false),
                     &world.clients[2].turn);
}

static void who_administers_is_never_put_off(void **state)
{
    (void)state;
    come(0, 64, 1, MS, true);
    come(100, 1, 2, 10 * MS, false);
    world.clients[100].turn.owner->first = true;
    turns(2000);
    for (int i = 0; i < 100; i++)
        assert_in_range(others_before(&world.clients[100]), 0, 1);
    assert_int_equal(world.clients[100].turn.owner->put_off, 0);
    assert_true(world.clients[100].turn.owner->account.spent_ns == (uint64_t)(1000 * MS));
}

static void so_many_owners_are_known(void **state)
{
    struct loop_turn turn = {.owner = NULL}, stays = {.owner = NULL}, *turns_of;
    (void)state;
    loop_turn_begin(world.shares, &stays, 1, "stays", false, world.now_ns);
    for (uint64_t number = 2; number < 3 * LOOP_OWNERS_MAX; number++) {
        turn = (struct loop_turn){.owner = NULL};
        loop_turn_begin(world.shares, &turn, number, "goes", false, world.now_ns);
        assert_non_null(turn.owner);
        if (number == 2)
            charge(&turn, 50 * MS);
        loop_turn_end(world.shares, &turn);
    }
    assert_string_equal(stays.owner->name, "stays");
    loop_turn_begin(world.shares, &turn, 2, "goes", false, world.now_ns);
    assert_int_equal(loop_turn_credit(world.shares, &turn, world.now_ns), 50 * MS);
    turns_of = calloc(LOOP_OWNERS_MAX, sizeof(*turns_of));
    assert_non_null(turns_of);
    for (uint64_t i = 0; i < LOOP_OWNERS_MAX; i++)
        loop_turn_begin(world.shares, &turns_of[i], 100000 + i, "", false, world.now_ns);
    assert_null(turns_of[LOOP_OWNERS_MAX - 1].owner);
    assert_true(loop_turn_take(world.shares, &turns_of[LOOP_OWNERS_MAX - 1], world.now_ns));
    charge(&turns_of[LOOP_OWNERS_MAX - 1], MS);
    loop_turn_end(world.shares, &turns_of[LOOP_OWNERS_MAX - 1]);
    free(turns_of);
}

/* Of a turn in which other processes had the processor, too, each is charged its part. */
static void what_is_noted_is_cut_to_the_turns_time(void **state)
{
    const struct loop_spent half = {world.now_ns, 40 * MS, 80 * MS},
                            more = {world.now_ns, 9 * MS, MS};
    (void)state;
    come(0, 2, 1, 0, false);
    come(100, 1, 2, 0, false);
    loop_turn_note(world.shares, &world.clients[0].turn, 20 * MS);
    loop_turn_note(world.shares, &world.clients[1].turn, 40 * MS);
    loop_turn_note(world.shares, &world.clients[100].turn, 20 * MS);
    loop_shares_charge(world.shares, &half);
    assert_true(world.shares->owners[0].account.spent_ns == (uint64_t)(30 * MS));
    assert_true(world.shares->owners[1].account.spent_ns == (uint64_t)(10 * MS));
    loop_turn_note(world.shares, &world.clients[0].turn, MS);
    loop_shares_charge(world.shares, &more);
    assert_true(world.shares->owners[0].account.spent_ns == (uint64_t)(31 * MS));
    assert_true(world.shares->spent_ns == (uint64_t)(41 * MS));
    loop_turn_note(world.shares, &world.clients[0].turn, 200 * MS);
    assert_false(loop_turn_take(world.shares, &world.clients[1].turn, world.now_ns));
    loop_account_drop(&world.shares->owners[0].account);
    assert_true(LIST_EMPTY(&world.shares->noted));
}

/* Credit follows from time and charges alone, whenever it is asked for. */
static void an_account_is_what_its_share_says(void **state)
{
    uint64_t stream = test_seed();
    (void)state;
    for (int round = 0; round < 2000; round++) {
        const struct loop_share share = {1 + (int64_t)(test_random(&stream) % 1000),
                                         (1 + (int64_t)(test_random(&stream) % 1000)) * MS};
        struct loop_account account = {.at_ns = 0};
        int64_t now_ns = 1, credit_ns = loop_account_credit(&account, &share, now_ns);
        uint64_t spent_ns = 0;
        assert_int_equal(credit_ns, share.burst_ns);
        for (int i = 0; i < 50; i++) {
            const int64_t passed_ns = (int64_t)(test_random(&stream) % (uint64_t)(100 * MS)),
                          cost_ns = (int64_t)(test_random(&stream) % (uint64_t)(20 * MS));
            now_ns += passed_ns;
            credit_ns += passed_ns * share.permille / 1000;
            credit_ns = credit_ns > share.burst_ns ? share.burst_ns : credit_ns;
            const int64_t is_ns = loop_account_credit(&account, &share, now_ns);
            assert_true(is_ns <= credit_ns + 100 && is_ns >= credit_ns - 100);
            loop_account_charge(&account, &share, now_ns, cost_ns);
            credit_ns = is_ns - cost_ns < -share.burst_ns ? -share.burst_ns : is_ns - cost_ns;
            spent_ns += (uint64_t)cost_ns;
        }
        assert_true(account.spent_ns == spent_ns);
        assert_int_equal(loop_account_credit(&account, &share, now_ns + (INT64_C(1) << 50)),
                         share.burst_ns);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(an_account_is_what_its_share_says),
        CASE(a_flood_over_many_connections_is_served_after_others),
        CASE(without_a_limit_nobody_is_put_off),
        CASE(who_asks_alone_is_served_at_once),
        CASE(a_share_is_had_while_the_loop_is_never_idle),
        CASE(owners_over_their_shares_have_equal_time),
        CASE(credit_comes_back),
        CASE(who_goes_keeps_nobody_waiting),
        CASE(a_turn_is_used_before_the_next_one_is_given),
        CASE(who_administers_is_never_put_off),
        CASE(so_many_owners_are_known),
        CASE(what_is_noted_is_cut_to_the_turns_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
