#include "tests/unit/agents_world.h"

/* What an attempt says of an address becomes a fact about the host that has it now. */
static void sources_are_known_by_their_address(void **state)
{
    (void)state;
    hello_at(1, "h1", 21);
    deliver(1);
    inventory_end(1, 0);
    hello_at(2, "h2", 22);
    deliver(2);
    inventory_end(2, 0);
    start(0, 11, 0);
    *world.facts = *world.sent = '\0';
    source_send(1, 22, false);
    source_send(1, 21, true);
    expect_facts("source_stalled(1) source_flows(0) ");
    expect_sent("1:acknowledge(2) 1:acknowledge(3) ");
    source_send(1, 23, false);
    source_send(1, 0, false);
    expect_facts("");
    assert_int_equal(agents_counters(world.agents)->sources_unknown, 2);
    heartbeats(1, world.now_ns + 4 * S);
    hello_at(3, "h3", 22); /* h2 is silent */
    deliver(3);
    inventory_end(3, 0);
    *world.facts = '\0';
    source_send(1, 22, false);
    expect_facts("source_stalled(2) ");
}

static void names_that_brought_nothing_are_forgotten(void **state)
{
    (void)state;
    join(1, "h1");
    join(2, "h2");
    start(1, 5, 0);
    hello(3, "h3", 7, 1); /* without an inventory */
    deliver(3);
    *world.facts = '\0';
    until(29 * S);
    assert_int_equal(agents_hosts(world.agents), 3);
    until(30 * S);
    assert_int_equal(agents_hosts(world.agents), 2);
    until(599 * S);
    assert_int_equal(agents_hosts(world.agents), 2);
    *world.facts = '\0';
    until(600 * S);
    expect_facts("host_forget(0) forgotten(0) ");
    assert_int_equal(agents_hosts(world.agents), 1);
    assert_int_equal(agents_host_at(world.agents, 0), 1);
    until(100000 * S);
    assert_int_equal(agents_count(world.agents), 1);
    assert_int_equal(agents_counters(world.agents)->forgotten, 2);
}

static void a_flood_of_names_makes_room_again(void **state)
{
    (void)state;
    char name[16];
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "x%d", i);
        hello(1 + (uint64_t)i % 7, name, 7, 1);
        deliver(1 + (uint64_t)i % 7);
    }
    assert_int_equal(agents_hosts(world.agents), 3);
    until(31 * S);
    assert_int_equal(agents_hosts(world.agents), 0);
    join(1, "h1");
    assert_int_equal(agents_hosts(world.agents), 1);
}

/* Not while it is up; then at once. Who comes back under the name is another host. */
static void a_name_is_forgotten_by_order(void **state)
{
    (void)state;
    join(1, "h1");
    join(2, "h2");
    assert_int_equal(agents_forget_name(world.agents, "h9"), -ENOENT);
    assert_int_equal(agents_forget_name(world.agents, "h1"), -EBUSY);
    hang_up(1);
    *world.facts = '\0';
    assert_int_equal(agents_forget_name(world.agents, "h1"), 0);
    expect_facts("host_forget(0) forgotten(0) ");
    assert_int_equal(agents_forget_name(world.agents, "h1"), -ENOENT);
    join(3, "h1");
    struct agent_view view;
    assert_int_equal(agents_named(world.agents, "h1", &view), 0);
    assert_int_equal(view.state, AGENT_UP);
}

/* What walks over all names in steps goes on behind the last one, whoever came or went. */
static void a_walk_goes_on_behind_a_name(void **state)
{
    (void)state;
    assert_int_equal(agents_after(world.agents, ""), 0);
    join(1, "h10");
    join(2, "h2");
    assert_int_equal(agents_after(world.agents, ""), 0);
    assert_int_equal(agents_after(world.agents, "h1"), 0);
    assert_int_equal(agents_after(world.agents, "h2"), 1);
    assert_int_equal(agents_after(world.agents, "h3"), 1);
    assert_int_equal(agents_after(world.agents, "h10"), 2);
    assert_int_equal(agents_after(world.agents, "h11"), 2);
    join(3, "h1");
    assert_int_equal(agents_after(world.agents, "h2"), 2);
    hang_up(2);
    assert_int_equal(agents_forget_name(world.agents, "h2"), 0);
    assert_int_equal(agents_after(world.agents, "h2"), 1);
    assert_int_equal(agents_after(world.agents, "h1"), 1);
}

/* Replicas of a live job are indexes: that of a forgotten host is nobody's until the job is
 * over. */
static void indexes_rest_while_a_job_may_mean_them(void **state)
{
    (void)state;
    struct agent_view view;
    join(1, "h1");
    join(2, "h2");
    world.newest_job = world.live_job = 4; /* submitted while both were known */
    hang_up(1);
    assert_int_equal(agents_forget_name(world.agents, "h1"), 0);
    assert_int_equal(agents_hosts(world.agents), 1);
    assert_int_equal(agents_host_at(world.agents, 0), 1);
    assert_int_equal(agents_of_host(world.agents, 0, &view), -ENOENT);
    join(3, "h3");
    assert_int_equal(agents_named(world.agents, "h3", &view), 0);
    assert_int_equal(view.host, 2);
    hello(4, "h4", 7, 1);
    *world.sent = '\0';
    deliver(4);
    expect_sent("4:refused(5) ");
    world.live_job = 5; /* a later job cannot mean it */
    world.newest_job = 5;
    join(4, "h4");
    assert_int_equal(agents_named(world.agents, "h4", &view), 0);
    assert_int_equal(view.host, 0);
}

/* It said HELLO after a restart, and its inventory came after the wait was over: its name is no
 * other than those of hosts that were never waited for. */
static void a_late_known_host_can_be_forgotten(void **state)
{
    (void)state;
    agents_destroy(world.agents);
    const struct agent_kept kept[] = {{.host = 0, .name = "h2"}, {.host = 1, .name = "h1"}};
    world_begin(kept, 2);
    hello(1, "h1", 7, 1);
    deliver(1);
    heartbeats(1, 6 * S);
    assert_false(agents_resyncing(world.agents));
    inventory_end(1, 0);
    expect_facts("host_join(1) ");
    until(700 * S);
    assert_int_equal(agents_count(world.agents), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(sources_are_known_by_their_address), CASE(names_that_brought_nothing_are_forgotten),
        CASE(a_flood_of_names_makes_room_again),  CASE(a_name_is_forgotten_by_order),
        CASE(a_walk_goes_on_behind_a_name),       CASE(indexes_rest_while_a_job_may_mean_them),
        CASE(a_late_known_host_can_be_forgotten),
    };
    return cmocka_run_group_tests_name("agents_forget", tests, NULL, NULL);
}
