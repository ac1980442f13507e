/* Homes of jobs (place/pack.h), over random workloads: nothing waits for one for longer than is
 * promised, however wrong what is told of it, whoever comes, goes or wants the same one. */
#include "tests/model/script.h"
#include "tests/unit/draws.h"

#include "controller/engine/place/joint.h"
#include "controller/engine/policy/questions.h"
#include "controller/engine/watch/queues.h"

enum { HOSTS = 4, JOBS = 6, MEGABYTE = 1000000 };

enum { WORKLOADS = DRAWS(100000, 2000) };

static uint64_t packed, waited, expired;

static struct engine_config config_of(uint64_t *stream)
{
    struct engine_config config = script_config();
    config.hosts_max = HOSTS;
    strcpy(config.turn, test_random(stream) % 4 ? "srpt" : "fair");
    strcpy(config.place, "joint");
    strcpy(config.network, "rank");
    engine_config_say(&config, "pack", 1, NULL);
    engine_config_say(&config, "lies_there", test_random(stream) % 2, NULL);
    engine_config_say(&config, "even_wait", test_random(stream) % 2 ? SECOND : 0, NULL);
    return config;
}

/* All links have one rate, so the mean is that. */
static int64_t most_ns(const struct job *job)
{
    return (int64_t)(job->shuffle_bytes * 8) * PACK_PATIENCE;
}

static const struct task *next_of(const struct bucket *bucket)
{
    const struct task *next = NULL;
    const struct task *map = bucket_first_map(bucket);
    const struct stage *stage;
    if (map)
        return map;
    TAILQ_FOREACH (stage, &bucket->reduce_stages, of_bucket) {
        struct sorted_key equal = {sorted_last(&stage->ready_reduces)->key.a, 0, 0};
        const struct task *task =
            container_of(sorted_from(&stage->ready_reduces, equal), struct task, ready);
        next = !next || task->bytes > next->bytes ? task : next;
    }
    return next;
}

static void check_homed(const struct script *s, const struct job *job)
{
    const struct bucket *bucket = job->buckets[0];
    const struct pack_job *pack = &((struct joint_job *)job->kept[QUESTION_PLACE])->pack;
    const struct task *next = next_of(bucket);
    assert_non_null(next);
    assert_true(pack->packed && bucket->home && bucket->home->index == pack->home);
    assert_true(bucket->home->shapes[bucket->shape->index]->capable);
    if (job->n_outputs)
        assert_int_equal(job->output_hosts, 1);
    if (s->now_ns >= next->ready_ns + most_ns(job))
        fail_msg("a task of job %llu, ready at %lld, waits for its home at %lld, for at most %lld",
                 (unsigned long long)job->number, (long long)next->ready_ns, (long long)s->now_ns,
                 (long long)most_ns(job));
    assert_true(engine_deadline_ns(s->engine) <= next->ready_ns + most_ns(job));
    waited += !bucket->home->shapes[bucket->shape->index]->fitting;
}

/* No map of a stage that is late is left while a slot is free for it, but for the last ones. */
static void check_late(const struct script *s, const struct stage *stage)
{
    bool late = stage->hold_due_ns && stage->hold_due_ns <= s->now_ns;
    expired += late;
    if (late && !s->engine->place->full(s->engine) && stage->n_ready > stage->ready_reduces.n &&
        stage->bucket->shape->times > 0)
        fail_msg("a map of job %llu waits beyond hold_max", (unsigned long long)stage->job->number);
}

static void check(const struct script *s)
{
    const struct sorted_node *node;
    for (node = sorted_first(&s->engine->active); node; node = sorted_next(node)) {
        const struct job *job = container_of(node, struct job, by_turn);
        if (job->buckets[0]->homed)
            check_homed(s, job);
        for (uint32_t i = 0; i < job->n_stages; i++)
            check_late(s, job->stages[i]);
    }
}

