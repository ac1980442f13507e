/* What a framework tells, late, in pieces and in any order: sizes and guesses, levels that follow,
 * jobs that nobody announced, bounds; and what a fact costs. */
#include "tests/model/script.h"

#include <errno.h>

#define NUMBER(n) ((UINT64_C(1) << 63) + (n))
enum { MEGABYTE = 1000000 };

static void begin_placed(struct script *s, const char *place, uint32_t hosts, uint64_t slots)
{
    struct engine_config config = script_config();
    config.framework_jobs_max = 1000;
    strcpy(config.place, place);
    script_begin(s, &config);
    s->reload = true;
    for (uint32_t h = 0; h < hosts; h++)
        script_host(s, h, slots);
}

static void begin(struct script *s, uint32_t hosts, uint64_t slots)
{
    begin_placed(s, "greedy", hosts, slots);
}

static struct event stage_event(uint64_t job, uint32_t stage, uint32_t tasks, uint64_t history)
{
    struct event e = script_framework_stage(job, stage, tasks, stage > 0);
    e.framework_stage.history = history;
    return e;
}

static void two_stages(struct script *s, uint64_t job, uint32_t maps, uint32_t reduces,
                       uint64_t history)
{
    script_event(s, stage_event(job, 0, maps, 0));
    script_event(s, stage_event(job, 1, reduces, history));
}

static void tell(struct script *s, uint64_t job, enum framework_form form, uint32_t first,
                 const uint64_t *bytes, uint32_t n, const uint32_t *at)
{
    struct event e = {.kind = EVENT_FRAMEWORK_BYTES};
    e.framework_bytes.job = job;
    e.framework_bytes.stage = 1;
    e.framework_bytes.form = form;
    e.framework_bytes.first = first;
    e.framework_bytes.bytes = (struct u64s){bytes, n};
    e.framework_bytes.at = (struct u32s){at, at ? n : 0};
    script_event(s, e);
}

static void done(struct script *s, uint64_t number, uint64_t job, uint32_t stage, uint32_t task,
                 uint32_t host)
{
    struct event e = {.kind = EVENT_FRAMEWORK_DONE};
    e.framework_task.attempt = number;
    e.framework_task.job = job;
    e.framework_task.stage = stage;
    e.framework_task.task = task;
    e.framework_task.host = host;
    script_event(s, e);
}

static void test_cells_sums_and_hosts_in_any_order(void **state)
{
    (void)state;
    struct script s;
    const uint64_t sums[] = {50, 60}, row0[] = {1, 2}, row1[] = {10, 20}, hosts[] = {7, 8},
                   cell[] = {5};
    const uint32_t at[] = {0, 1}, one[] = {1};
    begin(&s, 2, 2);
    tell(&s, 1, BYTES_SUMS, 0, sums, 2, NULL); /* before the job, its stages or tasks */
    assert_int_equal(script_task_view(&s, 1, 1, 1).bytes, 60);
    assert_false(script_task_view(&s, 1, 1, 1).guessed);
    two_stages(&s, 1, 2, 3, 0);
    assert_true(script_task_view(&s, 1, 1, 2).guessed &&
                script_task_view(&s, 1, 1, 2).network_input);
    tell(&s, 1, BYTES_HOSTS, 0, hosts, 2, at);
    assert_int_equal(script_task_view(&s, 1, 1, 0).bytes, 15);
    tell(&s, 1, BYTES_ROW, 1, row1, 2, NULL);
    assert_int_equal(script_task_view(&s, 1, 1, 0).bytes, 15); /* one row of two: the sum stands */
    tell(&s, 1, BYTES_ROW, 0, row0, 2, NULL);
    assert_int_equal(script_task_view(&s, 1, 1, 0).bytes, 11);
    assert_int_equal(script_task_view(&s, 1, 1, 1).bytes, 22);
    assert_int_equal(script_task_view(&s, 1, 1, 2).bytes, 0);
    tell(&s, 1, BYTES_CELLS, 0, cell, 1, one); /* a correction */
    assert_int_equal(script_task_view(&s, 1, 1, 1).bytes, 25);
    tell(&s, 1, BYTES_ROW, 1, row0, 1, NULL); /* what a shorter row does not name is 0 */
    assert_int_equal(script_task_view(&s, 1, 1, 0).bytes, 2);
    assert_int_equal(script_task_view(&s, 1, 1, 1).bytes, 5);
    struct job_view job;
    engine_job(s.engine, 1, &job);
    assert_int_equal(job.shuffle_bytes, 7);
    script_end(&s);
}

