/* Levels and bytes of tasks that share a guest's connections (hostagent/guests/guest_tasks.c),
 * beside a model that looks at every byte; and which allow a task goes by (guest_allows.c). */
#include "tests/unit/test.h"

#include "hostagent/guests/guest_allows.h"
#include "hostagent/guests/guest_tasks.h"
#include "hostagent/marks/mark_abi.h"

#include <errno.h>
#include <string.h>

#define ATTEMPTS 6
#define S        UINT64_C(1000000000)

static int begin(struct guest_tasks *tasks, uint32_t attempt, struct guest_task_levels levels,
                 uint64_t bytes)
{
    const duopoly_GuestTask said = {.attempt = attempt, .job = 1, .stage = 2, .task = attempt};
    return guest_tasks_begin(tasks, &said, 0, levels, bytes);
}

static void test_an_allow_that_comes_after_its_task(void **state)
{
    (void)state;
    struct guest_tasks tasks = {0};
    const struct guest_task_levels none = {MARK_UNMARKED, MARK_UNMARKED};
    duopoly_Allow allow = {.allow = 9, .job = 1, .stage = 2, .task = 6, .coflow_level = 3};
    const duopoly_GuestTask numbered = {.attempt = 8, .allow = 7, .job = 1, .stage = 2, .task = 6};
    assert_int_equal(begin(&tasks, 5, none, 0), 0);
    assert_int_equal(guest_tasks_begin(&tasks, &numbered, 0, none, 0), 0);
    assert_false(guest_tasks_allow(&tasks, &allow)); /* another task's, and another's number */
    allow.task = 5;
    assert_true(guest_tasks_allow(&tasks, &allow));
    assert_int_equal(guest_tasks_levels(&tasks).coflow, 3);
    allow.allow = 10;
    assert_false(guest_tasks_allow(&tasks, &allow)); /* it has another one's levels */
    allow.allow = 7;
    allow.coflow_level = 1;
    assert_true(guest_tasks_allow(&tasks, &allow));
    assert_int_equal(guest_tasks_levels(&tasks).coflow, 1);
    guest_tasks_done(&tasks);
}

static void test_an_allow_whose_levels_change(void **state)
{
    (void)state;
    struct guest_tasks tasks = {0};
    duopoly_Allow allow = {.allow = 9, .job = 1, .stage = 2, .task = 6, .coflow_level = 3};
    const duopoly_GuestTask said = {.attempt = 8, .job = 1, .stage = 2, .task = 4};
    assert_int_equal(guest_tasks_begin(&tasks, &said, 9, (struct guest_task_levels){5, 5}, 0), 0);
    assert_true(guest_tasks_allow(&tasks, &allow)); /* though another partition was meant */
    assert_int_equal(guest_tasks_levels(&tasks).coflow, 3);
    guest_tasks_done(&tasks);
}

static void test_the_most_urgent_wins(void **state)
{
    (void)state;
    struct guest_tasks tasks = {0};
    struct guest_running ended;
    assert_int_equal(guest_tasks_levels(&tasks).coflow, MARK_UNMARKED);
    assert_int_equal(begin(&tasks, 1, (struct guest_task_levels){5, 2}, 0), 0);
    assert_int_equal(begin(&tasks, 2, (struct guest_task_levels){3, 7}, 0), 0);
    assert_int_equal(guest_tasks_levels(&tasks).coflow, 3);
    assert_int_equal(guest_tasks_levels(&tasks).macroflow, 2);
    assert_true(guest_tasks_relabel(&tasks, 1, (struct guest_task_levels){0, 0}));
    assert_false(guest_tasks_relabel(&tasks, 3, (struct guest_task_levels){0, 0}));
    assert_int_equal(guest_tasks_levels(&tasks).coflow, 0);
    assert_true(guest_tasks_end(&tasks, 1, 0, &ended));
    assert_false(guest_tasks_end(&tasks, 1, 0, &ended));
    assert_int_equal(guest_tasks_levels(&tasks).coflow, 3);
    guest_tasks_clear(&tasks, 0);
    assert_int_equal(guest_tasks_levels(&tasks).coflow, MARK_UNMARKED);
    guest_tasks_done(&tasks);
}

static void test_too_many_are_refused(void **state)
{
    (void)state;
    struct guest_tasks tasks = {0};
    for (uint32_t i = 0; i < GUEST_TASKS; i++)
        assert_int_equal(begin(&tasks, i, (struct guest_task_levels){4, 4}, 0), 0);
    assert_int_equal(begin(&tasks, GUEST_TASKS, (struct guest_task_levels){0, 0}, 0), -E2BIG);
    assert_int_equal(begin(&tasks, 7, (struct guest_task_levels){1, 1}, 0), 0);
    assert_int_equal(guest_tasks_levels(&tasks).coflow, 1);
    guest_tasks_done(&tasks);
}

