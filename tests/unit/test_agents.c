#include "tests/unit/agents_world.h"

static void an_agent_joins_with_its_inventory(void **state)
{
    (void)state;
    agents_mode(world.agents, world.now_ns, 1, 9);
    hello(1, "h1", 7, 1);
    deliver(1);
    expect_sent("1:welcome ");
    expect_facts("");
    assert_true(world.welcome.mode == 1 && world.welcome.mode_sequence == 9 &&
                world.welcome.epoch == 3);
    assert_int_equal(world.welcome.congested_permille, 900);
    assert_int_equal(world.welcome.cleared_permille, 800);
    duopoly_InventoryPart *part =
        &message(1, duopoly_Envelope_inventory_part_tag, true)->body.inventory_part;
    part->attempts_count = 3;
    part->attempts[0] =
        (duopoly_AttemptState){.attempt = 11, .phase = duopoly_AttemptPhase_PHASE_RECEIVING};
    part->attempts[1] =
        (duopoly_AttemptState){.attempt = 12, .phase = duopoly_AttemptPhase_PHASE_DONE};
    part->attempts[2] =
        (duopoly_AttemptState){.attempt = 13, .phase = duopoly_AttemptPhase_PHASE_QUEUED};
    part->outputs_count = 3;
    part->outputs[0].job = 5;
    part->outputs[1].job = part->outputs[2].job = 500;
    deliver(1);
    expect_facts("");
    expect_sent("1:forget#1 1:acknowledge(1) ");
    inventory_end(1, 1);
    expect_facts("host_join(0) attempt_seen(11) attempt_seen(13) ");
    expect_sent("1:acknowledge(2) ");
    state_send(1, 11, duopoly_AttemptPhase_PHASE_COMPUTING);
    state_send(1, 11, duopoly_AttemptPhase_PHASE_FAILED);
    expect_facts("attempt_received(11) attempt_failed(11) ");
    assert_string_equal(world.words, "last words");
    struct agent_view view;
    assert_int_equal(agents_named(world.agents, "h1", &view), 0);
    assert_true(view.state == AGENT_UP && view.host == 0 && view.boot == 7);
}

/* What no host has is cut, one amount by one, and said; what it says next counts anew. */
static void absurd_amounts_are_cut(void **state)
{
    (void)state;
    struct agent_view view;
    struct agent_kept kept;
    hello(1, "h1", 7, 1)->units[0].slots = INT64_C(1) << 62;
    world.envelope.body.hello.units[0].mem_bytes = INT64_MAX;
    deliver(1);
    assert_int_equal(agents_named(world.agents, "h1", &view), 0);
    assert_string_equal(view.cut, "claims slots 4611686018427387904: 4096 count");
    assert_int_equal(agents_kept(world.agents, view.host, &kept), 0);
    assert_int_equal(kept.units[RES_SLOTS], 4096);
    assert_int_equal(kept.units[RES_MEM_BYTES], UINT64_C(1) << 50);
    hello(1, "h1", 7, 2)->units[0].slots = 4096;
    deliver(1);
    assert_int_equal(agents_named(world.agents, "h1", &view), 0);
    assert_string_equal(view.cut, "");
}

static void wrong_hellos_are_refused(void **state)
{
    (void)state;
    hello(1, "h1", 7, 1)->version_min = 2;
    world.envelope.body.hello.version_max = 3;
    deliver(1);
    expect_sent("1:refused(1) ");
    hello(1, "a b", 7, 1);
    deliver(1);
    expect_sent("1:refused(4) ");
    hello(1, "h1", 7, 1)->units_count = 0;
    deliver(1);
    expect_sent("1:refused(4) ");
    hello(1, "h1", 7, 1)->units[0].mem_bytes = -1;
    deliver(1);
    expect_sent("1:refused(4) ");
    hello(1, "h1", 7, 1);
    world.envelope.epoch = 4;
    deliver(1);
    expect_sent("1:refused(3) ");
    hello(1, "h1", 7, 1);
    agents_message(world.agents, 0, 1, "h2", &world.envelope);
    expect_sent("1:refused(2) ");
    for (uint64_t peer = 1; peer <= 3; peer++)
        join(peer, (const char *[]){"", "h1", "h2", "h3"}[peer]);
    hello(4, "h4", 7, 1);
    deliver(4);
    expect_sent("4:refused(5) ");
    hello(4, "h1", 8, 1)->role = duopoly_Role_ROLE_SWITCH;
    deliver(4);
    expect_sent("4:refused(7) ");
    assert_int_equal(agents_counters(world.agents)->refused[duopoly_Envelope_hello_tag], 8);
    assert_int_equal(agents_count(world.agents), 3);
}