static void run_stage(struct script *s, uint64_t job, uint32_t stage, uint32_t tasks)
{
    for (uint32_t t = 0; t < tasks; t++)
        done(s, NUMBER(job * 1000 + stage * 100 + t), job, stage, t, t % 2);
}

/* Tasks have hosts of most input (near.h), and one of them became ready again, when their stage
 * gets 300 tasks: lists of the first ones have no room for the others. */
static void test_a_stage_grows_that_has_preferred_hosts(void **state)
{
    (void)state;
    enum { MANY = 300 };
    struct script s;
    uint64_t row[MANY];
    for (uint32_t i = 0; i < MANY; i++)
        row[i] = 1000 + i;
    begin_placed(&s, "joint", 2, 1);
    s.reload = false; /* a loaded engine makes its lists anew */
    two_stages(&s, 1, 2, 4, 0);
    run_stage(&s, 1, 0, 2);
    tell(&s, 1, BYTES_ROW, 0, row, 4, NULL);
    tell(&s, 1, BYTES_ROW, 1, row, 4, NULL);
    struct event started = {.kind = EVENT_FRAMEWORK_STARTED};
    started.framework_task.attempt = NUMBER(7);
    started.framework_task.job = 1;
    started.framework_task.stage = 1;
    started.framework_task.phase = ATTEMPT_STARTED;
    started.framework_task.resources.amount[RES_SLOTS] = 1;
    script_event(&s, started);
    script_attempt(&s, EVENT_ATTEMPT_KILLED, NUMBER(7), 0); /* so its task is ready again */
    script_event(&s, stage_event(1, 1, MANY, 0));
    tell(&s, 1, BYTES_ROW, 0, row, MANY, NULL);
    tell(&s, 1, BYTES_ROW, 1, row, MANY, NULL);
    assert_int_equal(script_task_view(&s, 1, 1, MANY - 1).bytes, 2 * (1000 + MANY - 1));
    script_end(&s);
}

/* History, else the ratio to the input, else the median, else the first threshold. */
static void test_guesses(void **state)
{
    (void)state;
    struct script s;
    const uint64_t sums[] = {4 * MEGABYTE, 6 * MEGABYTE}, input[] = {100 * MEGABYTE}, none[] = {0};
    begin(&s, 2, 2);
    two_stages(&s, 1, 1, 2, 77);
    assert_int_equal(script_task_view(&s, 1, 1, 0).bytes, MEGABYTE);
    tell(&s, 1, BYTES_SUMS, 0, sums, 2, NULL);
    run_stage(&s, 1, 0, 1);
    run_stage(&s, 1, 1, 2);
    script_framework_end(&s, 1);
    two_stages(&s, 2, 1, 4, 0);
    assert_int_equal(script_task_view(&s, 2, 1, 3).bytes, 5 * MEGABYTE); /* the median */
    two_stages(&s, 3, 1, 4, 77);
    assert_int_equal(script_task_view(&s, 3, 1, 3).bytes, 5 * MEGABYTE); /* its history */
    struct event e = {.kind = EVENT_FRAMEWORK_TASKS};
    e.job_tasks.job = 4;
    e.job_tasks.input_bytes = (struct u64s){input, 1};
    e.job_tasks.compute_ns = (struct u64s){none, 1};
    script_event(&s, e);
    two_stages(&s, 4, 1, 2, 0);
    tell(&s, 4, BYTES_SUMS, 0, sums, 2, NULL);
    run_stage(&s, 4, 0, 1);
    run_stage(&s, 4, 1, 2);
    script_framework_end(&s, 4);
    e.job_tasks.job = 5;
    script_event(&s, e);
    two_stages(&s, 5, 1, 4, 0); /* 10 MB of 100 were shuffled: 10 MB over 4 tasks */
    assert_int_equal(script_task_view(&s, 5, 1, 0).bytes, 10 * MEGABYTE / 4);
    script_end(&s);
}

