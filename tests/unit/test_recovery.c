/* A controller that ends at any moment and begins again from its store: everything that was
 * committed is as it was, what ran is adopted, what ended meanwhile counts, and in the end every
 * job is over with one accepted completion per task. */
#include "tests/model/script.h"
#include "tests/unit/folder.h"

#include "controller/frameworks/framework_numbers.h"
#include "controller/store/ledger.h"
#include "controller/store/recovery.h"
#include "controller/store/split_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>

enum { HOSTS = 4, RUNNING = 64, JOBS = 40 };

static const struct store_bounds bounds = {
    .keep_ns = INT64_MAX, .finished_max = 1000, .bytes_max = UINT64_C(1) << 32};

static struct {
    struct store *store;
    struct ledger *ledger;
    struct history *history;
    struct audience audience;
    struct engine *engine;
    struct decisions decisions;
    int64_t now_ns, offset_ns;
    uint64_t requests, stream, epoch;
    struct decision running[RUNNING];
    size_t n_running;
    uint64_t jobs, over, boots[HOSTS];
    uint32_t accepted[JOBS + 1][2][16]; /* by job, stage, task */
} world;

static uint64_t chance(uint64_t n)
{
    return test_random(&world.stream) % n;
}

static struct engine_config config(void)
{
    struct engine_config c = script_config();
    c.epoch = (uint32_t)world.epoch;
    c.framework_jobs_max = 100;
    return c;
}

