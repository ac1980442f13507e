/* Claims that may not commit: under every placement the next one is asked, none is proposed twice
 * in a step, and the stage is held for the reason that the commit policy gave. The policy here is
 * made of two parameters. */
#include "tests/model/script.h"

#include "controller/engine/books/job.h"
#include "controller/engine/commit/commit.h"
#include "controller/engine/mode/mode_rule.h"
#include "controller/engine/network/network.h"
#include "controller/engine/place/place.h"
#include "controller/engine/turn/turn.h"
#include "controller/engine/users/division.h"
#include "controller/engine/watch/refusal.h"

#define REASON_SHUT ((enum reason)900)

static const struct engine_parameter parameter_shut_job = {
    "shut_job", ENGINE_UNIT_COUNT, 0, 1000, 0, "Claims of this job are refused; 0: none."};
static const struct engine_parameter parameter_key_job = {
    "key_job", ENGINE_UNIT_COUNT,
    0,         1000,
    0,         "When this job ends, those of the other are admitted."};

struct gate {
    uint64_t open;
};
static const struct field gate_fields[] = {FIELD_OF(gate, open, U64), {0}};

/* What was asked in this step. */
static struct {
    uint64_t job;
    uint32_t stage;
} asked[64];
static size_t n_asked;

static bool admits(const struct engine *engine, const struct claim *claim,
                   struct policy_why *ret_why)
{
    const struct stage *stage = claim->task->stage;
    const struct gate *gate = engine->kept[QUESTION_COMMIT];
    uint64_t shut = (uint64_t)policy_value(engine, QUESTION_COMMIT, &parameter_shut_job);
    if (gate->open || stage->job->number != shut)
        return true;
    for (size_t i = 0; i < n_asked; i++)
        assert_false(asked[i].job == stage->job->number && asked[i].stage == stage->index);
    asked[n_asked].job = stage->job->number;
    asked[n_asked++].stage = stage->index;
    *ret_why = (struct policy_why){REASON_SHUT, (int64_t)shut, 7};
    return false;
}

static void job_withdrawn(struct engine *engine, struct job *job)
{
    struct gate *gate = engine->kept[QUESTION_COMMIT];
    if (job->number != (uint64_t)policy_value(engine, QUESTION_COMMIT, &parameter_key_job))
        return;
    gate->open = 1;
    const struct job *shut =
        job_find(engine, (uint64_t)policy_value(engine, QUESTION_COMMIT, &parameter_shut_job));
    for (uint32_t s = 0; shut && s < shut->n_stages; s++)
        refusal_ask_again(engine, shut->stages[s]);
}

static const struct policy_reason reasons[] = {
    {DECISION_HOLD, REASON_SHUT, "shut", "its job", "seven", "job {left} is shut out ({right})."},
    {0}};

static const struct commit_policy commit_shut = {
    .policy = {.name = "shut",
               .state[POLICY_ENGINE] = {.size = sizeof(struct gate), .fields = gate_fields},
               .reasons = reasons,
               .parameters = (const struct engine_parameter *const[]){&parameter_shut_job,
                                                                      &parameter_key_job, NULL},
               .hears.job_withdrawn = job_withdrawn},
    .admits = admits};

/* In place of controller/engine/policies.c: the same with the policy that refuses. */
const struct turn_policy *const turn_policies[] = {&turn_fifo, &turn_sjf,          &turn_fair,
                                                   &turn_srpt, &turn_srpt_ageless, NULL};
const struct place_policy *const place_policies[] = {&place_nats,  &place_greedy,    &place_delay,
                                                     &place_neat,  &place_neat_fair, &place_random,
                                                     &place_joint, &place_flow,      NULL};
const struct commit_policy *const commit_policies[] = {&commit_shut, &commit_single, NULL};
const struct network_policy *const network_policies[] = {
    &network_cans, &network_cans_coflow, &network_cans_macroflow, &network_dclas,
    &network_scf,  &network_rank,        &network_none,           NULL};
const struct mode_policy *const mode_policies[] = {&mode_first, &mode_all, &mode_rich,
                                                   &mode_starved, NULL};