/* Before any ratio was seen a shuffle is taken to be what its maps read from files. */
static void test_input_is_a_first_guess(void **state)
{
    (void)state;
    for (uint32_t rules = RULE_INPUT_GUESSED - 1; rules <= RULE_INPUT_GUESSED; rules++) {
        struct script s;
        struct engine_config config = script_config();
        const uint64_t input[] = {30 * MEGABYTE, 70 * MEGABYTE}, none[] = {0, 0};
        config.framework_jobs_max = 1000;
        config.rules = rules;
        script_begin(&s, &config);
        s.reload = true;
        script_host(&s, 0, 2);
        struct event e = {.kind = EVENT_FRAMEWORK_TASKS};
        e.job_tasks.job = 1;
        e.job_tasks.input_bytes = (struct u64s){input, 2};
        e.job_tasks.compute_ns = (struct u64s){none, 2};
        script_event(&s, e);
        script_event(&s, stage_event(1, 1, 4, 0));
        script_event(&s, stage_event(1, 0, 2, 0));
        assert_int_equal(script_task_view(&s, 1, 1, 3).bytes,
                         rules == RULE_INPUT_GUESSED ? 25 * MEGABYTE : MEGABYTE);
        script_end(&s);
    }
}

/* They speak for the others, at 1, 2, 4, … of them, and in place of what was before. */
static void test_guesses_by_maps_that_ended(void **state)
{
    (void)state;
    struct script s;
    const uint64_t row[] = {4 * MEGABYTE, 2 * MEGABYTE, 0}, half[] = {2 * MEGABYTE, MEGABYTE, 0};
    begin(&s, 2, 2);
    two_stages(&s, 1, 8, 3, 0);
    assert_int_equal(script_task_view(&s, 1, 1, 0).bytes, MEGABYTE);
    tell(&s, 1, BYTES_ROW, 5, row, 3, NULL);
    for (uint32_t t = 0; t < 3; t++) {
        assert_true(script_task_view(&s, 1, 1, t).guessed);
        assert_int_equal(script_task_view(&s, 1, 1, t).bytes, 8 * 6 * MEGABYTE / 3);
    }
    tell(&s, 1, BYTES_ROW, 5, row, 3, NULL); /* the same again */
    assert_int_equal(script_task_view(&s, 1, 1, 0).bytes, 8 * 6 * MEGABYTE / 3);
    tell(&s, 1, BYTES_ROW, 0, half, 3, NULL);
    assert_int_equal(script_task_view(&s, 1, 1, 0).bytes, 8 * 9 * MEGABYTE / 2 / 3);
    tell(&s, 1, BYTES_ROW, 1, half, 3, NULL); /* three */
    assert_int_equal(script_task_view(&s, 1, 1, 0).bytes, 8 * 9 * MEGABYTE / 2 / 3);
    tell(&s, 1, BYTES_ROW, 2, half, 3, NULL);
    assert_int_equal(script_task_view(&s, 1, 1, 2).bytes, 8 * 15 * MEGABYTE / 4 / 3);
    for (uint32_t map = 3; map < 8; map++)
        tell(&s, 1, BYTES_ROW, map, half, 3, NULL);
    assert_false(script_task_view(&s, 1, 1, 2).guessed);
    assert_int_equal(script_task_view(&s, 1, 1, 0).bytes, 16 * MEGABYTE);
    script_end(&s);
}

static uint64_t first_in_turn(const struct script *s)
{
    struct job_view job;
    assert_int_equal(engine_job_in_turn(s->engine, 0, &job), 0);
    return job.job;
}

/* A job whose maps have not run yet is taken for what its later stages had when they ran last. */
static void test_history_orders_jobs(void **state)
{
    static const char *const turns[] = {"sjf", "srpt"};
    (void)state;
    for (int t = 0; t < 2; t++) {
        struct script s;
        const uint64_t large[] = {400 * MEGABYTE, 600 * MEGABYTE}, small[] = {10, 20};
        begin(&s, 2, 2);
        script_policy(&s, "turn", turns[t]);
        for (uint64_t job = 1; job <= 2; job++) {
            two_stages(&s, job, 1, 2, 70 + job);
            tell(&s, job, BYTES_SUMS, 0, job == 1 ? large : small, 2, NULL);
            run_stage(&s, job, 0, 1);
            run_stage(&s, job, 1, 2);
            script_framework_end(&s, job);
        }
        two_stages(&s, 3, 40, 2, 71);
        two_stages(&s, 4, 40, 2, 72);
        assert_int_equal(first_in_turn(&s), 4);
        two_stages(&s, 3, 40, 2, 72); /* what is told of a stage later counts */
        two_stages(&s, 4, 40, 2, 71);
        assert_int_equal(first_in_turn(&s), 3);
        script_end(&s);
    }
}