/* Two that give one name on one boot: the newest HELLO wins and the other is told; an older one is
 * refused while that session stands. */
static void the_newest_session_wins(void **state)
{
    (void)state;
    join(1, "h1");
    hello(2, "h1", 7, 1);
    deliver(2);
    expect_sent("2:refused(2) ");
    hello(2, "h1", 7, 2);
    deliver(2);
    expect_sent("1:refused(2) 2:welcome ");
    expect_facts("host_silent(0) ");
    message(1, duopoly_Envelope_agent_heartbeat_tag, false);
    deliver(1);
    expect_sent("1:refused(9) ");
    inventory_end(2, 0);
    expect_facts("host_back(0) ");
    expect_sent("2:acknowledge(1) ");
    assert_int_equal(agents_counters(world.agents)->replaced, 1);
}

/* Two hosts with one name: the second is refused while the first is heard, and has the name once
 * the first is silent; then the first is the one that is refused. */
static void a_second_host_of_a_name_waits(void **state)
{
    (void)state;
    join(1, "h1");
    for (int i = 0; i < 3; i++) {
        heartbeats(1, world.now_ns + S);
        *world.sent = '\0';
        hello(2, "h1", 8, 100 + (uint64_t)i);
        deliver(2);
        expect_sent("2:refused(2) ");
        expect_facts("");
    }
    until(world.now_ns + 3 * S);
    *world.sent = '\0';
    expect_facts("host_silent(0) ");
    hello(2, "h1", 8, 104);
    deliver(2);
    expect_sent("1:refused(2) 2:welcome ");
    inventory_end(2, 0);
    expect_facts("host_join(0) ");
    *world.sent = '\0';
    hello(1, "h1", 7, 200);
    deliver(1);
    expect_sent("1:refused(2) ");
    expect_facts("");
}

static void what_does_not_fit_ends_the_session(void **state)
{
    (void)state;
    static const struct {
        uint64_t skip;
        uint32_t epoch, version;
        const char *sent;
    } cases[] = {
        {1, 3, 1, "1:refused(9) "},
        {0, 2, 1, "1:refused(3) "},
        {0, 4, 1, "1:refused(4) "},
        {0, 3, 2, "1:refused(4) "},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hello(1, "h1", 7, i + 1);
        deliver(1);
        inventory_end(1, 0);
        *world.facts = *world.sent = '\0';
        world.sequence[1] += cases[i].skip;
        message(1, duopoly_Envelope_output_lost_tag, true)->epoch = cases[i].epoch;
        world.envelope.version = cases[i].version;
        deliver(1);
        expect_sent(cases[i].sent);
        expect_facts("host_silent(0) ");
    }
    assert_int_equal(agents_counters(world.agents)->ended, 4);
    join(1, "h1");
    agents_malformed(world.agents, world.now_ns, 1, "garbage");
    expect_sent("1:refused(4) ");
}

static void duplicates_and_unknown_kinds_are_counted(void **state)
{
    (void)state;
    join(1, "h1");
    message(1, 0, true);
    deliver(1);
    expect_sent("1:acknowledge(2) ");
    deliver(1);
    message(1, duopoly_Envelope_start_tag, false);
    deliver(1);
    expect_sent("1:refused(8) ");
    expect_facts("");
    const struct agents_counters *c = agents_counters(world.agents);
    assert_true(c->ignored_kinds == 1 && c->duplicates == 1 &&
                c->refused[duopoly_Envelope_start_tag] == 1);
}

