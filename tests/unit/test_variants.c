/* Stages that can run in several ways: which one is taken, that a task leaves the queues of all,
 * what counts it once, what its work is taken for, and what is refused. */
#include "tests/model/script_dump.h"

#include "lib/constraint.h"

#include <errno.h>

enum { PLAIN, ON_GPU };

/* A host with two slots, and with GPUs where there are some. */
static void host(struct script *s, uint32_t index, uint64_t slots, uint64_t gpu_milli)
{
    uint64_t vector[ENGINE_RESOURCES] = {[RES_SLOTS] = slots, [RES_GPU_MILLI] = gpu_milli};
    script_event(s, script_join(index, slots, vector));
}

static void begin(struct script *s, const char *turn, const char *place)
{
    struct engine_config config = script_config();
    strcpy(config.turn, turn);
    strcpy(config.place, place);
    script_begin(s, &config);
    s->reload = true;
}

/* Tasks that need a slot, or half a GPU beside it. */
static struct event two_ways(uint64_t job, uint32_t tasks)
{
    static const uint64_t demand[ENGINE_RESOURCES] = {[RES_SLOTS] = 1, [RES_GPU_MILLI] = 500};
    struct event stage = script_stage_event(job, 0, tasks, NULL, NULL);
    stage.job_stage.command = "map";
    stage.job_stage.variant_demands = (struct u64s){demand, ENGINE_RESOURCES};
    stage.job_stage.variant_commands = "map-gpu";
    return stage;
}

/* The other way round: the GPU is preferred. */
static struct event gpu_first(uint64_t job, uint32_t tasks)
{
    static const uint64_t demand[ENGINE_RESOURCES] = {[RES_SLOTS] = 1};
    struct event stage = two_ways(job, tasks);
    stage.job_stage.demand.amount[RES_GPU_MILLI] = 500;
    stage.job_stage.command = "map-gpu";
    stage.job_stage.variant_demands = (struct u64s){demand, ENGINE_RESOURCES};
    stage.job_stage.variant_commands = "map";
    return stage;
}

static void submit(struct script *s, struct event stage)
{
    script_job_begin(s, stage.job_stage.job);
    script_event(s, stage);
    assert_int_equal(script_rejection(s), REASON_NONE);
    script_job_end(s, stage.job_stage.job);
}

/* How long its tasks compute, by that variant. */
static void tell_work(struct script *s, uint64_t job, uint32_t variant, uint32_t n, uint64_t ns)
{
    uint64_t inputs[8] = {0}, compute[8];
    struct event event = {.kind = EVENT_JOB_TASKS, .request = job};
    for (uint32_t i = 0; i < n; i++)
        compute[i] = ns;
    event.job_tasks.job = job;
    event.job_tasks.variant = variant;
    event.job_tasks.input_bytes = (struct u64s){inputs, variant ? 0 : n};
    event.job_tasks.compute_ns = (struct u64s){compute, n};
    script_event(s, event);
}

static uint32_t started(const struct script *s, uint32_t variant)
{
    uint32_t n = 0;
    const struct decision *d;
    for (size_t i = 0; (d = script_decision(s, DECISION_START, i)); i++)
        n += d->start.variant == variant;
    return n;
}

/* ---- which way ---- */

/* The order is the preference, whichever demand was known first. */
static void test_the_first_that_fits_is_taken(void **state)
{
    (void)state;
    static const char *const places[] = {"greedy", "delay", "nats", "joint", "neat", "random"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct script s;
        begin(&s, "fifo", places[i]);
        host(&s, 0, 2, 0);
        host(&s, 1, 2, 1000);
        submit(&s, two_ways(1, 2));
        assert_int_equal(started(&s, PLAIN), 2);
        script_cancel(&s, 1);
        for (uint32_t t = 0; t < 2; t++)
            script_attempt(&s, EVENT_ATTEMPT_KILLED, (UINT64_C(1) << 32) + 1 + t, 0);
        submit(&s, gpu_first(2, 4));
        assert_int_equal(started(&s, 0), 2);
        assert_int_equal(started(&s, 1), 2);
        for (uint32_t t = 0; t < 4; t++) {
            const struct decision *d = script_start(&s, 2, 0, t);
            assert_int_equal(d->start.host, d->start.variant ? 0 : 1);
            assert_int_equal(d->start.resources.amount[RES_GPU_MILLI], d->start.variant ? 0 : 500);
        }
        script_end(&s);
    }
}