/* Those that were not learnt for longest leave, and what is learnt anew moves to the end. */
static void test_sizes_in_order_of_learning(void **state)
{
    (void)state;
    struct script s;
    struct sizes_view sizes;
    const uint64_t sums[] = {10, 20};
    begin(&s, 2, 2);
    s.reload = false;
    assert_int_equal(engine_sizes_after(s.engine, 0, &sizes), -ENOENT);
    for (uint64_t job = 1; job <= ENGINE_SIZES_MAX + 2; job++) {
        two_stages(&s, job, 1, 2, job == ENGINE_SIZES_MAX + 1 ? 1 : job);
        tell(&s, job, BYTES_SUMS, 0, sums, 2, NULL);
        run_stage(&s, job, 0, 1);
        run_stage(&s, job, 1, 2);
        script_framework_end(&s, job);
    }
    uint64_t n = 0, history = 0;
    for (uint64_t place = 0; engine_sizes_after(s.engine, place, &sizes) == 0; n++) {
        assert_true(n ? sizes.place > place && sizes.mean_bytes == 15 : sizes.history == 3);
        place = sizes.place;
        history = sizes.history;
    }
    assert_int_equal(n, ENGINE_SIZES_MAX);
    assert_int_equal(history, ENGINE_SIZES_MAX + 2);
    engine_sizes_after(s.engine, sizes.place - 2, &sizes);
    assert_int_equal(sizes.history, 1);
    script_end(&s);
}

/* It waits for a slot there, also where nobody knows how large the block is and the job is
 * small. */
static void test_maps_where_their_blocks_are(void **state)
{
    (void)state;
    struct script s;
    const uint32_t where[] = {2, 2, 1};
    const uint64_t nothing[3] = {0};
    begin_placed(&s, "joint", 3, 1);
    struct event blocks = {.kind = EVENT_FRAMEWORK_TASKS};
    blocks.job_tasks.job = 1;
    blocks.job_tasks.replicas_per_task = 1;
    blocks.job_tasks.replicas = (struct u32s){where, 3};
    blocks.job_tasks.input_bytes = (struct u64s){nothing, 3};
    blocks.job_tasks.compute_ns = (struct u64s){nothing, 3};
    script_event(&s, stage_event(1, 0, 3, 0)); /* they may go anywhere, as far as was told */
    assert_int_equal(script_count(&s, DECISION_ALLOW), 3);
    script_event(&s, blocks);
    assert_true(script_task_view(&s, 1, 0, 2).host == 1);
    assert_int_equal(
        (script_task_view(&s, 1, 0, 0).host == 2) + (script_task_view(&s, 1, 0, 1).host == 2), 1);
    assert_int_equal((script_task_view(&s, 1, 0, 0).state == TASK_READY) +
                         (script_task_view(&s, 1, 0, 1).state == TASK_READY),
                     1);
    script_end(&s);
}

/* Blocks that are told before their stage, in pieces: nothing is given away before the last. */
static void test_blocks_come_before_their_stage(void **state)
{
    (void)state;
    struct script s;
    const uint32_t where[] = {2, 1, 0};
    const uint64_t nothing[1] = {0};
    begin_placed(&s, "joint", 3, 2);
    script_event(&s, stage_event(1, 1, 2, 0)); /* it reads them */
    for (uint32_t t = 0; t < 3; t++) {
        struct event blocks = {.kind = EVENT_FRAMEWORK_TASKS};
        blocks.job_tasks.job = 1;
        blocks.job_tasks.first = t;
        blocks.job_tasks.replicas_per_task = 1;
        blocks.job_tasks.replicas = (struct u32s){&where[t], 1};
        blocks.job_tasks.input_bytes = blocks.job_tasks.compute_ns = (struct u64s){nothing, 1};
        script_event(&s, blocks);
        assert_int_equal(script_count(&s, DECISION_ALLOW), 0);
    }
    struct event maps = stage_event(1, 0, 3, 0);
    maps.framework_stage.phase = FRAMEWORK_OFFERED;
    script_event(&s, maps);
    assert_int_equal(script_count(&s, DECISION_ALLOW), 3);
    for (uint32_t t = 0; t < 3; t++)
        assert_int_equal(script_task_view(&s, 1, 0, t).host, where[t]);
    assert_int_equal(script_count(&s, DECISION_ALLOW_END), 0);
    script_end(&s);
}

