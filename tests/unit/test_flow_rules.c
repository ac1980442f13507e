/* The rules of the placement `flow`: what stages prefer, how many of them run on a host or rack,
 * jobs' parts of the slots, and how long they wait. Two engines get the same events, one of which
 * is load(dump()) after each step: they decide the same. */
#include "tests/model/script.h"
#include "tests/unit/draws.h"

#include "controller/engine/books/at_most.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/wishes.h"

#include <stdlib.h>

enum { HOSTS = 8, RACKS = 3, SLOTS = 4 };

static void begin(struct script *s)
{
    struct engine_config config = script_config();
    strcpy(config.place, "flow");
    strcpy(config.turn, "srpt");
    config.epoch = 3;
    script_begin(s, &config);
    s->reload = true;
}

static struct event host_event(uint32_t host)
{
    static const uint64_t vector[ENGINE_RESOURCES] = {SLOTS};
    static const char *const racks[RACKS] = {"", "r1", "r2"}, *const labels[] = {"", "gpu", "ssd"};
    struct event event = script_join(host, SLOTS, vector);
    event.host_join.rack = racks[host % RACKS];
    event.host_join.labels = labels[host % 3 == 1 ? 1 : host % 4 == 2 ? 2 : 0];
    return event;
}

static void join_all(struct script *s)
{
    for (uint32_t h = 0; h < HOSTS; h++)
        script_event(s, host_event(h));
}

/* What a job of one or two stages is. */
struct wanted {
    uint64_t number;
    uint32_t tasks, reduces, per;
    const uint32_t *replicas;
    struct at_most of_job, of_stage;
    const char *wishes;
    uint32_t utilities[2], n_wishes;
};

static void submit(struct script *s, const struct wanted *w)
{
    char name[24];
    snprintf(name, sizeof(name), "j%llu", (unsigned long long)w->number);
    struct event event = script_begin_event(w->number, name);
    event.job_begin.at_most_host = w->of_job.host;
    event.job_begin.at_most_rack = w->of_job.rack;
    script_event(s, event);
    event = script_stage_event(w->number, 0, w->tasks, NULL, NULL);
    event.job_stage.at_most_host = w->of_stage.host;
    event.job_stage.at_most_rack = w->of_stage.rack;
    event.job_stage.wishes = w->wishes;
    event.job_stage.utilities = (struct u32s){w->utilities, w->n_wishes};
    script_event(s, event);
    assert_int_equal(script_rejection(s), REASON_NONE);
    script_tasks(s, w->number, 0, w->tasks, w->per ? 1000000 : 0, w->per, w->replicas);
    if (w->reduces) {
        script_stage(s, w->number, 1, w->reduces, 0, EDGE_BARRIER);
        script_tasks(s, w->number, 1, w->reduces, 0, 0, NULL);
        script_bytes(s, w->number, 1, 0, w->reduces, 5000000);
    }
    script_job_end(s, w->number);
    assert_int_equal(script_rejection(s), REASON_NONE);
}

static uint32_t running_on(const struct script *s, uint64_t job, uint32_t host)
{
    struct attempt_view view;
    uint32_t n = 0;
    for (uint64_t after = 0; engine_attempt_after(s->engine, after, &view) == 0;
         after = view.attempt)
        n += view.job == job && !view.orphan && (host == ENGINE_NONE || view.host == host);
    return n;
}

/* Section 3.1.2 of the source, figure 4: the image task prefers a GPU by a utility of 1. */
static void a_task_runs_where_it_prefers(void **state)
{
    (void)state;
    for (uint32_t gpu = 0; gpu < 2; gpu++) {
        static const uint64_t vector[ENGINE_RESOURCES] = {1};
        struct script s;
        begin(&s);
        for (uint32_t h = 0; h < 2; h++) {
            struct event event = script_join(h, 1, vector);
            event.host_join.labels = h == gpu ? "gpu" : "";
            script_event(&s, event);
        }
        submit(&s, &(struct wanted){
                       .number = 1, .tasks = 1, .wishes = "gpu", .utilities = {1}, .n_wishes = 1});
        assert_int_equal(running_on(&s, 1, gpu), 1);
        script_end(&s);
    }
}