const struct users_policy *const users_policies[] = {&users_none, NULL};
const char *const policy_defaults[QUESTIONS] = {
    [QUESTION_TURN] = "fifo",    [QUESTION_PLACE] = "greedy", [QUESTION_COMMIT] = "shut",
    [QUESTION_NETWORK] = "none", [QUESTION_MODE] = "first",   [QUESTION_USERS] = "none",
};

enum { MAPS = 40, SLOTS = 200 };

/* Room for everybody; job 1, which comes first, is shut out, job 3 is the key. */
static void begin(struct script *s, const char *place)
{
    struct engine_config config = script_config();
    strcpy(config.place, place);
    assert_int_equal(engine_config_say(&config, "shut_job", 1, NULL), 0);
    assert_int_equal(engine_config_say(&config, "key_job", 3, NULL), 0);
    n_asked = 0;
    script_begin(s, &config);
    s->reload = true;
    for (uint32_t h = 0; h < 4; h++)
        script_host(s, h, SLOTS / 4);
}

static void submit(struct script *s, uint64_t job, uint32_t maps)
{
    n_asked = 0;
    s->now_ns += SECOND;
    script_submit(s, &(struct script_job){.number = job, .maps = maps, .map_ns = SECOND});
}

static void check_held(const struct script *s, bool held)
{
    struct stage_view stage;
    struct job_view job;
    assert_int_equal(engine_stage(s->engine, 1, 0, &stage), 0);
    assert_int_equal(engine_job(s->engine, 1, &job), 0);
    assert_int_equal(stage.held, held);
    assert_int_equal(job.held_stages, held);
    assert_int_equal(stage.running, held ? 0 : MAPS);
}

static void end_job(struct script *s, uint64_t job, uint32_t maps)
{
    for (uint32_t t = 0; t < maps; t++) {
        n_asked = 0;
        script_attempt(s, EVENT_ATTEMPT_DONE, script_attempt_of(s, job, 0, t), 0);
    }
}

/* Job 2 starts in the step in which job 1 is refused, and in each later one; job 1 is held, with
 * the reason, and told once; it starts as soon as the policy says. */
static void check_place(const char *place)
{
    struct script s;
    struct engine_explanation e;
    begin(&s, place);
    submit(&s, 1, MAPS);
    assert_int_equal(n_asked, 1);
    assert_int_equal(script_count(&s, DECISION_HOLD), 1);
    const struct decision *hold = script_decision(&s, DECISION_HOLD, 0);
    assert_reason(hold, "shut");
    assert_true(hold->hold.job == 1 && hold->left == 1 && hold->right == 7);
    assert_int_equal(hold->hold.until_ns, s.now_ns + script_config().hold_max_ns);
    check_held(&s, true);
    submit(&s, 2, 5);
    assert_int_equal(script_count(&s, DECISION_START), 5);
    submit(&s, 3, 2);
    assert_int_equal(script_count(&s, DECISION_START), 2);
    assert_int_equal(n_asked, 0);
    assert_int_equal(engine_explain(s.engine, 1, 0, 0, &e), 0);
    assert_non_null(strstr(e.text, "Held back, since it may not commit: job 1 is shut out (7). It "
                                   "is asked again after 28.0 s at the latest."));
    assert_non_null(strstr(e.text, "Its job is 1 of 3 in turn"));
    end_job(&s, 3, 2);
    assert_int_equal(script_count(&s, DECISION_UNHOLD), 1);
    assert_int_equal(script_count(&s, DECISION_START), MAPS);
    check_held(&s, false);
    script_end(&s);
}

static void test_the_next_one_is_asked(void **state)
{
    (void)state;
    for (int i = 0; place_policies[i]; i++)
        check_place(place_policies[i]->policy.name);
}

