/* Questions to agents: who is asked, and whose answers are taken. */
#include "tests/unit/agents_world.h"

static int ask(const char *name, uint64_t number)
{
    const duopoly_Ask question = {.number = number, .of = duopoly_AskOf_ASK_FLOWS, .cursor = 5};
    return agents_ask(world.agents, name, &question);
}

static void join_as(uint64_t peer, const char *name, uint32_t asks)
{
    hello(peer, name, 7, 1)->asks = asks;
    deliver(peer);
    inventory_end(peer, 0);
    *world.facts = *world.sent = '\0';
}

static void one_that_knows_the_question_is_asked(void **state)
{
    (void)state;
    join_as(1, "h1", 1u << duopoly_AskOf_ASK_FLOWS);
    assert_int_equal(ask("h1", 9), 0);
    expect_sent("1:ask ");
    expect_facts("");
}

static void others_are_not_waited_for(void **state)
{
    (void)state;
    join(1, "older");
    join_as(2, "other", ~(1u << duopoly_AskOf_ASK_FLOWS));
    join_as(3, "gone", 1u << duopoly_AskOf_ASK_FLOWS);
    hang_up(3);
    *world.sent = '\0';
    assert_int_equal(ask("older", 9), -EOPNOTSUPP);
    assert_int_equal(ask("other", 9), -EOPNOTSUPP);
    assert_int_equal(ask("gone", 9), -ENOTCONN);
    assert_int_equal(ask("nobody", 9), -ENOENT);
    expect_sent("");
}

/* A host whose agent was replaced by an older one is not asked any more. */
static void the_newest_hello_says_what_it_knows(void **state)
{
    (void)state;
    join_as(1, "h1", 1u << duopoly_AskOf_ASK_FLOWS);
    hello(1, "h1", 7, 2);
    deliver(1);
    inventory_end(1, 0);
    assert_int_equal(ask("h1", 9), -EOPNOTSUPP);
}

static void answer(uint64_t peer, uint64_t number)
{
    message(peer, duopoly_Envelope_asked_part_tag, false)->body.asked_part.number = number;
    deliver(peer);
}

static void what_nobody_waits_for_is_counted(void **state)
{
    (void)state;
    const uint64_t *refused =
        &agents_counters(world.agents)->refused[duopoly_Envelope_asked_part_tag];
    join_as(1, "h1", 1u << duopoly_AskOf_ASK_FLOWS);
    world.awaited = 9;
    answer(1, 9);
    expect_facts("asked(h1,9) ");
    assert_int_equal(*refused, 0);
    for (uint64_t i = 0; i < 100; i++)
        answer(1, 10 + i);
    assert_int_equal(*refused, 100);
    expect_sent("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(one_that_knows_the_question_is_asked),
        CASE(others_are_not_waited_for),
        CASE(the_newest_hello_says_what_it_knows),
        CASE(what_nobody_waits_for_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