/* Of two stages that prefer the same hosts the one to which they are worth more gets them, and the
 * other one runs elsewhere. With weight.prefer = 0 nobody asks what they prefer. */
static void the_larger_utility_gets_the_host(void **state)
{
    (void)state;
    for (int64_t weight = 0; weight < 2; weight++) {
        struct script s;
        begin(&s);
        join_all(&s);
        assert_int_equal(script_parameter(&s, "weight.prefer", weight), REASON_NONE);
        uint32_t gpus = 0, on_gpus[2] = {0}, slots = 0;
        for (uint32_t h = 0; h < HOSTS; h++)
            gpus += h % 3 == 1 ? SLOTS : 0;
        /* Until all is there the hosts have no room. */
        for (uint32_t h = 0; h < HOSTS; h++)
            script_host_event(&s, EVENT_HOST_SILENT, h);
        submit(&s,
               &(struct wanted){
                   .number = 1, .tasks = gpus, .wishes = "gpu", .utilities = {5}, .n_wishes = 1});
        submit(&s,
               &(struct wanted){
                   .number = 2, .tasks = gpus, .wishes = "gpu", .utilities = {700}, .n_wishes = 1});
        struct event back[HOSTS];
        for (uint32_t h = 0; h < HOSTS; h++)
            back[h] = (struct event){.kind = EVENT_HOST_BACK, .host.host = h};
        script_events(&s, back, HOSTS);
        for (uint32_t h = 0; h < HOSTS; h++) {
            slots += SLOTS;
            for (uint32_t j = 0; h % 3 == 1 && j < 2; j++)
                on_gpus[j] += running_on(&s, j + 1, h);
        }
        assert_int_equal(running_on(&s, 1, ENGINE_NONE) + running_on(&s, 2, ENGINE_NONE),
                         2 * gpus < slots ? 2 * gpus : slots);
        if (weight)
            assert_int_equal(on_gpus[1], gpus);
        else
            assert_true(on_gpus[1] < gpus);
        script_end(&s);
    }
}

/* A bound fills all hosts in one step, and what it turns away waits with a reason. */
static void bounds_are_kept_in_one_round(void **state)
{
    (void)state;
    static const struct {
        struct at_most of_job, of_stage;
        uint32_t run;
    } cases[] = {{{0}, {2, 0}, 16}, {{1, 0}, {0}, 8}, {{0}, {0, 3}, 9}, {{0, 4}, {2, 3}, 9}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct script s;
        struct engine_explanation e;
        begin(&s);
        join_all(&s);
        submit(&s, &(struct wanted){.number = 1,
                                    .tasks = 20,
                                    .of_job = cases[i].of_job,
                                    .of_stage = cases[i].of_stage});
        assert_int_equal(running_on(&s, 1, ENGINE_NONE), cases[i].run);
        assert_int_equal(engine_explain(s.engine, 1, 0, 19, &e), 0);
        assert_non_null(strstr(e.text, "run as may at once"));
        submit(&s, &(struct wanted){.number = 2, .tasks = 40});
        assert_int_equal(running_on(&s, 2, ENGINE_NONE), HOSTS * SLOTS - cases[i].run);
        script_end(&s);
    }
}

/* Section 3.1.1 of the source, figure 3: of 3 and 4 tasks on 4 machines of one task each 2 and 2
 * run, whatever the order of turns; U → S has [1, 3] and [2, 4]. */
static void jobs_get_their_parts(void **state)
{
    (void)state;
    for (int64_t fair = 0; fair < 2; fair++) {
        struct script s;
        begin(&s);
        script_parameter(&s, "fair_parts", fair);
        for (uint32_t h = 0; h < 4; h++) {
            script_host(&s, h, 1);
            script_host_event(&s, EVENT_HOST_SILENT, h);
        }
        script_submit(&s, &(struct script_job){.number = 1, .maps = 3, .map_ns = SECOND});
        script_submit(&s, &(struct script_job){.number = 2, .maps = 4, .map_ns = 9 * SECOND});
        struct event back[4];
        for (uint32_t h = 0; h < 4; h++)
            back[h] = (struct event){.kind = EVENT_HOST_BACK, .host.host = h};
        script_events(&s, back, 4);
        assert_int_equal(running_on(&s, 1, ENGINE_NONE), fair ? 2 : 3);
        assert_int_equal(running_on(&s, 2, ENGINE_NONE), fair ? 2 : 1);
        script_end(&s);
    }
}

