/* Who watches hears of all ends in their order, as fast as it takes them, or how many it missed. */
#include "tests/unit/test.h"

#include "controller/clients/watchers.h"

#include <string.h>

enum { PLACES = 4 };

static sd_event *loop;
static struct watchers *watchers;
static uint64_t ended, heard[PLACES], last[PLACES], missed[PLACES], said;
static uint64_t room[PLACES]; /* messages that it takes still */

static bool has_room(void *user, uint64_t client)
{
    (void)user;
    return room[client] > 0;
}

static void on_send(void *user, uint64_t client, const duopoly_JobEvent *event)
{
    (void)user;
    assert_true(room[client]-- > 0);
    if (event->missed) {
        missed[client] += event->missed;
        last[client] += event->missed;
        return;
    }
    heard[client]++;
    assert_true(event->job > last[client]);
    last[client] = event->job;
}

static void on_missed(void *user, uint64_t client, uint64_t ends)
{
    (void)user;
    assert_true(missed[client] >= ends);
    said++;
}

static int begin(void **state)
{
    const struct watchers_hooks hooks = {has_room, on_send, on_missed, NULL};
    (void)state;
    memset(heard, 0, sizeof(heard));
    memset(last, 0, sizeof(last));
    memset(missed, 0, sizeof(missed));
    memset(room, 0, sizeof(room));
    ended = said = 0;
    assert_true(sd_event_new(&loop) >= 0);
    return watchers_open(loop, PLACES, &hooks, &watchers, NULL);
}

static int end(void **state)
{
    (void)state;
    watchers_close(watchers);
    sd_event_unref(loop);
    return 0;
}

static void jobs_end(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        duopoly_JobEvent event = {.job = ++ended};
        watchers_job_ended(watchers, &event);
    }
}

/* Until nothing is left to be told; how many turns. */
static int turns(void)
{
    int n = 0;
    while (sd_event_run(loop, 20000) > 0)
        n++;
    return n;
}

static void each_end_is_told_in_order_to_who_takes_it(void **state)
{
    (void)state;
    jobs_end(3);
    watchers_add(watchers, 1, 1, 0);
    room[1] = UINT64_MAX;
    jobs_end(1000);
    assert_int_equal(heard[1], 0); /* nothing within the call */
    turns();
    assert_int_equal(heard[1], 1000);
    watchers_remove(watchers, 1);
    jobs_end(1);
    turns();
    assert_int_equal(heard[1], 1000);
}

static void who_reads_late_goes_on_where_it_was(void **state)
{
    (void)state;
    watchers_add(watchers, 1, 1, 0);
    watchers_add(watchers, 2, 2, 0);
    room[1] = 5, room[2] = UINT64_MAX;
    jobs_end(WATCHERS_ENDS);
    turns();
    assert_true(heard[1] == 5 && heard[2] == WATCHERS_ENDS);
    room[1] = UINT64_MAX;
    watchers_room(watchers);
    turns();
    assert_true(heard[1] == WATCHERS_ENDS && missed[1] == 0 && said == 0);
}

static void who_is_too_far_behind_is_told_how_far(void **state)
{
    (void)state;
    watchers_add(watchers, 1, 1, 0);
    jobs_end(WATCHERS_ENDS + 7);
    turns();
    assert_int_equal(heard[1], 0);
    room[1] = UINT64_MAX;
    watchers_room(watchers);
    turns();
    assert_true(missed[1] == 7 && said == 1 && heard[1] == WATCHERS_ENDS);
    assert_true(last[1] == ended);
}

static void who_watches_one_job_hears_of_that_one(void **state)
{
    (void)state;
    watchers_add(watchers, 3, 3, 5000);
    room[3] = UINT64_MAX;
    jobs_end(6000);
    turns();
    assert_true(heard[3] == 1 && last[3] == 5000);
}

/* Other things of the loop have their turn in between. */
static void many_ends_are_told_in_portions(void **state)
{
    (void)state;
    for (uint32_t place = 1; place < PLACES; place++) {
        watchers_add(watchers, place, place, 0);
        room[place] = 100;
    }
    jobs_end(WATCHERS_ENDS);
    turns();
    for (int i = 0; i < 100; i++) {
        room[1] += 16;
        watchers_room(watchers);
        turns();
        assert_int_equal(heard[1], 116 + 16 * i);
    }
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        WITH(each_end_is_told_in_order_to_who_takes_it),
        WITH(who_reads_late_goes_on_where_it_was),
        WITH(who_is_too_far_behind_is_told_how_far),
        WITH(who_watches_one_job_hears_of_that_one),
        WITH(many_ends_are_told_in_portions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