static void a_deaf_peer_loses_its_session(void **state)
{
    (void)state;
    join(1, "h1");
    world.deaf = 1;
    start(0, 21, 0);
    expect_facts("host_silent(0) attempt_lost(21) ");
    expect_sent("1:cut ");
    start(0, 22, 0);
    expect_facts("attempt_lost(22) ");
    agents_stop(world.agents, 0, 21, "cancelled", 0, false);
    expect_sent("");
}

static void room_send(const char *text)
{
    strcpy(message(1, duopoly_Envelope_host_room_tag, true)->body.host_room.text, text);
    deliver(1);
}

/* What it refuses without room runs elsewhere and is nobody's failure; only its own word, or a new
 * session, ends that. */
static void a_host_without_room_is_silent(void **state)
{
    struct agent_view view;
    (void)state;
    join(1, "h1");
    start(0, 21, 0);
    start(0, 22, 0);
    room_send("no room");
    expect_facts("host_silent(0) ");
    assert_int_equal(agents_at(world.agents, 0, &view), 0);
    assert_int_equal(view.state, AGENT_FULL);
    assert_string_equal(view.no_room, "no room");
    state_send(1, 21, duopoly_AttemptPhase_PHASE_REFUSED);
    expect_facts("attempt_lost(21) ");
    message(1, duopoly_Envelope_agent_heartbeat_tag, false);
    deliver(1);
    state_send(1, 22, duopoly_AttemptPhase_PHASE_STARTED);
    expect_facts("attempt_started(22) ");
    room_send("");
    expect_facts("host_back(0) ");
    start(0, 23, 0);
    state_send(1, 23, duopoly_AttemptPhase_PHASE_REFUSED);
    expect_facts("attempt_refused(23) ");
    room_send("no room");
    hello(1, "h1", 7, 2);
    deliver(1);
    inventory_end(1, 0);
    assert_int_equal(agents_at(world.agents, 0, &view), 0);
    assert_int_equal(view.state, AGENT_UP);
}

/* It may say so before the others are there. */
static void a_host_without_room_joins_as_silent(void **state)
{
    (void)state;
    hello(1, "h1", 7, 1);
    deliver(1);
    room_send("no room");
    expect_facts("");
    inventory_end(1, 0);
    expect_facts("host_join(0) host_silent(0) ");
}

/* One start with so many inputs, about 12 KB. */
static void much_sent(uint32_t host, uint64_t attempt)
{
    start(host, attempt, 600);
    *world.sent = '\0';
}

/* h1 answers and h2 does not: when the sum is over the bound, h2's session ends, whoever is sent
 * to; and what was answered does not count. */
static void unanswered_bytes_are_bounded_for_all_together(void **state)
{
    (void)state;
    join(1, "h1");
    join(2, "h2");
    for (uint64_t i = 0; i < 100; i++) {
        much_sent(0, 1000 + i);
        message(1, duopoly_Envelope_acknowledge_tag, false)->acknowledged =
            world.sent_sequence[1] - (i % 2);
        deliver(1);
    }
    assert_null(strstr(world.facts, "silent"));
    for (uint64_t i = 0; !strstr(world.facts, "host_silent(1)") && i < 100; i++)
        start(i % 4 ? 1 : 0, 2000 + i, 600);
    assert_non_null(strstr(world.sent, "2:cut"));
    assert_null(strstr(world.sent, "1:cut"));
    assert_int_equal(agents_counters(world.agents)->slow, 1);
    *world.sent = '\0';
    for (uint64_t i = 0; !strstr(world.sent, "1:cut") && i < 100; i++)
        start(0, 3000 + i, 600);
    assert_non_null(strstr(world.sent, "1:cut"));
}

