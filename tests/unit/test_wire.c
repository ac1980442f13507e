/* The codec of the wire and the book-keeping of a session. */
#include "tests/unit/test.h"

#include "lib/wire.h"

#include <errno.h>
#include <string.h>

static duopoly_Envelope envelope, again;
static uint8_t bytes[WIRE_MAX_BYTES];

static void a_message_survives_the_wire(void **state)
{
    (void)state;
    size_t length;
    duopoly_Start *start = &wire_begin(&envelope, duopoly_Envelope_start_tag)->body.start;
    start->attempt = UINT64_C(7) << 32 | 1;
    start->has_resources = true;
    start->resources.slots = 1;
    strcpy(start->command, "reduce");
    envelope.sequence = 12;
    assert_int_equal(wire_encode(&envelope, bytes, sizeof(bytes), &length, NULL), 0);
    assert_int_equal(wire_decode(bytes, length, &again, NULL), 0);
    assert_int_equal(again.version, WIRE_VERSION_MAX);
    assert_int_equal(again.which_body, duopoly_Envelope_start_tag);
    assert_int_equal(again.body.start.attempt, start->attempt);
    assert_string_equal(again.body.start.command, "reduce");
    assert_string_equal(wire_kind_name(again.which_body), "start");
}

/* Of the message itself, of its parts and of lists of parts: whoever is told on can read it. */
static void what_is_no_utf8_is_none_any_more(void **state)
{
    (void)state;
    size_t length;
    duopoly_GuestsPart *guests =
        &wire_begin(&envelope, duopoly_Envelope_guests_part_tag)->body.guests_part;
    guests->applications_count = 2;
    strcpy(guests->applications[0].name, "app \xc3\xa9");
    strcpy(guests->applications[1].name, "app \xc3");
    strcpy(guests->applications[1].text, "\xff\xfe\xc0\x80 \xed\xa0\x80 \x1b[2J");
    assert_int_equal(wire_encode(&envelope, bytes, sizeof(bytes), &length, NULL), 0);
    assert_int_equal(wire_decode(bytes, length, &again, NULL), 0);
    assert_string_equal(again.body.guests_part.applications[0].name, "app \xc3\xa9");
    assert_string_equal(again.body.guests_part.applications[1].name, "app ?");
    assert_string_equal(again.body.guests_part.applications[1].text, "???? ??? \x1b[2J");

    strcpy(wire_begin(&envelope, duopoly_Envelope_host_state_tag)->body.host_state.queues, "\x80");
    assert_int_equal(wire_encode(&envelope, bytes, sizeof(bytes), &length, NULL), 0);
    assert_int_equal(wire_decode(bytes, length, &again, NULL), 0);
    assert_string_equal(again.body.host_state.queues, "?");

    wire_begin(&envelope, duopoly_Envelope_key_set_tag)->body.key_set.keys_count = 1;
    strcpy(envelope.body.key_set.keys[0].name, "h\xf5");
    assert_int_equal(wire_encode(&envelope, bytes, sizeof(bytes), &length, NULL), 0);
    assert_int_equal(wire_decode(bytes, length, &again, NULL), 0);
    assert_string_equal(again.body.key_set.keys[0].name, "h?");
}

static void bounds_are_kept(void **state)
{
    (void)state;
    struct err err;
    size_t length;
    wire_begin(&envelope, duopoly_Envelope_hello_tag);
    memset(envelope.body.hello.name, 'x', 63);
    assert_int_equal(wire_encode(&envelope, bytes, 16, &length, &err), -EMSGSIZE);
    assert_int_equal(wire_decode(bytes, WIRE_MAX_BYTES + 1, &again, &err), -EMSGSIZE);
    assert_int_equal(wire_encode(&envelope, bytes, sizeof(bytes), &length, &err), 0);
    assert_int_equal(wire_decode(bytes, length - 1, &again, &err), -EBADMSG);
    /* field 10 (hello), 3 (name): a string one byte longer than its bound */
    uint8_t longer[3 + 2 + 64] = {10 << 3 | 2, 66, 3 << 3 | 2, 64};
    memset(longer + 4, 'x', 64);
    assert_int_equal(wire_decode(longer, 68, &again, &err), -EBADMSG);
}

static void unknown_kinds_and_fields_decode_to_nothing(void **state)
{
    (void)state;
    const uint8_t kind[] = {0x08, 1,    0x9a, 0x3f,
                            2,    0x08, 5}; /* version 1, field 1011 with a message in it */
    const uint8_t field[] = {0x08, 1, 0x72, 3, 0xf8, 0x07, 5}; /* load with an unknown field 127 */
    assert_int_equal(wire_decode(kind, sizeof(kind), &envelope, NULL), 0);
    assert_int_equal(envelope.which_body, 0);
    assert_string_equal(wire_kind_name(envelope.which_body), "unknown");
    assert_int_equal(wire_decode(field, sizeof(field), &envelope, NULL), 0);
    assert_int_equal(envelope.which_body, duopoly_Envelope_load_tag);
}

/* Every kind of the schema has a name here, and no other number has. */
static void kinds_have_names(void **state)
{
    (void)state;
    int known = 0;
    for (unsigned kind = 16; kind < 200; kind++) {
        unsigned key = kind << 3 | 2;
        const uint8_t empty[] = {(uint8_t)(key | 0x80), (uint8_t)(key >> 7), 0};
        assert_int_equal(wire_decode(empty, sizeof(empty), &envelope, NULL), 0);
        bool named = strcmp(wire_kind_name((pb_size_t)kind), "unknown") != 0;
        assert_int_equal(envelope.which_body == kind, named);
        known += named;
    }
    assert_int_equal(known, 100);
}

