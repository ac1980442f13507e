/* Whatever changes levels or mode reaches the nudge, and only what the driver took:
 * hostagent/marks/marks.c with the recorder as its driver and a nudge that only remembers. That
 * nobody else calls a driver is held by tests/lint/includes. */
#include "tests/unit/test.h"

#include "hostagent/marks/marks.h"

#include <errno.h>
#include <string.h>

#define TASKS 64 /* that the recorder takes */

/* In the place of hostagent/marks/nudge.c. */
struct nudge {
    uint64_t link_bps;
    uint32_t mode, modes_n, levels_n, forgotten_n, closed;
    struct mark_task_levels levels[2 * TASKS];
    uint64_t forgotten[4];
    bool paused;
};
static struct nudge told;
static int open_answer;

int nudge_open(const struct mark_config *marks, uint64_t link_bps, uint32_t mode, sd_event *event,
               struct nudge **ret_nudge, struct err *err)
{
    (void)marks;
    (void)event;
    if (open_answer < 0)
        return err_set(err, -open_answer, "this kernel lists no sockets");
    told = (struct nudge){.link_bps = link_bps, .mode = mode};
    *ret_nudge = &told;
    return 0;
}

void nudge_close(struct nudge *nudge)
{
    if (nudge)
        nudge->closed++;
}

void nudge_levels(struct nudge *nudge, const struct mark_task_levels *levels)
{
    if (nudge)
        nudge->levels[nudge->levels_n++] = *levels;
}

void nudge_mode(struct nudge *nudge, uint32_t mode)
{
    if (!nudge)
        return;
    nudge->mode = mode;
    nudge->modes_n++;
}

void nudge_pause(struct nudge *nudge, bool paused)
{
    if (nudge)
        nudge->paused = paused;
}

void nudge_forget(struct nudge *nudge, uint64_t cgroup)
{
    if (nudge)
        nudge->forgotten[nudge->forgotten_n++] = cgroup;
}

void nudge_count(const struct nudge *nudge, struct nudge_counters *ret_counters)
{
    *ret_counters = (struct nudge_counters){.connections = nudge ? nudge->levels_n : 0};
}

static const struct mark_config config = {.driver = "recorder", .reach = MARK_REACH_QUEUES};

static struct marks *open_with_nudge(void)
{
    const struct marks_nudging nudging = {.link_bps = 5};
    struct marks *marks = NULL;
    assert_int_equal(marks_open(&config, &nudging, &marks, NULL), 0);
    return marks;
}

static void test_marks_that_reach_nothing_renew_no_lease_and_nudge_nobody(void **state)
{
    (void)state;
    struct marks *marks = open_with_nudge();
    assert_false(told.paused);
    assert_int_equal(marks_reach(marks, MARK_REACH_NOTHING, NULL), 0);
    assert_true(told.paused);
    assert_int_equal(marks_renew(marks, 5, NULL), 0);
    assert_int_equal(marks_reach(marks, MARK_REACH_PACKETS, NULL), 0);
    assert_false(told.paused);
    assert_int_equal(marks_renew(marks, 6, NULL), 0);
    marks_close(marks);
}

static void test_changes_reach_the_nudge(void **state)
{
    (void)state;
    const struct mark_task_levels levels[2] = {{.cgroup = 11, .coflow = 1, .macroflow = 2},
                                               {.cgroup = 12, .coflow = MARK_UNMARKED}};
    struct nudge_counters counters;
    struct marks *marks = open_with_nudge();
    assert_int_equal(told.link_bps, 5);
    assert_int_equal(told.mode, 0);
    assert_int_equal(marks_set_levels(marks, levels, 2, NULL), 0);
    assert_int_equal(told.levels_n, 2);
    assert_memory_equal(told.levels, levels, sizeof(levels));
    assert_int_equal(marks_set_mode(marks, 1, NULL), 0);
    assert_int_equal(told.mode, 1);
    assert_int_equal(marks_end_task(marks, 11, NULL), 0);
    assert_int_equal(marks_forget_task(marks, 12, NULL), 0);
    assert_int_equal(told.forgotten_n, 2);
    assert_int_equal(told.forgotten[0], 11);
    assert_int_equal(told.forgotten[1], 12);
    marks_count_nudges(marks, &counters);
    assert_int_equal(counters.connections, 2);
    marks_close(marks);
    assert_int_equal(told.closed, 1);
}

static void test_what_the_driver_refuses_does_not(void **state)
{
    (void)state;
    struct err err = {0};
    struct mark_task_levels levels[TASKS + 2];
    struct marks *marks = open_with_nudge();
    assert_int_equal(marks_set_mode(marks, 2, &err), -EINVAL);
    assert_int_equal(told.modes_n, 0);
    for (uint32_t i = 0; i < TASKS + 2; i++)
        levels[i] = (struct mark_task_levels){.cgroup = i + 1};
    assert_int_equal(marks_set_levels(marks, levels, TASKS + 2, &err), -E2BIG);
    assert_int_equal(told.levels_n, TASKS); /* those before it have theirs */
    assert_int_equal(told.levels[TASKS - 1].cgroup, TASKS);
    marks_close(marks);
}

static void test_marks_do_without_a_nudge(void **state)
{
    (void)state;
    const struct mark_task_levels levels = {.cgroup = 11};
    const struct marks_nudging nudging = {.link_bps = 5};
    for (int i = 0; i < 2; i++) {
        struct marks *marks = NULL;
        open_answer = -EOPNOTSUPP;
        assert_int_equal(marks_open(&config, i ? &nudging : NULL, &marks, NULL), 0);
        open_answer = 0;
        assert_int_equal(marks_set_levels(marks, &levels, 1, NULL), 0);
        assert_int_equal(marks_set_mode(marks, 1, NULL), 0);
        assert_int_equal(marks_end_task(marks, 11, NULL), 0);
        marks_close(marks);
    }
    marks_close(NULL);
}

static void test_an_unknown_driver_is_refused(void **state)
{
    (void)state;
    struct err err = {0};
    struct marks *marks = NULL;
    const struct mark_config unknown = {.driver = "nosuch"};
    assert_int_equal(marks_open(&unknown, NULL, &marks, &err), -EINVAL);
    assert_non_null(strstr(err.text, "nosuch"));
    assert_int_equal(marks_remove(&unknown, &err), -EINVAL);
    assert_true(marks_has_driver("ebpf"));
    assert_false(marks_has_driver("nosuch"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks_that_reach_nothing_renew_no_lease_and_nudge_nobody),
        cmocka_unit_test(test_changes_reach_the_nudge),
        cmocka_unit_test(test_what_the_driver_refuses_does_not),
        cmocka_unit_test(test_marks_do_without_a_nudge),
        cmocka_unit_test(test_an_unknown_driver_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
