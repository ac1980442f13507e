/* Clients over TCP, without a network: who is one, what waits while an answer does, and for how
 * many there is room. */
#include "tests/unit/test.h"

#include "controller/clients/remote.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct remote *remote;
static const struct key_holder ann = {"ann", ROLE_ADMIN};
static duopoly_Envelope envelope, answer;
static sd_event *loop;
static int messages, closed, sent, cut, rooms;
static bool full; /* peer 13 has no room */
static uint64_t last_client, last_sequence, last_cut;
static bool hold_each;

static int on_send(void *user, uint64_t peer, const duopoly_Envelope *message)
{
    (void)user;
    if (peer == 13 && full)
        return -ENOBUFS;
    answer = *message;
    sent++;
    return 0;
}

static void on_cut(void *user, uint64_t peer)
{
    (void)user;
    cut++;
    last_cut = peer;
}

static void on_message(void *user, uint64_t client, const duopoly_Envelope *message)
{
    (void)user;
    messages++;
    last_client = client;
    assert_true(message->sequence > last_sequence);
    last_sequence = message->sequence;
    if (hold_each)
        remote_hold(remote, client, true);
}

static void on_close(void *user, uint64_t client)
{
    (void)user, (void)client;
    closed++;
}

static void on_room(void *user, uint64_t client)
{
    (void)user;
    assert_true(client == last_client);
    rooms++;
}

static int remote_open(void **state)
{
    const struct remote_hooks hooks = {.send = on_send,
                                       .cut = on_cut,
                                       .on_message = on_message,
                                       .on_close = on_close,
                                       .on_room = on_room};
    (void)state;
    assert_true(sd_event_new(&loop) >= 0);
    full = true;
    messages = closed = sent = cut = rooms = 0;
    last_client = last_sequence = last_cut = 0;
    hold_each = false;
    return remote_create(loop, &hooks, 2 * REMOTE_CLIENTS, &remote);
}

static int remote_end(void **state)
{
    (void)state;
    remote_destroy(remote);
    sd_event_unref(loop);
    return 0;
}

static void say(uint64_t peer, uint64_t sequence)
{
    wire_begin(&envelope, duopoly_Envelope_get_status_tag)->sequence = sequence;
    remote_message(remote, peer, &ann, &envelope);
}

static void a_client_is_a_connection_until_it_is_gone(void **state)
{
    (void)state;
    say(7, 1);
    uint64_t client = last_client;
    assert_true(client & REMOTE_BIT);
    assert_string_equal(remote_who(remote, client)->name, "ann");
    say(7, 2);
    assert_true(last_client == client);
    assert_int_equal(remote_send(remote, client, &envelope), 0);
    remote_gone(remote, 7);
    remote_gone(remote, 7);
    assert_int_equal(closed, 1);
    assert_null(remote_who(remote, client));
    assert_int_equal(remote_send(remote, client, &envelope), -EHOSTUNREACH);
    say(7, 3);
    assert_true(last_client != client);
}

static void what_a_held_client_says_waits_in_order(void **state)
{
    (void)state;
    hold_each = true;
    for (uint64_t i = 1; i <= 5; i++)
        say(7, i);
    assert_int_equal(messages, 1);
    remote_hold(remote, last_client, false); /* each is held again */
    assert_int_equal(messages, 2);
    hold_each = false;
    remote_hold(remote, last_client, false);
    assert_int_equal(messages, 5);
    say(7, 6);
    assert_int_equal(messages, 6);
}

static void who_says_too_much_while_he_is_held_is_cut(void **state)
{
    (void)state;
    hold_each = true;
    for (uint64_t i = 1; i <= 1 + REMOTE_WAITING; i++)
        say(7, i);
    assert_int_equal(cut, 0);
    say(7, 2 + REMOTE_WAITING);
    assert_int_equal(cut, 1);
    assert_true(last_cut == 7);
    remote_gone(remote, 7);
    assert_int_equal(messages, 1);
}

static struct key_holder holder(const char *kind, enum role role, uint32_t number)
{
    struct key_holder who = {.role = role};
    snprintf(who.name, sizeof(who.name), "%s%u", kind, number);
    return who;
}

/* So many connections of a key ask; how many are served. */
static int served_of(const struct key_holder *who, uint64_t *peer, int n)
{
    const int before = messages;
    for (int i = 0; i < n; i++, (*peer)++) {
        wire_begin(&envelope, duopoly_Envelope_get_status_tag)->sequence = *peer;
        remote_message(remote, *peer, who, &envelope);
    }
    return messages - before;
}

