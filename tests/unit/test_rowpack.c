/* Rows that are packed are what they were, and what nanopb makes of them. */
#include "tests/unit/test.h"

#include "lib/rowpack.h"
#include "schemas/duopoly.pb.h"

#include <pb_decode.h>
#include <pb_encode.h>
#include <string.h>

enum { ROWS = 3000 };

/* Few enough values that rows are alike, and edges among them. */
static uint64_t some_number(uint64_t *stream)
{
    static const uint64_t numbers[] = {0, 0, 1, 127, 128, UINT32_MAX, UINT64_MAX, INT64_MAX};
    return numbers[test_random(stream) % (sizeof(numbers) / sizeof(numbers[0]))];
}

static void some_text(uint64_t *stream, char *text, size_t size)
{
    size_t length = test_random(stream) % 3 ? test_random(stream) % 4 : test_random(stream) % size;
    memset(text, 'a' + (int)(test_random(stream) % 2), length);
    text[length] = '\0';
}

static void change_one(uint64_t *stream, duopoly_TaskRow *row)
{
    const uint64_t number = some_number(stream);
    switch (test_random(stream) % 12) {
    case 0:
        row->job = number;
        break;
    case 1:
        row->task = (uint32_t)number;
        break;
    case 2:
        some_text(stream, row->state, sizeof(row->state));
        break;
    case 3:
        some_text(stream, row->text, sizeof(row->text));
        break;
    case 4:
        row->level = (int32_t)number;
        break;
    case 5:
        row->age_ns = (int64_t)number;
        break;
    case 6:
        row->compute_ns = -(int64_t)(number / 2);
        break;
    case 7:
        row->unmeasured = number & 1;
        break;
    case 8:
        row->has_variant = number & 1;
        row->variant = row->has_variant ? (uint32_t)(number >> 1) : 0;
        break;
    case 9:
        row->bytes = number;
        break;
    default:
        row->task++;
    }
}

static void assert_same(const duopoly_TaskRow *a, const duopoly_TaskRow *b)
{
    uint8_t x[512], y[512];
    pb_ostream_t to_x = pb_ostream_from_buffer(x, sizeof(x)),
                 to_y = pb_ostream_from_buffer(y, sizeof(y));
    assert_true(pb_encode(&to_x, duopoly_TaskRow_fields, a));
    assert_true(pb_encode(&to_y, duopoly_TaskRow_fields, b));
    assert_int_equal(to_x.bytes_written, to_y.bytes_written);
    assert_memory_equal(x, y, to_x.bytes_written);
}

static void rows_come_back_as_they_were(void **state)
{
    uint64_t stream = test_seed();
    duopoly_TaskRow row = duopoly_TaskRow_init_zero, before = row, seen = row;
    struct rowpack pack;
    size_t bytes = 0, plain = 0;
    (void)state;
    assert_true(rowpack_init(&pack, duopoly_TaskRow_fields, sizeof(row)));
    for (int i = 0; i < ROWS; i++) {
        uint8_t packed[512];
        size_t encoded;
        for (uint64_t changes = test_random(&stream) % 3; changes > 0; changes--)
            change_one(&stream, &row);
        const size_t length =
            rowpack_put(&pack, i % 100 ? &before : NULL, &row, packed, sizeof(packed));
        assert_true(length > 0);
        assert_int_equal(rowpack_take(&pack, packed, length, &seen), length);
        assert_same(&row, &seen);
        assert_true(pb_get_encoded_size(&encoded, duopoly_TaskRow_fields, &row));
        bytes += length;
        plain += encoded;
        before = row;
    }
    assert_true(bytes * 3 < plain);
}

/* A row that stands alone is a message, to the byte, where none of its optional fields is empty. */
static void a_row_alone_is_a_message(void **state)
{
    duopoly_TaskRow row = {.job = 7, .task = 300, .state = "ready", .level = -1, .age_ns = -5};
    uint8_t packed[512], message[512];
    pb_ostream_t out = pb_ostream_from_buffer(message, sizeof(message));
    struct rowpack pack;
    (void)state;
    assert_true(rowpack_init(&pack, duopoly_TaskRow_fields, sizeof(row)));
    const size_t length = rowpack_put(&pack, NULL, &row, packed, sizeof(packed));
    assert_true(pb_encode(&out, duopoly_TaskRow_fields, &row));
    assert_int_equal(packed[0], out.bytes_written << 1 | 1);
    assert_int_equal(length, out.bytes_written + 1);
    assert_memory_equal(packed + 1, message, out.bytes_written);
}