/* A task stands in one queue of each way and leaves both when it starts. */
static void test_it_runs_once(void **state)
{
    (void)state;
    struct script s;
    struct job_view job;
    begin(&s, "fifo", "greedy");
    host(&s, 0, 1, 0);
    host(&s, 3, 1, 500);
    script_host_event(&s, EVENT_HOST_SILENT, 3);
    submit(&s, two_ways(1, 3));
    assert_int_equal(started(&s, PLAIN), 1);
    host(&s, 1, 1, 500);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    engine_job(s.engine, 1, &job);
    assert_int_equal(job.ready, 1);
    assert_int_equal(job.running, 2);
    host(&s, 2, 2, 1000);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    engine_job(s.engine, 1, &job);
    assert_int_equal(job.ready, 0);
    for (uint32_t t = 0; t < 3; t++)
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, t), 0);
    assert_int_equal(script_count(&s, DECISION_JOB_DONE), 1);
    script_end(&s);
}

/* Where it failed it is not tried again; elsewhere only another way may be possible. */
static void test_a_failed_attempt_comes_back_as_another(void **state)
{
    (void)state;
    static const uint64_t slot[ENGINE_RESOURCES] = {[RES_SLOTS] = 1};
    struct script s;
    begin(&s, "fifo", "greedy");
    host(&s, 0, 1, 500);
    struct event stage = gpu_first(1, 1);
    stage.job_stage.variant_demands = (struct u64s){slot, ENGINE_RESOURCES};
    submit(&s, stage);
    assert_int_equal(script_decision(&s, DECISION_START, 0)->start.variant, 0);
    host(&s, 1, 1, 0);
    script_attempt(&s, EVENT_ATTEMPT_FAILED, script_attempt_of(&s, 1, 0, 0), 0);
    const struct decision *again = script_start(&s, 1, 0, 0);
    assert_non_null(again);
    assert_int_equal(again->start.host, 1);
    assert_int_equal(again->start.variant, 1);
    struct attempt_view view;
    assert_int_equal(engine_attempt(s.engine, again->start.attempt, &view), 0);
    assert_int_equal(view.variant, 1);
    script_end(&s);
}

static uint64_t attempt_on(const struct script *s, uint32_t host)
{
    struct attempt_view view = {0};
    do
        assert_int_equal(engine_attempt_after(s->engine, view.attempt, &view), 0);
    while (view.host != host);
    return view.attempt;
}

/* Another scheduler claims a unit, and says nothing of ways. */
static void test_a_claim_takes_the_way_that_fits_there(void **state)
{
    (void)state;
    uint64_t job = 1;
    uint32_t zero = 0, one = 1;
    struct script s;
    struct event claim = {.kind = EVENT_CLAIM, .request = 9};
    begin(&s, "fifo", "greedy");
    host(&s, 0, 1, 0);
    host(&s, 1, 1, 500);
    submit(&s, script_stage_event(7, 0, 2, NULL, NULL));
    submit(&s, gpu_first(1, 1));
    struct event drain = {.kind = EVENT_HOST_DRAIN, .request = 1};
    drain.host_drain.host = 0;
    script_event(&s, drain);
    claim.claim.jobs = (struct u64s){&job, 1};
    claim.claim.stages = claim.claim.tasks = claim.claim.units = (struct u32s){&zero, 1};
    claim.claim.hosts = (struct u32s){&one, 1};
    script_event(&s, claim);
    assert_int_equal(script_decision(&s, DECISION_CLAIM_RESULT, 0)->claim_result.outcome, 2);
    struct event both[2] = {{.kind = EVENT_ATTEMPT_DONE}, claim};
    both[0].attempt.attempt = attempt_on(&s, 1);
    script_events(&s, both, 2);
    assert_int_equal(script_decision(&s, DECISION_CLAIM_RESULT, 0)->claim_result.outcome, 0);
    assert_int_equal(script_start(&s, 1, 0, 0)->start.variant, 0);
    script_end(&s);
}

