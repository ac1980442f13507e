/* How long hosts take to answer a start and a change of the mode. */
#include "tests/unit/agents_world.h"

#define MS INT64_C(1000000)

static uint64_t count(const struct histogram *histogram)
{
    uint64_t n = 0;
    for (int i = 0; i <= HISTOGRAM_BOUNDS; i++)
        n += histogram->counts[i];
    return n;
}

static void later(int64_t ns)
{
    until(world.now_ns + ns);
}

static void acknowledge(uint64_t peer)
{
    message(peer, duopoly_Envelope_acknowledge_tag, false)->acknowledged =
        world.sent_sequence[peer];
    deliver(peer);
}

static void mode_change(uint64_t sequence)
{
    agents_mode(world.agents, world.now_ns, 1, sequence);
}

static void a_start_counts_once_until_its_first_answer(void **state)
{
    (void)state;
    const struct agents_times *times = agents_times(world.agents);
    join(1, "h1");
    start(0, 11, 0);
    later(3 * MS);
    assert_int_equal(count(&times->starts), 0);
    state_send(1, 11, duopoly_AttemptPhase_PHASE_SENT);
    later(50 * MS);
    state_send(1, 11, duopoly_AttemptPhase_PHASE_STARTED);
    state_send(1, 11, duopoly_AttemptPhase_PHASE_COMPUTING);
    assert_int_equal(count(&times->starts), 1);
    assert_int_equal(times->starts.sum_ns, 3 * MS);
}

static void a_start_without_an_answer_counts_not(void **state)
{
    (void)state;
    join(1, "h1");
    start(0, 11, 0);
    heartbeats(1, 12 * S);
    assert_non_null(strstr(world.facts, "attempt_lost(11)"));
    assert_int_equal(count(&agents_times(world.agents)->starts), 0);
}

static void a_mode_counts_until_the_last_host_has_it(void **state)
{
    (void)state;
    const struct agents_times *times = agents_times(world.agents);
    join(1, "h1");
    join(2, "h2");
    mode_change(5);
    later(MS);
    acknowledge(1);
    assert_int_equal(count(&times->mode_changes), 0);
    later(6 * MS);
    acknowledge(2);
    acknowledge(1);
    assert_int_equal(count(&times->mode_changes), 1);
    assert_int_equal(times->mode_changes.sum_ns, 7 * MS);
}

static void a_mode_that_is_overtaken_counts_not(void **state)
{
    (void)state;
    const struct agents_times *times = agents_times(world.agents);
    join(1, "h1");
    join(2, "h2");
    mode_change(5);
    acknowledge(1);
    later(5 * MS);
    mode_change(6);
    later(2 * MS);
    acknowledge(1);
    acknowledge(2);
    assert_int_equal(count(&times->mode_changes), 1);
    assert_int_equal(times->mode_changes.sum_ns, 2 * MS);
}

static void a_host_that_goes_is_awaited_no_more(void **state)
{
    (void)state;
    const struct agents_times *times = agents_times(world.agents);
    join(1, "h1");
    join(2, "h2");
    mode_change(5);
    acknowledge(1);
    hang_up(2);
    assert_int_equal(count(&times->mode_changes), 0);
    mode_change(6);
    later(MS);
    acknowledge(1);
    assert_int_equal(count(&times->mode_changes), 1);
    assert_int_equal(times->mode_changes.sum_ns, MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_start_counts_once_until_its_first_answer),
        CASE(a_start_without_an_answer_counts_not),
        CASE(a_mode_counts_until_the_last_host_has_it),
        CASE(a_mode_that_is_overtaken_counts_not),
        CASE(a_host_that_goes_is_awaited_no_more),
    };
    return cmocka_run_group_tests_name("agents' times", tests, NULL, NULL);
}