/* One of two jobs runs on one host only: the other one gets what that leaves of its part. */
static void what_nobody_else_can_use_is_given(void **state)
{
    (void)state;
    struct script s;
    begin(&s);
    script_parameter(&s, "fair_parts", 1);
    for (uint32_t h = 0; h < 4; h++) {
        script_host(&s, h, 1);
        script_host_event(&s, EVENT_HOST_SILENT, h);
    }
    submit(&s, &(struct wanted){.number = 1, .tasks = 4, .of_job = {1, 1}});
    submit(&s, &(struct wanted){.number = 2, .tasks = 4});
    struct event back[4];
    for (uint32_t h = 0; h < 4; h++)
        back[h] = (struct event){.kind = EVENT_HOST_BACK, .host.host = h};
    script_events(&s, back, 4);
    assert_int_equal(running_on(&s, 1, ENGINE_NONE), 1);
    assert_int_equal(running_on(&s, 2, ENGINE_NONE), 3);
    uint32_t spare = 0;
    const struct decision *d;
    for (size_t i = 0; (d = script_decision(&s, DECISION_START, i)); i++)
        spare += strcmp(reason_name(d->reason), "optimum-spare") == 0;
    assert_int_equal(spare, 1);
    script_end(&s);
}

/* Of two jobs on one slot the shorter one goes first, unless the longer one has waited for long. */
static void a_long_wait_overtakes_a_turn(void **state)
{
    (void)state;
    for (int64_t weight = 0; weight <= 8; weight += 8) {
        struct script s;
        begin(&s);
        script_parameter(&s, "weight.wait", weight);
        script_parameter(&s, "weight.turn", 1);
        script_host(&s, 0, 1);
        const struct script_job first = {.number = 1, .maps = 1, .map_ns = SECOND},
                                longer = {.number = 2, .maps = 1, .map_ns = 64 * SECOND},
                                shorter = {.number = 3, .maps = 1, .map_ns = SECOND};
        script_submit(&s, &first);
        script_submit(&s, &longer);
        s.now_ns += 60 * SECOND;
        script_events(&s, NULL, 0);
        script_submit(&s, &shorter);
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
        assert_int_equal(running_on(&s, 2, 0), weight > 0);
        assert_int_equal(running_on(&s, 3, 0), weight == 0);
        script_end(&s);
    }
}

/* However long one waits: not before a higher priority. */
static void no_wait_overtakes_a_priority(void **state)
{
    (void)state;
    struct script s;
    begin(&s);
    script_parameter(&s, "weight.wait", 8);
    script_parameter(&s, "weight.priority", 1);
    script_host(&s, 0, 1);
    script_submit(&s, &(struct script_job){.number = 1, .maps = 1, .map_ns = SECOND});
    script_submit(&s, &(struct script_job){.number = 2, .maps = 1, .map_ns = 1});
    s.now_ns += 100000 * SECOND;
    script_events(&s, NULL, 0);
    struct event event = script_begin_event(3, "urgent");
    event.job_begin.priority = 1;
    script_event(&s, event);
    script_stage(&s, 3, 0, 1, ENGINE_NONE, EDGE_BARRIER);
    script_tasks(&s, 3, 0, 1, 0, 0, NULL);
    script_job_end(&s, 3);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    assert_int_equal(running_on(&s, 3, 0), 1);
    script_end(&s);
}

/* ---- random jobs ---- */

static struct at_most any_bound(uint64_t *stream)
{
    uint32_t host = (uint32_t)(test_random(stream) % 3), rack = (uint32_t)(test_random(stream) % 5);
    return (struct at_most){host, rack && rack < host ? host : rack};
}

