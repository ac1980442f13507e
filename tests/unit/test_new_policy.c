/* The examples of docs/develop/adding-a-policy.md, compiled from that page: one file and one line
 * make a policy. One's turn moves with what is done and received; the other gives own reasons. */
#include "tests/model/script.h"
#include "tests/model/script_dump.h"

#include "controller/engine/base/record.h"
#include "controller/engine/commit/commit.h"
#include "controller/engine/mode/mode_rule.h"
#include "controller/engine/network/network.h"
#include "controller/engine/place/place.h"
#include "controller/engine/turn/turn.h"
#include "controller/engine/users/division.h"

#include "docs/develop/adding-a-policy.h"

#include <errno.h>

/* In place of controller/engine/policies.c: the same with the new line. */
const struct turn_policy *const turn_policies[] = {&turn_fifo, &turn_sjf, &turn_fair, &turn_undone,
                                                   NULL};
const struct place_policy *const place_policies[] = {&place_greedy, &place_quiet, NULL};
const struct commit_policy *const commit_policies[] = {&commit_single, NULL};
const struct network_policy *const network_policies[] = {&network_none, &network_dclas, NULL};
const struct mode_policy *const mode_policies[] = {&mode_first, &mode_half, NULL};
const struct users_policy *const users_policies[] = {&users_none, NULL};
const char *const policy_defaults[QUESTIONS] = {"undone", "greedy", "single",
                                                "none",   "first",  "none"};

enum { MEGABYTE = 1000000 };

/* Nine maps of a second and 150 MB, beside five of a second: on one host with two slots. */
static void begin(struct script *s, const char *turn)
{
    static const uint64_t sums[] = {150 * MEGABYTE};
    struct engine_config config = script_config();
    strcpy(config.turn, turn);
    script_begin(s, &config);
    s->reload = true;
    script_host(s, 0, 9);
    script_host(s, 1, 1);
    script_submit(s, &(struct script_job){
                         .number = 1, .maps = 9, .reduces = 1, .map_ns = SECOND, .sums = sums});
    script_submit(s, &(struct script_job){.number = 2, .maps = 5, .map_ns = SECOND});
}

static void end_maps(struct script *s, uint32_t n)
{
    for (uint32_t t = 0; t < n; t++)
        script_attempt(s, EVENT_ATTEMPT_DONE, script_attempt_of(s, 1, 0, t), 0);
}

/* What is done and what arrived bring a job forward; what was lost puts it back. */
static void test_turn_moves_with_facts(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "undone");
    assert_int_equal(script_status(&s).first_job, 2);
    uint64_t at_first = script_job_view(&s, 1).key;
    end_maps(&s, 9);
    uint64_t maps_done = script_job_view(&s, 1).key;
    assert_true(maps_done < at_first);
    assert_int_equal(script_status(&s).first_job, 2);
    uint64_t reduce = script_attempt_of(&s, 1, 1, 0);
    assert_true(reduce > 0);
    script_attempt(&s, EVENT_ATTEMPT_PROGRESS, reduce, 80 * MEGABYTE);
    assert_true(script_job_view(&s, 1).key < maps_done);
    assert_int_equal(script_status(&s).first_job, 1);
    uint64_t before = script_job_view(&s, 1).key;
    struct task_view map;
    assert_int_equal(engine_task(s.engine, 1, 0, 3, &map), 0);
    script_output_lost(&s, 1, 3, map.attempt);
    assert_true(script_job_view(&s, 1).key > before);
    script_end(&s);
}

/* Put in force in the middle, the policy knows what was done and received before. */
static void test_put_in_force_it_knows_the_past(void **state)
{
    (void)state;
    struct script s, other;
    begin(&s, "undone");
    begin(&other, "fifo");
    for (int i = 0; i < 2; i++) {
        struct script *one = i ? &other : &s;
        end_maps(one, 9);
        script_attempt(one, EVENT_ATTEMPT_PROGRESS, script_attempt_of(one, 1, 1, 0), 80 * MEGABYTE);
    }
    assert_int_equal(script_policy(&other, "turn", "undone"), REASON_NONE);
    assert_int_equal(script_status(&other).first_job, script_status(&s).first_job);
    for (uint64_t job = 1; job <= 2; job++)
        assert_int_equal(script_job_view(&other, job).key, script_job_view(&s, job).key);
    uint64_t digest = engine_digest(s.engine);
    script_policy(&s, "turn", "fair");
    script_policy(&s, "turn", "undone");
    assert_true(engine_digest(s.engine) == digest);
    script_end(&s);
    script_end(&other);
}

/* Its parameter is known by its table alone: set in the middle, it moves turns, and takes that
 * back. */
static void test_its_parameter_counts(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "undone");
    uint64_t with_bytes = script_job_view(&s, 1).key;
    assert_int_equal(script_status(&s).first_job, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(script_parameter(&s, "byte_weight", i ? 100 : 0), REASON_NONE);
        assert_true(i ? script_job_view(&s, 1).key == with_bytes
                      : script_job_view(&s, 1).key < with_bytes);
    }
    script_end(&s);
}