static void strangers_are_answered_so_often(void **state)
{
    (void)state;
    for (int second = 0; second < 2; second++) {
        world.now_ns = second * S;
        for (int i = 0; i < AGENT_REFUSALS + 5; i++) {
            *world.sent = '\0';
            message(5, duopoly_Envelope_agent_heartbeat_tag, false);
            deliver(5);
            expect_sent(i < AGENT_REFUSALS ? "5:refused(9) " : "");
        }
    }
    assert_int_equal(agents_counters(world.agents)->unanswered_strangers, 10);
    assert_int_equal(agents_counters(world.agents)->refused[duopoly_Envelope_agent_heartbeat_tag],
                     2 * (AGENT_REFUSALS + 5));
}

static void silence_is_told_then_loss(void **state)
{
    (void)state;
    join(1, "h1");
    start(0, 31, 0);
    state_send(1, 31, duopoly_AttemptPhase_PHASE_STARTED);
    *world.facts = '\0';
    heartbeats(1, 10 * S);
    expect_facts("");
    assert_non_null(strstr(world.sent, "1:lease 1:lease 1:lease"));
    until(13 * S);
    expect_facts("host_silent(0) ");
    state_send(1, 31, duopoly_AttemptPhase_PHASE_STARTED);
    expect_facts("host_back(0) attempt_started(31) ");
    until(42 * S);
    expect_facts("host_silent(0) ");
    *world.sent = '\0';
    until(43 * S);
    expect_facts("host_lost(0) ");
    message(1, duopoly_Envelope_agent_heartbeat_tag, false);
    deliver(1);
    assert_non_null(strstr(world.sent, "1:refused(9) "));
    until(100 * S);
    expect_facts("");
    hello(1, "h1", 7, 2);
    deliver(1);
    inventory_end(1, 0);
    expect_facts("host_join(0) "); /* attempt 31 was forgotten with its host */
}

static void starts_are_asked_for_then_lost(void **state)
{
    (void)state;
    join(1, "h1");
    start(0, 21, 300);
    expect_sent("1:start(21)#1 1:start_inputs#2 1:start_inputs#3 ");
    start(0, 22, 0);
    *world.sent = '\0';
    heartbeats(1, 2 * S);
    state_send(1, 21, duopoly_AttemptPhase_PHASE_STARTED);
    expect_facts("attempt_started(21) ");
    *world.sent = '\0';
    heartbeats(1, 5 * S);
    assert_non_null(strstr(world.sent, "1:ask_attempt(22)#5 "));
    assert_null(strstr(world.sent, "ask_attempt(21)"));
    heartbeats(1, 9 * S);
    expect_facts("");
    *world.sent = '\0';
    heartbeats(1, 11 * S);
    expect_facts("attempt_lost(22) ");
    assert_non_null(strstr(world.sent, "1:stop#6 "));
    assert_int_equal(agents_counters(world.agents)->starts_lost, 1);
}

/* A new session's inventory decides what became of what was sent, and brings up what could not be
 * told. */
static void a_new_session_settles_what_was_under_way(void **state)
{
    (void)state;
    join(1, "h1");
    start(0, 21, 0);
    start(0, 22, 0);
    state_send(1, 22, duopoly_AttemptPhase_PHASE_STARTED);
    start(0, 23, 0);
    world.coflow_level = 5;
    *world.facts = '\0';
    hello(2, "h1", 7, 2);
    deliver(2);
    expect_facts("host_silent(0) ");
    duopoly_InventoryPart *part =
        &message(2, duopoly_Envelope_inventory_part_tag, true)->body.inventory_part;
    part->attempts_count = 2;
    part->attempts[0] =
        (duopoly_AttemptState){.attempt = 22, .phase = duopoly_AttemptPhase_PHASE_RECEIVING};
    part->attempts[1] =
        (duopoly_AttemptState){.attempt = 21, .phase = duopoly_AttemptPhase_PHASE_FAILED};
    deliver(2);
    *world.sent = '\0';
    inventory_end(2, 1);
    expect_facts("host_back(0) attempt_seen(22) attempt_failed(21) attempt_lost(23) ");
    expect_sent("2:levels(22:5)#1 2:acknowledge(2) ");
    heartbeats(2, 30 * S);
    assert_null(strstr(world.sent, "ask_attempt"));
}

