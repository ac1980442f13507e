/* Hosts without an agent, and executors on hosts that have one. */
#include "tests/unit/agents_world.h"

static const uint8_t address_22[16] = {[15] = 22};

static uint32_t claim(const char *name, const uint8_t *address)
{
    return agents_claim_host(world.agents, name, address);
}

static enum agent_state state_of(const char *name)
{
    struct agent_view view;
    assert_int_equal(agents_named(world.agents, name, &view), 0);
    return view.state;
}

static void executors_are_on_the_host_of_their_name_or_address(void **state)
{
    (void)state;
    join(1, "h1");
    hello_at(2, "h2", 22);
    deliver(2);
    inventory_end(2, 0);
    *world.facts = '\0';
    assert_int_equal(claim("h1", address_22), 0); /* by name first */
    assert_int_equal(claim("10.0.0.22", address_22), 1);
    expect_facts("");
    assert_int_equal(agents_count(world.agents), 2);
    agents_release_host(world.agents, 0, 0);
    agents_release_host(world.agents, 0, 1);
    agents_release_host(world.agents, 0, 1); /* one too many, and an index that is nobody's */
    agents_release_host(world.agents, 0, 7);
    until(100 * S);
    assert_int_equal(state_of("h1"), AGENT_LOST);
}

static void one_without_an_agent_comes_and_goes(void **state)
{
    (void)state;
    join(1, "h1");
    assert_int_equal(claim("bare", NULL), 1);
    expect_facts("host_join(1) forgotten(1) "); /* nothing of it is kept */
    assert_int_equal(claim("bare", NULL), 1);
    expect_facts("");
    assert_int_equal(state_of("bare"), AGENT_UNMARKED);
    assert_int_equal(agents_hosts(world.agents), 1); /* no replica of a submission means it */
    assert_int_equal(claim("other", NULL), ENGINE_NONE);
    assert_int_equal(claim("not a name", NULL), ENGINE_NONE);
    assert_int_equal(agents_forget_name(world.agents, "bare"), -EBUSY);
    heartbeats(1, 100 * S);
    assert_int_equal(state_of("bare"), AGENT_UNMARKED);
    agents_release_host(world.agents, world.now_ns, 1);
    heartbeats(1, 110 * S);
    world.needed = 1;
    agents_release_host(world.agents, world.now_ns, 1);
    heartbeats(1, 120 * S);
    assert_int_equal(claim("bare", NULL), 1);
    agents_release_host(world.agents, world.now_ns, 1);
    expect_facts("");
    world.needed = ENGINE_NONE;
    heartbeats(1, 122 * S);
    expect_facts("host_lost(1) host_forget(1) ");
    assert_int_equal(agents_count(world.agents), 1);
    assert_int_equal(claim("other", NULL), 1); /* its index is another's */
}

static void an_agent_comes_and_they_are_one(void **state)
{
    (void)state;
    assert_int_equal(claim("bare", NULL), 0);
    *world.facts = '\0';
    hello(1, "bare", 7, 1);
    deliver(1);
    expect_facts(""); /* executors there go on meanwhile */
    inventory_end(1, 0);
    expect_facts("host_join(0) ");
    assert_int_equal(state_of("bare"), AGENT_UP);
    assert_int_equal(agents_hosts(world.agents), 1);
    agents_release_host(world.agents, world.now_ns, 0);
    heartbeats(1, 100 * S);
    expect_facts("");
    assert_int_equal(claim("other", NULL), 1);
}

static void an_agent_comes_with_its_address(void **state)
{
    (void)state;
    assert_int_equal(claim("10.0.0.22", address_22), 0);
    *world.facts = '\0';
    hello_at(1, "h1", 22);
    deliver(1);
    inventory_end(1, 0);
    expect_facts("is(0,1) host_join(1) ");
    assert_int_equal(claim("10.0.0.23", address_22), 1);
    heartbeats(1, 2 * S);
    expect_facts("host_lost(0) host_forget(0) ");
    assert_int_equal(agents_count(world.agents), 1);
    agents_release_host(world.agents, world.now_ns, 1);
    agents_release_host(world.agents, world.now_ns, 1);
    assert_int_equal(state_of("h1"), AGENT_UP);
}

static void an_agent_is_forgotten_and_executors_stay(void **state)
{
    (void)state;
    join(1, "h1");
    assert_int_equal(claim("h1", NULL), 0);
    hang_up(1);
    *world.facts = '\0';
    assert_int_equal(agents_forget_name(world.agents, "h1"), 0);
    expect_facts("host_forget(0) host_join(0) forgotten(0) forgotten(0) ");
    assert_int_equal(state_of("h1"), AGENT_UNMARKED);
    agents_release_host(world.agents, world.now_ns, 0);
    until(world.now_ns + 2 * S);
    expect_facts("host_lost(0) host_forget(0) ");
    assert_int_equal(agents_count(world.agents), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(executors_are_on_the_host_of_their_name_or_address),
        CASE(one_without_an_agent_comes_and_goes),
        CASE(an_agent_comes_and_they_are_one),
        CASE(an_agent_comes_with_its_address),
        CASE(an_agent_is_forgotten_and_executors_stay),
    };
    return cmocka_run_group_tests_name("agents_unmarked", tests, NULL, NULL);
}
