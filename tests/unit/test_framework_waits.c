/* Reports about tasks that are not made yet, of stages with many: they wait, in order, while the
 * engine makes these tasks in portions (controller/frameworks/application_waits.c). */
#include "tests/unit/test.h"

#include "controller/frameworks/framework_numbers.h"
#include "controller/frameworks/frameworks.h"

#include <string.h>

#define SECOND INT64_C(1000000000)

/* A step makes MADE tasks at most: an eighth of what it looks at. */
enum { LOOKED = 250, MADE = 4 * LOOKED, MANY = 20 * MADE, PEER = 1 };

static struct {
    struct engine *engine;
    struct frameworks *frameworks;
    struct timers timers;
    struct decisions decisions;
    struct event facts[64];
    size_t n_facts;
    int64_t now_ns;
    uint64_t sent, acknowledged;
    duopoly_Reason refused; /* 0: nothing was */
    uint64_t made;          /* tasks, before the last step */
    uint64_t most;          /* that one step made */
    uint32_t steps;
    duopoly_Envelope envelope;
} world;

static int on_send(void *user, uint64_t peer, const duopoly_Envelope *envelope)
{
    (void)user, (void)peer;
    if (envelope->which_body == duopoly_Envelope_refused_tag)
        world.refused = envelope->body.refused.reason;
    else
        world.acknowledged = envelope->acknowledged;
    return 0;
}

static void on_cut(void *user, uint64_t peer)
{
    (void)user, (void)peer;
}

static void on_event(void *user, const struct event *event)
{
    (void)user;
    assert_true(world.n_facts < sizeof(world.facts) / sizeof(world.facts[0]));
    world.facts[world.n_facts++] = *event;
}

static uint32_t on_host(void *user, const char *name)
{
    (void)user;
    return strcmp(name, "h") == 0 ? 0 : ENGINE_NONE;
}

static const char *on_host_name(void *user, uint32_t host)
{
    (void)user;
    return host == 0 ? "h" : "";
}

static uint32_t on_claim(void *user, const char *name, const uint8_t *address)
{
    (void)address;
    return on_host(user, name);
}

static void on_release(void *user, int64_t now_ns, uint32_t host)
{
    (void)user, (void)now_ns, (void)host;
}

static void on_guests(void *user, uint32_t host, const duopoly_GuestAllows *said)
{
    (void)user, (void)host, (void)said;
}

static uint64_t job_number(uint32_t job)
{
    return framework_job_number(framework_bits("app"), job);
}

static uint32_t made(uint32_t job, uint32_t stage)
{
    static struct task_view views[2 * MANY];
    return engine_tasks(world.engine, job_number(job), stage, 0, 2 * MANY, views);
}

static uint64_t made_of_all(void)
{
    return made(1, 0) + made(1, 1) + made(2, 0);
}

/* The end of a turn of the loop. */
static void step(void)
{
    do {
        const size_t n = world.n_facts;
        world.n_facts = 0;
        assert_int_equal(engine_step(world.engine, world.now_ns, world.facts, n, &world.decisions),
                         0);
        const uint64_t now = made_of_all();
        if (now > world.made && now - world.made > world.most)
            world.most = now - world.made;
        world.made = now;
        for (size_t i = 0; i < world.decisions.n; i++)
            frameworks_decision(world.frameworks, world.now_ns, &world.decisions.at[i]);
        frameworks_settle(world.frameworks, world.now_ns);
        world.now_ns++;
        world.steps++;
    } while (world.n_facts);
}

static void on_work(void *user, uint64_t application, void (*work)(void *of, int64_t now_ns),
                    void *of, int64_t now_ns)
{
    (void)user;
    assert_int_equal(application, job_number(0) >> ENGINE_APPLICATION_SHIFT);
    work(of, now_ns);
    step();
}

/* Turns in which no message comes, until nothing is left to do. */
static void rest(void)
{
    while (engine_deadline_ns(world.engine) <= world.now_ns ||
           timers_next_ns(&world.timers) <= world.now_ns) {
        timers_run(&world.timers, world.now_ns);
        step();
    }
}

static void receive(void)
{
    frameworks_message(world.frameworks, world.now_ns, PEER, NULL, &world.envelope);
    step();
}

static duopoly_Envelope *message(pb_size_t kind)
{
    wire_begin(&world.envelope, kind);
    world.envelope.version = 1;
    world.envelope.epoch = 1;
    if (kind != duopoly_Envelope_framework_hello_tag)
        world.envelope.sequence = ++world.sent;
    return &world.envelope;
}

static void session_begin(uint64_t boot)
{
    duopoly_FrameworkHello *hello =
        &message(duopoly_Envelope_framework_hello_tag)->body.framework_hello;
    hello->version_min = hello->version_max = 1;
    strcpy(hello->name, "app");
    hello->boot = boot;
    hello->hello_sequence = 1;
    world.sent = world.acknowledged = 0;
    world.refused = 0;
    receive();
}

