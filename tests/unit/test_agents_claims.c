/* What agents say that they have and were not given: counted for each and in sum, and cut
 * beyond. */
#define ROOM   64 /* attempts that all may claim */
#define CLAIMS (ROOM * UINT64_C(2048))
#include "tests/unit/agents_world.h"

#include "controller/agents/agent.h"

_Static_assert(AGENT_CLAIMED_ATTEMPT == 2048, "what ROOM counts");

static struct agent_view seen(const char *name)
{
    struct agent_view view;
    assert_int_equal(agents_named(world.agents, name, &view), 0);
    return view;
}

static uint32_t count(const char *lines, const char *word)
{
    uint32_t n = 0;
    for (const char *at = lines; (at = strstr(at, word)); at++)
        n++;
    return n;
}

/* An inventory of running attempts of an older epoch, from this number on. */
static void bring(uint64_t peer, const char *name, uint64_t first, uint32_t n)
{
    *world.facts = *world.sent = '\0';
    hello(peer, name, 7, (uint64_t)(world.now_ns / S) + 1);
    deliver(peer);
    uint32_t parts = 0;
    for (uint32_t i = 0; i < n; parts++) {
        duopoly_InventoryPart *part =
            &message(peer, duopoly_Envelope_inventory_part_tag, true)->body.inventory_part;
        part->part = parts;
        for (; i < n && part->attempts_count < 32; i++)
            part->attempts[part->attempts_count++] = (duopoly_AttemptState){
                .attempt = first + i, .job = 1, .phase = duopoly_AttemptPhase_PHASE_STARTED};
        deliver(peer);
    }
    inventory_end(peer, parts);
}

static void one_host_has_half_and_leaves_the_others_theirs(void **state)
{
    (void)state;
    bring(1, "h1", 1, 200);
    assert_int_equal(count(world.facts, "attempt_seen"), ROOM / 2);
    assert_int_equal(count(world.sent, "1:stop"), 200 - ROOM / 2);
    assert_int_equal(count(world.sent, "refused"), 0);
    assert_int_equal(seen("h1").claims_cut, 200 - ROOM / 2);
    assert_string_equal(seen("h1").cut_about, "attempts that it was not given");
    bring(2, "h2", 1001, 200);
    assert_int_equal(count(world.facts, "attempt_seen"), ROOM / 4);
    bring(3, "h3", 2001, 4);
    assert_int_equal(count(world.facts, "attempt_seen"), 4);
    assert_int_equal(seen("h3").claims_cut, 0);
}

/* By their ends, by the session's, and when the agent comes again with what is known of it. */
static void what_is_over_is_given_back(void **state)
{
    (void)state;
    for (int turn = 0; turn < 20; turn++) {
        until(world.now_ns + S);
        bring(1, "h1", 1, ROOM / 2);
        assert_int_equal(seen("h1").claims_cut, 0);
    }
    for (uint64_t attempt = 1; attempt <= ROOM / 2; attempt++)
        state_send(1, attempt, duopoly_AttemptPhase_PHASE_DONE);
    bring(2, "h2", 1001, ROOM / 2);
    assert_int_equal(count(world.facts, "attempt_seen"), ROOM / 2);
    /* An inventory that never ends. */
    for (int turn = 0; turn < 20; turn++) {
        until(world.now_ns + S);
        hello(3, "h3", 7, (uint64_t)(world.now_ns / S) + 1);
        deliver(3);
        duopoly_InventoryPart *part =
            &message(3, duopoly_Envelope_inventory_part_tag, true)->body.inventory_part;
        for (; part->attempts_count < ROOM / 4; part->attempts_count++)
            part->attempts[part->attempts_count].attempt = 2000 + part->attempts_count;
        deliver(3);
    }
    assert_int_equal(seen("h3").claims_cut, 0);
}

static void what_was_given_is_not_claimed(void **state)
{
    (void)state;
    join(1, "h1");
    for (uint32_t i = 1; i <= 2 * ROOM; i++)
        start(0, (UINT64_C(3) << 32) + i, 0);
    until(S);
    bring(1, "h1", (UINT64_C(3) << 32) + 1, 2 * ROOM);
    assert_int_equal(count(world.facts, "attempt_seen"), 2 * ROOM);
    assert_int_equal(count(world.sent, "stop"), 0);
}

/* The sum of all slots is not to pass what a number holds. */
static void what_an_attempt_takes_is_cut(void **state)
{
    (void)state;
    hello(1, "h1", 7, 1);
    deliver(1);
    duopoly_InventoryPart *part =
        &message(1, duopoly_Envelope_inventory_part_tag, true)->body.inventory_part;
    part->attempts_count = 1;
    part->attempts[0] = (duopoly_AttemptState){.attempt = 5,
                                               .job = 1,
                                               .phase = duopoly_AttemptPhase_PHASE_STARTED,
                                               .has_resources = true,
                                               .resources = {.slots = INT64_C(1) << 62}};
    deliver(1);
    inventory_end(1, 1);
    assert_int_equal(world.most_slots, 4096);
}

static void outputs_of_strange_jobs_are_forgotten_so_many_at_a_time(void **state)
{
    uint32_t told = 0;
    (void)state;
    hello(1, "h1", 7, 1);
    deliver(1);
    for (uint32_t p = 0; p < AGENT_STRANGE_JOBS / 256 + 4; p++) {
        duopoly_InventoryPart *part =
            &message(1, duopoly_Envelope_inventory_part_tag, true)->body.inventory_part;
        part->part = p;
        part->outputs_count = 256;
        for (uint32_t i = 0; i < 256; i++)
            part->outputs[i].job = 1000000 + 256 * p + i;
        /* It says that it has taken them, or its session would end. */
        world.envelope.acknowledged = world.sent_sequence[1];
        deliver(1);
        told += count(world.sent, "1:forget");
        *world.sent = '\0';
    }
    assert_int_equal(told, AGENT_STRANGE_JOBS);
    assert_int_equal(seen("h1").claims_cut, 4 * 256);
    assert_string_equal(seen("h1").cut_about, "outputs of unknown jobs");
}

static void guests_count_too(void **state)
{
    static const uint32_t guest = AGENT_CLAIMED_GUEST;
    (void)state;
    join(1, "h1");
    join(2, "h2");
    for (uint64_t peer = 1; peer <= 2; peer++)
        for (int again = 0; again < 3; again++) {
            duopoly_GuestsPart *part =
                &message(peer, duopoly_Envelope_guests_part_tag, true)->body.guests_part;
            for (; part->applications_count < 64; part->applications_count++)
                snprintf(part->applications[part->applications_count].name, 64, "app-%u-%u",
                         (unsigned)peer, (unsigned)part->applications_count);
            deliver(peer);
        }
    assert_true(64 * guest <= CLAIMS / 2);
    assert_int_equal(seen("h1").guests->n, 64);
    bring(3, "h3", 2001, 200);
    assert_true(count(world.facts, "attempt_seen") < ROOM / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(one_host_has_half_and_leaves_the_others_theirs),
        CASE(what_is_over_is_given_back),
        CASE(what_was_given_is_not_claimed),
        CASE(what_an_attempt_takes_is_cut),
        CASE(outputs_of_strange_jobs_are_forgotten_so_many_at_a_time),
        CASE(guests_count_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