static void start(struct store *store)
{
    struct engine_config c = config();
    struct recovered recovered;
    struct err err;
    world.store = store;
    world.history = history_create(1000);
    if (recovery_run(store, &c, world.now_ns, world.offset_ns, world.history, &recovered, &err) < 0)
        fail_msg("%s", err.text);
    if (split_rows_read(store, world.history, world.offset_ns, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(recovered.newest_job < FRAMEWORK_JOB_BIT);
    world.engine = recovered.engine;
    free(recovered.hosts);
    assert_int_equal(ledger_create(store, world.engine, world.offset_ns, &world.ledger), 0);
    world.audience = (struct audience){
        .users = {[LISTENER_LEDGER] = world.ledger, [LISTENER_HISTORY] = world.history}};
    assert_int_equal(store_begin(store, NULL, NULL, NULL, NULL), 0);
}

static struct store *opened(void)
{
    struct store *store;
    struct err err;
    if (store_open(path_of("store"), NULL, &bounds, &store, &err) < 0)
        fail_msg("%s", err.text);
    return store;
}

/* The process is gone; what was handed over is on the disk. */
static void stop(void)
{
    assert_int_equal(store_close(world.store, NULL), 0);
    ledger_destroy(world.ledger);
    history_destroy(world.history);
    engine_destroy(world.engine);
}

static void running_drop(uint64_t attempt)
{
    for (size_t i = 0; i < world.n_running; i++)
        if (world.running[i].start.attempt == attempt)
            world.running[i--] = world.running[--world.n_running];
}

static void decisions_take(void)
{
    for (size_t i = 0; i < world.decisions.n; i++) {
        const struct decision *d = &world.decisions.at[i];
        struct job_fact fact;
        if (d->kind == DECISION_START) {
            assert_true(world.n_running < RUNNING);
            world.running[world.n_running++] = *d;
        } else if (d->kind == DECISION_STOP) {
            running_drop(d->stop.attempt);
        } else if (d->kind == DECISION_JOB_DONE || d->kind == DECISION_JOB_FAILED) {
            job_fact_of(world.history, world.engine, d, "nobody", &fact);
            audience_job_over(&world.audience, &fact);
            assert_false(ledger_failed(world.ledger));
            world.over++;
        }
    }
}

static void event_tell(const struct event *before, const struct event *event)
{
    const struct fact_sources sources = {
        .engine = world.engine, .now_ns = world.now_ns, .before = before, .words = ""};
    audience_event(&world.audience, &sources, event);
}

static void step(const struct event *events, size_t n)
{
    uint64_t ticket;
    world.now_ns += 1 + (int64_t)chance(1000000);
    for (size_t i = 0; i < n; i++)
        event_tell(i ? &events[i - 1] : NULL, &events[i]);
    assert_int_equal(engine_step(world.engine, world.now_ns, events, n, &world.decisions), 0);
    const struct step stepped = {world.now_ns, events, n, &world.decisions};
    audience_stepped(&world.audience, &stepped);
    assert_false(ledger_failed(world.ledger));
    decisions_take();
    assert_int_equal(store_commit(world.store, true, &ticket), 0);
}

static void host_put(uint32_t host)
{
    const uint64_t units[ENGINE_RESOURCES] = {2};
    char name[8];
    snprintf(name, sizeof(name), "h%u", host);
    const struct row_value row[HOSTS_COLUMNS] = {ROW_NUMBER(host),
                                                 row_text(name),
                                                 row_text(""),
                                                 row_text(""),
                                                 ROW_NUMBER(world.boots[host]),
                                                 ROW_BYTES(units, sizeof(units)),
                                                 ROW_BYTES(NULL, 0),
                                                 ROW_NUMBER(1000000000),
                                                 ROW_NUMBER(1000000000),
                                                 ROW_NUMBER(0),
                                                 ROW_NUMBER(1),
                                                 ROW_NUMBER(0),
                                                 ROW_NUMBER(0)};
    store_put(world.store, STORE_HOSTS, row);
}

static void begin(void)
{
    memset(&world, 0, sizeof(world));
    world.stream = test_seed();
    world.epoch = 1;
    world.now_ns = 5 * SECOND;
    world.offset_ns = 1000 * SECOND;
    start(opened());
    for (uint32_t host = 0; host < HOSTS; host++) {
        uint64_t vector[ENGINE_RESOURCES] = {2};
        struct event join = script_join(host, 2, vector);
        join.host_join.generation = world.boots[host] = 7;
        host_put(host);
        step(&join, 1);
    }
}

static void submit(void)
{
    uint32_t replicas[16];
    uint64_t sums[8], room[256];
    struct event events[8];
    char name[32];
    struct script_job job = {.number = ++world.jobs,
                             .maps = 1 + (uint32_t)chance(8),
                             .per = 1,
                             .reduces = (uint32_t)chance(5),
                             .replicas = replicas,
                             .map_input = 1000,
                             .map_ns = 5,
                             .reduce_ns = 7,
                             .sums = sums,
                             .estimate_bytes = -1};
    for (int i = 0; i < 16; i++)
        replicas[i] = (uint32_t)chance(HOSTS);
    for (int i = 0; i < 8; i++)
        sums[i] = 1 + chance(100000000);
    if (!job.reduces)
        job.sums = NULL;
    size_t n = script_job_events(&job, events, room, name, sizeof(name));
    for (size_t i = 0; i < n; i++) {
        events[i].request = ++world.requests;
        step(&events[i], 1);
    }
}

static struct event about(enum event_kind kind, uint64_t attempt)
{
    struct event event = {.kind = kind};
    event.attempt.attempt = attempt;
    return event;
}

static void finish(enum event_kind kind)
{
    if (!world.n_running)
        return;
    const struct decision d = world.running[chance(world.n_running)];
    struct task_view task;
    struct event event = about(kind, d.start.attempt);
    running_drop(d.start.attempt);
    bool counts = kind == EVENT_ATTEMPT_DONE && d.start.job <= JOBS &&
                  engine_task(world.engine, d.start.job, d.start.stage, d.start.task, &task) == 0 &&
                  task.state == TASK_RUNNING;
    step(&event, 1);
    if (counts)
        world.accepted[d.start.job][d.start.stage][d.start.task]++;
}

static void lose_output(void)
{
    struct task_view task;
    uint64_t job = 1 + chance(world.jobs ? world.jobs : 1);
    struct event event = {.kind = EVENT_OUTPUT_LOST};
    if (engine_task(world.engine, job, 0, 0, &task) < 0 || task.state != TASK_DONE)
        return;
    event.output_lost.job = job;
    event.output_lost.attempt = task.attempt;
    step(&event, 1);
    if (engine_task(world.engine, job, 0, 0, &task) == 0 && task.state != TASK_DONE)
        world.accepted[job][0][0]--;
}

static void cancel(void)
{
    struct event event = {.kind = EVENT_JOB_CANCEL, .request = ++world.requests};
    event.job_cancel.job = 1 + chance(world.jobs ? world.jobs : 1);
    step(&event, 1);
}

static int64_t wall_of(int64_t ns)
{
    return ns ? ns + world.offset_ns : 0;
}

static size_t parts_write(char *text, size_t size, const int64_t *ns)
{
    size_t n = 0;
    for (int part = 0; part < SPLIT_PARTS; part++)
        n += (size_t)snprintf(text + n, size - n, " %" PRId64, ns[part]);
    return n;
}

/* Where an ended job's time went; what is lost of a job that lived through a restart is known to
 * be. */
static size_t split_write(char *text, size_t size, const struct job_view *job)
{
    const struct job_split *split = history_split(world.history, job->job);
    assert_non_null(split);
    int64_t rest = split->lasted_ns - split->idle_ns - split->unknown_ns;
    assert_true(split->idle_ns >= 0 && split->unknown_ns >= 0);
    for (int part = 0; part < SPLIT_PARTS; part++)
        rest -= split->ns[part];
    assert_int_equal(rest, 0);
    size_t n = (size_t)snprintf(text, size, "  %" PRId64 " %" PRId64 " %" PRIu64, split->lasted_ns,
                                split->unknown_ns, split->received_bytes);
    n += parts_write(text + n, size - n, split->ns);
    for (uint32_t i = 0; i < split->n_stages; i++) {
        const struct stage_split *stage = &split->stages[i];
        n += (size_t)snprintf(text + n, size - n, "\n   %u %u %d %" PRId64 " %" PRId64,
                              stage->stage, stage->tasks, (int)stage->why, wall_of(stage->began_ns),
                              wall_of(stage->moved_ns));
        n += parts_write(text + n, size - n, stage->ns);
    }
    n += (size_t)snprintf(text + n, size - n, "\n");
    assert_true(n < size);
    return n;
}

/* What must not change, as text. */
static void facts_write(char *text, size_t size)
{
    struct job_view job = {0};
    size_t n = 0;
    *text = '\0';
    for (uint64_t number = 1; number <= world.jobs; number++) {
        if (engine_job(world.engine, number, &job) < 0 || job.state == JOB_ARRIVING)
            continue;
        n += (size_t)snprintf(text + n, size - n, "%d %s %s %" PRId64 " %" PRId64 "\n", (int)number,
                              job.name, job_state_name(job.state),
                              job.submitted_ns + world.offset_ns,
                              job.state > JOB_ACTIVE ? job.finished_ns + world.offset_ns : 0);
        if (job.state > JOB_ACTIVE)
            n += split_write(text + n, size - n, &job);
        struct task_view task;
        for (uint32_t s = 0; s < 2; s++)
            for (uint32_t t = 0; engine_task(world.engine, number, s, t, &task) == 0; t++) {
                bool done = task.state == TASK_DONE;
                n += (size_t)snprintf(text + n, size - n, "  %u/%u %d %d %d %d\n", s, t, done,
                                      (int)task.failures, done ? (int)task.host : -1,
                                      done ? (int)task.attempt : 0);
                assert_true(n < size);
            }
    }
}

static struct event seen(const struct decision *d)
{
    struct event event = {.kind = EVENT_ATTEMPT_SEEN};
    event.attempt_seen.attempt = d->start.attempt;
    event.attempt_seen.job = d->start.job;
    event.attempt_seen.stage = d->start.stage;
    event.attempt_seen.task = d->start.task;
    event.attempt_seen.host = d->start.host;
    event.attempt_seen.unit = d->start.unit;
    event.attempt_seen.phase = ATTEMPT_COMPUTING;
    event.attempt_seen.resources = d->start.resources;
    return event;
}

/* One host's machine is booted anew: what lay there is gone, and runs again where it is needed. */
static void host_boots(void)
{
    uint64_t vector[ENGINE_RESOURCES] = {2};
    uint32_t host = (uint32_t)chance(HOSTS);
    struct event join = script_join(host, 2, vector);
    struct task_view task;
    join.host_join.generation = ++world.boots[host];
    for (size_t i = 0; i < world.n_running; i++)
        if (world.running[i].start.host == host)
            world.running[i--] = world.running[--world.n_running];
    host_put(host);
    step(&join, 1);
    for (uint64_t job = 1; job <= world.jobs; job++)
        for (uint32_t t = 0; engine_task(world.engine, job, 0, t, &task) == 0; t++)
            if (task.state != TASK_DONE && world.accepted[job][0][t])
                world.accepted[job][0][t]--;
}

/* It ends, on the same boot of the machine or before another one, and begins again: the same is
 * known, nothing starts before the hosts spoke, and then only what does not run. */
static void restart(void)
{
    static char before[1 << 18], after[1 << 18];
    struct event events[HOSTS + 2 * RUNNING];
    size_t n = 0, ran = world.n_running;
    facts_write(before, sizeof(before));
    stop();
    if (chance(2)) {
        int64_t gone_ns = world.now_ns + world.offset_ns;
        world.now_ns = SECOND;
        world.offset_ns = gone_ns + 30 * SECOND - world.now_ns;
    }
    world.epoch++;
    start(opened());
    facts_write(after, sizeof(after));
    assert_string_equal(after, before);
    step(NULL, 0);
    assert_int_equal(world.n_running, ran);
    for (uint32_t host = 0; host < HOSTS; host++) {
        events[n] = (struct event){.kind = EVENT_HOST_BACK};
        events[n++].host.host = host;
    }
    for (size_t i = 0; i < ran; i++) {
        const struct decision d = world.running[i];
        events[n++] = seen(&d);
        if (chance(4))
            continue;
        events[n++] = about(EVENT_ATTEMPT_DONE, d.start.attempt);
        world.accepted[d.start.job][d.start.stage][d.start.task]++;
        world.running[i--] = world.running[--world.n_running];
        ran--;
    }
    step(events, n);
}

static void every_job_ends_once(void **state)
{
    (void)state;
    int restarts = 0;
    begin();
    for (int i = 0; i < 100000 && (world.jobs < JOBS || world.over < world.jobs); i++) {
        uint64_t what = chance(100);
        if (what < 8 && world.jobs < JOBS)
            submit();
        else if (what < 10)
            finish(EVENT_ATTEMPT_FAILED);
        else if (what < 11)
            host_boots();
        else if (what < 12)
            lose_output();
        else if (what < 13)
            cancel();
        else if (what < 16 && ++restarts)
            restart();
        else
            finish(EVENT_ATTEMPT_DONE);
        if (!world.n_running)
            step(NULL, 0);
    }
    assert_int_equal(world.over, JOBS);
    assert_true(restarts > 5);
    restart();
    struct job_view job;
    struct task_view task;
    for (uint64_t number = 1; number <= JOBS; number++) {
        assert_int_equal(engine_job(world.engine, number, &job), 0);
        assert_true(job.state > JOB_ACTIVE);
        assert_non_null(history_job(world.history, number));
        for (int s = 0; s < 2; s++)
            for (int t = 0; t < 16; t++)
                assert_true(world.accepted[number][s][t] <= 1);
        assert_int_equal(engine_task(world.engine, number, 0, 0, &task), -ENOENT);
    }
    stop();
    decisions_done(&world.decisions);
}

/* The same name and content is the same job, over or not; a job of which only parts came is
 * none. */
static void a_name_is_one_job_and_half_a_job_is_none(void **state)
{
    (void)state;
    begin();
    struct event half = script_begin_event(900, "half");
    half.request = ++world.requests;
    submit();
    step(&half, 1);
    world.epoch++;
    stop();
    start(opened());
    struct job_view job;
    assert_int_equal(engine_job(world.engine, 900, &job), -ENOENT);
    assert_int_equal(engine_job(world.engine, 1, &job), 0);
    struct event again = script_begin_event(901, job.name);
    again.request = ++world.requests;
    step(&again, 1);
    assert_true(world.decisions.n == 1 && world.decisions.at[0].kind == DECISION_REJECT);
    stop();
    decisions_done(&world.decisions);
}

/* The wall clock was set back by an hour while the machine was off, or this is another machine. */
static void nothing_is_dated_in_the_future(void **state)
{
    (void)state;
    struct job_view job;
    struct task_view task;
    int over = 0, done = 0;
    begin();
    for (int i = 0; i < 6; i++)
        submit();
    for (int i = 0; i < 8; i++)
        finish(EVENT_ATTEMPT_DONE);
    cancel();
    stop();
    world.epoch++;
    world.now_ns = SECOND;
    world.offset_ns -= 3600 * SECOND;
    start(opened());
    for (uint64_t number = 1; engine_job_after(world.engine, number - 1, &job) == 0;
         number = job.job + 1) {
        assert_true(job.submitted_ns <= world.now_ns);
        for (uint32_t t = 0; engine_task(world.engine, job.job, 0, t, &task) == 0; t++) {
            assert_true(task.ready_ns <= world.now_ns && task.started_ns <= world.now_ns);
            done += task.state == TASK_DONE;
        }
    }
    for (uint64_t after = 0; engine_finished_after(world.engine, after, &job) == 0;
         after = job.job) {
        assert_true(job.submitted_ns <= job.finished_ns && job.finished_ns <= world.now_ns);
        over++;
    }
    assert_true(over > 0 && done > 0);
    stop();
    decisions_done(&world.decisions);
}

/* A framework's job of one map and two reduce tasks of `each` bytes, which ends as it is said. */
static void framework_runs(uint32_t number, uint64_t history, uint64_t each, enum job_state outcome)
{
    static const uint32_t parent[] = {0}, edge[] = {EDGE_BARRIER};
    const uint64_t job = framework_job_number(framework_bits("app-1"), number),
                   sums[] = {each, each};
    for (uint32_t s = 0; s < 2; s++) {
        struct event stage = {.kind = EVENT_FRAMEWORK_STAGE};
        stage.framework_stage.job = job;
        stage.framework_stage.stage = s;
        stage.framework_stage.tasks = s ? 2 : 1;
        stage.framework_stage.demand.amount[RES_SLOTS] = 1;
        stage.framework_stage.parents = (struct u32s){parent, s};
        stage.framework_stage.edges = (struct u32s){edge, s};
        stage.framework_stage.history = s ? history : 0;
        step(&stage, 1);
    }
    struct event bytes = {.kind = EVENT_FRAMEWORK_BYTES};
    bytes.framework_bytes.job = job;
    bytes.framework_bytes.stage = 1;
    bytes.framework_bytes.form = BYTES_SUMS;
    bytes.framework_bytes.bytes = (struct u64s){sums, each ? 2 : 0};
    step(&bytes, each > 0);
    for (uint32_t t = 0; t < 3 && outcome == JOB_DONE; t++) {
        struct event done = {.kind = EVENT_FRAMEWORK_DONE};
        done.framework_task.attempt = FRAMEWORK_ATTEMPT_BIT | number << 8 | t;
        done.framework_task.job = job;
        done.framework_task.stage = t > 0;
        done.framework_task.task = t ? t - 1 : 0;
        done.framework_task.host = t;
        step(&done, 1);
    }
    struct event end = {.kind = EVENT_FRAMEWORK_END};
    end.framework_end.job = job;
    end.framework_end.outcome = outcome;
    step(&end, outcome != JOB_ACTIVE);
}

static void sizes_write(char *text, size_t size)
{
    struct sizes_view sizes;
    int n = 0;
    *text = '\0';
    for (uint64_t at = 0; engine_sizes_after(world.engine, at, &sizes) == 0; at = sizes.place)
        n += snprintf(text + n, size - (size_t)n, "%" PRIu64 ": %" PRIu64 ", ", sizes.history,
                      sizes.mean_bytes);
}

/* How a framework's jobs ended is known again, and what their stages had; what ran is its own to
 * tell. */
static void a_frameworks_past_is_known_again(void **state)
{
    (void)state;
    static const enum job_state outcomes[] = {JOB_DONE, JOB_DONE, JOB_FAILED, JOB_CANCELLED};
    char sizes[256];
    struct job_view job;
    begin();
    for (uint32_t n = 0; n < 4; n++)
        framework_runs(n, UINT64_MAX - n, 1000 + n, outcomes[n]);
    framework_runs(4, 7, 1, JOB_ACTIVE);
    framework_runs(5, UINT64_MAX, 2000, JOB_DONE);
    for (int restarts = 0; restarts < 3; restarts++) {
        stop();
        start(opened());
        sizes_write(sizes, sizeof(sizes));
        assert_string_equal(sizes, "18446744073709551614: 1001, 18446744073709551615: 2000, ");
        for (uint32_t n = 0; n < 4; n++) {
            uint64_t number = framework_job_number(framework_bits("app-1"), n);
            assert_int_equal(engine_job(world.engine, number, &job), 0);
            assert_int_equal(job.state, outcomes[n]);
            assert_true(job.stages == 2 && job.tasks == 3 && job.shuffle_bytes == 2 * (1000 + n));
            assert_int_equal(history_job(world.history, number)->state, outcomes[n]);
            const struct job_split *split = history_split(world.history, number);
            assert_true(split->n_stages == 2 && split->stages[1].tasks == 2);
            assert_int_equal(split->lasted_ns, job.finished_ns - job.submitted_ns);
            assert_int_equal(split->unknown_ns, 0);
        }
        assert_int_equal(
            engine_job(world.engine, framework_job_number(framework_bits("app-1"), 4), &job),
            -ENOENT);
    }
    framework_runs(6, UINT64_MAX, 0, JOB_ACTIVE);
    engine_job(world.engine, framework_job_number(framework_bits("app-1"), 6), &job);
    assert_int_equal(job.shuffle_bytes, 2 * 2000); /* as it had when it ran last */
    stop();
    decisions_done(&world.decisions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_job_ends_once, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(nothing_is_dated_in_the_future, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(a_name_is_one_job_and_half_a_job_is_none, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(a_frameworks_past_is_known_again, folder_make,
                                        folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