/* Marked by bytes received until its size is known, then by that. */
static void test_level_follows(void **state)
{
    (void)state;
    struct script s;
    const uint64_t small[] = {3 * MEGABYTE};
    begin(&s, 2, 2);
    two_stages(&s, 1, 1, 1, 0);
    run_stage(&s, 1, 0, 1);
    const struct decision *d = script_decision(&s, DECISION_ALLOW, 0);
    assert_non_null(d);
    assert_int_equal(d->allow.coflow_level, 0);
    script_started(&s, NUMBER(1), 1, 1, 0, d->allow.host);
    assert_int_equal(script_count(&s, DECISION_ALLOW_END), 1);
    assert_int_equal(script_count(&s, DECISION_LEVEL), 0);
    script_attempt(&s, EVENT_ATTEMPT_PROGRESS, NUMBER(1), 100 * MEGABYTE);
    d = script_decision(&s, DECISION_LEVEL, 0);
    assert_true(d && d->reason == REASON_RECEIVED && d->level.attempt == NUMBER(1));
    assert_true(d->level.coflow_level > 0 && d->level.macroflow_level > 1);
    tell(&s, 1, BYTES_SUMS, 0, small, 1, NULL);
    d = script_decision(&s, DECISION_LEVEL, 0);
    assert_true(d && d->reason == REASON_SIZE);
    assert_int_equal(d->level.coflow_level, 0);
    assert_int_equal(d->level.macroflow_level, 1);
    script_end(&s);
}

/* Whatever starts is adopted, nothing is stopped, and what beyond bounds is told makes nothing. */
static void test_nothing_announced(void **state)
{
    (void)state;
    struct script s;
    struct job_view job;
    struct engine_counters before, after;
    begin(&s, 2, 2);
    script_started(&s, NUMBER(1), 9, 3, 5, 1);
    assert_int_equal(engine_job(s.engine, 9, &job), 0);
    assert_true(job.framework && job.stages == 4 && job.running == 1);
    script_started(&s, NUMBER(2), 9, 3, 5, 0); /* a copy */
    done(&s, NUMBER(1), 9, 3, 5, 1);
    assert_int_equal(script_count(&s, DECISION_STOP), 0);
    done(&s, NUMBER(7), 9, 3, 4, 1); /* never seen */
    assert_int_equal(script_task_state(&s, 9, 3, 4), TASK_DONE);
    script_attempt(&s, EVENT_ATTEMPT_KILLED, NUMBER(2), 0);
    script_framework_end(&s, 9);
    assert_int_equal(engine_job(s.engine, 9, &job), 0);
    assert_int_equal(job.state, JOB_DONE);
    engine_counters(s.engine, &before);
    s.reload = false;
    script_started(&s, NUMBER(3), 8, 1 << 30, 0,
                   0); /* no such stage can be: its room is taken all the same */
    script_started(&s, NUMBER(4), 8, 0, UINT32_MAX - 1, 0);
    script_started(&s, UINT64_C(1) << 32 | 5, 8, 0, 0, 0); /* a number of ours */
    done(&s, NUMBER(5), 9, 3, 4, 1);                       /* a job that is over */
    engine_counters(s.engine, &after);
    assert_true(after.ignored_facts >= before.ignored_facts + 4);
    struct host_view host;
    engine_host(s.engine, 0, &host);
    assert_int_equal(host.running, 2);
    script_end(&s);
}

static void test_skipped_stages(void **state)
{
    (void)state;
    struct script s;
    begin(&s, 2, 2);
    script_event(&s, stage_event(1, 1, 2, 0));
    assert_int_equal(script_count(&s, DECISION_ALLOW), 0);
    struct event e = stage_event(1, 0, 3, 0);
    e.framework_stage.phase = FRAMEWORK_SKIPPED;
    script_event(&s, e);
    assert_int_equal(script_count(&s, DECISION_ALLOW), 2);
    script_end(&s);
}

/* Objects looked at by one map's row, one correction, one start and one end, of one job among
 * `jobs` of `maps` × 20 on `hosts`. */
static uint64_t cost(uint32_t jobs, uint32_t maps, uint32_t hosts)
{
    struct script s;
    struct engine_counters before, after;
    uint64_t row[20];
    const uint32_t at[] = {3};
    begin(&s, hosts, 1);
    s.reload = false;
    for (int i = 0; i < 20; i++)
        row[i] = MEGABYTE;
    for (uint64_t j = 1; j <= jobs; j++) {
        two_stages(&s, j, maps, 20, 0);
        for (uint32_t m = 0; m + 1 < maps; m++)
            tell(&s, j, BYTES_ROW, m, row, 20, NULL);
    }
    engine_counters(s.engine, &before);
    for (uint64_t j = 1; j <= 8; j++) {
        tell(&s, j, BYTES_ROW, maps - 1, row, 20, NULL);
        row[3] += MEGABYTE;
        tell(&s, j, BYTES_CELLS, 2, &row[3], 1, at);
        script_started(&s, NUMBER(j), j, 0, 0, (uint32_t)j);
        script_attempt(&s, EVENT_ATTEMPT_DONE, NUMBER(j), 0);
    }
    engine_counters(s.engine, &after);
    script_end(&s);
    return after.visits - before.visits;
}

