/* Who reads what now, by which what hosts say of others' is judged. */
#include "tests/model/script_dump.h"

enum { MEGABYTE = 1000000 };

static enum engine_reading of_source(const struct script *s, uint64_t attempt, uint32_t host)
{
    return engine_reads_from(s->engine, attempt, host);
}

static enum engine_reading of_output(const struct script *s, uint32_t host, uint32_t map,
                                     uint64_t attempt)
{
    return engine_reads_output(s->engine, host, 1, 0, map, attempt);
}

/* Two maps on hosts 0 and 1, done; two reduces there, of which the second reads nothing. Nothing
 * runs on host 2. `ret_maps`, `ret_reduces`: their attempts, by the host where they are. */
static void shuffle(struct script *s, uint64_t *ret_maps, uint64_t *ret_reduces)
{
    static const uint64_t sums[] = {2 * MEGABYTE, 0};
    struct engine_config config = script_config();
    struct attempt_view view;
    strcpy(config.place, "greedy");
    config.source_lost_ns = 30 * SECOND;
    script_begin(s, &config);
    script_host(s, 0, 1);
    script_host(s, 1, 1);
    script_host(s, 2, 0);
    struct script_job job = {1, 2, 0, 2, NULL, 0, SECOND, SECOND, sums, -1};
    script_submit(s, &job);
    for (uint32_t map = 0; map < 2; map++) {
        uint64_t number = script_attempt_of(s, 1, 0, map);
        assert_int_equal(engine_attempt(s->engine, number, &view), 0);
        ret_maps[view.host] = number;
        script_attempt(s, EVENT_ATTEMPT_DONE, number, 0);
    }
    for (uint32_t reduce = 0; reduce < 2; reduce++) {
        ret_reduces[reduce] = script_attempt_of(s, 1, 1, reduce);
        script_attempt(s, EVENT_ATTEMPT_STARTED, ret_reduces[reduce], 0);
    }
}

static uint32_t host_of(const struct script *s, uint64_t attempt)
{
    struct attempt_view view;
    assert_int_equal(engine_attempt(s->engine, attempt, &view), 0);
    return view.host;
}

static uint32_t map_of(const struct script *s, uint64_t attempt)
{
    return script_attempt_of(s, 1, 0, 0) == attempt ? 0 : 1;
}

static void an_attempt_reads_from_where_its_inputs_are(void **state)
{
    struct script s;
    uint64_t maps[3], reduces[2];
    (void)state;
    shuffle(&s, maps, reduces);
    for (uint32_t host = 0; host < 2; host++) {
        assert_int_equal(of_source(&s, reduces[0], host), READING_NOW);
        assert_true(of_source(&s, reduces[1], host) != READING_NOW); /* it has no bytes */
    }
    assert_int_equal(of_source(&s, reduces[0], 2), READING_NOT);
    assert_int_equal(of_source(&s, reduces[0], 77), READING_NOT);
    assert_int_equal(of_source(&s, 99, 0), READING_OVER);
    script_attempt(&s, EVENT_ATTEMPT_RECEIVED, reduces[0], 2 * MEGABYTE);
    assert_int_equal(of_source(&s, reduces[0], 0), READING_OVER);
    script_end(&s);
}

static void an_output_is_read_by_its_readers_and_its_holder(void **state)
{
    struct script s;
    uint64_t maps[3], reduces[2];
    (void)state;
    shuffle(&s, maps, reduces);
    uint32_t reader = host_of(&s, reduces[0]);
    for (uint32_t holder = 0; holder < 2; holder++) {
        uint32_t map = map_of(&s, maps[holder]);
        assert_int_equal(of_output(&s, reader, map, maps[holder]), READING_NOW);
        assert_int_equal(of_output(&s, holder, map, maps[holder]), READING_NOW);
        assert_int_equal(of_output(&s, 2, map, maps[holder]), READING_NOT);
        assert_int_equal(of_output(&s, 77, map, maps[holder]), READING_NOT);
        assert_int_equal(of_output(&s, reader, map, 99), READING_OVER); /* of another attempt */
    }
    assert_int_equal(engine_reads_output(s.engine, reader, 5, 0, 0, 1), READING_OVER);
    script_end(&s);
}

/* It is stopped at the first that it names, and has named them all by then. */
static void who_is_stopped_for_one_output_knows_of_the_others(void **state)
{
    struct script s;
    uint64_t maps[3], reduces[2];
    (void)state;
    shuffle(&s, maps, reduces);
    uint32_t reader = host_of(&s, reduces[0]), other = 1 - reader;
    uint32_t left = map_of(&s, maps[other]);
    script_output_lost(&s, 1, map_of(&s, maps[reader]), maps[reader]);
    assert_int_equal(of_output(&s, reader, left, maps[other]), READING_NOW);
    script_attempt(&s, EVENT_ATTEMPT_KILLED, reduces[0], 0);
    assert_true(of_output(&s, reader, left, maps[other]) != READING_NOW);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_attempt_reads_from_where_its_inputs_are),
        cmocka_unit_test(an_output_is_read_by_its_readers_and_its_holder),
        cmocka_unit_test(who_is_stopped_for_one_output_knows_of_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