static void submit_any(struct script *s, uint64_t number, uint64_t *stream)
{
    static const char *const wishes[] = {"gpu", "ssd", "!gpu", "gpu | ssd"};
    uint32_t replicas[24];
    for (uint32_t i = 0; i < 24; i++)
        replicas[i] = (uint32_t)(test_random(stream) % HOSTS);
    struct wanted w = {.number = number,
                       .tasks = 1 + (uint32_t)(test_random(stream) % 12),
                       .reduces = (uint32_t)(test_random(stream) % 4),
                       .per = (uint32_t)(test_random(stream) % 3),
                       .replicas = replicas};
    uint32_t kind = (uint32_t)(test_random(stream) % 4);
    if (kind == 1)
        w.of_job = any_bound(stream);
    if (kind == 2)
        w.of_stage = any_bound(stream);
    if (kind == 3 || test_random(stream) % 3 == 0) {
        w.wishes = wishes[test_random(stream) % 4];
        w.utilities[0] = 1 + (uint32_t)(test_random(stream) % 900);
        w.n_wishes = 1;
    }
    submit(s, &w);
}

static void end_any(struct script *s, uint64_t *stream)
{
    struct attempt_view view;
    uint64_t after = 0, ends[64];
    uint32_t n = 0;
    for (; n < 64 && engine_attempt_after(s->engine, after, &view) == 0; after = view.attempt)
        if (test_random(stream) % 3 == 0)
            ends[n++] = view.attempt;
    for (uint32_t i = 0; i < n; i++)
        script_attempt(s, EVENT_ATTEMPT_DONE, ends[i], 0);
}

static void host_any(struct script *s, uint64_t *stream)
{
    uint32_t host = (uint32_t)(test_random(stream) % HOSTS);
    uint32_t what = (uint32_t)(test_random(stream) % 3);
    if (what == 2) {
        struct event event = host_event((host + 1) % HOSTS);
        event.kind = EVENT_HOST_CHANGE;
        event.host_join.host = host;
        script_event(s, event);
    } else {
        script_host_event(s, what ? EVENT_HOST_BACK : EVENT_HOST_SILENT, host);
    }
}

static void do_any(struct script *s, uint64_t *number, uint64_t *stream)
{
    s->now_ns += (int64_t)(test_random(stream) % (uint64_t)SECOND);
    uint32_t what = (uint32_t)(test_random(stream) % 8);
    if (test_random(stream) % 20 == 0)
        script_parameter(s, "objective", (int64_t)(test_random(stream) % 5));
    if (what < 2)
        submit_any(s, ++*number, stream);
    else if (what < 7)
        end_any(s, stream);
    else
        host_any(s, stream);
}

static uint64_t digest_of(const struct script *s)
{
    uint64_t hash = 0xcbf29ce484222325u;
    const struct decision *d;
    for (size_t i = 0; (d = script_decision(s, DECISION_START, i)); i++) {
        const uint64_t said[] = {d->start.job,  d->start.stage, d->start.task,
                                 d->start.host, d->reason,      (uint64_t)d->left};
        for (size_t k = 0; k < sizeof(said) / sizeof(*said); k++)
            hash = (hash ^ said[k]) * 0x100000001b3u;
    }
    return hash;
}

/* The slot next to both blocks is taken: the second map waits for it with hold_remote, start_wait
 * at most, and says so. A map without a block never waits. */
static void a_map_waits_for_its_block(void **state)
{
    (void)state;
    static const uint32_t block[] = {0};
    for (int64_t remote = 0; remote < 2; remote++) {
        struct script s;
        struct engine_explanation e;
        begin(&s);
        script_parameter(&s, "hold_remote", remote);
        script_parameter(&s, "start_wait", 5 * SECOND);
        for (uint32_t h = 0; h < 3; h++)
            script_host(&s, h, 1);
        for (uint64_t number = 1; number <= 2; number++)
            submit(&s, &(struct wanted){.number = number, .tasks = 1, .per = 1, .replicas = block});
        submit(&s, &(struct wanted){.number = 3, .tasks = 1});
        assert_int_equal(running_on(&s, 1, 0), 1);
        assert_int_equal(running_on(&s, 2, ENGINE_NONE), !remote);
        assert_int_equal(running_on(&s, 3, ENGINE_NONE), 1);
        assert_int_equal(engine_explain(s.engine, 2, 0, 0, &e), 0);
        assert_int_equal(strstr(e.text, "waits for a slot next to its block") != NULL, remote);
        s.now_ns += 5 * SECOND - 1;
        script_events(&s, NULL, 0);
        assert_int_equal(running_on(&s, 2, ENGINE_NONE), !remote);
        s.now_ns++;
        script_events(&s, NULL, 0);
        assert_int_equal(running_on(&s, 2, ENGINE_NONE), 1);
        script_end(&s);
    }
}