static void test_facts_cost_what_they_change(void **state)
{
    (void)state;
    uint64_t small = cost(10, 10, 20), jobs = cost(100, 10, 20), maps = cost(10, 100, 20),
             hosts = cost(10, 10, 200), all = cost(100, 100, 200);
    print_message("%llu visits, 10 x jobs %llu, maps %llu, hosts %llu, all %llu\n",
                  (unsigned long long)small, (unsigned long long)jobs, (unsigned long long)maps,
                  (unsigned long long)hosts, (unsigned long long)all);
    assert_true(2 * jobs <= 3 * small && 2 * maps <= 3 * small && 2 * hosts <= 3 * small &&
                2 * all <= 3 * small);
}

/* ---- maps that are bound ---- */

static void begin_packing_by(struct script *s, uint32_t rules)
{
    struct engine_config config = script_config();
    config.rules = rules;
    config.framework_jobs_max = 1000;
    strcpy(config.place, "joint");
    strcpy(config.network, "rank");
    engine_config_say(&config, "pack", 1, NULL);
    script_begin(s, &config);
    s->reload = true;
    for (uint32_t h = 0; h < 2; h++)
        script_host(s, h, 2);
}

static void begin_packing(struct script *s)
{
    begin_packing_by(s, ENGINE_RULES);
}

/* Two reduce tasks of so many bytes, before their maps are known. */
static void reduces_of(struct script *s, uint64_t job, uint64_t each)
{
    const uint64_t sums[] = {each, each};
    script_event(s, stage_event(job, 1, 2, 0));
    tell(s, job, BYTES_SUMS, 0, sums, 2, NULL);
}

static void maps_of(struct script *s, uint64_t job, uint32_t phase, bool bindable)
{
    struct event e = stage_event(job, 0, 2, 0);
    e.framework_stage.phase = phase;
    e.framework_stage.bindable = bindable;
    script_event(s, e);
}

static bool is_bound(const struct script *s, uint64_t job)
{
    struct stage_view stage;
    assert_int_equal(engine_stage(s->engine, job, 0, &stage), 0);
    assert_true(stage.gated == stage.bound);
    return stage.bound;
}

/* Once, as soon as both are known: that its job stays on one host, and that who runs it follows. */
static void test_maps_of_a_packed_job_are_bound(void **state)
{
    (void)state;
    struct script s;
    begin_packing(&s);
    reduces_of(&s, 1, 100 * MEGABYTE);
    maps_of(&s, 1, FRAMEWORK_KNOWN, false);
    assert_int_equal(script_count(&s, DECISION_ALLOW), 2);
    assert_int_equal(script_decision(&s, DECISION_ALLOW, 0)->allow.host,
                     script_decision(&s, DECISION_ALLOW, 1)->allow.host);
    assert_int_equal(script_count(&s, DECISION_BIND), 0);
    assert_false(is_bound(&s, 1));
    maps_of(&s, 1, FRAMEWORK_OFFERED, true);
    const struct decision *bind = script_decision(&s, DECISION_BIND, 0);
    assert_true(bind->bind.job == 1 && bind->bind.stage == 0 && bind->left < bind->right);
    assert_string_equal(reason_name(bind->reason), "home");
    assert_true(is_bound(&s, 1));
    maps_of(&s, 1, FRAMEWORK_OFFERED, true);
    assert_int_equal(script_count(&s, DECISION_BIND), 0);
    maps_of(&s, 1, FRAMEWORK_OFFERED, false);
    assert_false(is_bound(&s, 1));
    script_end(&s);
}

/* What gains nothing by one host, and what is never held. */
static void test_other_maps_are_free(void **state)
{
    (void)state;
    struct script s;
    begin_packing(&s);
    reduces_of(&s, 1, 0);
    maps_of(&s, 1, FRAMEWORK_OFFERED, true);
    assert_int_equal(script_count(&s, DECISION_BIND), 0);
    reduces_of(&s, 2, 100 * MEGABYTE);
    struct event e = stage_event(2, 0, 2, 0);
    e.framework_stage.ungated = e.framework_stage.bindable = 1;
    script_event(&s, e);
    assert_int_equal(script_count(&s, DECISION_BIND), 0);
    assert_false(is_bound(&s, 1) || is_bound(&s, 2));
    script_end(&s);
}

