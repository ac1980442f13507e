/* Where a job's time goes: the parts add up to it, and are what one who looks at every task at
 * every moment would say. */
#include "tests/model/script.h"

#include <errno.h>
#include <math.h>

enum { HOSTS = 3, JOBS = 60, TASKS = 8, LOOKS = 20000 };

static const uint64_t room_of_host[ENGINE_RESOURCES] = {2};

/* What the test itself counts: every moment, task by task. */
static struct {
    struct script s;
    uint64_t stream, jobs;
    double parts[JOBS + 1][SPLIT_PARTS], idle[JOBS + 1];
    uint64_t last[JOBS + 1][2][TASKS]; /* the attempt that ran last */
    bool again[JOBS + 1][2][TASKS];
    bool away[HOSTS];
    double all[SPLIT_PARTS];
    int ended;
} world;

static uint64_t chance(uint64_t n)
{
    return test_random(&world.stream) % n;
}

struct reads {
    uint32_t host;
    uint64_t remote;
};

static void input_add(void *context, const struct engine_input *input)
{
    struct reads *reads = context;
    reads->remote += input->host == reads->host ? 0 : input->bytes;
}

static bool receives(const struct attempt_view *attempt)
{
    struct reads reads = {.host = attempt->host};
    engine_inputs(world.s.engine, attempt->attempt, input_add, &reads);
    return attempt->state != ATTEMPT_COMPUTING && reads.remote;
}

/* What a task does now; SPLIT_PARTS: nothing that counts. */
static enum split_part does(const struct job_view *job, const struct stage_view *stage,
                            const struct task_view *task, bool again)
{
    struct attempt_view attempt;
    if (task->state == TASK_RUNNING && again)
        return SPLIT_AGAIN;
    if (task->state == TASK_RUNNING)
        return engine_attempt(world.s.engine, task->attempt, &attempt) == 0 && receives(&attempt)
                   ? SPLIT_RECEIVING
                   : SPLIT_COMPUTING;
    if (task->state == TASK_DONE || (task->state == TASK_BLOCKED && !job->held_by))
        return SPLIT_PARTS;
    return job->held_by ? SPLIT_ORDERED : stage->held ? SPLIT_HELD : SPLIT_TURN;
}

static void note_attempt(uint64_t job, const struct task_view *task)
{
    uint64_t *last = &world.last[job][task->stage][task->task];
    if (task->state != TASK_RUNNING && task->state != TASK_DONE)
        return;
    if (*last && *last != task->attempt)
        world.again[job][task->stage][task->task] = true;
    *last = task->attempt;
}

static void moment_count(uint64_t number, double ns)
{
    uint32_t n[SPLIT_PARTS + 1] = {0}, sharers = 0;
    struct job_view job;
    struct stage_view stage;
    struct task_view task;
    bool behind = false; /* a barrier that is not passed */
    if (engine_job(world.s.engine, number, &job) < 0 || job.state != JOB_ACTIVE)
        return;
    for (uint32_t i = 0; engine_stage(world.s.engine, number, i, &stage) == 0; i++) {
        for (uint32_t t = 0; engine_task(world.s.engine, number, i, t, &task) == 0; t++) {
            note_attempt(number, &task);
            enum split_part part = does(&job, &stage, &task, world.again[number][i][t]);
            n[behind && part == SPLIT_ORDERED ? SPLIT_PARTS : part]++;
        }
        behind |= stage.done < stage.tasks;
    }
    for (int part = 0; part < SPLIT_PARTS; part++)
        sharers += n[part];
    for (int part = 0; part < SPLIT_PARTS; part++)
        world.parts[number][part] += sharers ? ns * n[part] / sharers : 0;
    world.idle[number] += sharers ? 0 : ns;
}

static void pass(int64_t ns)
{
    for (uint64_t job = 1; job <= world.jobs; job++)
        moment_count(job, (double)ns);
    world.s.now_ns += ns;
}

static int64_t sum_of(const struct job_split *split)
{
    int64_t sum = split->idle_ns + split->unknown_ns;
    for (int part = 0; part < SPLIT_PARTS; part++)
        sum += split->ns[part];
    return sum;
}

static void near(double is, double should, const char *what)
{
    if (fabs(is - should) > 1000)
        fail_msg("%s is %.0f ns, counted task by task %.0f ns", what, is, should);
}

static void stages_add_up(const struct job_split *split)
{
    int64_t sums[SPLIT_PARTS] = {0};
    for (uint32_t i = 0; i < split->n_stages; i++) {
        assert_true(!i || split->stages[i].stage > split->stages[i - 1].stage);
        for (int part = 0; part < SPLIT_PARTS; part++)
            sums[part] += split->stages[i].ns[part];
        assert_true(!split->stages[i].ns[SPLIT_HELD] || split->stages[i].why);
    }
    assert_memory_equal(sums, split->ns, sizeof(sums));
}

