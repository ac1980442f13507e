/* What an agent takes of the controller's time, and what happens to one that takes too much. */
#include "tests/unit/agents_world.h"

#include "controller/agents/agent.h"

static int half_setup(void **state)
{
    setup(state);
    world.agents->config.time_permille = 500;
    until(S);
    return 0;
}

static struct agent_view seen(const char *name)
{
    struct agent_view view;
    assert_int_equal(agents_named(world.agents, name, &view), 0);
    return view;
}

/* A turn of the loop with a message that took so long; whether somebody lost its session. */
static bool turn(uint64_t peer, const char *identity, int64_t took_ns)
{
    const struct loop_spent spent = {world.now_ns, took_ns, took_ns};
    agents_note(world.agents, world.now_ns, peer, identity, took_ns);
    return agents_charge(world.agents, &spent);
}

static void one_that_takes_most_of_the_time_for_long_loses_its_session(void **state)
{
    int seconds = 0;
    (void)state;
    join(1, "h1");
    join(2, "h2");
    for (; !turn(1, NULL, 9 * S / 10); seconds++) {
        assert_true(seconds < 30);
        assert_false(turn(2, NULL, S / 10));
        until(world.now_ns + S);
        heartbeats(2, world.now_ns);
    }
    assert_in_range(seconds, 20, 26); /* 10 s in advance, of which it takes 0.4 more a second */
    assert_int_equal(seen("h1").times_over, 1);
    assert_int_equal(seen("h2").times_over, 0);
    assert_int_equal(agents_counters(world.agents)->times_over, 1);
    assert_non_null(strstr(world.sent, "cut"));
    assert_true(seen("h1").spent_ns == (uint64_t)(seconds + 1) * 9 * (uint64_t)S / 10);
}

static void it_begins_another_when_half_is_back(void **state)
{
    (void)state;
    join(1, "h1");
    assert_true(turn(1, NULL, 11 * S));
    *world.sent = '\0';
    until(world.now_ns + 5 * S);
    hello(3, "h1", 7, 2);
    deliver(3);
    assert_non_null(strstr(world.sent, "refused"));
    assert_null(strstr(world.sent, "welcome"));
    until(world.now_ns + 8 * S);
    *world.sent = '\0';
    hello(3, "h1", 7, 3);
    deliver(3);
    assert_non_null(strstr(world.sent, "welcome"));
}

/* Also one without a session, whose key says who it is: its connection ends each time. */
static void who_asks_for_a_session_too_early_is_cut(void **state)
{
    (void)state;
    join(1, "h1");
    assert_true(turn(1, "h1", 11 * S));
    *world.sent = '\0';
    assert_false(turn(3, "h1", S / 1000));
    assert_non_null(strstr(world.sent, "cut"));
    *world.sent = '\0';
    assert_false(turn(4, NULL, S));
    assert_false(turn(5, "nobody", S));
    assert_string_equal(world.sent, "");
}

/* All at once, after a restart or a long silence. */
static void much_at_once_is_in_order(void **state)
{
    (void)state;
    join(1, "h1");
    for (int i = 0; i < 9000; i++)
        assert_false(turn(1, NULL, S / 1000));
    assert_int_equal(seen("h1").times_over, 0);
}

static void without_a_bound_nobody_loses_its_session(void **state)
{
    (void)state;
    world.agents->config.time_permille = 0;
    join(1, "h1");
    for (int i = 0; i < 100; i++)
        assert_false(turn(1, NULL, S));
    assert_true(seen("h1").spent_ns == 100 * (uint64_t)S);
}

/* It is noted, and forgotten before the turn is over. */
static void who_is_forgotten_is_not_charged(void **state)
{
    const struct loop_spent spent = {world.now_ns, S, S};
    (void)state;
    join(1, "h1");
    agents_cut(world.agents, 1);
    until(world.now_ns + 40 * S);
    agents_note(world.agents, world.now_ns, 1, "h1", S);
    assert_int_equal(agents_forget_name(world.agents, "h1"), 0);
    assert_false(agents_charge(world.agents, &spent));
    assert_true(agents_counters(world.agents)->spent_ns == 0);
}

int main(void)
{
#define TIMED(name) cmocka_unit_test_setup_teardown(name, half_setup, teardown)
    const struct CMUnitTest tests[] = {
        TIMED(one_that_takes_most_of_the_time_for_long_loses_its_session),
        TIMED(it_begins_another_when_half_is_back),
        TIMED(who_asks_for_a_session_too_early_is_cut),
        TIMED(much_at_once_is_in_order),
        TIMED(without_a_bound_nobody_loses_its_session),
        TIMED(who_is_forgotten_is_not_charged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