/* ---- what counts it, and for how much ---- */

/* In whichever of its queues it stands. */
static void test_ready_tasks_count_once(void **state)
{
    (void)state;
    static const char *const rules[] = {"first", "all"};
    for (size_t i = 0; i < 2; i++) {
        struct script s;
        struct engine_status status;
        struct engine_config config = script_config();
        strcpy(config.mode, rules[i]);
        script_begin(&s, &config);
        s.reload = true;
        host(&s, 0, 4, 0);
        host(&s, 1, 2, 1000);
        submit(&s, two_ways(1, 7));
        engine_status(s.engine, &status);
        assert_int_equal(status.tasks_ready, 1);
        assert_int_equal(status.mode, MODE_SLOT_STARVED);
        assert_int_equal(status.first_ready, 1);
        assert_int_equal(status.first_free, 0);
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
        engine_status(s.engine, &status);
        assert_int_equal(status.mode, MODE_SLOT_RICH);
        script_end(&s);
    }
}

static uint64_t key_of(const struct script *s, uint64_t number)
{
    struct job_view job;
    assert_int_equal(engine_job(s->engine, number, &job), 0);
    return job.key;
}

/* Two tasks of 8 s, or 2 s on a GPU, on two slots. */
static void check_work(const char *turn)
{
    struct script s;
    uint64_t left_ns, left_bytes;
    begin(&s, turn, "greedy");
    host(&s, 0, 2, 0);
    host(&s, 1, 2, 1000);
    submit(&s, script_stage_event(9, 0, 4, NULL, NULL));
    script_job_begin(&s, 1);
    script_event(&s, two_ways(1, 2));
    tell_work(&s, 1, PLAIN, 2, 8 * (uint64_t)SECOND);
    tell_work(&s, 1, ON_GPU, 2, 2 * (uint64_t)SECOND);
    script_job_end(&s, 1);
    uint64_t with = key_of(&s, 1);
    assert_int_equal(engine_job_left(s.engine, 1, &left_ns, &left_bytes), 0);
    assert_int_equal(left_ns, 4 * SECOND);
    script_host_event(&s, EVENT_HOST_SILENT, 1);
    assert_int_equal(key_of(&s, 1), with);
    script_host_event(&s, EVENT_HOST_FORGET, 1);
    assert_int_equal(engine_job_left(s.engine, 1, &left_ns, &left_bytes), 0);
    assert_int_equal(left_ns, 16 * SECOND);
    uint64_t without = key_of(&s, 1);
    assert_true(without >= 4 * with);
    host(&s, 1, 2, 1000);
    assert_int_equal(engine_job_left(s.engine, 1, &left_ns, &left_bytes), 0);
    assert_int_equal(left_ns, 4 * SECOND);
    script_cancel(&s, 9);
    for (uint32_t t = 0; t < 2; t++)
        if (script_attempt_of(&s, 1, 0, t))
            script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, t), 0);
    script_end(&s);
}

static void test_work_is_the_shortest_that_can_be(void **state)
{
    (void)state;
    check_work("sjf");
    check_work("srpt");
}

/* Nobody told how long it takes the other way: as long. */
static void test_untold_work_is_that_of_the_first(void **state)
{
    (void)state;
    struct script s;
    uint64_t left_ns, left_bytes;
    begin(&s, "sjf", "greedy");
    host(&s, 0, 1, 500);
    submit(&s, script_stage_event(9, 0, 1, NULL, NULL));
    script_job_begin(&s, 1);
    script_event(&s, two_ways(1, 3));
    tell_work(&s, 1, PLAIN, 3, 8 * (uint64_t)SECOND);
    script_job_end(&s, 1);
    assert_int_equal(engine_job_left(s.engine, 1, &left_ns, &left_bytes), 0);
    assert_int_equal(left_ns, 24 * SECOND);
    script_end(&s);
}

/* ---- what is refused ---- */