static void a_new_boot_forgets_the_old_attempts(void **state)
{
    (void)state;
    join(1, "h1");
    start(0, 21, 0);
    until(3 * S);
    hello(2, "h1", 8, 1)->units[0].slots = 8;
    deliver(2);
    inventory_end(2, 0);
    expect_facts("host_silent(0) host_join(0) ");
    hello(3, "h1", 8, 2);
    deliver(3);
    inventory_end(3, 0);
    expect_facts("host_silent(0) host_change(0) host_back(0) "); /* four slots again */
}

static void inventories_are_bounded_and_whole(void **state)
{
    (void)state;
    hello(1, "h1", 7, 1);
    deliver(1);
    inventory_end(1, 1);
    assert_non_null(strstr(world.sent, "1:refused(9) "));
    hello(1, "h1", 7, 2);
    deliver(1);
    for (uint32_t i = 0; i <= AGENT_ATTEMPTS_MAX / 32; i++) {
        duopoly_InventoryPart *part =
            &message(1, duopoly_Envelope_inventory_part_tag, true)->body.inventory_part;
        part->part = i;
        part->attempts_count = 32;
        deliver(1);
    }
    assert_non_null(strstr(world.sent, "1:refused(5) "));
    expect_facts("");
}

/* Whatever an agent invents: what is kept of one is bounded, and the others go on. */
/* Of older epochs, before its inventory is in: later it brings none. */
static void attempts_that_an_agent_brings_are_bounded(void **state)
{
    (void)state;
    hello(1, "h1", 7, 1);
    deliver(1);
    for (uint64_t attempt = 1; attempt <= AGENT_ATTEMPTS_MAX; attempt++) {
        state_send(1, attempt, duopoly_AttemptPhase_PHASE_STARTED);
        *world.facts = *world.sent = '\0';
    }
    state_send(1, 1, duopoly_AttemptPhase_PHASE_DONE);
    state_send(1, 1, duopoly_AttemptPhase_PHASE_STARTED);
    expect_facts("attempt_done(1) attempt_seen(1) ");
    *world.sent = '\0';
    state_send(1, AGENT_ATTEMPTS_MAX + 1, duopoly_AttemptPhase_PHASE_STARTED);
    expect_sent("1:refused(5) ");
    expect_facts("");
    hello(2, "h2", 7, 1);
    deliver(2);
    state_send(2, AGENT_ATTEMPTS_MAX + 5, duopoly_AttemptPhase_PHASE_STARTED);
    expect_facts("attempt_seen(4101) ");
}

/* Known by name only: they never joined. */
static const struct agent_kept two_hosts[] = {{.host = 0, .name = "h2"}, {.host = 1, .name = "h1"}};

static void known_hosts_are_waited_for(void **state)
{
    (void)state;
    agents_destroy(world.agents);
    world_begin(two_hosts, 2);
    assert_int_equal(agents_hosts(world.agents), 2);
    hello(1, "h1", 7, 1);
    deliver(1);
    inventory_end(1, 0);
    expect_facts("");
    expect_sent("1:welcome ");
    assert_true(agents_resyncing(world.agents));
    hello(2, "h2", 7, 1);
    deliver(2);
    inventory_end(2, 0);
    expect_facts("host_join(1) host_join(0) ");
    expect_sent("2:welcome 1:acknowledge(1) 2:acknowledge(1) ");
    assert_false(agents_resyncing(world.agents));
}

static void the_wait_for_known_hosts_ends(void **state)
{
    (void)state;
    agents_destroy(world.agents);
    world_begin(two_hosts, 2);
    hello(1, "h1", 7, 1);
    deliver(1);
    inventory_end(1, 0);
    heartbeats(1, 4 * S);
    expect_facts("");
    heartbeats(1, 5 * S);
    expect_facts("host_join(1) ");
    hello(2, "h2", 7, 1);
    deliver(2);
    inventory_end(2, 0);
    expect_facts("host_join(0) ");
}