static void there_is_room_for_so_many(void **state)
{
    uint64_t peer = 100;
    (void)state;
    for (uint32_t key = 0; key < 4; key++) {
        struct key_holder who = holder("adm", ROLE_ADMIN, key);
        assert_int_equal(served_of(&who, &peer, 100), REMOTE_CLIENTS / 4);
        assert_int_equal(answer.body.refused.reason, duopoly_Reason_REASON_LIMIT);
    }
    struct key_holder late = holder("adm", ROLE_ADMIN, 9);
    assert_int_equal(served_of(&late, &peer, 1), 0);
    remote_gone(remote, 100);
    assert_int_equal(served_of(&late, &peer, 2), 1);
}

/* However many keys they have. */
static void who_may_less_keeps_nobody_out_who_may_more(void **state)
{
    static const struct {
        enum role role;
        int share; /* in sixteenths, with those before */
    } roles[] = {{ROLE_READER, 8}, {ROLE_SCHEDULER, 12}, {ROLE_OPERATOR, 15}, {ROLE_ADMIN, 16}};
    uint64_t peer = 100;
    int served = 0;
    (void)state;
    for (size_t r = 0; r < sizeof(roles) / sizeof(roles[0]); r++) {
        for (uint32_t key = 0; key < 10; key++) {
            struct key_holder who = holder(role_name(roles[r].role), roles[r].role, key);
            served += served_of(&who, &peer, REMOTE_CLIENTS);
        }
        assert_int_equal(served, REMOTE_CLIENTS * roles[r].share / 16);
    }
}

static void places_come_back(void **state)
{
    struct key_holder reader = holder("rdr", ROLE_READER, 0);
    uint64_t peer = 100;
    (void)state;
    for (int round = 0; round < 5; round++) {
        const uint64_t first = peer;
        assert_int_equal(served_of(&reader, &peer, 100), REMOTE_CLIENTS / 4);
        for (uint64_t gone = first; gone < peer; gone++)
            remote_gone(remote, gone);
    }
}

/* Its answer waits, and what it asks meanwhile. */
static void who_has_no_room_is_served_when_it_has(void **state)
{
    (void)state;
    say(13, 1);
    uint64_t client = last_client;
    wire_begin(&envelope, duopoly_Envelope_status_tag)->sequence = 5;
    assert_true(remote_has_room(remote, client));
    assert_int_equal(remote_send(remote, client, &envelope), 0);
    assert_false(remote_has_room(remote, client));
    say(13, 2);
    sd_event_run(loop, UINT64_MAX);
    assert_true(sent == 0 && messages == 1 && cut == 0);
    full = false;
    sd_event_run(loop, UINT64_MAX);
    assert_true(sent == 1 && answer.sequence == 5 && messages == 2 && rooms == 1);
    assert_true(remote_has_room(remote, client));
}

static void what_waits_for_who_does_not_read_is_bounded(void **state)
{
    (void)state;
    say(13, 1);
    for (int i = 0; i < REMOTE_WAITING; i++)
        assert_int_equal(remote_send(remote, last_client, &envelope), 0);
    assert_int_equal(cut, 0);
    assert_int_equal(remote_send(remote, last_client, &envelope), -ENOBUFS);
    assert_true(cut == 1 && last_cut == 13);
    remote_gone(remote, 13);
    sd_event_run(loop, UINT64_MAX);
    assert_int_equal(rooms, 0);
}

/* Who has no place and says that he is there would keep a connection for nothing. */
static void a_word_that_one_is_there_is_no_request(void **state)
{
    (void)state;
    remote_message(remote, 7, &ann, wire_begin(&envelope, duopoly_Envelope_acknowledge_tag));
    assert_int_equal(messages, 0);
    assert_true(cut == 1 && last_cut == 7);
    say(8, 1);
    remote_message(remote, 8, &ann, wire_begin(&envelope, duopoly_Envelope_acknowledge_tag));
    assert_true(cut == 1 && messages == 1);
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, remote_open, remote_end)
    const struct CMUnitTest tests[] = {
        WITH(a_client_is_a_connection_until_it_is_gone),
        WITH(what_a_held_client_says_waits_in_order),
        WITH(who_says_too_much_while_he_is_held_is_cut),
        WITH(there_is_room_for_so_many),
        WITH(who_may_less_keeps_nobody_out_who_may_more),
        WITH(places_come_back),
        WITH(who_has_no_room_is_served_when_it_has),
        WITH(what_waits_for_who_does_not_read_is_bounded),
        WITH(a_word_that_one_is_there_is_no_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