/* Its reasons are known to records and people though nobody else names them. */
static void test_it_gives_reasons_of_its_own(void **state)
{
    (void)state;
    struct script s;
    struct engine_explanation e;
    struct decision back;
    char line[RECORD_MAX];
    struct engine_config config = script_config();
    strcpy(config.mode, "half");
    script_begin(&s, &config);
    s.reload = true;
    script_host(&s, 0, 2);
    script_submit(&s, &(struct script_job){.number = 1, .maps = 2, .map_ns = SECOND});
    const struct decision *mode = script_decision(&s, DECISION_MODE, 0);
    assert_non_null(mode);
    assert_reason(mode, "half-taken");
    engine_say_mode_why(s.engine, mode, &e);
    assert_string_equal(e.text, "most slots are taken and 0 tasks of the first job are ready");
    assert_true(record_encode_decision(mode, line, sizeof(line)) > 0);
    assert_int_equal(strncmp(line, "mode reason=half-taken ", 23), 0);
    assert_int_equal(record_decode_decision(line, &back, NULL), 0);
    assert_int_equal(back.reason, mode->reason);
    script_end(&s);
}

/* One of two hosts receives; five maps come. How many of them run on the other. */
static unsigned on_the_other(int64_t crowd, const char *reason)
{
    static const uint64_t sums[] = {150 * MEGABYTE};
    struct script s;
    struct engine_config config = script_config();
    unsigned n = 0;
    strcpy(config.place, "quiet");
    assert_int_equal(engine_config_say(&config, "crowd", crowd, NULL), 0);
    script_begin(&s, &config);
    s.reload = true;
    script_host(&s, 0, 9);
    script_host(&s, 1, 9);
    script_submit(&s, &(struct script_job){
                          .number = 1, .maps = 9, .reduces = 1, .map_ns = SECOND, .sums = sums});
    end_maps(&s, 9);
    uint32_t receives = script_start(&s, 1, 1, 0)->start.host;
    script_submit(&s, &(struct script_job){.number = 2, .maps = 5, .map_ns = SECOND});
    for (uint32_t t = 0; t < 5; t++) {
        const struct decision *start = script_start(&s, 2, 0, t);
        n += start->start.host != receives;
        assert_reason(start, t ? reason : "quiet");
    }
    script_end(&s);
    return n;
}

/* A parameter, an index that others do not keep, and a reason: of one file and one line. */
static void test_a_placement_has_all_three(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = script_config();
    assert_int_equal(on_the_other(1000, "quiet"), 5);
    assert_in_range(on_the_other(1, "greedy"), 2, 4);
    script_begin(&s, &config);
    script_host(&s, 0, 8);
    script_submit(&s, &(struct script_job){.number = 1, .maps = 1, .map_ns = SECOND});
    assert_int_equal(s.engine->shapes[0]->by_receivers[0].n, 0);
    script_policy(&s, "place", "quiet");
    assert_int_equal(s.engine->shapes[0]->by_receivers[0].n, 1);
    script_end(&s);
}

/* What it needs of another question is checked when the engine is made and when either is set. */
static void test_its_need_is_asked_for(void **state)
{
    (void)state;
    static const char sentence[] =
        "place quiet needs network none, and network is dclas: where transfers have levels, how "
        "many receive does not say how fast they are";
    struct script s;
    struct err err;
    struct engine *engine;
    struct engine_config config = script_config();
    strcpy(config.place, "quiet");
    strcpy(config.network, "dclas");
    assert_int_equal(engine_create(&config, &engine, &err), -EINVAL);
    assert_string_equal(err.text, sentence);
    strcpy(config.network, "none");
    script_begin(&s, &config);
    s.reload = true;
    script_events(&s, NULL, 0);
    uint64_t digest = engine_digest(s.engine);
    assert_int_equal(script_policy(&s, "network", "dclas"), REASON_BAD_STATE);
    assert_string_equal(engine_policy(s.engine, "network"), "none");
    assert_true(engine_digest(s.engine) == digest);
    assert_int_equal(engine_policy_fits(s.engine, "network", "dclas", &err), -EINVAL);
    assert_string_equal(err.text, sentence);
    assert_int_equal(engine_policy_fits(s.engine, "network", "red", &err), -ENOENT);
    assert_int_equal(engine_policy_fits(s.engine, "turn", "fifo", &err), 0);
    assert_int_equal(script_policy(&s, "place", "greedy"), REASON_NONE);
    assert_int_equal(script_policy(&s, "network", "dclas"), REASON_NONE);
    assert_int_equal(script_policy(&s, "place", "quiet"), REASON_BAD_STATE);
    assert_string_equal(engine_policy(s.engine, "place"), "greedy");
    script_end(&s);
}

/* The table says of each combination whether it works, and why not. */
static void test_the_table_of_combinations_has_its_need(void **state)
{
    (void)state;
    struct engine_combination all;
    uint64_t n = 0, refused = 0;
    for (; engine_combination(n, &all) == 0; n++) {
        bool works = strcmp(all.place, "quiet") != 0 || strcmp(all.network, "none") == 0;
        assert_int_equal(!*all.refused, works);
        refused += !works;
    }
    assert_int_equal(n, 4 * 2 * 1 * 2 * 2);
    assert_int_equal(refused, 4 * 1 * 2);
}

static void test_it_is_listed(void **state)
{
    (void)state;
    assert_string_equal(engine_policy_name("turn", 3), "undone");
    assert_null(engine_policy_name("turn", 4));
    assert_string_equal(engine_policy_parameter("turn", "undone", 0)->word, "byte_weight");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turn_moves_with_facts),
        cmocka_unit_test(test_put_in_force_it_knows_the_past),
        cmocka_unit_test(test_its_parameter_counts),
        cmocka_unit_test(test_it_gives_reasons_of_its_own),
        cmocka_unit_test(test_a_placement_has_all_three),
        cmocka_unit_test(test_its_need_is_asked_for),
        cmocka_unit_test(test_the_table_of_combinations_has_its_need),
        cmocka_unit_test(test_it_is_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