static void job_check(uint64_t job)
{
    static const char *const names[SPLIT_PARTS] = {"turn",      "held",      "ordered",
                                                   "receiving", "computing", "again"};
    struct job_view view = script_job_view(&world.s, job);
    struct job_split split;
    assert_int_equal(engine_split(world.s.engine, job, world.s.now_ns, NULL, &split), 0);
    assert_int_equal(split.lasted_ns, view.finished_ns - view.submitted_ns);
    assert_int_equal(sum_of(&split), split.lasted_ns);
    stages_add_up(&split);
    for (int part = 0; part < SPLIT_PARTS; part++) {
        near((double)split.ns[part], world.parts[job][part], names[part]);
        world.all[part] += world.parts[job][part];
    }
    near((double)split.idle_ns, world.idle[job], "idle");
    assert_int_equal(split.unknown_ns, 0);
    world.ended++;
}

static void ends_check(void)
{
    const struct decision *over;
    for (size_t n = 0; (over = script_decision(&world.s, DECISION_JOB_DONE, n)); n++)
        job_check(over->job_done.job);
    for (size_t n = 0; (over = script_decision(&world.s, DECISION_JOB_FAILED, n)); n++)
        job_check(over->job_failed.job);
}

static void submit(void)
{
    uint32_t blocks[TASKS];
    uint64_t sums[TASKS];
    struct script_job job = {.number = ++world.jobs,
                             .maps = 1 + (uint32_t)chance(TASKS),
                             .per = (uint32_t)chance(2),
                             .reduces = (uint32_t)chance(TASKS),
                             .replicas = blocks,
                             .map_input = 1000000,
                             .map_ns = SECOND,
                             .reduce_ns = SECOND,
                             .sums = sums,
                             .estimate_bytes = 1 + (int64_t)chance(1000000000)};
    for (int i = 0; i < TASKS; i++) {
        blocks[i] = (uint32_t)chance(HOSTS);
        sums[i] = chance(100000000);
    }
    script_submit(&world.s, &job);
}

static void order(enum event_kind kind)
{
    struct event event = {.kind = kind, .request = ++world.s.requests};
    event.job_hold.job = 1 + chance(world.jobs); /* the first field of each */
    if (kind == EVENT_JOB_HOLD)
        event.job_hold.by = "olga";
    script_event(&world.s, event);
}

/* A live attempt; 0: there is none. */
static uint64_t any_attempt(void)
{
    uint64_t all[64], n = 0, after = 0;
    struct attempt_view attempt;
    for (; n < 64 && engine_attempt_after(world.s.engine, after, &attempt) == 0; n++)
        all[n] = after = attempt.attempt;
    return n ? all[chance(n)] : 0;
}

static void attempt_tell(enum event_kind kind)
{
    uint64_t attempt = any_attempt();
    if (attempt)
        script_attempt(&world.s, kind, attempt, 0);
}

static void lose_output(void)
{
    struct task_view task;
    uint64_t job = 1 + chance(world.jobs);
    if (engine_task(world.s.engine, job, 0, 0, &task) == 0 && task.state == TASK_DONE)
        script_output_lost(&world.s, job, 0, task.attempt);
}

static void host_goes_or_comes(void)
{
    uint32_t host = (uint32_t)chance(HOSTS);
    world.away[host] = !world.away[host];
    script_host_event(&world.s, world.away[host] ? EVENT_HOST_LOST : EVENT_HOST_BACK, host);
}

static void something_happens(void)
{
    uint64_t what = chance(100);
    if (what < 4 && world.jobs < JOBS)
        submit();
    else if (what < 6)
        order(EVENT_JOB_HOLD);
    else if (what < 11)
        order(EVENT_JOB_RELEASE);
    else if (what < 12)
        order(EVENT_JOB_REQUEUE);
    else if (what < 13)
        host_goes_or_comes();
    else if (what < 15)
        attempt_tell(EVENT_ATTEMPT_FAILED);
    else if (what < 16)
        lose_output();
    else if (what < 40)
        attempt_tell(EVENT_ATTEMPT_STARTED);
    else if (what < 55)
        attempt_tell(EVENT_ATTEMPT_RECEIVED);
    else if (what < 70)
        script_events(&world.s, NULL, 0);
    else
        attempt_tell(EVENT_ATTEMPT_DONE);
}

static void the_parts_are_what_one_counts_task_by_task(void **state)
{
    (void)state;
    struct engine_config config = script_config();
    config.failures_max = 50; /* most jobs end as done */
    config.losses_max = config.reruns_max = 0;
    memset(&world, 0, sizeof(world));
    world.stream = test_seed();
    script_begin(&world.s, &config);
    for (uint32_t host = 0; host < HOSTS; host++)
        script_event(&world.s, script_join(host, 2, room_of_host));
    submit();
    for (int i = 0; i < LOOKS && world.ended < JOBS; i++) {
        pass((int64_t)chance(chance(20) ? 300000000 : UINT64_C(9000000000)));
        something_happens();
        ends_check();
    }
    assert_int_equal(world.ended, JOBS);
    for (int part = 0; part < SPLIT_PARTS; part++)
        assert_true(world.all[part] > 1e9);
    script_end(&world.s);
}