/* A host that had joined keeps its index and what the engine knows of it: the same boot is back,
 * another one joins anew, and one that stays away is lost in its time. */
static void restored_hosts_are_silent_until_they_speak(void **state)
{
    (void)state;
    struct agent_view view;
    struct agent_kept kept[3] = {{.host = 0, .name = "h1", .boot = 7, .n_units = 1, .used = true},
                                 {.host = 1, .name = "h2", .boot = 7, .n_units = 1, .used = true},
                                 {.host = 2, .name = "h3", .boot = 7, .n_units = 1, .used = true}};
    struct agent_kept again;
    agents_destroy(world.agents);
    for (int i = 0; i < 3; i++)
        kept[i].units[0] = 4;
    world_begin(kept, 3);
    assert_int_equal(agents_named(world.agents, "h2", &view), 0);
    assert_true(view.state == AGENT_SILENT && view.host == 1);
    hello(1, "h1", 7, 1);
    deliver(1);
    inventory_end(1, 0);
    hello(2, "h2", 8, 1);
    deliver(2);
    inventory_end(2, 0);
    expect_facts("");
    heartbeats(1, 5 * S);
    expect_facts("host_back(0) host_join(1) ");
    assert_int_equal(agents_kept(world.agents, 1, &again), 0);
    assert_true(again.boot == 8 && !again.lost && again.units[0] == 4);
    while (world.now_ns < 30 * S) {
        until(world.now_ns + S);
        for (uint64_t peer = 1; peer <= 2; peer++) {
            message(peer, duopoly_Envelope_agent_heartbeat_tag, false);
            deliver(peer);
        }
    }
    expect_facts("host_lost(2) ");
    assert_int_equal(agents_kept(world.agents, 2, &again), 0);
    assert_true(again.lost);
}

/* What is to last is acknowledged when it is on the disk, whatever else is taken meanwhile; what is
 * not is not kept waiting. */
static void ends_are_acknowledged_when_they_are_kept(void **state)
{
    (void)state;
    join(1, "h1");
    world.ticket = 5;
    state_send(1, 11, duopoly_AttemptPhase_PHASE_DONE);
    state_send(1, 12, duopoly_AttemptPhase_PHASE_DONE);
    world.ticket = 6;
    state_send(1, 13, duopoly_AttemptPhase_PHASE_DONE);
    message(1, duopoly_Envelope_agent_heartbeat_tag, true);
    deliver(1);
    expect_sent("");
    agents_committed(world.agents, 4);
    expect_sent("");
    agents_committed(world.agents, 5);
    expect_sent("1:acknowledge(3) ");
    agents_committed(world.agents, 6);
    expect_sent("1:acknowledge(5) ");
    state_send(1, 14, duopoly_AttemptPhase_PHASE_DONE);
    expect_sent("1:acknowledge(6) ");
}

/* While the disk is slow, a host that ends what it is given at once says more and more that is not
 * acknowledged: it gets nothing new well before that breaks its session, and goes on after. */
static void a_slow_disk_costs_no_session(void **state)
{
    struct agent_view view;
    (void)state;
    join(1, "h1");
    world.ticket = 5;
    for (uint64_t n = 1; n <= WIRE_WINDOW / 2; n++)
        state_send(1, 100 + n, duopoly_AttemptPhase_PHASE_DONE);
    *world.facts = '\0';
    state_send(1, 99, duopoly_AttemptPhase_PHASE_DONE);
    assert_non_null(strstr(world.facts, "host_silent(0) "));
    *world.facts = '\0';
    assert_int_equal(agents_at(world.agents, 0, &view), 0);
    assert_int_equal(view.state, AGENT_FULL);
    assert_string_equal(view.no_room, "the controller's disk has not kept what it said yet");
    message(1, duopoly_Envelope_agent_heartbeat_tag, false);
    deliver(1);
    expect_facts("");
    agents_committed(world.agents, 5);
    message(1, duopoly_Envelope_agent_heartbeat_tag, false);
    deliver(1);
    expect_facts("host_back(0) ");
    assert_int_equal(agents_counters(world.agents)->nonsense, 0);
}

