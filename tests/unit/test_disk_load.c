/* What is asked of a host's disk: the last report is kept, cut at its bounds, and ends with the
 * host's generation. */
#include "tests/model/script_dump.h"

#include <string.h>

static void begin(struct script *s)
{
    struct engine_config config = script_config();
    script_begin(s, &config);
    s->reload = true;
}

static void host(struct script *s, uint32_t index, uint64_t generation, uint64_t disk_bytes_s)
{
    const uint64_t vector[ENGINE_RESOURCES] = {[RES_SLOTS] = 4};
    struct event join = script_join(index, 4, vector);
    join.host_join.generation = generation;
    join.host_join.disk_bytes_s = disk_bytes_s;
    script_event(s, join);
}

static void report(struct script *s, uint32_t index, uint32_t permille, uint32_t readers)
{
    struct event event = {.kind = EVENT_HOST_LOAD};
    event.host_load.host = index;
    event.host_load.resource = LOAD_DISK;
    event.host_load.permille = permille;
    event.host_load.users = readers;
    script_event(s, event);
}

static void expect(const struct script *s, uint32_t index, uint64_t bytes_s, uint32_t permille,
                   uint32_t readers)
{
    const struct host_view view = script_host_view(s, index);
    assert_int_equal(view.disk_bytes_s, bytes_s);
    assert_int_equal(view.disk_permille, permille);
    assert_int_equal(view.disk_readers, readers);
}

static void test_the_last_report_is_kept(void **state)
{
    (void)state;
    struct script s;
    begin(&s);
    host(&s, 0, 1, 128000000);
    host(&s, 1, 1, 0);
    report(&s, 0, 3100, 4);
    expect(&s, 0, 128000000, 3100, 4);
    report(&s, 0, 900, 1);
    expect(&s, 0, 128000000, 900, 1);
    expect(&s, 1, 0, 0, 0);
    assert_int_equal(script_host_view(&s, 0).uplink_permille, 0);
    assert_int_equal(script_host_view(&s, 0).downlink_permille, 0);
    script_end(&s);
}

static void test_it_ends_with_the_generation(void **state)
{
    (void)state;
    struct script s;
    begin(&s);
    host(&s, 0, 1, 128000000);
    report(&s, 0, 3100, 4);
    host(&s, 0, 2, 64000000);
    expect(&s, 0, 64000000, 0, 0);
    report(&s, 0, 3100, 4);
    script_host_event(&s, EVENT_HOST_SILENT, 0);
    expect(&s, 0, 64000000, 3100, 4);
    script_host_event(&s, EVENT_HOST_LOST, 0);
    expect(&s, 0, 64000000, 0, 0);
    script_end(&s);
}

static void test_a_report_beyond_its_bounds_is_cut_and_counted(void **state)
{
    (void)state;
    struct script s;
    begin(&s);
    s.reload = false; /* WHY: counters are not dumped */
    host(&s, 0, 1, 128000000);
    report(&s, 0, ENGINE_DISK_PERMILLE_MAX, ENGINE_DISK_READERS_MAX);
    assert_int_equal(script_counters(&s).cut_facts, 0);
    report(&s, 0, 3100, 4000000000);
    expect(&s, 0, 128000000, 3100, ENGINE_DISK_READERS_MAX);
    report(&s, 0, UINT32_MAX, 1);
    expect(&s, 0, 128000000, ENGINE_DISK_PERMILLE_MAX, 1);
    assert_int_equal(script_counters(&s).cut_facts, 2);
    report(&s, 7, 1, 1); /* no such host */
    assert_int_equal(script_counters(&s).ignored_facts, 1);
    script_end(&s);
}

/* Also over a dump; it ends with the next report, and with the generation. */
static void test_a_disk_that_hangs(void **state)
{
    (void)state;
    struct script s;
    struct event event = {.kind = EVENT_HOST_LOAD};
    begin(&s);
    host(&s, 0, 1, 128000000);
    event.host_load.resource = LOAD_DISK;
    event.host_load.hangs = 1;
    script_event(&s, event);
    assert_true(script_host_view(&s, 0).disk_hangs);
    report(&s, 0, 5, 1);
    assert_false(script_host_view(&s, 0).disk_hangs);
    script_event(&s, event);
    host(&s, 0, 2, 128000000);
    assert_false(script_host_view(&s, 0).disk_hangs);
    script_end(&s);
}

/* A cluster that says nothing of disks writes what it wrote before. */
static void test_no_disk_writes_nothing(void **state)
{
    (void)state;
    struct script s;
    struct lines lines = {0};
    begin(&s);
    host(&s, 0, 1, 0);
    engine_dump(s.engine, lines_keep, &lines);
    assert_null(strstr(lines.text, "disk"));
    free(lines.text);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_report_is_kept),
        cmocka_unit_test(test_it_ends_with_the_generation),
        cmocka_unit_test(test_a_report_beyond_its_bounds_is_cut_and_counted),
        cmocka_unit_test(test_a_disk_that_hangs),
        cmocka_unit_test(test_no_disk_writes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
