/* Parameters whose values have words, and words in parts (weight.load): in configurations, in the
 * engine, in dumps, and for people. The placement here has some. */
#include "tests/model/script_dump.h"
#include "tests/unit/folder.h"

#include "controller/engine/commit/commit.h"
#include "controller/engine/mode/mode_rule.h"
#include "controller/engine/network/network.h"
#include "controller/engine/place/place.h"
#include "controller/engine/turn/turn.h"
#include "controller/engine/users/division.h"
#include "controller/parameters.h"
#include "controller/settings.h"

#include <errno.h>

static const char *const aims[] = {"quincy", "alsched", "borg"};
static const struct engine_choice parameter_aim = {
    {"aim", ENGINE_UNIT_CHOICE, 0, 2, 1, "What is optimised."}, aims};
static const struct engine_parameter parameter_load = {
    "weight.load", ENGINE_UNIT_COUNT, 0, 100, 2, "What the load of a host counts."};

static bool pick(struct engine *engine, struct claim *ret_claim)
{
    return place_greedy.pick(engine, ret_claim);
}

static const struct policy_reason aim_reasons[] = {PLACE_PAIR_REASONS, PLACE_GREEDY_REASON, {0}};
static const struct place_policy place_aim = {
    .policy = {.name = "aim",
               .reasons = aim_reasons,
               .parameters = (const struct engine_parameter *const[]){&parameter_aim.parameter,
                                                                      &parameter_load, NULL}},
    .pick = pick,
};

/* In place of controller/engine/policies.c. */
const struct turn_policy *const turn_policies[] = {&turn_fifo, &turn_sjf, &turn_srpt, NULL};
const struct place_policy *const place_policies[] = {&place_aim, &place_greedy, &place_joint, NULL};
const struct commit_policy *const commit_policies[] = {&commit_single, NULL};
const struct network_policy *const network_policies[] = {&network_none, &network_rank, NULL};
const struct mode_policy *const mode_policies[] = {&mode_first, &mode_all, &mode_rich,
                                                   &mode_starved, NULL};
const struct users_policy *const users_policies[] = {&users_none, NULL};
const char *const policy_defaults[QUESTIONS] = {
    [QUESTION_TURN] = "fifo",    [QUESTION_PLACE] = "aim",  [QUESTION_COMMIT] = "single",
    [QUESTION_NETWORK] = "none", [QUESTION_MODE] = "first", [QUESTION_USERS] = "none",
};

static void test_words_of_values(void **state)
{
    (void)state;
    const struct engine_parameter *aim = engine_parameter("aim");
    char words[40];
    struct err err;
    int64_t value = -1;
    assert_int_equal(parameter_parse(aim, "borg", &value, &err), 0);
    assert_int_equal(value, 2);
    assert_string_equal(parameter_words(aim, 0, words, sizeof(words)), "quincy");
    assert_int_equal(parameter_parse(aim, "2", &value, &err), -EINVAL);
    assert_string_equal(err.text, "'2' is none of: quincy, alsched, borg");
    assert_int_equal(parameter_parse(engine_parameter("weight.load"), "101", &value, &err),
                     -EINVAL);
}

static void test_values_are_set_and_kept(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = script_config();
    strcpy(config.turn, "fifo");
    strcpy(config.place, "aim");
    strcpy(config.network, "none");
    script_begin(&s, &config);
    s.reload = true;
    assert_int_equal(engine_value(s.engine, "aim"), 1);
    struct event events[2] = {{.kind = EVENT_POLICY_PARAMETER}, {.kind = EVENT_POLICY_PARAMETER}};
    events[0].policy_parameter.word = "aim";
    events[0].policy_parameter.value = 2;
    events[1].policy_parameter.word = "weight.load";
    events[1].policy_parameter.value = 7;
    script_events(&s, events, 2);
    assert_int_equal(engine_value(s.engine, "aim"), 2);
    assert_int_equal(engine_value(s.engine, "weight.load"), 7);
    events[0].policy_parameter.value = 3;
    events[0].request = 5;
    script_events(&s, events, 1);
    assert_int_equal(script_rejection(&s), REASON_BAD_VALUE);
    script_end(&s);
}

static int settings_of(const char *text, struct settings *ret_settings, struct err *err)
{
    const char *path = path_of("duopolyd.yaml");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
    return settings_load(path, ret_settings, err);
}

static void test_in_configurations(void **state)
{
    (void)state;
    struct settings settings;
    struct engine_config config;
    struct err err;
    assert_int_equal(settings_of("policy: {place: aim, network: none, turn: fifo, aim: borg, "
                                 "weight.load: 9}\n",
                                 &settings, &err),
                     0);
    settings_engine(&settings, 1, &config);
    assert_int_equal(engine_config_value(&config, "aim"), 2);
    assert_int_equal(engine_config_value(&config, "weight.load"), 9);
    assert_int_equal(settings_of("policy:\n  aim: bork\n", &settings, &err), -EINVAL);
    assert_non_null(strstr(err.text, ":2:8: aim: 'bork' is none of: quincy, alsched, borg"));
    assert_int_equal(settings_of("policy: {weight.laod: 9}\n", &settings, &err), -EINVAL);
    assert_non_null(strstr(err.text, "did you mean 'weight.load'?"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_of_values),
        cmocka_unit_test(test_values_are_set_and_kept),
        cmocka_unit_test(test_in_configurations),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