/* A new session's inventory repeats what is not on the disk yet: that is not acknowledged
 * either. */
static void an_inventory_waits_for_what_it_repeats(void **state)
{
    (void)state;
    join(1, "h1");
    world.ticket = 5;
    state_send(1, 11, duopoly_AttemptPhase_PHASE_DONE);
    hang_up(1);
    *world.facts = '\0';
    hello(2, "h1", 7, 2);
    deliver(2);
    inventory_end(2, 0);
    expect_sent("1:cut 2:welcome ");
    agents_committed(world.agents, 5);
    expect_sent("2:acknowledge(1) ");
}

/* A later epoch than ours: of another controller, or of one whose state this one restored. */
static void later_epochs_are_refused_with_a_way_out(void **state)
{
    (void)state;
    hello(1, "h1", 7, 1);
    world.envelope.epoch = 9;
    deliver(1);
    assert_non_null(strstr(world.words, "start it once with --restore"));
    world.raised = 9;
    hello(1, "h1", 7, 2);
    world.envelope.epoch = 9;
    deliver(1);
    assert_non_null(strstr(world.words, "begins again above the epoch"));
    assert_int_equal(agents_count(world.agents), 0);
}

/* It ended while there was no controller: the engine hears that it was, and that it ended. */
static void what_ended_meanwhile_is_told_whole(void **state)
{
    (void)state;
    hello(1, "h1", 7, 1);
    deliver(1);
    duopoly_InventoryPart *part =
        &message(1, duopoly_Envelope_inventory_part_tag, true)->body.inventory_part;
    part->attempts_count = 2;
    for (int i = 0; i < 2; i++)
        part->attempts[i] = (duopoly_AttemptState){
            .attempt = 21 + (uint64_t)i, .job = 1, .phase = duopoly_AttemptPhase_PHASE_DONE};
    world.ended_meanwhile = 22;
    deliver(1);
    inventory_end(1, 1);
    expect_facts("host_join(0) attempt_seen(22) attempt_done(22) ");
}

static void decisions_go_where_they_belong(void **state)
{
    (void)state;
    join(1, "h10");
    join(2, "h2");
    agents_mode(world.agents, world.now_ns, 1, 5);
    assert_non_null(strstr(world.sent, "1:mode#1 "));
    assert_non_null(strstr(world.sent, "2:mode#1 "));
    *world.sent = '\0';
    agents_forget(world.agents, 1, 4);
    agents_stop(world.agents, 0, 3, "replaced", 1000, false);
    expect_sent("2:forget#2 1:stop#2 ");
    struct agent_view view;
    assert_int_equal(agents_at(world.agents, 0, &view), 0);
    assert_string_equal(view.name, "h2");
    assert_int_equal(agents_host_at(world.agents, 0), 1);
    assert_int_equal(agents_host_at(world.agents, 1), 0);
    assert_int_equal(agents_at(world.agents, 2, &view), -ENOENT);
}

static void switches_are_no_hosts(void **state)
{
    (void)state;
    hello(1, "sw", 7, 1)->role = duopoly_Role_ROLE_SWITCH;
    world.envelope.body.hello.units_count = 0;
    deliver(1);
    inventory_end(1, 0);
    message(1, duopoly_Envelope_load_tag, false);
    deliver(1);
    expect_facts("");
    join(2, "h1");
    message(2, duopoly_Envelope_load_tag, false);
    deliver(2);
    expect_facts("host_load(0) host_load(0) ");
    duopoly_Load *load = &message(2, duopoly_Envelope_load_tag, false)->body.load;
    load->has_disk_permille = true;
    deliver(2);
    expect_facts("host_load(0) host_load(0) "); /* it says no disk's rate */
    agents_mode(world.agents, world.now_ns, 1, 5);
    assert_non_null(strstr(world.sent, "1:mode#1 "));
    assert_int_equal(agents_hosts(world.agents), 1);
    until(60 * S);
    struct agent_view view;
    assert_int_equal(agents_named(world.agents, "sw", &view), 0);
    assert_int_equal(view.state, AGENT_LOST);
}