static void text_is_cut_between_characters(void **state)
{
    (void)state;
    char field[8];
    wire_copy(field, sizeof(field), "abc");
    assert_string_equal(field, "abc");
    wire_copy(field, sizeof(field), "1234567");
    assert_string_equal(field, "1234567");
    wire_copy(field, sizeof(field), "123456\xc3\xa9"); /* é */
    assert_string_equal(field, "123456");
    assert_true(wire_name_valid("rack-1.host_2:x"));
    assert_false(wire_name_valid(""));
    assert_false(wire_name_valid("a b"));
    assert_false(wire_name_valid("a/b"));
    assert_false(wire_name_valid("a\xc3\xa9"));
    assert_false(
        wire_name_valid("0123456789012345678901234567890123456789012345678901234567890123"));
}

static void versions_and_hellos_are_compared(void **state)
{
    (void)state;
    assert_int_equal(wire_version_agree(1, 9), 1);
    assert_int_equal(wire_version_agree(2, 9), 0);
    assert_int_equal(wire_version_agree(0, 0), 0);
    assert_true(wire_hello_newer(1, 5, 1, 6));
    assert_false(wire_hello_newer(1, 5, 1, 5));
    assert_true(wire_hello_newer(1, 5, 2, 1));
}

static duopoly_Envelope *message(uint64_t sequence, uint64_t acknowledged)
{
    wire_begin(&envelope, duopoly_Envelope_acknowledge_tag);
    envelope.epoch = 3;
    envelope.sequence = sequence;
    envelope.acknowledged = acknowledged;
    return &envelope;
}

static void session_tells_what_is_wrong(void **state)
{
    (void)state;
    struct wire_session s;
    wire_session_init(&s, 1, 3);
    assert_int_equal(wire_session_accept(&s, message(1, 0)), WIRE_TAKE);
    assert_int_equal(wire_session_accept(&s, message(1, 0)), WIRE_DUPLICATE);
    assert_int_equal(wire_session_accept(&s, message(3, 0)), WIRE_GAP);
    assert_int_equal(wire_session_accept(&s, message(2, 0)), WIRE_TAKE);
    assert_int_equal(wire_session_accept(&s, message(0, 1)), WIRE_NONSENSE);
    message(0, 0)->epoch = 2;
    assert_int_equal(wire_session_accept(&s, &envelope), WIRE_EPOCH);
    message(0, 0)->epoch = 4;
    assert_int_equal(wire_session_accept(&s, &envelope), WIRE_NONSENSE);
    message(0, 0)->version = 2;
    assert_int_equal(wire_session_accept(&s, &envelope), WIRE_NONSENSE);
    assert_int_equal(wire_session_accept(&s, message(0, 0)), WIRE_TAKE);
}

static void session_window_is_bounded(void **state)
{
    (void)state;
    struct wire_session s;
    wire_session_init(&s, 1, 3);
    for (uint64_t i = 1; i <= WIRE_WINDOW; i++) {
        assert_int_equal(wire_session_stamp(&s, &envelope, true), 0);
        assert_int_equal(envelope.sequence, i);
        assert_int_equal(wire_session_accept(&s, message(i, 0)), WIRE_TAKE);
    }
    assert_int_equal(wire_session_stamp(&s, &envelope, true), -ENOBUFS);
    assert_int_equal(wire_session_stamp(&s, &envelope, false), 0);
    assert_int_equal(envelope.sequence, 0);
    assert_int_equal(wire_session_accept(&s, message(WIRE_WINDOW + 1, 0)), WIRE_NONSENSE);
    wire_session_effected(&s, 1);
    assert_int_equal(wire_session_accept(&s, message(WIRE_WINDOW + 1, 1)), WIRE_TAKE);
    assert_int_equal(wire_session_stamp(&s, &envelope, true), 0);
    assert_int_equal(envelope.acknowledged, 1);
}

/* Effects come in any order: what is acknowledged is always the largest number below which
 * everything took effect. */
static void session_acknowledges_what_took_effect(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    struct wire_session s;
    static bool effected[20000];
    uint64_t received = 0, contiguous = 0;
    memset(effected, 0, sizeof(effected));
    wire_session_init(&s, 1, 3);
    while (received < 19000) {
        if (received - contiguous < WIRE_WINDOW && test_random(&stream) % 2)
            assert_int_equal(wire_session_accept(&s, message(++received, 0)), WIRE_TAKE);
        uint64_t which =
            contiguous + test_random(&stream) % (test_random(&stream) % 8 ? 4 : WIRE_WINDOW);
        if (which >= 1 && which <= received)
            effected[which] = true;
        wire_session_effected(&s, which);
        while (effected[contiguous + 1])
            contiguous++;
        assert_int_equal(s.effected, contiguous);
        wire_session_stamp(&s, &envelope, false);
        assert_int_equal(envelope.acknowledged, contiguous);
        assert_false(wire_session_owes(&s));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_survives_the_wire),
        cmocka_unit_test(what_is_no_utf8_is_none_any_more),
        cmocka_unit_test(bounds_are_kept),
        cmocka_unit_test(unknown_kinds_and_fields_decode_to_nothing),
        cmocka_unit_test(kinds_have_names),
        cmocka_unit_test(text_is_cut_between_characters),
        cmocka_unit_test(versions_and_hellos_are_compared),
        cmocka_unit_test(session_tells_what_is_wrong),
        cmocka_unit_test(session_window_is_bounded),
        cmocka_unit_test(session_acknowledges_what_took_effect),
    };
    return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