/* The first allow of it says so, too: whoever is told of both starts nothing elsewhere between. */
static void test_a_job_that_waited_is_bound_with_its_first_allow(void **state)
{
    (void)state;
    struct script s;
    begin_packing(&s);
    for (uint32_t t = 0; t < 4; t++)
        script_started(&s, NUMBER(t), 9, 0, t, t % 2);
    reduces_of(&s, 1, 100 * MEGABYTE);
    maps_of(&s, 1, FRAMEWORK_OFFERED, true);
    assert_int_equal(script_count(&s, DECISION_BIND) + script_count(&s, DECISION_ALLOW), 0);
    done(&s, NUMBER(1), 9, 0, 1, 1);
    assert_int_equal(script_count(&s, DECISION_BIND), 1);
    assert_int_equal(script_decision(&s, DECISION_ALLOW, 0)->allow.host, 1);
    done(&s, NUMBER(0), 9, 0, 0, 0);
    assert_int_equal(script_count(&s, DECISION_ALLOW), 0); /* it waits for its home */
    done(&s, NUMBER(3), 9, 0, 3, 1);
    assert_int_equal(script_decision(&s, DECISION_ALLOW, 0)->allow.host, 1);
    script_end(&s);
}

/* Maps are announced before it is known where their blocks are, and the first is placed between the
 * two. Then each of them goes to its own block. */
static void test_a_block_ends_a_home(void **state)
{
    (void)state;
    struct script s;
    const uint32_t where[] = {0, 1};
    const uint64_t nothing[2] = {0};
    begin_packing(&s);
    reduces_of(&s, 1, 100 * MEGABYTE);
    maps_of(&s, 1, FRAMEWORK_KNOWN, false);
    const struct decision *first = script_decision(&s, DECISION_ALLOW, 0);
    assert_string_equal(reason_name(first->reason), "home");
    struct event blocks = {.kind = EVENT_FRAMEWORK_TASKS};
    blocks.job_tasks.job = 1;
    blocks.job_tasks.replicas_per_task = 1;
    blocks.job_tasks.replicas = (struct u32s){where, 2};
    blocks.job_tasks.input_bytes = (struct u64s){nothing, 2};
    blocks.job_tasks.compute_ns = (struct u64s){nothing, 2};
    script_event(&s, blocks);
    assert_int_equal(script_count(&s, DECISION_ALLOW), 1); /* that was at home, without its block */
    assert_int_equal(script_task_view(&s, 1, 0, 0).host, 0);
    assert_int_equal(script_task_view(&s, 1, 0, 1).host, 1);
    script_end(&s);
}

/* Two maps at home, whose outputs turn out a thousand times as large as was guessed. When they are
 * done there is a slot at home for one of the two reduce tasks, which starts. Returns the home. */
static uint32_t half_at_home(struct script *s, uint32_t rules)
{
    begin_packing_by(s, rules);
    script_event(s, stage_event(1, 1, 2, 0));
    maps_of(s, 1, FRAMEWORK_KNOWN, false);
    const struct decision *first = script_decision(s, DECISION_ALLOW, 0);
    assert_string_equal(reason_name(first->reason), "home");
    const uint32_t home = first->allow.host;
    assert_int_equal(script_task_view(s, 1, 1, 0).bytes, MEGABYTE);
    done(s, NUMBER(1), 1, 0, 0, home);
    script_started(s, NUMBER(2), 9, 0, 0, home);
    reduces_of(s, 1, 1000 * MEGABYTE);
    done(s, NUMBER(3), 1, 0, 1, home);
    assert_int_equal(script_count(s, DECISION_ALLOW), 1);
    assert_int_equal(script_decision(s, DECISION_ALLOW, 0)->allow.host, home);
    script_started(s, NUMBER(4), 1, 1, script_decision(s, DECISION_ALLOW, 0)->allow.task, home);
    return home;
}