/* Of a task that follows another one its number differs: four bytes in all. */
static void a_row_that_is_alike_is_short(void **state)
{
    duopoly_TaskRow row = {.job = 1, .task = 300, .state = "ready", .level = -1, .age_ns = 5},
                    next = row;
    uint8_t packed[64];
    struct rowpack pack;
    (void)state;
    next.task++;
    assert_true(rowpack_init(&pack, duopoly_TaskRow_fields, sizeof(row)));
    assert_int_equal(rowpack_put(&pack, &row, &next, packed, sizeof(packed)), 4);
    assert_int_equal(rowpack_put(&pack, &row, &row, packed, sizeof(packed)), 1);
}

static void nothing_is_written_behind_its_room_or_read_behind_its_end(void **state)
{
    duopoly_TaskRow row = {.job = UINT64_MAX, .task = UINT32_MAX, .state = "ready"}, seen;
    struct rowpack pack;
    (void)state;
    memset(row.text, 'x', sizeof(row.text) - 1);
    assert_true(rowpack_init(&pack, duopoly_TaskRow_fields, sizeof(row)));
    uint8_t whole[512];
    const size_t length = rowpack_put(&pack, NULL, &row, whole, sizeof(whole));
    for (size_t room = 0; room < length; room++) {
        uint8_t *cut = malloc(room ? room : 1); /* a sanitizer sees its end */
        assert_non_null(cut);
        assert_int_equal(rowpack_put(&pack, NULL, &row, cut, room), 0);
        memcpy(cut, whole, room);
        assert_int_equal(rowpack_take(&pack, cut, room, &seen), 0);
        free(cut);
    }
}

static void what_is_malformed_is_refused(void **state)
{
    static const struct {
        const char *what;
        size_t size;
        uint8_t bytes[16];
    } cases[] = {
        {"a text where a number stands", 4, {3 << 1, 1 << 3 | 2, 1, 'x'}},
        {"a number that is too large for its member",
         7,
         {6 << 1, 2 << 3, 0xff, 0xff, 0xff, 0xff, 0x7f}},
        {"a text that is longer than the row", 4, {3 << 1, 5 << 3 | 2, 40, 'x'}},
        {"a group", 3, {2 << 1, 0xa3, 6}},
        {"a varint without an end",
         12,
         {11 << 1, 1 << 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}},
    };
    struct rowpack pack;
    duopoly_TaskRow row = duopoly_TaskRow_init_zero;
    (void)state;
    assert_true(rowpack_init(&pack, duopoly_TaskRow_fields, sizeof(row)));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (rowpack_take(&pack, cases[i].bytes, cases[i].size, &row))
            fail_msg("%s is taken", cases[i].what);
}

static void unknown_fields_are_passed_over_and_bad_texts_cleaned(void **state)
{
    /* Field 100 is not known here: a number, a text, 4 and 8 bytes. Then a state, and a task. */
    static const uint8_t bytes[] = {
        31 << 1, 0xa0, 6, 5, 0xa2, 6, 2, 'h', 'i', 0xa5,       6, 1,   2,    3,      4, 0xa1,
        6,       1,    2, 3, 4,    5, 6, 7,   8,   5 << 3 | 2, 2, 'a', 0xff, 3 << 3, 9};
    struct rowpack pack;
    duopoly_TaskRow row = {.job = 4};
    (void)state;
    assert_true(rowpack_init(&pack, duopoly_TaskRow_fields, sizeof(row)));
    uint8_t whole[sizeof(bytes)];
    memcpy(whole, bytes, sizeof(bytes));
    whole[0] = (sizeof(bytes) - 1) << 1;
    assert_int_equal(rowpack_take(&pack, whole, sizeof(whole), &row), sizeof(whole));
    assert_string_equal(row.state, "a?");
    assert_int_equal(row.task, 9);
    assert_int_equal(row.job, 4);
}

static void rows_with_parts_are_not_packed(void **state)
{
    struct rowpack pack;
    (void)state;
    assert_true(rowpack_init(&pack, duopoly_JobRow_fields, sizeof(duopoly_JobRow)));
    assert_false(rowpack_init(&pack, duopoly_HostRow_fields, sizeof(duopoly_HostRow)));
    assert_false(rowpack_init(&pack, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back_as_they_were),
        cmocka_unit_test(a_row_alone_is_a_message),
        cmocka_unit_test(a_row_that_is_alike_is_short),
        cmocka_unit_test(nothing_is_written_behind_its_room_or_read_behind_its_end),
        cmocka_unit_test(what_is_malformed_is_refused),
        cmocka_unit_test(unknown_fields_are_passed_over_and_bad_texts_cleaned),
        cmocka_unit_test(rows_with_parts_are_not_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