/* Whatever comes in whatever order: no crash, no event for a host that never joined, no leak. */
static void random_messages_are_survived(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int i = 0; i < 20000; i++) {
        uint64_t peer = 1 + test_random(&stream) % 5;
        uint64_t choice = test_random(&stream) % 16;
        *world.facts = *world.sent = '\0';
        world.deaf = test_random(&stream) % 8 == 0 ? 1 + test_random(&stream) % 5 : 0;
        if (choice < 2) {
            hello(peer, (const char *[]){"h1", "h2", "h3", "h4"}[test_random(&stream) % 4],
                  test_random(&stream) % 3, test_random(&stream) % 100);
            deliver(peer);
        } else if (choice < 4) {
            inventory_end(peer, (uint32_t)(test_random(&stream) % 2));
        } else if (choice < 6) {
            duopoly_InventoryPart *part =
                &message(peer, duopoly_Envelope_inventory_part_tag, true)->body.inventory_part;
            part->part = (uint32_t)(test_random(&stream) % 2);
            part->attempts_count = (pb_size_t)(test_random(&stream) % 4);
            for (pb_size_t j = 0; j < part->attempts_count; j++)
                part->attempts[j] = (duopoly_AttemptState){
                    .attempt = test_random(&stream) % 9,
                    .phase = (duopoly_AttemptPhase)(test_random(&stream) % 12)};
            deliver(peer);
        } else if (choice < 9) {
            state_send(peer, test_random(&stream) % 9,
                       (duopoly_AttemptPhase)(test_random(&stream) % 12));
        } else if (choice < 11 && agents_hosts(world.agents)) {
            uint32_t place = (uint32_t)(test_random(&stream) % agents_hosts(world.agents));
            start(agents_host_at(world.agents, place), test_random(&stream) % 9, 2);
        } else if (choice < 12) {
            agents_mode(world.agents, world.now_ns, 1, (uint64_t)i);
        } else if (choice < 13) {
            until(world.now_ns + (int64_t)(test_random(&stream) % (uint64_t)(40 * S)));
        } else {
            message(peer, (pb_size_t)(test_random(&stream) % 90), test_random(&stream) % 2);
            if (world.envelope.which_body != duopoly_Envelope_hello_tag)
                deliver(peer);
        }
        agents_settle(world.agents, world.ticket);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_agent_joins_with_its_inventory),
        CASE(absurd_amounts_are_cut),
        CASE(wrong_hellos_are_refused),
        CASE(the_newest_session_wins),
        CASE(a_second_host_of_a_name_waits),
        CASE(what_does_not_fit_ends_the_session),
        CASE(duplicates_and_unknown_kinds_are_counted),
        CASE(a_deaf_peer_loses_its_session),
        CASE(a_host_without_room_is_silent),
        CASE(a_host_without_room_joins_as_silent),
        CASE(unanswered_bytes_are_bounded_for_all_together),
        CASE(strangers_are_answered_so_often),
        CASE(silence_is_told_then_loss),
        CASE(starts_are_asked_for_then_lost),
        CASE(a_new_session_settles_what_was_under_way),
        CASE(a_new_boot_forgets_the_old_attempts),
        CASE(inventories_are_bounded_and_whole),
        CASE(attempts_that_an_agent_brings_are_bounded),
        CASE(known_hosts_are_waited_for),
        CASE(the_wait_for_known_hosts_ends),
        CASE(restored_hosts_are_silent_until_they_speak),
        CASE(ends_are_acknowledged_when_they_are_kept),
        CASE(a_slow_disk_costs_no_session),
        CASE(an_inventory_waits_for_what_it_repeats),
        CASE(later_epochs_are_refused_with_a_way_out),
        CASE(what_ended_meanwhile_is_told_whole),
        CASE(decisions_go_where_they_belong),
        CASE(switches_are_no_hosts),
        CASE(random_messages_are_survived),
    };
    return cmocka_run_group_tests_name("agents", tests, NULL, NULL);
}
