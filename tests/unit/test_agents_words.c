/* Which of an agent's words count: those about itself and the attempts that it has, and of others
 * what it can know. */
#include "tests/unit/agents_world.h"

#define OURS (UINT64_C(3) << 32) /* numbers of this controller's epoch */

static uint64_t refused(const char *name)
{
    struct agent_view view;
    assert_int_equal(agents_named(world.agents, name, &view), 0);
    assert_int_equal(view.refused_words > 0, *view.refused_about != '\0');
    return view.refused_words;
}

/* h1 has attempts 11 and 12 of this controller, h2 has none. */
static void two_hosts_begin(void)
{
    join(1, "h1");
    join(2, "h2");
    start(0, OURS + 11, 0);
    start(0, OURS + 12, 0);
    *world.facts = *world.sent = '\0';
}

static void no_state_of_anothers_attempt_counts(void **state)
{
    (void)state;
    two_hosts_begin();
    for (int phase = 0; phase <= duopoly_AttemptPhase_PHASE_LOST; phase++) {
        state_send(2, OURS + 11, (duopoly_AttemptPhase)phase);
        expect_facts("");
        /* Who runs it all the same is told to end it. */
        assert_int_equal(strstr(world.sent, "2:stop") != NULL,
                         phase <= duopoly_AttemptPhase_PHASE_COMPUTING);
        assert_non_null(strstr(world.sent, "2:acknowledge"));
        *world.sent = '\0';
    }
    assert_int_equal(refused("h2"), duopoly_AttemptPhase_PHASE_LOST + 1);
    assert_int_equal(refused("h1"), 0);
    state_send(1, OURS + 11, duopoly_AttemptPhase_PHASE_STARTED);
    state_send(1, OURS + 11, duopoly_AttemptPhase_PHASE_DONE);
    expect_facts("attempt_started(11) attempt_done(11) ");
}

/* Of this epoch, of older ones after its first inventory, of a framework's, of epochs to come. */
static void numbers_that_it_was_not_given_are_refused(void **state)
{
    static const uint64_t numbers[] = {OURS + 99, (UINT64_C(2) << 32) + 5, UINT64_C(1) << 63 | 7,
                                       (UINT64_C(4) << 32) + 1, 0};
    (void)state;
    two_hosts_begin();
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        state_send(2, numbers[i], duopoly_AttemptPhase_PHASE_STARTED);
        world.ended_meanwhile = numbers[i]; /* the engine would take its end */
        state_send(2, numbers[i], duopoly_AttemptPhase_PHASE_DONE);
        expect_facts("");
        assert_int_equal(refused("h2"), 2 * (i + 1));
    }
    /* A framework's, which the engine knows. */
    world.ended_meanwhile = 0;
    world.lives = UINT64_C(1) << 63 | 7;
    state_send(2, world.lives, duopoly_AttemptPhase_PHASE_DONE);
    expect_facts("");
    assert_int_equal(refused("h2"), 11);
}

static void an_end_that_is_told_again_is_no_lie(void **state)
{
    (void)state;
    two_hosts_begin();
    state_send(1, OURS + 11, duopoly_AttemptPhase_PHASE_DONE);
    *world.facts = '\0';
    state_send(1, OURS + 11, duopoly_AttemptPhase_PHASE_DONE);
    expect_facts("");
    assert_int_equal(refused("h1"), 0);
}

/* It was away, and its attempts counted as lost. */
static void what_was_lost_may_come_back(void **state)
{
    (void)state;
    two_hosts_begin();
    heartbeats(2, 31 * S);
    *world.facts = '\0';
    hello(1, "h1", 7, 2);
    deliver(1);
    inventory_end(1, 0);
    *world.facts = '\0';
    state_send(1, OURS + 11, duopoly_AttemptPhase_PHASE_STARTED);
    expect_facts("attempt_seen(11) ");
    state_send(2, OURS + 12, duopoly_AttemptPhase_PHASE_STARTED);
    expect_facts("");
    assert_int_equal(refused("h1"), 0);
    assert_int_equal(refused("h2"), 1);
}

/* Both were there before the controller was: who names it first has it. */
static void of_two_that_bring_one_attempt_the_first_has_it(void **state)
{
    (void)state;
    for (uint64_t peer = 1; peer <= 2; peer++) {
        hello(peer, peer == 1 ? "h1" : "h2", 7, 1);
        deliver(peer);
        duopoly_InventoryPart *part =
            &message(peer, duopoly_Envelope_inventory_part_tag, true)->body.inventory_part;
        part->attempts_count = 1;
        part->attempts[0] =
            (duopoly_AttemptState){.attempt = 11, .phase = duopoly_AttemptPhase_PHASE_STARTED};
        deliver(peer);
    }
    inventory_end(1, 1);
    inventory_end(2, 1);
    expect_facts("host_join(0) attempt_seen(11) host_join(1) ");
    assert_int_equal(refused("h2"), 1);
}