/* What an attempt does: it ends well, fails, or has its input. */
static void news(struct script *s, uint64_t *stream)
{
    static const enum event_kind kinds[] = {EVENT_ATTEMPT_DONE, EVENT_ATTEMPT_DONE,
                                            EVENT_ATTEMPT_DONE, EVENT_ATTEMPT_RECEIVED,
                                            EVENT_ATTEMPT_FAILED};
    struct attempt_view view;
    uint64_t after = 0;
    for (uint64_t i = test_random(stream) % 6; i-- > 0;)
        after = engine_attempt_after(s->engine, after, &view) == 0 ? view.attempt : 0;
    if (engine_attempt_after(s->engine, after, &view) == 0)
        script_attempt(s, kinds[test_random(stream) % 5], view.attempt, 0);
}

static void any_host(struct script *s, uint64_t *stream)
{
    static const enum event_kind kinds[] = {EVENT_HOST_SILENT, EVENT_HOST_LOST, EVENT_HOST_BACK,
                                            EVENT_HOST_BACK};
    uint32_t host = (uint32_t)(test_random(stream) % HOSTS);
    if (test_random(stream) % 3 == 0)
        script_host(s, host, 1 + test_random(stream) % 3);
    else
        script_host_event(s, kinds[test_random(stream) % 4], host);
}

/* Its computing is told up to ten times too long or too short: what is reported when follows
 * nothing. */
static void submit(struct script *s, uint64_t number, uint64_t *stream)
{
    uint64_t size = UINT64_C(1) << test_random(stream) % 13, sums[3];
    for (int i = 0; i < 3; i++)
        sums[i] = test_random(stream) % (size * MEGABYTE);
    int64_t told_ns = (int64_t)(size * 8 * SECOND / 1000);
    told_ns = test_random(stream) % 2 ? told_ns / 10 : told_ns * 10;
    script_submit(s, &(struct script_job){.number = number,
                                          .maps = 1 + (uint32_t)(test_random(stream) % 4),
                                          .reduces = (uint32_t)(test_random(stream) % 4),
                                          .map_ns = (uint64_t)told_ns / 10,
                                          .reduce_ns = (uint64_t)told_ns / 20,
                                          .sums = sums,
                                          .estimate_bytes = -1});
}

static void random_workload(uint64_t *stream)
{
    struct script s;
    struct engine_config config = config_of(stream);
    script_begin(&s, &config);
    s.reload = test_random(stream) % 64 == 0;
    bool late_hosts = test_random(stream) % 4 == 0;
    for (uint32_t h = 0; h < (late_hosts ? 1u : HOSTS); h++)
        script_host(&s, h, 1 + test_random(stream) % 2);
    for (uint64_t step = 0, number = 1; step < 24; step++) {
        uint64_t kind = test_random(stream) % 8;
        if (kind < 2 && number <= JOBS)
            submit(&s, number++, stream);
        else if (kind == 2)
            any_host(&s, stream);
        else
            news(&s, stream);
        check(&s);
        int64_t due = engine_deadline_ns(s.engine);
        s.now_ns += (int64_t)(SECOND << test_random(stream) % 8) / 8;
        if (test_random(stream) % 4 == 0 && due != INT64_MAX && due > s.now_ns)
            s.now_ns = due;
        script_events(&s, NULL, 0);
        check(&s);
    }
    const struct sorted_node *node = sorted_first(&s.engine->active);
    for (; node; node = sorted_next(node))
        packed +=
            ((struct joint_job *)container_of(node, struct job, by_turn)->kept[QUESTION_PLACE])
                ->pack.packed;
    script_end(&s);
}

static void test_nothing_waits_for_longer_than_is_promised(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int i = 0; i < WORKLOADS; i++)
        random_workload(&stream);
    assert_true(packed > WORKLOADS / 20 && waited > WORKLOADS / 20 && expired > 0);
}

