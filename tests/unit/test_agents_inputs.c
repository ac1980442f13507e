/* Inputs of starts: many of them go to the agent in portions. */
#include "tests/unit/agents_world.h"

static uint32_t parts_sent(void)
{
    uint32_t n = 0;
    for (const char *at = world.sent; (at = strstr(at, "start_inputs")); at++)
        n++;
    return n;
}

/* Time for a portion: how many messages it has. */
static uint32_t next_portion(void)
{
    const uint32_t before = parts_sent();
    world.now_ns += S / 1000;
    timers_run(&world.timers, world.now_ns);
    return parts_sent() - before;
}

/* 256 a message, two of these at once, and by turns; the answer is awaited from the last on. */
static void many_inputs_are_sent_in_portions(void **state)
{
    (void)state;
    join(1, "h1");
    start(0, 21, 3000);
    assert_int_equal(parts_sent(), 2);
    start(0, 22, 1100);
    assert_int_equal(parts_sent(), 4);
    for (int turn = 0; turn < 4; turn++)
        assert_int_equal(next_portion(), turn < 3 ? 2 : 1);
    for (uint32_t left = 12 - 6; left; left -= 2)
        assert_int_equal(next_portion(), 2);
    assert_int_equal(next_portion(), 0);
    state_send(1, 22, duopoly_AttemptPhase_PHASE_STARTED);
    *world.sent = '\0';
    heartbeats(1, world.now_ns + 6 * S);
    assert_non_null(strstr(world.sent, "1:ask_attempt(21)"));
    assert_null(strstr(world.sent, "1:ask_attempt(22)"));
}

static void what_is_refused_gets_no_more(void **state)
{
    (void)state;
    join(1, "h1");
    start(0, 21, 3000);
    start(0, 22, 800);
    state_send(1, 21, duopoly_AttemptPhase_PHASE_REFUSED);
    assert_int_equal(next_portion(), 2);
    assert_int_equal(next_portion(), 0);
    start(0, 23, 3000); /* and the controller ends */
}

static void inventory_of(uint64_t first, uint32_t n)
{
    duopoly_InventoryPart *part =
        &message(1, duopoly_Envelope_inventory_part_tag, true)->body.inventory_part;
    part->attempts_count = (pb_size_t)n;
    for (uint32_t i = 0; i < n; i++)
        part->attempts[i].attempt = first + i;
    deliver(1);
    inventory_end(1, 1);
}

/* One had all its inputs, one some of them, one needs none; the agent lists them as sent. */
static void who_waits_for_inputs_of_an_earlier_session_is_lost(void **state)
{
    (void)state;
    join(1, "h1");
    start(0, 22, 500);
    start(0, 23, 3000);
    start(0, 24, 0);
    agents_cut(world.agents, 1);
    *world.sent = *world.facts = '\0';
    assert_int_equal(next_portion(), 0);
    hello(1, "h1", 7, 2);
    deliver(1);
    inventory_of(22, 3);
    assert_int_equal(next_portion(), 0);
    assert_non_null(strstr(world.facts, "attempt_lost(23) "));
    assert_null(strstr(world.facts, "attempt_lost(22) "));
    assert_null(strstr(world.facts, "attempt_lost(24) "));
    assert_non_null(strstr(world.sent, "1:stop"));
}

/* The peer takes nothing any more: what had been sent of it does not count. */
static void a_deaf_peer_gets_no_more(void **state)
{
    (void)state;
    join(1, "h1");
    start(0, 21, 3000);
    world.deaf = 1;
    assert_int_equal(next_portion(), 0);
    world.deaf = 0;
    assert_int_equal(next_portion(), 0);
    assert_non_null(strstr(world.facts, "host_silent(0) "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(many_inputs_are_sent_in_portions),
        CASE(what_is_refused_gets_no_more),
        CASE(who_waits_for_inputs_of_an_earlier_session_is_lost),
        CASE(a_deaf_peer_gets_no_more),
    };
    return cmocka_run_group_tests_name("agents_inputs", tests, NULL, NULL);
}