static void brought(uint64_t peer, uint64_t attempt, uint64_t proof)
{
    duopoly_InventoryPart *part =
        &message(peer, duopoly_Envelope_inventory_part_tag, true)->body.inventory_part;
    part->attempts_count = 1;
    part->attempts[0] = (duopoly_AttemptState){
        .attempt = attempt, .job = 1, .phase = duopoly_AttemptPhase_PHASE_STARTED, .proof = proof};
    deliver(peer);
    inventory_end(peer, 1);
}

/* Where the hosts have shown proofs before, nobody takes what another was sent, whoever comes
 * first. */
static void who_proves_it_was_sent_an_attempt_has_it(void **state)
{
    const uint64_t older = (UINT64_C(2) << 32) + 11;
    (void)state;
    world.proof_since = 1;
    for (uint64_t peer = 1; peer <= 2; peer++) {
        hello(peer, peer == 1 ? "h1" : "h2", 7, 1);
        deliver(peer);
    }
    const uint64_t of_h2 = on_proof(NULL, "h2", older, 1, 0, 0);
    brought(1, older, of_h2); /* h1 knows even the number */
    expect_facts("host_join(0) ");
    assert_non_null(strstr(world.sent, "1:stop"));
    brought(2, older, of_h2);
    expect_facts("host_join(1) attempt_seen(11) ");
    assert_int_equal(refused("h1"), 1);
    assert_int_equal(refused("h2"), 0);
}

/* Its agent was older when it was sent the attempt. */
static void what_was_sent_before_it_proved_is_believed(void **state)
{
    (void)state;
    world.proof_since = 2;
    hello(1, "h1", 7, 1);
    deliver(1);
    brought(1, (UINT64_C(1) << 32) + 11, 0);
    expect_facts("host_join(0) attempt_seen(11) ");
}

static void who_shows_a_proof_is_asked_for_it_from_now_on(void **state)
{
    (void)state;
    two_hosts_begin();
    for (int i = 0; i < 2; i++) {
        duopoly_AttemptState *said =
            &message(1, duopoly_Envelope_attempt_state_tag, true)->body.attempt_state;
        said->attempt = OURS + 11;
        said->job = 1;
        said->phase = duopoly_AttemptPhase_PHASE_STARTED;
        said->proof =
            i ? on_proof(NULL, "h1", OURS + 11, 1, 0, 0) : 5; /* a wrong one says nothing */
        deliver(1);
        assert_int_equal(world.proofs, i);
    }
}

static void progress_of_others_is_left_out(void **state)
{
    (void)state;
    two_hosts_begin();
    start(1, OURS + 13, 0);
    duopoly_Progress *progress = &message(2, duopoly_Envelope_progress_tag, false)->body.progress;
    progress->attempts_count = 3;
    progress->attempts[0].attempt = OURS + 11;
    progress->attempts[1].attempt = OURS + 13;
    progress->attempts[2].attempt = OURS + 12;
    deliver(2);
    expect_facts("attempt_progress(13) ");
    assert_int_equal(refused("h2"), 2);
}

static void source_say(uint64_t peer, uint64_t attempt, const char *source)
{
    struct agent_view view;
    assert_int_equal(agents_named(world.agents, source, &view), 0);
    duopoly_SourceState *said =
        &message(peer, duopoly_Envelope_source_state_tag, true)->body.source_state;
    said->attempt = attempt;
    memcpy(said->address, view.address, sizeof(said->address));
    deliver(peer);
}

static void a_source_counts_from_who_reads_it(void **state)
{
    (void)state;
    two_hosts_begin();
    source_say(2, OURS + 11, "h1"); /* in the name of h1's attempt */
    expect_facts("");
    world.reads = READING_NOT;
    source_say(1, OURS + 11, "h2");
    expect_facts("");
    world.reads = READING_OVER; /* late, and no lie */
    source_say(1, OURS + 11, "h2");
    expect_facts("");
    world.reads = READING_NOW;
    source_say(1, OURS + 11, "h2");
    expect_facts("source_stalled(1) ");
    assert_int_equal(refused("h1"), 1);
    assert_int_equal(refused("h2"), 1);
}

/* Looking takes as long as an attempt has inputs: no more of it than LOOKS a second. */
static void a_flood_of_words_on_sources_is_not_looked_at(void **state)
{
    uint32_t told = 0;
    (void)state;
    two_hosts_begin();
    for (int i = 0; i < 1000; i++) {
        source_say(1, OURS + 11, "h2");
        told += *world.facts != '\0';
        *world.facts = *world.sent = '\0';
    }
    assert_int_equal(told, 256);
    heartbeats(1, world.now_ns + S);
    source_say(1, OURS + 11, "h2");
    expect_facts("source_stalled(1) ");
}

static void lost_say(uint64_t peer, uint32_t task)
{
    duopoly_OutputLost *lost =
        &message(peer, duopoly_Envelope_output_lost_tag, true)->body.output_lost;
    *lost = (duopoly_OutputLost){.job = 1, .task = task, .attempt = 5};
    deliver(peer);
}

static bool is_believed(uint64_t peer, uint32_t task, uint32_t holder)
{
    world.holder = holder;
    *world.facts = '\0';
    lost_say(peer, task);
    bool told = strstr(world.facts, "output_lost") != NULL;
    *world.facts = *world.sent = '\0';
    return told;
}