/* Everybody is on one host, each in its turn. */
static void test_all_want_one_home(void **state)
{
    (void)state;
    static const uint64_t sums[] = {1000 * (uint64_t)MEGABYTE};
    struct script s;
    uint64_t stream = 1;
    struct engine_config config = config_of(&stream);
    script_begin(&s, &config);
    script_host(&s, 0, 2);
    script_host(&s, 1, 2);
    for (uint64_t number = 1; number <= 4; number++)
        script_submit(&s, &(struct script_job){.number = number,
                                               .maps = 2,
                                               .reduces = 1,
                                               .map_ns = SECOND / 10,
                                               .sums = sums,
                                               .estimate_bytes = -1});
    for (int i = 0; i < 20; i++) {
        struct attempt_view view;
        s.now_ns += SECOND / 10;
        if (engine_attempt_after(s.engine, 0, &view) < 0)
            break;
        script_attempt(&s, EVENT_ATTEMPT_DONE, view.attempt, 0);
        for (size_t n = 0; n < s.decisions.n; n++)
            if (s.decisions.at[n].kind == DECISION_START)
                assert_int_equal(s.decisions.at[n].start.input_bytes, 0);
        check(&s);
    }
    assert_null(sorted_first(&s.engine->active));
    script_end(&s);
}

/* Who looks at 10⁶ tasks in one step holds everybody: a job of so many stays spread. */
static bool is_packed(uint32_t maps)
{
    static const uint64_t sums[] = {1000 * (uint64_t)MEGABYTE};
    struct script s;
    uint64_t stream = 1;
    struct engine_config config = config_of(&stream);
    script_begin(&s, &config);
    script_host(&s, 0, 2);
    script_host(&s, 1, 2);
    script_submit(&s, &(struct script_job){.number = 1,
                                           .maps = maps,
                                           .reduces = 1,
                                           .map_ns = 1000,
                                           .sums = sums,
                                           .estimate_bytes = -1});
    const struct job *job = container_of(sorted_first(&s.engine->active), struct job, by_turn);
    bool is = ((struct joint_job *)job->kept[QUESTION_PLACE])->pack.packed;
    assert_true(job->n_running > 0);
    script_end(&s);
    return is;
}

static void test_a_job_of_many_tasks_stays_spread(void **state)
{
    (void)state;
    assert_true(is_packed(PACK_TASKS - 1));
    assert_false(is_packed(PACK_TASKS));
}

/* Two racks of two hosts, whose uplinks carry a tenth of what their hosts' do, if told. */
static void begin_racks(struct script *s, bool told)
{
    const uint64_t vector[ENGINE_RESOURCES] = {2};
    uint64_t stream = 1;
    struct engine_config config = config_of(&stream);
    strcpy(config.turn, "srpt");
    script_begin(s, &config);
    for (uint32_t host = 0; host < 4; host++) {
        struct event join = script_join(host, 2, vector);
        join.host_join.rack = host < 2 ? "r1" : "r2";
        join.host_join.rack_bps = told ? 200000000 : 0;
        script_event(s, join);
    }
}

/* It computes for longer on one host than its shuffle takes, and for less than that in a rack. */
static void submit_wide(struct script *s, uint64_t number)
{
    static const uint64_t sums[] = {250 * (uint64_t)MEGABYTE, 250 * (uint64_t)MEGABYTE};
    script_submit(s, &(struct script_job){.number = number,
                                          .maps = 8,
                                          .reduces = 2,
                                          .map_ns = 2 * SECOND,
                                          .sums = sums,
                                          .estimate_bytes = -1});
}

static uint32_t starts_outside(const struct script *s, uint64_t job, uint32_t first)
{
    uint32_t n = 0;
    const struct decision *start;
    for (size_t i = 0; (start = script_decision(s, DECISION_START, i)); i++)
        n += start->start.job == job && start->start.host / 2 != first / 2;
    return n;
}

/* Its maps start in the rack of the first one, and wait there; when that has lasted for too long,
 * elsewhere. Dumps know it. */
