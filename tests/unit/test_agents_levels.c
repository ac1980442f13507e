/* Relabellings: one message a host, and none before the last one is in all kernels. */
#include "tests/unit/agents_world.h"

/* Three hosts; each has attempts 10 · host + 1 … 3, with levels 1. */
static void begin(void)
{
    static const char *const names[] = {"h0", "h1", "h2"};
    for (uint32_t h = 0; h < 3; h++) {
        join(h + 1, names[h]);
        for (uint64_t i = 1; i <= 3; i++)
            agents_start(
                world.agents, world.now_ns, h,
                &(duopoly_Start){
                    .attempt = 10 * h + i, .job = 1, .coflow_level = 1, .macroflow_level = 1},
                NULL, 0);
        for (uint64_t i = 1; i <= 3; i++)
            state_send(h + 1, 10 * h + i, duopoly_AttemptPhase_PHASE_RECEIVING);
    }
    *world.facts = *world.sent = '\0';
}

static void level(uint64_t attempt, uint32_t level)
{
    agents_level(world.agents, (uint32_t)(attempt / 10), attempt, level, level);
}

static void flush(void)
{
    agents_levels_flush(world.agents, world.now_ns);
}

/* The kernel of the peer's host has what was sent up to this number. */
static void acknowledge(uint64_t peer, uint64_t until)
{
    message(peer, duopoly_Envelope_acknowledge_tag, false)->acknowledged = until;
    deliver(peer);
}

/* Starts were #1 to #3. In whatever order the engine names attempts. */
static void one_message_a_host(void **state)
{
    (void)state;
    begin();
    level(1, 5);
    level(11, 6);
    level(2, 5);
    level(12, 6);
    expect_sent("");
    flush();
    expect_sent("1:levels(1:5,2:5)#4 2:levels(11:6,12:6)#4 ");
}

static void what_is_so_already_is_not_sent(void **state)
{
    (void)state;
    begin();
    level(1, 1);
    level(9, 4); /* nobody's */
    level(2, 7);
    level(2, 1);
    level(3, 7);
    state_send(1, 3, duopoly_AttemptPhase_PHASE_DONE);
    *world.sent = '\0';
    flush();
    expect_sent("");
}

/* Whoever was sent some is waited for, others are not; meanwhile the newest levels count. */
static void the_next_waits_for_all_kernels(void **state)
{
    (void)state;
    begin();
    level(1, 5);
    level(11, 5);
    flush();
    expect_sent("1:levels(1:5)#4 2:levels(11:5)#4 ");
    level(21, 6);
    level(1, 6);
    level(2, 3);
    level(1, 7);
    level(2, 1);
    flush();
    expect_sent("");
    acknowledge(1, 4);
    acknowledge(2, 3);
    expect_sent("");
    acknowledge(2, 4);
    expect_sent("3:levels(21:6)#4 1:levels(1:7)#5 ");
    const struct agents_counters *counters = agents_counters(world.agents);
    assert_int_equal(counters->levels_rounds, 2);
    assert_int_equal(counters->levels_told, 4);
    assert_int_equal(counters->levels_merged, 2);
    assert_int_equal(counters->levels_late, 0);
}

static void a_message_holds_so_many(void **state)
{
    (void)state;
    join(1, "h0");
    for (uint64_t i = 1; i <= 300; i++) {
        start(0, i, 0);
        state_send(1, i, duopoly_AttemptPhase_PHASE_RECEIVING);
    }
    *world.sent = '\0';
    for (uint64_t i = 1; i <= 300; i++)
        agents_level(world.agents, 0, i, 5, 5);
    flush();
    expect_sent("1:levels(1:5,2:5,3:5,4:5...)#301 1:levels(257:5,258:5,259:5,260:5...)#302 ");
    agents_level(world.agents, 0, 1, 6, 6);
    acknowledge(1, 301);
    expect_sent("");
    acknowledge(1, 302);
    expect_sent("1:levels(1:6)#303 ");
}

/* Its next inventory brings up what it could not be told. */
static void a_host_without_session_is_not_waited_for(void **state)
{
    (void)state;
    begin();
    level(1, 5);
    level(11, 5);
    flush();
    *world.sent = '\0';
    level(12, 7);
    level(2, 7);
    acknowledge(2, 4);
    expect_sent("");
    world.deaf = 1;
    until(world.now_ns + S); /* its lease cannot be sent */
    assert_non_null(strstr(world.sent, "2:levels(12:7)#5 "));
    assert_null(strstr(world.sent, "1:levels"));
    assert_int_equal(agents_counters(world.agents)->levels_late, 0);
}

static void nobody_is_waited_for_for_ever(void **state)
{
    (void)state;
    begin();
    level(1, 5);
    level(11, 5);
    flush();
    acknowledge(1, 4);
    level(1, 6);
    level(12, 6);
    *world.sent = '\0';
    heartbeats(1, world.now_ns + 2 * S);
    assert_null(strstr(world.sent, "levels"));
    message(2, duopoly_Envelope_agent_heartbeat_tag, false);
    deliver(2);
    heartbeats(1, world.now_ns + S);
    assert_non_null(strstr(world.sent, "2:levels(12:6)#5 "));
    assert_non_null(strstr(world.sent, "1:levels(1:6)#5 "));
    assert_int_equal(agents_counters(world.agents)->levels_late, 1);
    /* Until it has acknowledged it holds up nobody again. */
    *world.sent = '\0';
    level(1, 7);
    level(12, 7);
    acknowledge(1, 5);
    expect_sent("1:levels(1:7)#6 2:levels(12:7)#6 ");
    acknowledge(1, 6);
    level(1, 2);
    level(11, 2);
    flush();
    expect_sent("1:levels(1:2)#7 2:levels(11:2)#7 ");
    acknowledge(2, 7);
    acknowledge(1, 7);
    level(11, 3);
    flush();
    level(1, 3);
    flush();
    expect_sent("2:levels(11:3)#8 ");
    acknowledge(2, 8);
    expect_sent("1:levels(1:3)#8 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(one_message_a_host),
        CASE(what_is_so_already_is_not_sent),
        CASE(the_next_waits_for_all_kernels),
        CASE(a_message_holds_so_many),
        CASE(a_host_without_session_is_not_waited_for),
        CASE(nobody_is_waited_for_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