static void a_lost_output_counts_from_who_can_know(void **state)
{
    (void)state;
    two_hosts_begin();
    world.reads_output = READING_NOT;
    assert_false(is_believed(2, 0, 0));
    assert_int_equal(refused("h2"), 1);
    world.reads_output = READING_OVER;
    assert_false(is_believed(2, 0, 0));
    assert_int_equal(refused("h2"), 1);
    world.reads_output = READING_NOW;
    for (uint32_t task = 0; task < 500; task++) /* its own, as many as it likes */
        assert_true(is_believed(2, task, 1));
    assert_true(is_believed(2, 0, 0));
}

/* Alone: of one holder at a time, and once for each task. With another voice: all of them. */
static void who_is_alone_with_it_is_believed_of_one_holder(void **state)
{
    (void)state;
    join(1, "h1");
    join(2, "h2");
    join(3, "h3");
    for (uint32_t task = 0; task < 50; task++)
        assert_true(is_believed(1, task, 1));
    assert_false(is_believed(1, 50, 2));
    assert_false(is_believed(1, 7, 1));
    assert_int_equal(refused("h1"), 2);
    assert_true(is_believed(2, 50, 2) && is_believed(1, 51, 2)); /* h2 says it of its own… */
    assert_true(is_believed(3, 7, 1) && is_believed(1, 7, 1));
    until(world.now_ns + 29 * S);
}

static void the_log_says_it_rarely(void **state)
{
    (void)state;
    two_hosts_begin();
    for (int i = 0; i < 1000; i++)
        state_send(2, OURS + 11,
                   i % 2 ? duopoly_AttemptPhase_PHASE_DONE : duopoly_AttemptPhase_PHASE_FAILED);
    assert_int_equal(refused("h2"), 1000);
    assert_int_equal(agents_counters(world.agents)->refused[duopoly_Envelope_attempt_state_tag],
                     1000);
}

/* Each kind that an agent may send, from a host that has nothing, about what another has: nothing
 * of it comes to the engine but what is about the speaker. A kind that is new has a row
 * (agent_kinds.c), and here is filled with what it would say of others. */
static void others_fill(pb_size_t kind)
{
    duopoly_Envelope *e = message(2, kind, kind != duopoly_Envelope_agent_heartbeat_tag);
    switch (kind) {
    case duopoly_Envelope_attempt_state_tag:
        e->body.attempt_state.attempt = OURS + 11;
        e->body.attempt_state.phase = duopoly_AttemptPhase_PHASE_DONE;
        break;
    case duopoly_Envelope_progress_tag:
        e->body.progress.attempts_count = 1;
        e->body.progress.attempts[0].attempt = OURS + 11;
        break;
    case duopoly_Envelope_source_state_tag:
        e->body.source_state.attempt = OURS + 11;
        e->body.source_state.address[0] = 0xfd;
        break;
    case duopoly_Envelope_output_lost_tag:
        e->body.output_lost.job = 1;
        break;
    case duopoly_Envelope_inventory_part_tag:
        e->body.inventory_part.attempts_count = 1;
        e->body.inventory_part.attempts[0].attempt = OURS + 11;
        break;
    default:
        break;
    }
}

static void no_kind_speaks_for_others(void **state)
{
    int kinds = 0;
    (void)state;
    for (pb_size_t kind = 1; kind < WIRE_KINDS; kind++) {
        if (!agents_take(kind) || kind == duopoly_Envelope_hello_tag)
            continue;
        teardown(state);
        setup(state);
        two_hosts_begin();
        world.reads = world.reads_output = READING_NOT;
        others_fill(kind);
        deliver(2);
        if (strstr(world.facts, "attempt_") || strstr(world.facts, "output_") ||
            strstr(world.facts, "source_") || strstr(world.facts, "(0)"))
            fail_msg("%s of another host: %s", wire_kind_name(kind), world.facts);
        if (strstr(world.sent, "2:refused(8)"))
            fail_msg("%s stands in no function for what it is about", wire_kind_name(kind));
        kinds++;
    }
    printf("# %d kinds of agents\n", kinds);
    assert_true(kinds >= 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(no_state_of_anothers_attempt_counts),
        CASE(numbers_that_it_was_not_given_are_refused),
        CASE(an_end_that_is_told_again_is_no_lie),
        CASE(what_was_lost_may_come_back),
        CASE(of_two_that_bring_one_attempt_the_first_has_it),
        CASE(who_proves_it_was_sent_an_attempt_has_it),
        CASE(what_was_sent_before_it_proved_is_believed),
        CASE(who_shows_a_proof_is_asked_for_it_from_now_on),
        CASE(progress_of_others_is_left_out),
        CASE(a_source_counts_from_who_reads_it),
        CASE(a_flood_of_words_on_sources_is_not_looked_at),
        CASE(a_lost_output_counts_from_who_can_know),
        CASE(who_is_alone_with_it_is_believed_of_one_holder),
        CASE(the_log_says_it_rarely),
        CASE(no_kind_speaks_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