static void test_a_job_stays_in_its_rack(void **state)
{
    (void)state;
    struct script s;
    begin_racks(&s, true);
    s.reload = true;
    submit_wide(&s, 1);
    const struct decision *first = script_start(&s, 1, 0, 0);
    assert_non_null(first);
    assert_reason(first, "rack");
    uint32_t home = first->start.host;
    assert_int_equal(script_count(&s, DECISION_START), 4);
    assert_int_equal(starts_outside(&s, 1, home), 0);
    int64_t due = engine_deadline_ns(s.engine);
    assert_true(due > s.now_ns && due <= s.now_ns + s.engine->config.hold_max_ns);
    s.now_ns = due;
    script_events(&s, NULL, 0);
    assert_int_equal(starts_outside(&s, 1, home), 4);
    script_end(&s);
}

/* Where nobody tells what racks have, or another placement is in force, there are none. */
static void test_a_rack_ends_with_what_made_it(void **state)
{
    (void)state;
    struct script s;
    begin_racks(&s, false);
    submit_wide(&s, 1);
    assert_int_equal(script_count(&s, DECISION_START), 8);
    script_end(&s);
    begin_racks(&s, true);
    submit_wide(&s, 1);
    assert_int_equal(script_count(&s, DECISION_START), 4);
    struct event event = {.kind = EVENT_POLICY_SET};
    event.policy_set.question = "place";
    event.policy_set.name = "greedy";
    script_event(&s, event);
    assert_int_equal(script_count(&s, DECISION_START), 4);
    script_end(&s);
}

/* Six jobs behind it compute for 3 s each in all slots, and move so much; what the last of their
 * maps leaves its slot to. */
static struct decision beside(bool racks, uint64_t megabytes)
{
    const uint64_t small[] = {25 * (uint64_t)MEGABYTE / 2, 25 * (uint64_t)MEGABYTE / 2};
    const uint64_t large[] = {megabytes * MEGABYTE};
    struct script s;
    struct attempt_view view;
    begin_racks(&s, racks);
    for (uint64_t number = 1; number <= 6; number++)
        script_submit(&s, &(struct script_job){.number = number,
                                               .maps = 8,
                                               .reduces = 1,
                                               .map_ns = 3 * SECOND,
                                               .sums = large,
                                               .estimate_bytes = -1});
    script_submit(&s, &(struct script_job){.number = 7,
                                           .maps = 8,
                                           .reduces = 2,
                                           .map_ns = SECOND / 10,
                                           .sums = small,
                                           .estimate_bytes = -1});
    assert_null(script_start(&s, 7, 0, 0));
    assert_int_equal(engine_attempt_after(s.engine, 0, &view), 0);
    script_attempt(&s, EVENT_ATTEMPT_DONE, view.attempt, 0);
    const struct decision *start = script_start(&s, 7, 0, 0);
    assert_non_null(start);
    struct decision copy = *start;
    script_end(&s);
    return copy;
}

/* Only others that wait for links are slower for what it moves; where racks are short, for their
 * uplinks. */
static void test_who_computes_for_longer_does_not_wait_for_links(void **state)
{
    (void)state;
    struct decision computes = beside(false, 1000), moves = beside(false, 1300);
    assert_reason(&computes, "no-block");
    assert_reason(&moves, "home");
    struct decision in_racks = beside(true, 1000);
    computes = beside(true, 60);
    assert_reason(&in_racks, "home");
    assert_reason(&computes, "rack");
    assert_true(in_racks.right > 2 * computes.right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_waits_for_longer_than_is_promised),
        cmocka_unit_test(test_all_want_one_home),
        cmocka_unit_test(test_a_job_of_many_tasks_stays_spread),
        cmocka_unit_test(test_a_job_stays_in_its_rack),
        cmocka_unit_test(test_a_rack_ends_with_what_made_it),
        cmocka_unit_test(test_who_computes_for_longer_does_not_wait_for_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
