/* Addresses that a HELLO says: those of no use to others, and those of two hosts. */
#include "tests/unit/agents_world.h"

#include "lib/address.h"

static void refused(uint64_t peer, duopoly_Reason reason, const char *words)
{
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "%llu:refused(%d) ", (unsigned long long)peer, reason);
    expect_sent(wanted);
    assert_non_null(strstr(world.words, words));
    expect_facts("");
}

static void addresses_of_no_use_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"0.0.0.0", "0.0.0.0, is none"},
        {"0.1.2.3", "is none"},
        {"::", "::, is none"},
        {"127.0.0.1", "is reached from its own host alone"},
        {"127.255.0.9", "is reached from its own host alone"},
        {"::1", "is reached from its own host alone"},
        {"224.0.0.1", "is no host's alone"},
        {"239.255.255.255", "is no host's alone"},
        {"255.255.255.255", "is no host's alone"},
        {"ff02::1", "is no host's alone"},
        {"fe80::1", "means another host on each link"},
    };
    static const char *const good[] = {"10.0.0.1", "192.168.1.255", "169.254.1.1",
                                       "fd00::1",  "2001:db8::7",   "240.0.0.1"};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        *world.sent = *world.facts = '\0';
        assert_int_equal(address_parse(cases[i][0], hello(1, "h1", 7, 1 + i)->address), 0);
        deliver(1);
        refused(1, duopoly_Reason_REASON_MALFORMED, cases[i][1]);
    }
    assert_int_equal(agents_hosts(world.agents), 0);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        *world.sent = '\0';
        assert_int_equal(address_parse(good[i], hello(1, "h1", 7, 100 + i)->address), 0);
        deliver(1);
        assert_non_null(strstr(world.sent, "1:welcome"));
    }
}

static void a_switch_serves_nothing(void **state)
{
    (void)state;
    duopoly_Hello *h = hello(1, "leaf1", 7, 1);
    h->role = duopoly_Role_ROLE_SWITCH;
    h->units_count = 0;
    memset(h->address, 0, sizeof(h->address));
    deliver(1);
    expect_sent("1:welcome ");
}

/* The first keeps it while it is heard; then it goes to who comes with it, and the first is
 * refused. */
static void two_hosts_with_one_address_are_named(void **state)
{
    (void)state;
    hello_at(1, "h1", 22);
    deliver(1);
    inventory_end(1, 0);
    for (int i = 0; i < 3; i++) {
        heartbeats(1, world.now_ns + S);
        *world.sent = *world.facts = '\0';
        hello_at(2, "h2", 22);
        deliver(2);
        refused(2, duopoly_Reason_REASON_CONFLICT, "::16 is also the address of h1");
    }
    until(world.now_ns + 4 * S);
    *world.sent = *world.facts = '\0';
    hello_at(2, "h2", 22);
    deliver(2);
    expect_sent("2:welcome ");
    *world.sent = *world.facts = '\0';
    hello_at(1, "h1", 22)->hello_sequence = 2;
    deliver(1);
    refused(1, duopoly_Reason_REASON_CONFLICT, "::16 is also the address of h2");
    /* With another it is welcome. */
    *world.sent = '\0';
    hello_at(1, "h1", 23)->hello_sequence = 3;
    deliver(1);
    assert_non_null(strstr(world.sent, "1:welcome"));
}

/* Who took the address of a host that was away keeps it from nobody who connects from there, and
 * does not get it back. */
static void who_connects_from_an_address_has_it(void **state)
{
    (void)state;
    hello_at(2, "usurper", 22);
    deliver(2);
    inventory_end(2, 0);
    world.comes_from_it = 1;
    *world.sent = *world.facts = '\0';
    hello_at(1, "h1", 22);
    deliver(1);
    assert_non_null(strstr(world.sent, "2:refused(7)"));
    assert_non_null(strstr(world.sent, "1:welcome"));
    *world.sent = *world.facts = '\0';
    hello_at(2, "usurper", 22)->hello_sequence = 2;
    deliver(2);
    refused(2, duopoly_Reason_REASON_CONFLICT, "::16 is also the address of h1");
}

/* Who has it already may say so again: a session begins anew, a host boots. */
static void a_host_may_say_its_own_again(void **state)
{
    (void)state;
    hello_at(1, "h1", 22);
    deliver(1);
    *world.sent = '\0';
    hello_at(1, "h1", 22)->hello_sequence = 2;
    deliver(1);
    assert_non_null(strstr(world.sent, "1:welcome"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(addresses_of_no_use_are_refused),      CASE(a_switch_serves_nothing),
        CASE(two_hosts_with_one_address_are_named), CASE(who_connects_from_an_address_has_it),
        CASE(a_host_may_say_its_own_again),
    };
    return cmocka_run_group_tests_name("agents_address", tests, NULL, NULL);
}