/* How many of them may start after 10 s, for longer than which near.h keeps none. */
static size_t leaving(uint32_t rules)
{
    struct script s;
    const uint32_t home = half_at_home(&s, rules);
    s.now_ns += 10 * SECOND;
    script_events(&s, NULL, 0);
    const size_t n = script_count(&s, DECISION_ALLOW);
    if (n)
        assert_int_equal(script_decision(&s, DECISION_ALLOW, 0)->allow.host, 1 - home);
    script_end(&s);
    return n;
}

/* A job waits for its home by what is told of it, not by the guess of when its first map was
 * placed; hold_max ends that. */
static void test_a_home_is_waited_for_by_what_is_told(void **state)
{
    (void)state;
    struct script s;
    assert_int_equal(leaving(ENGINE_RULES), 0);
    assert_int_equal(leaving(RULE_HOME_TOLD - 1), 1);
    half_at_home(&s, ENGINE_RULES);
    s.now_ns += 30 * SECOND; /* hold_max */
    script_events(&s, NULL, 0);
    assert_int_equal(script_count(&s, DECISION_OPEN), 1);
    script_end(&s);
}

/* Computes for long enough to be spread, since it sends next to nothing. */
static void long_job(struct script *s, uint64_t job, int64_t map_ns)
{
    const uint64_t nothing[2] = {0}, compute_ns[] = {(uint64_t)map_ns, (uint64_t)map_ns};
    struct event maps = {.kind = EVENT_FRAMEWORK_TASKS};
    maps.job_tasks.job = job;
    maps.job_tasks.input_bytes = (struct u64s){nothing, 2};
    maps.job_tasks.compute_ns = (struct u64s){compute_ns, 2};
    script_event(s, maps);
    reduces_of(s, job, MEGABYTE);
    maps_of(s, job, FRAMEWORK_OFFERED, true);
}

/* How often its maps are bound behind a job of which one of two small reduce tasks is done. */
static size_t binds_behind_a_small_rest(uint32_t rules)
{
    struct script s;
    begin_packing_by(&s, rules);
    long_job(&s, 1, SECOND);
    assert_int_equal(script_count(&s, DECISION_BIND), 0);
    run_stage(&s, 1, 0, 2);
    done(&s, NUMBER(5), 1, 1, 0, 0);
    long_job(&s, 2, 2 * SECOND);
    size_t binds = script_count(&s, DECISION_BIND);
    script_end(&s);
    return binds;
}

/* What a reduce task received is not left any more, and no more than that. */
static void test_what_is_left_ahead_binds_only_if_it_is_much(void **state)
{
    (void)state;
    assert_int_equal(binds_behind_a_small_rest(ENGINE_RULES), 0);
    assert_int_equal(binds_behind_a_small_rest(RULE_LEFT_COUNTED - 1), 1);
}

/* Of a job behind it nobody knows whether it will wait for links, however long it computes: a
 * framework tells of stages when it comes to them. */
static void test_a_job_behind_counts_whatever_it_computes(void **state)
{
    (void)state;
    struct script s;
    begin_packing(&s);
    long_job(&s, 2, 9 * SECOND);
    assert_int_equal(script_count(&s, DECISION_BIND), 0);
    run_stage(&s, 2, 0, 2);
    long_job(&s, 1, 24 * SECOND / 1000);
    assert_int_equal(script_count(&s, DECISION_BIND), 1);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells_sums_and_hosts_in_any_order),
        cmocka_unit_test(test_a_stage_grows_that_has_preferred_hosts),
        cmocka_unit_test(test_guesses),
        cmocka_unit_test(test_input_is_a_first_guess),
        cmocka_unit_test(test_maps_of_a_packed_job_are_bound),
        cmocka_unit_test(test_other_maps_are_free),
        cmocka_unit_test(test_a_job_that_waited_is_bound_with_its_first_allow),
        cmocka_unit_test(test_a_block_ends_a_home),
        cmocka_unit_test(test_a_home_is_waited_for_by_what_is_told),
        cmocka_unit_test(test_what_is_left_ahead_binds_only_if_it_is_much),
        cmocka_unit_test(test_a_job_behind_counts_whatever_it_computes),
        cmocka_unit_test(test_guesses_by_maps_that_ended),
        cmocka_unit_test(test_history_orders_jobs),
        cmocka_unit_test(test_sizes_in_order_of_learning),
        cmocka_unit_test(test_maps_where_their_blocks_are),
        cmocka_unit_test(test_blocks_come_before_their_stage),
        cmocka_unit_test(test_level_follows),
        cmocka_unit_test(test_nothing_announced),
        cmocka_unit_test(test_skipped_stages),
        cmocka_unit_test(test_facts_cost_what_they_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