static void assert_bad(struct script *s, struct event stage)
{
    struct stage_view view;
    script_event(s, stage);
    assert_int_equal(script_rejection(s), REASON_BAD_VALUE);
    assert_int_equal(engine_stage(s->engine, stage.job_stage.job, 0, &view), -ENOENT);
}

static void test_bad_variants_are_refused(void **state)
{
    (void)state;
    static const uint64_t four[4 * ENGINE_RESOURCES] = {2, 0, 0, 0, 0, 0, 3, 0, 0, 0,
                                                        0, 0, 4, 0, 0, 0, 0, 0, 5};
    static const uint64_t same[2 * ENGINE_RESOURCES] = {2, 0, 0, 0, 0, 0, 2},
                                   first[ENGINE_RESOURCES] = {1},
                                   negative[ENGINE_RESOURCES] = {UINT64_MAX};
    char command[ENGINE_NAME_MAX + 1], constraint[CONSTRAINT_MAX + 1];
    struct script s;
    begin(&s, "fifo", "greedy");
    script_job_begin(&s, 1);
    struct event stage = script_stage_event(1, 0, 1, NULL, NULL);
    stage.job_stage.variant_demands = (struct u64s){four, 4 * ENGINE_RESOURCES};
    assert_bad(&s, stage);
    stage.job_stage.variant_demands = (struct u64s){four, ENGINE_RESOURCES + 1};
    assert_bad(&s, stage);
    stage.job_stage.variant_demands = (struct u64s){negative, ENGINE_RESOURCES};
    assert_bad(&s, stage);
    stage.job_stage.variant_demands = (struct u64s){first, ENGINE_RESOURCES};
    assert_bad(&s, stage);
    stage.job_stage.variant_demands = (struct u64s){same, 2 * ENGINE_RESOURCES};
    assert_bad(&s, stage);
    stage.job_stage.variant_commands = "a\nb\nc";
    stage.job_stage.variant_constraints = "\nbig";
    assert_bad(&s, stage);
    stage.job_stage.variant_commands = "a\nb";
    stage.job_stage.variant_constraints = "big";
    assert_bad(&s, stage);
    memset(command, 'c', sizeof(command));
    memset(constraint, 'c', sizeof(constraint));
    command[ENGINE_NAME_MAX] = constraint[CONSTRAINT_MAX] = '\0';
    stage.job_stage.variant_demands = (struct u64s){four, ENGINE_RESOURCES};
    stage.job_stage.variant_commands = command;
    stage.job_stage.variant_constraints = "";
    assert_bad(&s, stage);
    stage.job_stage.variant_commands = NULL;
    stage.job_stage.variant_constraints = constraint;
    assert_bad(&s, stage);
    stage.job_stage.variant_demands = (struct u64s){same, 2 * ENGINE_RESOURCES};
    stage.job_stage.variant_constraints = "\nbig";
    script_event(&s, stage);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    tell_work(&s, 1, 3, 1, 1);
    assert_int_equal(script_rejection(&s), REASON_BAD_VALUE);
    tell_work(&s, 1, 2, 2, 1);
    assert_int_equal(script_rejection(&s), REASON_BAD_VALUE);
    script_end(&s);
}

/* One that no known host could ever run is a mistake of who submits it. */
static void test_a_variant_that_no_host_fits_is_refused(void **state)
{
    (void)state;
    struct script s;
    char text[512];
    begin(&s, "fifo", "greedy");
    host(&s, 0, 2, 0);
    script_job_begin(&s, 1);
    script_event(&s, two_ways(1, 1));
    script_job_end(&s, 1);
    assert_int_equal(script_rejection(&s), REASON_NEVER_FITS);
    engine_say_never_fits(s.engine, 1, 0, text, sizeof(text));
    assert_string_equal(text, "no known host could ever run a task of stage 0 as variant 1: it "
                              "needs slots 1, gpu_milli 500 in one unit; the most that a unit has "
                              "is slots 2, gpu_milli 0");
    host(&s, 1, 2, 500);
    script_job_end(&s, 1);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    script_end(&s);
}

static struct event gpu_stage(uint64_t job, uint32_t tasks, int64_t gpu_milli)
{
    struct event stage = script_stage_event(job, 0, tasks, NULL, NULL);
    stage.job_stage.demand.amount[RES_GPU_MILLI] = gpu_milli;
    return stage;
}

