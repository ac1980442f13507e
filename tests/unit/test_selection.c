/* What --columns, --sort, --since and --limit select of a list, and its rows in another order. */
#include "tests/unit/test.h"

#include "controller/cli/selection.h"
#include "controller/cli/sorted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int read_of(const struct list *list, const struct request request,
                   struct selection *ret_selection, struct err *err)
{
    return selection_read(&request, list, ret_selection, err);
}

static void what_is_said_is_read(void **state)
{
    struct selection selection;
    struct err err;
    (void)state;
    const struct request all = {.filter = "state=up",
                                .columns = "name, uplink_permille,state",
                                .sort = "-uplink_permille,name",
                                .limit = "5"};
    assert_int_equal(read_of(&list_of_hosts, all, &selection, &err), 0);
    assert_true(selection.given && selection.limit == 5);
    assert_string_equal(selection.text, "state=up");
    assert_int_equal(selection.columns_n, 3);
    assert_string_equal(selection.columns[1]->key, "uplink_permille");
    assert_int_equal(selection.by_n, 2);
    assert_true(selection.by[0].down && !selection.by[1].down);
    assert_int_equal(read_of(&list_of_hosts, (struct request){0}, &selection, &err), 0);
    assert_true(!selection.given && selection.limit == UINT64_MAX && !*selection.text);
}

/* A time ago becomes a condition on the list's column: of a time, or of how long ago. */
static void since_is_a_condition(void **state)
{
    struct selection selection;
    struct err err;
    (void)state;
    const struct request since = {.since = "10min", .filter = "state=running"};
    assert_int_equal(read_of(&list_of_tasks, since, &selection, &err), 0);
    assert_string_equal(selection.text, "state=running,age_ns<=600000000000");
    const struct request day = {.since = "2026-01-31T12:00:00.5Z"};
    assert_int_equal(read_of(&list_of_audit, day, &selection, &err), 0);
    assert_string_equal(selection.text, "time>=2026-01-31T12:00:00.500000000Z");
    assert_int_equal(read_of(&list_of_hosts, day, &selection, &err), -EINVAL);
    assert_string_equal(err.text, "'hosts' has no time that --since could be about");
}

static void what_is_wrong_is_refused(void **state)
{
    static const struct {
        struct request request;
        const char *sentence;
    } wrong[] = {
        {{.filter = ""}, "--filter needs a condition"},
        {{.filter = "stat=up"},
         "--filter: filter:1: there is no column 'stat'; did you mean 'state'"},
        {{.columns = "naem"}, "--columns: there is no column 'naem'; did you mean 'name'?"},
        {{.columns = "name,"}, "--columns: there is no column ''"},
        {{.columns = "name,state,name"}, "--columns has 'name' twice"},
        {{.sort = "-stat"}, "--sort: there is no column 'stat'; did you mean 'state'?"},
        {{.sort = "name,state,role,rack,boot"}, "--sort takes at most 4 columns"},
        {{.limit = "0"}, "--limit is a number from 1, not '0'"},
    };
    struct selection selection;
    struct err err;
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(read_of(&list_of_hosts, wrong[i].request, &selection, &err), -EINVAL);
        if (!strstr(err.text, wrong[i].sentence))
            fail_msg("%s", err.text);
    }
}

/* ---- order ---- */

enum { ROWS = 300 };

static duopoly_TaskRow row_draw(uint64_t *stream, uint32_t number)
{
    duopoly_TaskRow row = {.job = test_random(stream) % 5,
                           .task = number, /* in the order of coming */
                           .age_ns = (int64_t)(test_random(stream) % 7) - 2,
                           .level = (int32_t)(test_random(stream) % 4) - 1};
    snprintf(row.host, sizeof(row.host), "w%llu", (unsigned long long)(test_random(stream) % 12));
    if (test_random(stream) % 5 == 0)
        memset(row.host, 0, sizeof(row.host));
    return row;
}

/* By hand: host as people count, no host last; then level, the largest first, none last. */
static int by_hand(const void *a, const void *b)
{
    const duopoly_TaskRow *x = a, *y = b;
    int order = 0;
    if (!*x->host != !*y->host)
        return !*x->host - !*y->host;
    if (*x->host && (order = atoi(x->host + 1) - atoi(y->host + 1)))
        return order;
    if ((x->level < 0) != (y->level < 0))
        return (x->level < 0) - (y->level < 0);
    if (x->level >= 0 && x->level != y->level)
        return y->level - x->level;
    return (int)x->task - (int)y->task;
}

struct out {
    duopoly_TaskRow rows[ROWS];
    size_t n;
};

static void out_take(void *user, const void *row)
{
    struct out *out = user;
    out->rows[out->n++] = *(const duopoly_TaskRow *)row;
}

static void rows_are_sorted_and_the_first_are_kept(void **state)
{
    static const char *const limits[] = {NULL, "1", "2", "7", "299", "300", "1000"};
    static duopoly_TaskRow rows[ROWS];
    static struct out out;
    uint64_t stream = test_seed();
    (void)state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct selection selection;
        struct err err;
        const struct request request = {.sort = "host,-level", .limit = limits[i]};
        assert_int_equal(selection_read(&request, &list_of_tasks, &selection, &err), 0);
        struct sorted *sorted = sorted_create(&selection);
        for (uint32_t k = 0; k < ROWS; k++) {
            rows[k] = row_draw(&stream, k);
            assert_int_equal(sorted_take(sorted, &rows[k], &err), 0);
        }
        out.n = 0;
        sorted_end(sorted, out_take, &out);
        qsort(rows, ROWS, sizeof(rows[0]), by_hand);
        assert_int_equal(out.n, selection.limit < ROWS ? selection.limit : ROWS);
        for (size_t k = 0; k < out.n; k++) {
            assert_int_equal(out.rows[k].task, rows[k].task);
            assert_string_equal(out.rows[k].host, rows[k].host);
        }
    }
}

static void too_many_rows_are_not_sorted(void **state)
{
    struct selection selection;
    struct err err;
    const duopoly_CounterRow row = {.value = 1};
    (void)state;
    const struct request request = {.sort = "value"}, few = {.sort = "value", .limit = "3"};
    assert_int_equal(selection_read(&request, &list_of_counters, &selection, &err), 0);
    struct sorted *sorted = sorted_create(&selection);
    for (uint32_t i = 0; i < SORTED_ROWS_MAX; i++)
        assert_int_equal(sorted_take(sorted, &row, &err), 0);
    assert_int_equal(sorted_take(sorted, &row, &err), -E2BIG);
    assert_non_null(strstr(err.text, "--limit"));
    sorted_destroy(sorted);
    assert_int_equal(selection_read(&few, &list_of_counters, &selection, &err), 0);
    sorted = sorted_create(&selection);
    for (uint32_t i = 0; i <= SORTED_ROWS_MAX; i++)
        assert_int_equal(sorted_take(sorted, &row, &err), 0);
    sorted_destroy(sorted);
    sorted_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_is_read),
        cmocka_unit_test(since_is_a_condition),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(rows_are_sorted_and_the_first_are_kept),
        cmocka_unit_test(too_many_rows_are_not_sorted),
    };
    return cmocka_run_group_tests_name("selection", tests, NULL, NULL);
}