static void host_join(void)
{
    static uint64_t units[ENGINE_RESOURCES];
    struct event event = {.kind = EVENT_HOST_JOIN};
    units[RES_SLOTS] = 2;
    event.host_join.generation = 1;
    event.host_join.name = "h";
    event.host_join.rack = event.host_join.labels = "";
    event.host_join.uplink_bps = event.host_join.downlink_bps = 1000000000;
    event.host_join.units = (struct u64s){units, ENGINE_RESOURCES};
    on_event(NULL, &event);
}

static void begin(uint32_t looked, uint32_t tasks_max)
{
    const struct frameworks_config config = {.epoch = 1,
                                             .heartbeat_ns = 1000 * SECOND,
                                             .silent_ns = 3000 * SECOND,
                                             .lost_ns = 3000 * SECOND,
                                             .forget_ns = 6000 * SECOND};
    const struct frameworks_hooks hooks = {on_send,  on_cut,     on_event,  on_host, on_host_name,
                                           on_claim, on_release, on_guests, on_work, NULL};
    struct engine_config engine;
    memset(&world, 0, sizeof(world));
    engine_config_default(&engine);
    engine.epoch = 1;
    engine.framework_jobs_max = 16;
    engine.tasks_max = tasks_max;
    engine.step_tasks_max = looked;
    assert_int_equal(engine_create(&engine, &world.engine, NULL), 0);
    timers_init(&world.timers);
    assert_int_equal(
        frameworks_create(&config, &hooks, world.engine, &world.timers, &world.frameworks), 0);
    host_join();
    step();
    session_begin(1);
}

static void end(void)
{
    frameworks_destroy(world.frameworks);
    assert_int_equal(timers_next_ns(&world.timers), INT64_MAX);
    engine_destroy(world.engine);
    decisions_done(&world.decisions);
}

static void tell_stage(uint32_t job, uint32_t stage, uint32_t tasks)
{
    duopoly_FrameworkStage *told =
        &message(duopoly_Envelope_framework_stage_tag)->body.framework_stage;
    told->job = job;
    told->stage = stage;
    told->tasks = tasks;
    told->parents_count = stage > 0;
    receive();
}

static void tell_task(uint32_t job, uint32_t task, duopoly_FrameworkTaskState state)
{
    duopoly_FrameworkTask *told =
        &message(duopoly_Envelope_framework_task_tag)->body.framework_task;
    told->attempt = task + 1;
    told->job = job;
    told->task = task;
    strcpy(told->host, "h");
    told->state = state;
    receive();
}

static struct task_view task_of(uint32_t job, uint32_t stage, uint32_t task)
{
    struct task_view view = {.state = TASK_BLOCKED};
    engine_task(world.engine, job_number(job), stage, task, &view);
    return view;
}

static bool is_done(uint32_t job, uint32_t task)
{
    return task_of(job, 0, task).state == TASK_DONE;
}

static uint64_t waited(void)
{
    return frameworks_counters(world.frameworks)->waited;
}

/* Nothing of the last task, nor what follows it, took effect before all are made. */
static void a_report_waits_for_its_task(void **state)
{
    (void)state;
    for (int announced = 0; announced < 2; announced++) {
        begin(LOOKED, 4 * MANY);
        if (announced)
            tell_stage(1, 0, MANY);
        tell_task(1, MANY - 1, duopoly_FrameworkTaskState_TASK_DONE);
        tell_task(1, 0, duopoly_FrameworkTaskState_TASK_DONE);
        assert_int_equal(waited(), 2);
        assert_int_equal(world.acknowledged, announced);
        assert_false(is_done(1, 0));
        assert_in_range(made(1, 0), 1, 4 * MADE);
        world.steps = 0;
        rest();
        assert_in_range(world.steps, MANY / MADE - 4, MANY / MADE + 4);
        assert_in_range(world.most, MADE / 2, MADE);
        assert_int_equal(world.acknowledged, world.sent);
        assert_int_equal(made(1, 0), MANY);
        assert_true(is_done(1, 0) && is_done(1, MANY - 1));
        end();
    }
}

/* So is every kind of report, and of bytes the map's stage, too. */
static void every_report_waits(void **state)
{
    enum { KINDS = 7 };
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        begin(LOOKED, 4 * MANY);
        if (kind < 2) {
            tell_task(1, MANY - 1,
                      kind ? duopoly_FrameworkTaskState_TASK_STARTED
                           : duopoly_FrameworkTaskState_TASK_DONE);
        } else if (kind == 2) {
            duopoly_FrameworkTasks *tasks =
                &message(duopoly_Envelope_framework_tasks_tag)->body.framework_tasks;
            tasks->job = 1;
            tasks->first = MANY - 2;
            tasks->tasks_count = 2;
            receive();
        } else {
            duopoly_FrameworkBytes *bytes =
                &message(duopoly_Envelope_framework_bytes_tag)->body.framework_bytes;
            bytes->job = bytes->stage = 1;
            bytes->form = kind == 3   ? duopoly_BytesForm_FORM_SUMS
                          : kind == 4 ? duopoly_BytesForm_FORM_HOSTS
                          : kind == 5 ? duopoly_BytesForm_FORM_CELLS
                                      : duopoly_BytesForm_FORM_ROW;
            bytes->first = MANY - 1;
            bytes->bytes_count = 1;
            bytes->bytes[0] = 7;
            bytes->at_count = kind == 5;
            bytes->at[0] = MANY - 1;
            bytes->hosts_count = kind == 4;
            strcpy(bytes->hosts[0], "h");
            receive();
        }
        assert_int_equal(waited(), 1);
        rest();
        assert_in_range(world.most, MADE / 2, 2 * MADE);
        assert_int_equal(world.acknowledged, world.sent);
        assert_int_equal(made(1, kind >= 3 && kind <= 5), MANY);
        if (kind == 5)
            assert_int_equal(made(1, 0), MANY);
        end();
    }
}