/* Several devices of a unit are handed out whole: part of one runs where a device is shared, or is
 * refused. */
static void test_a_whole_device_is_not_split(void **state)
{
    (void)state;
    struct script s;
    char text[512];
    begin(&s, "fifo", "greedy");
    host(&s, 0, 8, 2000);
    script_job_begin(&s, 1);
    script_event(&s, gpu_stage(1, 3, 500));
    script_job_end(&s, 1);
    assert_int_equal(script_rejection(&s), REASON_NEVER_FITS);
    engine_say_never_fits(s.engine, 1, 0, text, sizeof(text));
    assert_string_equal(text, "no known host could ever run a task of stage 0: it needs slots 1, "
                              "gpu_milli 500 in one unit; the most that a unit has is slots 8, "
                              "gpu_milli 2000, and a unit of several devices hands out whole "
                              "ones, for 1000 gpu_milli each");
    script_cancel(&s, 1);
    host(&s, 1, 8, 1000);
    submit(&s, gpu_stage(2, 3, 500));
    assert_int_equal(started(&s, 0), 2);
    for (uint32_t t = 0; t < 2; t++)
        assert_int_equal(script_start(&s, 2, 0, t)->start.host, 1);
    submit(&s, gpu_stage(3, 3, 1000));
    assert_int_equal(started(&s, 0), 2);
    submit(&s, gpu_stage(4, 1, 0));
    assert_int_equal(started(&s, 0), 1);
    script_end(&s);
}

/* Shapes of a stage that is refused stay nobody's; a full table refuses it whole. */
static void test_a_full_table_refuses_it_whole(void **state)
{
    (void)state;
    static const uint64_t three[3 * ENGINE_RESOURCES] = {2, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 4};
    struct script s;
    struct engine_config config = script_config();
    config.shapes_max = 3;
    script_begin(&s, &config);
    s.reload = true;
    host(&s, 0, 8, 0);
    script_job_begin(&s, 1);
    struct event stage = script_stage_event(1, 0, 1, NULL, NULL);
    stage.job_stage.variant_demands = (struct u64s){three, 3 * ENGINE_RESOURCES};
    script_event(&s, stage);
    assert_int_equal(script_rejection(&s), REASON_TABLE_FULL);
    stage.job_stage.variant_demands.n = 2 * ENGINE_RESOURCES;
    script_event(&s, stage);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    script_job_end(&s, 1);
    assert_int_equal(started(&s, 0), 1);
    script_end(&s);
}

/* A literal model of which combinations of variants are in use: an array, and every answer by a
 * scan. */
enum { COMBINATIONS = 5, SHAPES = 4, JOBS = 12 };
struct combination {
    uint64_t n, slots[ENGINE_VARIANTS_MAX];
};
struct combinations {
    struct combination of_job[JOBS]; /* n 0: that job is not there, or has one way */
};

static bool is_used(const struct combinations *c, const struct combination *one)
{
    for (int j = 0; j < JOBS; j++)
        if (memcmp(&c->of_job[j], one, sizeof(*one)) == 0)
            return true;
    return false;
}

static int count_different(const struct combinations *c)
{
    int n = 0;
    for (int j = 0; j < JOBS; j++) {
        bool new = c->of_job[j].n > 0;
        for (int i = 0; i < j; i++)
            new = new &&memcmp(&c->of_job[i], &c->of_job[j], sizeof(c->of_job[0])) != 0;
        n += new;
    }
    return n;
}

/* One or more of SHAPES in random order. */
static struct combination draw_combination(uint64_t *stream)
{
    struct combination one = {.n = 1 + test_random(stream) % SHAPES};
    uint64_t all[SHAPES] = {1, 2, 3, 4};
    for (uint64_t v = 0; v < one.n; v++) {
        uint64_t at = v + test_random(stream) % (SHAPES - v), slots = all[at];
        all[at] = all[v];
        one.slots[v] = slots;
    }
    return one;
}

