/* At most so many tasks of a job or a stage at once on a host or a rack, whoever starts them; and
 * that placements that cannot keep it refuse. The placement here takes any ready task and any host
 * with room, as a literal scan finds them. */
#include "tests/model/script.h"
#include "tests/unit/draws.h"

#include "controller/engine/books/at_most.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/commit/commit.h"
#include "controller/engine/mode/mode_rule.h"
#include "controller/engine/network/network.h"
#include "controller/engine/place/place.h"
#include "controller/engine/turn/turn.h"
#include "controller/engine/users/division.h"

#include <errno.h>

enum { HOSTS = 6, RACKS = 3, SLOTS = 6, JOBS = 5, STAGES = 2, TASKS = 12 };

static bool place_task(struct engine *engine, struct task *task, struct claim *ret_claim)
{
    for (uint32_t h = 0; h < engine->n_hosts; h++) {
        struct host *host = engine->hosts[h];
        struct fit *fit = host ? &host->shapes[task->stage->bucket->shape->index]->fit[0] : NULL;
        if (!fit || fit->times <= 0 || !at_most_room(task->stage, host))
            continue;
        *ret_claim = (struct claim){task, fit, REASON_GREEDY, 0, host->running};
        return true;
    }
    return false;
}

static bool pick(struct engine *engine, struct claim *ret_claim)
{
    for (struct sorted_node *node = sorted_first(&engine->active); node; node = sorted_next(node)) {
        struct job *job = container_of(node, struct job, by_turn);
        for (uint32_t s = 0; s < job->n_stages; s++)
            for (uint32_t t = 0; t < job->stages[s]->n_tasks; t++)
                if (task_state(&job->stages[s]->tasks[t]) == TASK_READY &&
                    place_task(engine, &job->stages[s]->tasks[t], ret_claim))
                    return true;
    }
    return false;
}

static const struct policy_reason scan_reasons[] = {PLACE_GREEDY_REASON, {0}};
static const struct place_policy place_scan = {
    .policy = {.name = "scan", .reasons = scan_reasons}, .pick = pick, .at_most = true};

/* In place of controller/engine/policies.c. */
const struct turn_policy *const turn_policies[] = {&turn_fifo, &turn_sjf, NULL};
const struct place_policy *const place_policies[] = {&place_scan, &place_greedy, NULL};
const struct commit_policy *const commit_policies[] = {&commit_single, NULL};
const struct network_policy *const network_policies[] = {&network_none, NULL};
const struct mode_policy *const mode_policies[] = {&mode_first, NULL};
const struct users_policy *const users_policies[] = {&users_none, NULL};
const char *const policy_defaults[QUESTIONS] = {
    [QUESTION_TURN] = "fifo",    [QUESTION_PLACE] = "scan", [QUESTION_COMMIT] = "single",
    [QUESTION_NETWORK] = "none", [QUESTION_MODE] = "first", [QUESTION_USERS] = "none",
};

static void begin(struct script *s, const char *place)
{
    struct engine_config config = script_config();
    strcpy(config.turn, "fifo");
    strcpy(config.place, place);
    strcpy(config.network, "none");
    script_begin(s, &config);
    s->reload = true;
}

static struct event host_event(enum event_kind kind, uint32_t host, uint32_t rack)
{
    static const uint64_t vector[ENGINE_RESOURCES] = {SLOTS};
    static const char *const racks[RACKS] = {"", "r1", "r2"};
    struct event event = script_join(host, SLOTS, vector);
    event.kind = kind;
    event.host_join.rack = racks[rack];
    return event;
}

/* Two stages of maps. */
static void submit(struct script *s, uint64_t job, struct at_most of_job, struct at_most first,
                   struct at_most second)
{
    char name[16];
    snprintf(name, sizeof(name), "j%llu", (unsigned long long)job);
    struct event events[2] = {script_begin_event(job, name)};
    events[0].job_begin.at_most_host = of_job.host;
    events[0].job_begin.at_most_rack = of_job.rack;
    script_events(s, events, 1);
    assert_int_equal(script_rejection(s), REASON_NONE);
    for (uint32_t i = 0; i < STAGES; i++) {
        events[0] = script_stage_event(job, i, TASKS, NULL, NULL);
        events[0].job_stage.at_most_host = i ? second.host : first.host;
        events[0].job_stage.at_most_rack = i ? second.rack : first.rack;
        script_events(s, events, 1);
        assert_int_equal(script_rejection(s), REASON_NONE);
        script_tasks(s, job, i, TASKS, 0, 0, NULL);
    }
    script_job_end(s, job);
}

struct counts {
    uint32_t of_job, of_stage[STAGES];
};
static void count(struct script *s, uint64_t job, const char *rack, uint32_t host,
                  struct counts *ret_counts)
{
    struct attempt_view view;
    *ret_counts = (struct counts){0};
    for (uint64_t after = 0; engine_attempt_after(s->engine, after, &view) == 0;
         after = view.attempt) {
        struct host_view there = script_host_view(s, view.host);
        if (view.orphan || view.job != job || (rack && strcmp(there.rack, rack) != 0) ||
            (!rack && view.host != host))
            continue;
        ret_counts->of_job++;
        ret_counts->of_stage[view.stage]++;
    }
}