/* Messages that keep coming cost one step each and do not pile up: none waits for long. */
static void who_reports_on_and_on_is_followed(void **state)
{
    (void)state;
    begin(LOOKED, 4 * MANY);
    tell_task(1, MANY - 1, duopoly_FrameworkTaskState_TASK_DONE);
    for (uint32_t i = 0; i < 10 * MANY / MADE; i++) {
        tell_task(1, i, duopoly_FrameworkTaskState_TASK_DONE);
        assert_in_range(world.sent - world.acknowledged, 0, MANY / MADE + 2);
    }
    assert_true(is_done(1, MANY - 1));
    rest();
    assert_int_equal(world.acknowledged, world.sent);
    assert_in_range(world.most, MADE / 2, MADE);
    end();
}

static void what_is_near_does_not_wait(void **state)
{
    (void)state;
    begin(LOOKED, 4 * MANY);
    tell_task(1, MADE - 1, duopoly_FrameworkTaskState_TASK_DONE);
    tell_task(1, 2 * MADE - 1, duopoly_FrameworkTaskState_TASK_DONE);
    assert_true(is_done(1, 2 * MADE - 1));
    assert_int_equal(waited(), 0);
    end();
    begin(0, 4 * MANY);
    tell_task(1, MANY - 1, duopoly_FrameworkTaskState_TASK_DONE);
    assert_true(is_done(1, MANY - 1));
    assert_int_equal(waited(), 0);
    end();
}

/* The engine refuses its tasks: so it does the report, and those after it go on. */
static void what_cannot_be_made_is_not_waited_for(void **state)
{
    (void)state;
    begin(LOOKED, MANY);
    tell_task(1, 2 * MANY, duopoly_FrameworkTaskState_TASK_DONE);
    tell_task(1, 0, duopoly_FrameworkTaskState_TASK_DONE);
    rest();
    assert_int_equal(world.acknowledged, world.sent);
    assert_true(is_done(1, 0));
    assert_int_equal(made(1, 0), 1);
    end();
}

/* What waited is as if it had not come, and is reported again. */
static void a_session_that_ends_leaves_nothing(void **state)
{
    (void)state;
    begin(LOOKED, 4 * MANY);
    tell_stage(1, 0, MANY);
    tell_task(1, MANY - 1, duopoly_FrameworkTaskState_TASK_DONE);
    session_begin(2);
    assert_int_equal(world.acknowledged, 0);
    rest();
    assert_int_equal(made(1, 0), MANY);
    assert_false(is_done(1, MANY - 1));
    tell_task(1, MANY - 1, duopoly_FrameworkTaskState_TASK_DONE);
    assert_true(is_done(1, MANY - 1));
    tell_task(2, MANY - 1, duopoly_FrameworkTaskState_TASK_DONE);
    assert_int_equal(waited(), 2);
    end(); /* while it waits */
}

/* As many bytes of them as there may be wait; then its session is over, and these are free. */
static void what_waits_is_bounded(void **state)
{
    (void)state;
    uint32_t n[2];
    begin(1, 4 * MANY);
    for (int again = 0; again < 2; again++) {
        tell_stage(2, 0, MANY);
        for (n[again] = 0; !world.refused && n[again] < 10000; n[again]++) {
            duopoly_FrameworkBytes *bytes =
                &message(duopoly_Envelope_framework_bytes_tag)->body.framework_bytes;
            bytes->job = bytes->stage = 1;
            bytes->form = duopoly_BytesForm_FORM_SUMS;
            bytes->first = MANY - 1024;
            bytes->bytes_count = 1024;
            for (uint32_t i = 0; i < 1024; i++)
                bytes->bytes[i] = UINT64_C(1) << 62;
            receive();
        }
        assert_int_equal(world.refused, duopoly_Reason_REASON_LIMIT);
        assert_false(frameworks_knows(world.frameworks, PEER));
        session_begin(2 + (uint64_t)again);
    }
    assert_in_range(n[0], FRAMEWORK_WAITING / 2 / 11000, FRAMEWORK_WAITING / 2 / 9000);
    assert_int_equal(n[0], n[1]);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_waits_for_its_task),
        cmocka_unit_test(every_report_waits),
        cmocka_unit_test(who_reports_on_and_on_is_followed),
        cmocka_unit_test(what_is_near_does_not_wait),
        cmocka_unit_test(what_cannot_be_made_is_not_waited_for),
        cmocka_unit_test(a_session_that_ends_leaves_nothing),
        cmocka_unit_test(what_waits_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