/* Both in one step: who is refused first is asked once, who comes behind starts. */
static void test_in_one_step(void **state)
{
    (void)state;
    struct event events[16];
    uint64_t room[2][2 * MAPS];
    char names[2][32];
    for (int i = 0; place_policies[i]; i++) {
        struct script s;
        begin(&s, place_policies[i]->policy.name);
        n_asked = 0;
        size_t n =
            script_job_events(&(struct script_job){.number = 1, .maps = MAPS, .map_ns = SECOND},
                              events, room[0], names[0], sizeof(names[0]));
        n += script_job_events(&(struct script_job){.number = 2, .maps = 5, .map_ns = SECOND},
                               events + n, room[1], names[1], sizeof(names[1]));
        script_events(&s, events, n);
        assert_int_equal(n_asked, 1);
        assert_int_equal(script_count(&s, DECISION_START), 5);
        script_end(&s);
    }
}

/* It is asked again when hold_max is over, and refused again; what ends meanwhile leaves
 * nothing. */
static void test_it_is_asked_again(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "greedy");
    submit(&s, 1, MAPS);
    for (int round = 0; round < 3; round++) {
        int64_t due_ns = engine_deadline_ns(s.engine);
        assert_int_equal(due_ns, s.now_ns + script_config().hold_max_ns);
        n_asked = 0;
        s.now_ns = due_ns;
        script_events(&s, NULL, 0);
        assert_int_equal(n_asked, 1);
        assert_reason(script_decision(&s, DECISION_UNHOLD, 0), "hold-expired");
        assert_reason(script_decision(&s, DECISION_HOLD, 0), "shut");
        check_held(&s, true);
    }
    script_cancel(&s, 1);
    assert_int_equal(script_count(&s, DECISION_UNHOLD), 1);
    assert_true(engine_deadline_ns(s.engine) == INT64_MAX);
    script_end(&s);
}

/* A stage whose parents run again waits for them first, and is asked when they are done. */
static void test_behind_others(void **state)
{
    (void)state;
    static const uint64_t sums[] = {1000, 2000};
    struct script s;
    begin(&s, "greedy");
    script_parameter(&s, "shut_job", 0);
    script_submit(&s, &(struct script_job){
                          .number = 1, .maps = 1, .reduces = 2, .map_ns = SECOND, .sums = sums});
    script_parameter(&s, "shut_job", 1);
    uint64_t map = script_attempt_of(&s, 1, 0, 0);
    script_attempt(&s, EVENT_ATTEMPT_DONE, map, 0);
    assert_int_equal(script_count(&s, DECISION_HOLD), 1);
    n_asked = 0;
    script_output_lost(&s, 1, 0, map);
    assert_int_equal(n_asked, 1); /* the map, which runs anew */
    assert_int_equal(script_task_state(&s, 1, 1, 0), TASK_BLOCKED);
    script_parameter(&s, "shut_job", 0); /* the policy is another one: it is asked */
    assert_int_equal(script_count(&s, DECISION_START), 1);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    assert_int_equal(script_count(&s, DECISION_START), 2);
    script_end(&s);
}

/* Another scheduler's claim is answered, and holds nothing more than it was. */
static void test_a_claim_of_another_scheduler(void **state)
{
    (void)state;
    static const uint64_t jobs[] = {1, 2};
    static const uint32_t zeros[] = {0, 0};
    struct script s;
    begin(&s, "greedy");
    struct event claim = {.kind = EVENT_CLAIM, .request = 4};
    claim.claim.jobs = (struct u64s){jobs, 2};
    claim.claim.stages = claim.claim.tasks = claim.claim.hosts = claim.claim.units =
        (struct u32s){zeros, 2};
    submit(&s, 1, 1);
    submit(&s, 2, 1);
    n_asked = 0;
    script_event(&s, claim);
    assert_int_equal(script_count(&s, DECISION_CLAIM_RESULT), 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(script_decision(&s, DECISION_CLAIM_RESULT, i)->claim_result.outcome, 2);
    assert_int_equal(script_count(&s, DECISION_HOLD), 0);
    check_held(&s, true);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_next_one_is_asked),
        cmocka_unit_test(test_in_one_step),
        cmocka_unit_test(test_it_is_asked_again),
        cmocka_unit_test(test_behind_others),
        cmocka_unit_test(test_a_claim_of_another_scheduler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
