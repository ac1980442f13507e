/* The store's writer: what nobody awaits is written with what somebody awaits, or in its time. */
#include "tests/unit/folder.h"

#include "controller/store/store.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

enum { IDLE = 200 };

static const struct store_bounds bounds = {
    .keep_ns = INT64_C(1) << 60, .finished_max = 1000, .bytes_max = UINT64_C(1) << 30};

static struct store *begun_at(const char *name)
{
    struct store *store;
    struct err err;
    if (store_open(path_of(name), NULL, &bounds, &store, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(store_begin(store, NULL, NULL, NULL, NULL), 0);
    return store;
}

static uint64_t handed(struct store *store, int value, bool awaited)
{
    char name[16];
    uint64_t ticket;
    snprintf(name, sizeof(name), "h%d", value);
    assert_int_equal(store_set(store, "drain", name, "yes"), 0);
    assert_int_equal(store_commit(store, awaited, &ticket), 0);
    return ticket;
}

static void settled(const struct store *store, uint64_t ticket)
{
    for (int i = 0; i < 20000 && !store_settled(store, ticket); i++)
        poll(NULL, 0, 1);
    assert_true(store_settled(store, ticket));
}

/* One commit, or two if the writer's second ends among them. */
static void what_nobody_awaits_is_written_together(void **state)
{
    (void)state;
    struct store *store = begun_at("together");
    struct store_writer_counters before, after;
    settled(store, handed(store, IDLE, true));
    store_counters(store, &before);
    for (int i = 0; i < IDLE; i++)
        handed(store, i, false);
    settled(store, handed(store, IDLE + 1, true));
    store_counters(store, &after);
    assert_int_equal(after.groups - before.groups, IDLE + 1);
    assert_in_range(after.commits - before.commits, 1, 2);
    assert_int_equal(store_close(store, NULL), 0);
}

static void what_nobody_awaits_is_written_in_its_time(void **state)
{
    (void)state;
    struct store *store = begun_at("in-time");
    settled(store, handed(store, 0, false));
    assert_int_equal(store_close(store, NULL), 0);
}

/* An answer may wait for rows that were handed over before. */
static void what_was_handed_over_is_awaited_later(void **state)
{
    (void)state;
    struct store *store = begun_at("later");
    struct store_writer_counters counters;
    uint64_t ticket, first = handed(store, 0, false);
    assert_int_equal(store_commit(store, true, &ticket), 0);
    assert_int_equal(ticket, first);
    store_await(store);
    settled(store, ticket);
    store_counters(store, &counters);
    assert_int_equal(counters.groups, 1);
    assert_int_equal(store_close(store, NULL), 0);
}

static void the_end_writes_what_nobody_awaits(void **state)
{
    (void)state;
    struct store *store = begun_at("end");
    for (int i = 0; i < IDLE; i++)
        handed(store, i, false);
    assert_int_equal(store_close(store, NULL), 0);
    store = begun_at("end");
    assert_string_equal(store_setting(store, "drain", "h199"), "yes");
    assert_int_equal(store_close(store, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_awaits_is_written_together),
        cmocka_unit_test(what_nobody_awaits_is_written_in_its_time),
        cmocka_unit_test(what_was_handed_over_is_awaited_later),
        cmocka_unit_test(the_end_writes_what_nobody_awaits),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