static enum reason submit_combination(struct script *s, uint64_t job, const struct combination *one)
{
    uint64_t demands[ENGINE_VARIANTS_MAX * ENGINE_RESOURCES] = {0};
    struct event stage = script_stage_event(job, 0, 1, NULL, NULL);
    stage.job_stage.demand.amount[RES_SLOTS] = (int64_t)one->slots[0];
    for (uint64_t v = 1; v < one->n; v++)
        demands[(v - 1) * ENGINE_RESOURCES + RES_SLOTS] = one->slots[v];
    stage.job_stage.variant_demands =
        (struct u64s){demands, (uint32_t)(one->n - 1) * ENGINE_RESOURCES};
    script_job_begin(s, job);
    script_event(s, stage);
    enum reason reason = script_rejection(s);
    if (reason == REASON_NONE)
        script_job_end(s, job);
    else
        script_cancel(s, job);
    return reason;
}

static void test_combinations_are_bounded(void **state)
{
    (void)state;
    uint64_t stream = test_seed(), refused = 0;
    struct combinations c = {0};
    struct script s;
    struct engine_config config = script_config();
    config.shapes_max = COMBINATIONS;
    script_begin(&s, &config);
    host(&s, 0, 4, 0);
    for (uint64_t i = 0, number = 1; i < 3000; i++, number++) {
        struct combination *place = &c.of_job[number % JOBS];
        if (place->slots[0])
            script_cancel(&s, number - JOBS);
        *place = (struct combination){0};
        const struct combination one = draw_combination(&stream);
        bool fits = one.n == 1 || is_used(&c, &one) || count_different(&c) < COMBINATIONS;
        s.reload = i % 100 == 0;
        assert_int_equal(submit_combination(&s, number, &one),
                         fits ? REASON_NONE : REASON_TABLE_FULL);
        refused += !fits;
        if (fits)
            *place = one;
        if (place->n == 1)
            place->n = 0;
    }
    assert_true(refused > 300 && refused < 2700);
    script_end(&s);
}

/* ---- profiles ---- */

/* The second reads 1 GB in 8 s and computes 2 s more. */
static const uint64_t profiles[2 * PROFILE_NUMBERS] = {64000000,   128000000, 0, 40000000000,
                                                       1000000000, 125000000, 1, 2000000000};

static void test_profiles_are_kept_and_told(void **state)
{
    (void)state;
    struct script s;
    struct variant_view view;
    char text[512];
    begin(&s, "fifo", "greedy");
    host(&s, 0, 1, 500);
    struct event stage = two_ways(1, 3);
    stage.job_stage.profiles = (struct u64s){profiles, 2 * PROFILE_NUMBERS};
    submit(&s, stage);
    submit(&s, two_ways(2, 1));
    for (uint32_t v = 0; v < 2; v++) {
        assert_int_equal(engine_variant(s.engine, 1, 0, v, &view), 0);
        assert_int_equal(view.profile.read_bytes, profiles[v * PROFILE_NUMBERS]);
        assert_int_equal(view.profile.read_bytes_s, profiles[v * PROFILE_NUMBERS + 1]);
        assert_int_equal(view.profile.before, v);
        assert_int_equal(view.profile.compute_ns, profiles[v * PROFILE_NUMBERS + 3]);
    }
    assert_int_equal(engine_variant(s.engine, 2, 0, 1, &view), 0);
    assert_false(profile_is_known(&view.profile));
    engine_say_words(s.engine, 1, text, sizeof(text));
    assert_string_equal(text, "stage 0 as map reads 64.0 MB at 128.0 MB/s while it computes "
                              "40.000 s; stage 0 as map-gpu reads 1000.0 MB at 125.0 MB/s before "
                              "it computes 2.000 s");
    engine_say_words(s.engine, 2, text, sizeof(text));
    assert_string_equal(text, "");
    script_end(&s);
}