static bool is_within(uint32_t n, uint32_t most)
{
    return !most || n <= most;
}

/* What a job is bounded by: itself, its stages. */
struct bounds {
    struct at_most at_most[1 + STAGES];
};

static void check_bounds(struct script *s, uint64_t job, const struct bounds *bounds)
{
    struct counts counts;
    for (uint32_t h = 0; h < HOSTS; h++) {
        count(s, job, NULL, h, &counts);
        assert_true(is_within(counts.of_job, bounds->at_most[0].host));
        for (int i = 0; i < STAGES; i++)
            assert_true(is_within(counts.of_stage[i], bounds->at_most[1 + i].host));
        count(s, job, script_host_view(s, h).rack, h, &counts);
        assert_true(is_within(counts.of_job, bounds->at_most[0].rack));
        for (int i = 0; i < STAGES; i++)
            assert_true(is_within(counts.of_stage[i], bounds->at_most[1 + i].rack));
    }
}

/* No slot that a ready task of the job may use is free. */
static void check_full(struct script *s, uint64_t job)
{
    struct stage_view stage;
    for (uint32_t i = 0; i < STAGES; i++) {
        if (engine_stage(s->engine, job, i, &stage) < 0 || !stage.ready)
            continue;
        const struct stage *of = job_find_task(s->engine, job, i, 0)->stage;
        for (uint32_t h = 0; h < HOSTS; h++)
            assert_true(script_host_view(s, h).free.amount[RES_SLOTS] == 0 ||
                        at_most_room(of, cluster_host(s->engine, h)) == 0);
    }
}

static struct at_most any_bound(uint64_t *stream)
{
    struct at_most bound = {(uint32_t)(test_random(stream) % 4),
                            (uint32_t)(test_random(stream) % 6)};
    if (bound.rack && bound.host > bound.rack)
        bound.host = bound.rack;
    return bound;
}

/* A stage's is not above its job's. */
static struct at_most within(struct at_most job, struct at_most stage)
{
    uint32_t host = job.host && job.host < (job.rack ? job.rack : UINT32_MAX) ? job.host : job.rack;
    if (host && (!stage.host || stage.host > host))
        stage.host = host;
    if (job.rack && (!stage.rack || stage.rack > job.rack))
        stage.rack = job.rack;
    if (stage.rack && stage.host > stage.rack)
        stage.host = stage.rack;
    return stage;
}

static void news(struct script *s, uint64_t *stream)
{
    static const enum event_kind ends[] = {EVENT_ATTEMPT_DONE, EVENT_ATTEMPT_DONE,
                                           EVENT_ATTEMPT_KILLED, EVENT_ATTEMPT_FAILED};
    struct attempt_view view;
    uint64_t n = test_random(stream) % 8, after = 0;
    for (uint64_t i = 0; i < n && engine_attempt_after(s->engine, after, &view) == 0; i++)
        after = view.attempt;
    if (engine_attempt_after(s->engine, after, &view) == 0)
        script_attempt(s, ends[test_random(stream) % 4], view.attempt, 0);
}

enum { SEEDS = DRAWS(60, 15) };

/* Whatever ends, fails and goes to other hosts: no bound is exceeded, and no more is left than must
 * be. */
static void test_no_bound_is_exceeded(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t stream = seed;
        struct bounds bounds[JOBS];
        struct script s;
        begin(&s, "scan");
        for (uint32_t h = 0; h < HOSTS; h++)
            script_event(&s, host_event(EVENT_HOST_JOIN, h, h % RACKS));
        for (uint64_t j = 0; j < JOBS; j++) {
            struct at_most *at_most = bounds[j].at_most;
            at_most[0] = any_bound(&stream);
            at_most[1] = within(at_most[0], any_bound(&stream));
            at_most[2] = within(at_most[0], any_bound(&stream));
            submit(&s, j + 1, at_most[0], at_most[1], at_most[2]);
            assert_int_equal(script_rejection(&s), REASON_NONE);
        }
        for (int step = 0; step < 150; step++) {
            s.now_ns += SECOND / 10;
            news(&s, &stream);
            for (uint64_t j = 0; j < JOBS; j++) {
                check_bounds(&s, j + 1, &bounds[j]);
                check_full(&s, j + 1);
            }
        }
        script_end(&s);
    }
}

/* It leaves one rack's bound, and counts for the other's. */
static void test_a_host_moves_to_another_rack(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "scan");
    for (uint32_t h = 0; h < 2; h++)
        script_event(&s, host_event(EVENT_HOST_JOIN, h, 1));
    submit(&s, 1, (struct at_most){0, 3}, (struct at_most){0}, (struct at_most){0});
    assert_int_equal(script_job_view(&s, 1).running, 3);
    script_event(&s, host_event(EVENT_HOST_CHANGE, 1, 2));
    assert_int_equal(script_job_view(&s, 1).running, 6);
    script_event(&s, host_event(EVENT_HOST_CHANGE, 1, 1));
    assert_int_equal(script_job_view(&s, 1).running, 6); /* they run on, and none comes */
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    assert_int_equal(script_job_view(&s, 1).running, 5);
    script_cancel(&s, 1);
    script_end(&s);
}