static void begin_one(struct script *s, uint64_t slots)
{
    struct engine_config config = script_config();
    script_begin(s, &config);
    script_host(s, 0, slots);
}

static struct job_split split_of(struct script *s, uint64_t job, struct stage_split *room)
{
    struct job_split split;
    assert_int_equal(engine_split(s->engine, job, s->now_ns, room, &split), 0);
    assert_int_equal(sum_of(&split), split.lasted_ns);
    return split;
}

/* Two maps on one slot, one after the other: while the first runs, half of each moment waits. */
static void two_maps_share_the_first_ones_time(void **state)
{
    (void)state;
    static struct stage_split room[SPLIT_STAGES];
    const struct script_job job = {.number = 1, .maps = 2, .map_ns = SECOND, .estimate_bytes = -1};
    struct script s;
    begin_one(&s, 1);
    s.now_ns = 3 * SECOND;
    script_submit(&s, &job);
    s.now_ns = 13 * SECOND;
    struct job_split split = split_of(&s, 1, room);
    assert_true(split.ns[SPLIT_TURN] == 5 * SECOND && split.ns[SPLIT_COMPUTING] == 5 * SECOND);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    s.now_ns = 23 * SECOND;
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 1), 0);
    split = split_of(&s, 1, NULL);
    assert_true(split.ns[SPLIT_TURN] == 5 * SECOND && split.ns[SPLIT_COMPUTING] == 15 * SECOND);
    assert_true(split.idle_ns == 0 && split.lasted_ns == 20 * SECOND && split.n_stages == 1);
    assert_true(split.stages[0].began_ns == 3 * SECOND && split.stages[0].moved_ns == s.now_ns);
    s.now_ns += SECOND;
    script_events(&s, NULL, 0);
    assert_int_equal(engine_split(s.engine, 1, s.now_ns, room, &split), -ENOENT);
    script_end(&s);
}

/* A dump has nothing of it: what was before is unknown, the rest is divided. */
static void what_was_before_a_load_is_unknown(void **state)
{
    (void)state;
    const struct script_job job = {.number = 1, .maps = 2, .map_ns = SECOND, .estimate_bytes = -1};
    static struct stage_split room[SPLIT_STAGES];
    struct script s;
    begin_one(&s, 1);
    script_submit(&s, &job);
    s.now_ns = 4 * SECOND;
    s.reload = true;
    script_events(&s, NULL, 0);
    s.now_ns = 10 * SECOND;
    struct job_split split = split_of(&s, 1, room);
    assert_int_equal(split.unknown_ns, 4 * SECOND);
    assert_true(split.ns[SPLIT_TURN] == 3 * SECOND && split.ns[SPLIT_COMPUTING] == 3 * SECOND);
    assert_int_equal(split.idle_ns, 0);
    script_end(&s);
}

/* Of a job with many stages those are kept that took most. */
static void the_stages_that_took_most_stay(void **state)
{
    (void)state;
    enum { STAGES = SPLIT_STAGES + 6 };
    static struct stage_split room[SPLIT_STAGES];
    struct script s;
    begin_one(&s, STAGES);
    script_job_begin(&s, 1);
    for (uint32_t i = 0; i < STAGES; i++)
        script_stage(&s, 1, i, 1, ENGINE_NONE, 0);
    script_job_end(&s, 1);
    for (uint32_t i = 0; i + 1 < STAGES; i++) {
        s.now_ns += SECOND;
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, i, 0), 0);
    }
    struct job_split split = split_of(&s, 1, room);
    assert_int_equal(split.n_stages, SPLIT_STAGES);
    for (uint32_t i = 0; i < SPLIT_STAGES; i++)
        assert_int_equal(split.stages[i].stage, i + STAGES - SPLIT_STAGES);
    assert_true(split.ns[SPLIT_COMPUTING] > (STAGES - 1) * SECOND - 1000);
    script_end(&s);
}

/* The newest first, each once. */
static void ended_jobs_are_walked_from_the_newest(void **state)
{
    (void)state;
    struct script s;
    struct job_view job;
    uint64_t place = 0;
    begin_one(&s, 1);
    for (uint64_t number = 1; number <= 5; number++) {
        const struct script_job one = {
            .number = number, .maps = 1, .map_ns = SECOND, .estimate_bytes = -1};
        script_submit(&s, &one);
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, number, 0, 0), 0);
    }
    for (uint64_t number = 5; number; number--) {
        assert_int_equal(engine_finished_before(s.engine, place, &job, &place), 0);
        assert_int_equal(job.job, number);
    }
    assert_int_equal(engine_finished_before(s.engine, place, &job, &place), -ENOENT);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_are_what_one_counts_task_by_task),
        cmocka_unit_test(two_maps_share_the_first_ones_time),
        cmocka_unit_test(what_was_before_a_load_is_unknown),
        cmocka_unit_test(the_stages_that_took_most_stay),
        cmocka_unit_test(ended_jobs_are_walked_from_the_newest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