static void test_bad_profiles_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t numbers[2 * PROFILE_NUMBERS];
        uint32_t n;
    } wrong[] = {{{64, 128, 1, 1}, PROFILE_NUMBERS},               /* of one variant alone */
                 {{0, 0, 0, 0, 64, 0, 1, 1}, 2 * PROFILE_NUMBERS}, /* rate 0 */
                 {{64, 64, 0, 999999999}, 2 * PROFILE_NUMBERS},    /* it reads for 1 s */
                 {{64, 64, 2, 1}, 2 * PROFILE_NUMBERS},
                 {{UINT64_C(1) << 54, 64, 1, 1}, 2 * PROFILE_NUMBERS}};
    struct script s;
    begin(&s, "fifo", "greedy");
    host(&s, 0, 1, 500);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct event stage = two_ways(1, 3);
        stage.job_stage.profiles = (struct u64s){wrong[i].numbers, wrong[i].n};
        script_job_begin(&s, 1);
        script_event(&s, stage);
        assert_int_equal(script_rejection(&s), REASON_BAD_VALUE);
        script_cancel(&s, 1);
    }
    script_end(&s);
}

/* ---- what is said ---- */

static const char *fact(const struct engine_explanation *e, const char *name)
{
    for (uint32_t i = 0; i < e->facts; i++)
        if (strcmp(e->fact[i].name, name) == 0)
            return e->fact[i].value;
    return "";
}

static void test_explain_names_the_way(void **state)
{
    (void)state;
    struct script s;
    struct engine_explanation e;
    struct variant_view view;
    struct stage_view stage;
    begin(&s, "fifo", "greedy");
    host(&s, 0, 1, 500);
    host(&s, 1, 1, 0);
    submit(&s, gpu_first(1, 3));
    assert_int_equal(engine_explain(s.engine, 1, 0, 1, &e), 0);
    assert_non_null(strstr(e.text, "It runs as variant 1 of 2 (map). "));
    assert_string_equal(fact(&e, "variant"), "1 of 2");
    assert_int_equal(engine_explain(s.engine, 1, 0, 2, &e), 0);
    assert_string_equal(fact(&e, "variant_0"), "map-gpu: 0 fit");
    assert_string_equal(fact(&e, "variant_1"), "map: 0 fit");
    assert_int_equal(engine_stage(s.engine, 1, 0, &stage), 0);
    assert_int_equal(stage.variants, 2);
    assert_int_equal(engine_variant(s.engine, 1, 0, 1, &view), 0);
    assert_string_equal(view.command, "map");
    assert_int_equal(view.possible, 2);
    assert_int_equal(engine_variant(s.engine, 1, 0, 2, &view), -ENOENT);
    submit(&s, script_stage_event(2, 0, 1, NULL, NULL));
    assert_int_equal(engine_explain(s.engine, 2, 0, 0, &e), 0);
    assert_string_equal(fact(&e, "variant_0"), "");
    script_end(&s);
}

/* A run that uses one way writes what it wrote before there were several. */
static void test_one_way_says_nothing_of_ways(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "fifo", "greedy");
    host(&s, 0, 2, 0);
    submit(&s, script_stage_event(1, 0, 2, NULL, NULL));
    struct lines lines = {0};
    engine_dump(s.engine, lines_keep, &lines);
    assert_null(strstr(lines.text, "variant"));
    assert_null(strstr(lines.text, "profiles"));
    free(lines.text);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_that_fits_is_taken),
        cmocka_unit_test(test_it_runs_once),
        cmocka_unit_test(test_a_failed_attempt_comes_back_as_another),
        cmocka_unit_test(test_a_claim_takes_the_way_that_fits_there),
        cmocka_unit_test(test_ready_tasks_count_once),
        cmocka_unit_test(test_work_is_the_shortest_that_can_be),
        cmocka_unit_test(test_untold_work_is_that_of_the_first),
        cmocka_unit_test(test_bad_variants_are_refused),
        cmocka_unit_test(test_a_variant_that_no_host_fits_is_refused),
        cmocka_unit_test(test_a_whole_device_is_not_split),
        cmocka_unit_test(test_a_full_table_refuses_it_whole),
        cmocka_unit_test(test_combinations_are_bounded),
        cmocka_unit_test(test_profiles_are_kept_and_told),
        cmocka_unit_test(test_bad_profiles_are_refused),
        cmocka_unit_test(test_explain_names_the_way),
        cmocka_unit_test(test_one_way_says_nothing_of_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