/* With hold_remote a map leaves its block's host for one that its stage prefers, and for no other.
 * A stage without blocks that prefers the same runs anywhere. */
static void a_map_leaves_its_block_for_what_it_prefers(void **state)
{
    (void)state;
    static const uint64_t vector[ENGINE_RESOURCES] = {1};
    static const uint32_t blocks[] = {0, 0, 0};
    static const char *const labels[] = {"", "gpu", "", ""};
    struct wanted w = {.number = 1,
                       .tasks = 3,
                       .per = 1,
                       .replicas = blocks,
                       .wishes = "gpu",
                       .utilities = {1},
                       .n_wishes = 1};
    struct script s;
    begin(&s);
    script_parameter(&s, "hold_remote", 1);
    for (uint32_t h = 0; h < 4; h++) {
        struct event event = script_join(h, 1, vector);
        event.host_join.labels = labels[h];
        script_event(&s, event);
    }
    submit(&s, &w);
    for (uint32_t h = 0; h < 4; h++)
        assert_int_equal(running_on(&s, 1, h), h < 2);
    w.number = 2;
    w.tasks = 2;
    w.per = 0;
    submit(&s, &w);
    assert_int_equal(running_on(&s, 1, ENGINE_NONE), 2);
    assert_int_equal(running_on(&s, 2, ENGINE_NONE), 2);
    script_end(&s);
}

static void check_bounds(const struct script *s)
{
    struct attempt_view view;
    for (uint64_t after = 0; engine_attempt_after(s->engine, after, &view) == 0;
         after = view.attempt) {
        if (view.orphan)
            continue;
        const struct task *task = job_find_task(s->engine, view.job, view.stage, view.task);
        const struct job *job = task->stage->job;
        const struct host *host = cluster_host(s->engine, view.host);
        uint32_t most = job->at_most.host;
        assert_true(!most || at_most_on_host(job, NULL, host) <= most);
        most = task->stage->at_most.host;
        assert_true(!most || at_most_on_host(job, task->stage, host) <= most);
    }
}

static void a_loaded_engine_decides_the_same(void **state)
{
    enum { RUNS = DRAWS(40, 16 /* each setting once */) };
    (void)state;
    for (unsigned run = 0; run < RUNS; run++) {
        uint64_t seed = test_seed() + run, streams[2] = {seed, seed}, numbers[2] = {0};
        struct script s[2];
        for (int i = 0; i < 2; i++) {
            begin(&s[i]);
            s[i].reload = i;
            join_all(&s[i]);
            script_parameter(&s[i], "weight.wait", run % 3);
            script_parameter(&s[i], "hold_stalls", run % 2);
            script_parameter(&s[i], "fair_parts", run / 2 % 2);
            script_parameter(&s[i], "hold_remote", run / 4 % 2);
            script_parameter(&s[i], "start_wait", run / 8 % 2 * SECOND);
        }
        for (unsigned step = 0; step < 60; step++) {
            for (int i = 0; i < 2; i++)
                do_any(&s[i], &numbers[i], &streams[i]);
            assert_int_equal(digest_of(&s[0]), digest_of(&s[1]));
            check_bounds(&s[0]);
        }
        for (int i = 0; i < 2; i++)
            script_end(&s[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_runs_where_it_prefers),
        cmocka_unit_test(the_larger_utility_gets_the_host),
        cmocka_unit_test(bounds_are_kept_in_one_round),
        cmocka_unit_test(jobs_get_their_parts),
        cmocka_unit_test(what_nobody_else_can_use_is_given),
        cmocka_unit_test(a_long_wait_overtakes_a_turn),
        cmocka_unit_test(no_wait_overtakes_a_priority),
        cmocka_unit_test(a_map_waits_for_its_block),
        cmocka_unit_test(a_map_leaves_its_block_for_what_it_prefers),
        cmocka_unit_test(a_loaded_engine_decides_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