/* Another scheduler's claims are refused where they would exceed it. */
static void test_a_claim_is_bounded(void **state)
{
    (void)state;
    static const uint64_t jobs[] = {1, 1};
    static const uint32_t stages[] = {0, 0}, tasks[] = {2, 3}, hosts[] = {1, 1}, units[] = {0, 0};
    struct script s;
    begin(&s, "scan");
    script_event(&s, host_event(EVENT_HOST_JOIN, 0, 1));
    submit(&s, 1, (struct at_most){1, 0}, (struct at_most){0}, (struct at_most){0});
    struct event events[2] = {host_event(EVENT_HOST_JOIN, 1, 1), {.kind = EVENT_CLAIM}};
    events[1].claim.jobs = (struct u64s){jobs, 2};
    events[1].claim.stages = (struct u32s){stages, 2};
    events[1].claim.tasks = (struct u32s){tasks, 2};
    events[1].claim.hosts = (struct u32s){hosts, 2};
    events[1].claim.units = (struct u32s){units, 2};
    script_events(&s, events, 2);
    assert_int_equal(script_decision(&s, DECISION_CLAIM_RESULT, 0)->claim_result.outcome, 0);
    assert_int_equal(script_decision(&s, DECISION_CLAIM_RESULT, 1)->claim_result.outcome, 2);
    assert_int_equal(script_job_view(&s, 1).running, 2);
    script_end(&s);
}

static enum reason set_place(struct script *s, const char *name)
{
    struct event event = {.kind = EVENT_POLICY_SET, .request = 9};
    event.policy_set.question = "place";
    event.policy_set.name = name;
    script_event(s, event);
    return script_rejection(s);
}

static void test_a_placement_that_cannot_keep_it(void **state)
{
    (void)state;
    const struct at_most none = {0}, two = {2, 0};
    struct script s;
    struct err err;
    char text[256];
    begin(&s, "greedy");
    for (uint32_t h = 0; h < HOSTS; h++)
        script_event(&s, host_event(EVENT_HOST_JOIN, h, h % RACKS));
    submit(&s, 1, none, none, two);
    assert_int_equal(script_rejection(&s), REASON_NOT_KEPT);
    assert_int_equal(script_decision(&s, DECISION_REJECT, 0)->left, 1);
    assert_int_equal(engine_place_keeps("greedy", 1, &err), -EINVAL);
    assert_string_equal(err.text, "stage 1 has at_most, which place greedy cannot keep; leave it "
                                  "out, or set a placement that does: scan");
    assert_int_equal(engine_place_keeps("scan", 1, &err), 0);
    assert_int_equal(set_place(&s, "scan"), REASON_NONE);
    script_job_end(&s, 1);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    submit(&s, 2, two, none, none);
    submit(&s, 3, none, none, none);
    assert_int_equal(set_place(&s, "greedy"), REASON_BAD_STATE);
    assert_int_equal(engine_policy_fits(s.engine, "place", "greedy", &err), -EINVAL);
    assert_string_equal(err.text, "place greedy cannot keep at_most, which 2 active job(s) have, "
                                  "job 1 first: let them end, or cancel them");
    engine_say_words(s.engine, 1, text, sizeof(text));
    assert_string_equal(text, "stage 1 at most 2 on a host");
    script_cancel(&s, 1);
    script_cancel(&s, 2);
    assert_int_equal(set_place(&s, "greedy"), REASON_NONE);
    assert_int_equal(script_job_view(&s, 3).state, JOB_ACTIVE);
    script_end(&s);
}

static void test_contradictions_are_rejected(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "scan");
    struct event event = script_begin_event(1, "a");
    event.job_begin.at_most_host = 3;
    event.job_begin.at_most_rack = 2;
    script_event(&s, event);
    assert_int_equal(script_rejection(&s), REASON_BAD_VALUE);
    event.job_begin.at_most_host = 2;
    script_event(&s, event);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    static const struct at_most wrong[] = {{3, 0}, {0, 3}, {2, 1}};
    for (size_t i = 0; i < 3; i++) {
        event = script_stage_event(1, 0, 1, NULL, NULL);
        event.job_stage.at_most_host = wrong[i].host;
        event.job_stage.at_most_rack = wrong[i].rack;
        script_event(&s, event);
        assert_int_equal(script_rejection(&s), REASON_BAD_VALUE);
    }
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_bound_is_exceeded),
        cmocka_unit_test(test_a_host_moves_to_another_rack),
        cmocka_unit_test(test_a_claim_is_bounded),
        cmocka_unit_test(test_a_placement_that_cannot_keep_it),
        cmocka_unit_test(test_contradictions_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