/* Each byte is counted by its time: by how many ran then. */
static void test_random_tasks(void **state)
{
    (void)state;
    struct guest_tasks tasks = {0};
    uint64_t stream = test_seed(), bytes = 0, shared = 0, begun = 0;
    struct {
        bool runs, shared;
        uint64_t received;
        uint8_t level;
    } model[ATTEMPTS] = {0};
    for (int step = 0; step < 20000; step++) {
        uint32_t attempt = (uint32_t)(test_random(&stream) % ATTEMPTS), running = 0;
        uint64_t more = test_random(&stream) % 1000;
        uint8_t level = (uint8_t)(test_random(&stream) % MARK_LEVELS), most = MARK_UNMARKED;
        for (int i = 0; i < ATTEMPTS; i++)
            running += model[i].runs;
        for (int i = 0; i < ATTEMPTS; i++)
            model[i].received += model[i].runs ? more : 0;
        bytes += more;
        shared += running > 1 ? more : 0;
        if (model[attempt].runs) {
            struct guest_running ended;
            assert_true(guest_tasks_end(&tasks, attempt, bytes, &ended));
            assert_int_equal(bytes - ended.begin_bytes, model[attempt].received);
            assert_int_equal(ended.shared, model[attempt].shared);
            model[attempt].runs = false;
        } else {
            assert_int_equal(
                begin(&tasks, attempt, (struct guest_task_levels){level, level}, bytes), 0);
            model[attempt].runs = true;
            model[attempt].received = 0;
            model[attempt].level = level;
            model[attempt].shared = running > 0;
            for (int i = 0; i < ATTEMPTS; i++)
                model[i].shared |= model[i].runs && running > 0;
            begun++;
        }
        for (int i = 0; i < ATTEMPTS; i++)
            if (model[i].runs && model[i].level < most)
                most = model[i].level;
        assert_int_equal(guest_tasks_levels(&tasks).coflow, most);
        assert_int_equal(tasks.shared_bytes, shared);
        assert_int_equal(tasks.begun, begun);
    }
    guest_tasks_done(&tasks);
}

static void allow(struct guest_allows *allows, uint64_t number, uint32_t stage, uint32_t task,
                  uint32_t level, uint32_t until_ms)
{
    const duopoly_Allow one = {.allow = number,
                               .job = 1,
                               .stage = stage,
                               .task = task,
                               .coflow_level = level,
                               .macroflow_level = level,
                               .until_ms = until_ms};
    guest_allows_add(allows, &one, 10 * S);
}

static uint64_t used(struct guest_allows *allows, uint64_t number, uint32_t stage, uint32_t task,
                     uint64_t now_ns)
{
    const duopoly_GuestTask wanted = {.allow = number, .job = 1, .stage = stage, .task = task};
    struct guest_allow found;
    return guest_allows_use(allows, &wanted, now_ns, &found) ? found.allow : 0;
}

static void test_which_allow_a_task_goes_by(void **state)
{
    (void)state;
    struct guest_allows allows = {0};
    allow(&allows, 1, 0, 0, 3, 5000);
    allow(&allows, 2, 0, 1, 3, 5000);
    allow(&allows, 3, 1, 0, 3, 1000);
    assert_int_equal(used(&allows, 9, 2, 0, 10 * S), 0);
    assert_int_equal(used(&allows, 1, 1, 0, 10 * S), 1); /* its number goes before its place */
    assert_int_equal(used(&allows, 1, 5, 0, 10 * S), 0); /* once */
    assert_int_equal(used(&allows, 0, 1, 0, 11 * S), 0); /* not in force any more */
    assert_int_equal(used(&allows, 0, 0, 7, 11 * S), 2); /* another one of the stage */
    for (uint64_t i = 0; i < 2 * GUEST_ALLOWS; i++)
        allow(&allows, 100 + i, 2, (uint32_t)i, 3, 5000);
    assert_int_equal(used(&allows, 100, 9, 0, 11 * S), 0); /* the oldest are gone */
    assert_int_equal(used(&allows, 100 + 2 * GUEST_ALLOWS - 1, 9, 0, 11 * S),
                     100 + 2 * GUEST_ALLOWS - 1);
}

static void test_an_allow_is_told_again(void **state)
{
    (void)state;
    struct guest_allows allows = {0};
    const duopoly_GuestTask wanted = {.job = 1, .stage = 2, .task = 3};
    struct guest_allow found;
    allow(&allows, 1, 2, 3, 6, 5000);
    allow(&allows, 1, 2, 3, 4, 5000);
    assert_true(guest_allows_use(&allows, &wanted, 10 * S, &found));
    assert_int_equal(found.coflow, 4);
    assert_false(guest_allows_use(&allows, &wanted, 10 * S, &found));
}

static bool awaited(struct guest_allows *allows, uint32_t attempt, uint64_t now_ns, uint8_t *ret)
{
    uint8_t macroflow;
    return guest_allows_awaited(allows, attempt, now_ns, ret, &macroflow);
}

static void test_levels_that_come_before_their_task(void **state)
{
    (void)state;
    struct guest_allows allows = {0};
    duopoly_TaskLevels levels = {.attempt = 7, .coflow_level = 6, .macroflow_level = 2};
    uint8_t level = 0;
    assert_false(awaited(&allows, 7, S, &level));
    guest_allows_await(&allows, &levels, S);
    levels.coflow_level = 4;
    guest_allows_await(&allows, &levels, S);
    assert_true(awaited(&allows, 7, S, &level));
    assert_int_equal(level, 4);
    assert_false(awaited(&allows, 7, S, &level)); /* once */
    guest_allows_await(&allows, &levels, S);
    assert_false(awaited(&allows, 7, S + GUEST_AWAIT_NS, &level));
    for (uint32_t i = 0; i < 2 * GUEST_ALLOWS; i++) {
        levels.attempt = 100 + i;
        guest_allows_await(&allows, &levels, S);
    }
    assert_false(awaited(&allows, 100, S, &level)); /* the oldest are gone */
    assert_true(awaited(&allows, 100 + 2 * GUEST_ALLOWS - 1, S, &level));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_allow_that_comes_after_its_task),
        cmocka_unit_test(test_an_allow_whose_levels_change),
        cmocka_unit_test(test_the_most_urgent_wins),
        cmocka_unit_test(test_too_many_are_refused),
        cmocka_unit_test(test_random_tasks),
        cmocka_unit_test(test_which_allow_a_task_goes_by),
        cmocka_unit_test(test_an_allow_is_told_again),
        cmocka_unit_test(test_levels_that_come_before_their_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
