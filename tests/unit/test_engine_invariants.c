/* Whatever comes, in whatever order: nothing crashes, facts are adopted, requests get their answer,
 * sums stay right, bounds say so. */
#include "tests/model/script_dump.h"
#include "tests/unit/draws.h"

enum { CHAOS_HOSTS = 6, CHAOS_JOBS = 8, LIST = 24, MEGABYTE = 1000000 };

struct chaos {
    struct script script;
    uint64_t stream;
    uint32_t u32s[8][LIST];
    uint64_t u64s[8][LIST * ENGINE_RESOURCES];
};

static uint64_t any(struct chaos *c, uint64_t below)
{
    return test_random(&c->stream) % below;
}

/* Mostly small, now and then anything. */
static uint64_t number(struct chaos *c, uint64_t below)
{
    return any(c, 40) ? any(c, below) : test_random(&c->stream);
}

static struct u32s u32s(struct chaos *c, unsigned room, uint32_t n, uint64_t below)
{
    for (uint32_t i = 0; i < n; i++)
        c->u32s[room][i] = (uint32_t)number(c, below);
    return (struct u32s){c->u32s[room], n};
}

static struct u64s u64s(struct chaos *c, unsigned room, uint32_t n, uint64_t below)
{
    for (uint32_t i = 0; i < n; i++)
        c->u64s[room][i] = number(c, below);
    return (struct u64s){c->u64s[room], n};
}

static const char *word(struct chaos *c)
{
    static const char *const words[] = {
        "",       "a",    "b",    "ssd",  "ssd,big", "nats", "greedy", "fair",    "fifo",
        "sjf",    "turn", "mode", "none", "place",   "all",  "dclas",  "network", "cans",
        "random", "x",    "y",    "z",    "joint",   "rank", "srpt"};
    return words[any(c, sizeof(words) / sizeof(words[0]))];
}

static struct resources some_resources(struct chaos *c)
{
    struct resources r = {{(int64_t)any(c, 3)}};
    if (any(c, 5) == 0)
        r.amount[any(c, ENGINE_RESOURCES)] = (int64_t)number(c, 4);
    return r;
}

static uint64_t some_attempt(struct chaos *c)
{
    struct attempt_view view;
    uint64_t after = any(c, 2) ? any(c, 40) : (UINT64_C(1) << 32) + any(c, 1 + c->script.requests);
    return any(c, 10) && engine_attempt_after(c->script.engine, after, &view) == 0 ? view.attempt
                                                                                   : number(c, 50);
}

static bool is_request(enum event_kind kind)
{
    return kind < EVENT_HOST_JOIN || kind >= EVENT_POLICY_PARAMETER;
}

/* Further ways to run a stage, as many as there are words for or not. */
static void make_ways(struct chaos *c, struct event *e)
{
    static const char *const words[] = {"", "a", "a\nb", "ssd\n", "\nbig\n", "a\nb\nc\nd"};
    uint32_t n = (uint32_t)any(c, 5) * ENGINE_RESOURCES + (any(c, 20) == 0);
    if (any(c, 3))
        return;
    e->job_stage.variant_demands = u64s(c, 2, n, 3);
    e->job_stage.variant_commands = words[any(c, sizeof(words) / sizeof(words[0]))];
    e->job_stage.variant_constraints = words[any(c, sizeof(words) / sizeof(words[0]))];
}

static void make_wishes(struct chaos *c, struct event *e)
{
    static const char *const words[] = {"", "a", "a\nb", "gpu & !a\n", "\nb", "a\nb\nc\nd\ne"};
    if (any(c, 3))
        return;
    e->job_stage.wishes = words[any(c, sizeof(words) / sizeof(words[0]))];
    e->job_stage.utilities = u32s(c, 2, (uint32_t)any(c, 6), 3);
}

static void make_request(struct chaos *c, struct event *e)
{
    uint64_t job = 1 + number(c, CHAOS_JOBS);
    uint32_t n = 1 + (uint32_t)any(c, LIST - 1), few = (uint32_t)any(c, 3),
             stage = (uint32_t)number(c, 4);
    switch (e->kind) {
    case EVENT_JOB_BEGIN:
        e->job_begin.job = job;
        e->job_begin.name = word(c);
        e->job_begin.content = any(c, 2);
        e->job_begin.user = (uint32_t)any(c, 4);
        e->job_begin.job_kind = (uint32_t)number(c, 3);
        e->job_begin.estimate_bytes = (int64_t)number(c, 5) - 1;
        e->job_begin.estimate_ns = (int64_t)number(c, 5) - 1;
        break;
    case EVENT_JOB_STAGE:
        e->job_stage.job = job;
        e->job_stage.stage = stage;
        e->job_stage.tasks = (uint32_t)number(c, LIST);
        e->job_stage.demand = some_resources(c);
        e->job_stage.command = word(c);
        e->job_stage.constraint = any(c, 4) ? "" : word(c);
        e->job_stage.parents = u32s(c, 0, few, 3);
        e->job_stage.edges = u32s(c, 1, any(c, 30) ? few : few + 1, 2);
        make_ways(c, e);
        make_wishes(c, e);
        break;
    case EVENT_JOB_TASKS:
        e->job_tasks.job = job;
        e->job_tasks.stage = stage;
        e->job_tasks.first = (uint32_t)number(c, 2);
        e->job_tasks.replicas_per_task = any(c, 2) ? 1 : 0;
        e->job_tasks.replicas = u32s(c, 0, n * e->job_tasks.replicas_per_task, CHAOS_HOSTS);
        e->job_tasks.input_bytes = u64s(c, 0, n, 3 * MEGABYTE);
        e->job_tasks.compute_ns = u64s(c, 1, n, 3 * MEGABYTE);
        e->job_tasks.variant = any(c, 3) ? 0 : (uint32_t)number(c, 4);
        break;
    case EVENT_JOB_BYTES:
        e->job_bytes.job = job;
        e->job_bytes.stage = stage;
        e->job_bytes.parent = (uint32_t)number(c, 3);
        e->job_bytes.first = (uint32_t)number(c, 2);
        e->job_bytes.matrix = (uint32_t)any(c, 2);
        e->job_bytes.bytes = u64s(c, 0, n, 9 * MEGABYTE);
        break;
    case EVENT_JOB_UPDATE:
        e->job_update.job = job;
        e->job_update.estimate_bytes = (int64_t)number(c, MEGABYTE);
        e->job_update.estimate_ns = -1;
        break;
    case EVENT_CLAIM:
        n = (uint32_t)any(c, 4);
        e->claim.jobs = u64s(c, 0, n, CHAOS_JOBS);
        e->claim.stages = u32s(c, 0, n, 2);
        e->claim.tasks = u32s(c, 1, n, 6);
        e->claim.hosts = u32s(c, 2, n, CHAOS_HOSTS);
        e->claim.units = u32s(c, 3, any(c, 20) ? n : n + 1, 2);
        break;
    case EVENT_POLICY_SET:
        e->policy_set.question = word(c);
        e->policy_set.name = word(c);
        break;
    case EVENT_POLICY_PARAMETER:
        e->policy_parameter.word = any(c, 3) ? "even_wait" : any(c, 2) ? "ignore_held" : word(c);
        e->policy_parameter.value = any(c, 3) ? (int64_t)any(c, 3) : (int64_t)any(c, 1000000000);
        break;
    case EVENT_USER_SET:
        e->user_set.user = (uint32_t)any(c, 4);
        e->user_set.share = (uint32_t)any(c, 5);
        e->user_set.name = word(c);
        break;
    case EVENT_USER_LEAVE:
        e->user_leave.user = (uint32_t)any(c, 5);
        break;
    case EVENT_HOST_DRAIN:
        e->host_drain.host = (uint32_t)number(c, CHAOS_HOSTS);
        e->host_drain.undo = (uint32_t)any(c, 3);
        break;
    default:
        e->job_end.job = job;
    }
}

static void make_fact(struct chaos *c, struct event *e)
{
    uint32_t host = (uint32_t)number(c, CHAOS_HOSTS);
    switch (e->kind) {
    case EVENT_HOST_JOIN:
    case EVENT_HOST_CHANGE:
        e->host_join.host = host;
        e->host_join.generation = any(c, 2);
        e->host_join.name = e->host_join.rack = word(c);
        e->host_join.labels = word(c);
        e->host_join.uplink_bps = number(c, 3000000000);
        e->host_join.units =
            u64s(c, 0, (uint32_t)any(c, 4) * ENGINE_RESOURCES + (any(c, 20) == 0), 6);
        break;
    case EVENT_HOST_LOAD:
        e->host_load.host = host;
        e->host_load.resource = (uint32_t)number(c, 3);
        e->host_load.permille = (uint32_t)number(c, 1001);
        break;
    case EVENT_ATTEMPT_SEEN:
    case EVENT_ATTEMPT_GRANTED:
        e->attempt_seen.attempt = any(c, 3) ? 1 + any(c, 60) : some_attempt(c);
        e->attempt_seen.job = 1 + number(c, CHAOS_JOBS);
        e->attempt_seen.stage = (uint32_t)number(c, 3);
        e->attempt_seen.task = (uint32_t)number(c, 6);
        e->attempt_seen.host = host;
        e->attempt_seen.unit = (uint32_t)number(c, 3);
        e->attempt_seen.phase = (uint32_t)number(c, 9);
        e->attempt_seen.resources = some_resources(c);
        e->attempt_seen.received_bytes = number(c, 20 * MEGABYTE);
        e->attempt_seen.variant = any(c, 3) ? 0 : (uint32_t)number(c, 4);
        break;
    case EVENT_OUTPUT_LOST:
        e->output_lost.job = 1 + number(c, CHAOS_JOBS);
        e->output_lost.stage = (uint32_t)number(c, 2);
        e->output_lost.task = (uint32_t)number(c, 6);
        e->output_lost.attempt = (UINT64_C(1) << 32) + any(c, 1 + c->script.requests);
        break;
    case EVENT_HOST_SILENT:
    case EVENT_HOST_LOST:
    case EVENT_HOST_BACK:
    case EVENT_HOST_FORGET:
        e->host.host = host;
        break;
    case EVENT_SOURCE_STALLED:
    case EVENT_SOURCE_FLOWS:
        e->source.attempt = some_attempt(c);
        e->source.host = host;
        e->source.others = (uint32_t)any(c, 2);
        break;
    default:
        e->attempt.attempt = some_attempt(c);
        e->attempt.received_bytes = number(c, 50 * MEGABYTE);
    }
}

/* Its maps can run in up to four ways. */
static void submit_in_ways(struct chaos *c, const struct script_job *job)
{
    struct event events[8];
    uint64_t room[64];
    char name[32];
    size_t n = script_job_events(job, events, room, name, sizeof(name));
    uint32_t more = 1 + (uint32_t)any(c, ENGINE_VARIANTS_MAX - 1);
    events[1].job_stage.variant_demands = u64s(c, 2, more * ENGINE_RESOURCES, 2);
    for (uint32_t i = 0; i < more; i++)
        c->u64s[2][i * ENGINE_RESOURCES + RES_MEM_BYTES] = i + 1;
    script_events(&c->script, events, n);
}

/* A whole job that is likely to be good. */
static void submit(struct chaos *c)
{
    uint64_t job = 1 + any(c, CHAOS_JOBS), sums[4] = {MEGABYTE, any(c, 9) * MEGABYTE, 0, 3};
    uint32_t replicas[LIST];
    for (int i = 0; i < LIST; i++)
        replicas[i] = (uint32_t)any(c, CHAOS_HOSTS);
    struct script_job j = {job,
                           1 + (uint32_t)any(c, 6),
                           (uint32_t)any(c, 3),
                           (uint32_t)any(c, 5),
                           replicas,
                           MEGABYTE,
                           SECOND,
                           SECOND,
                           sums,
                           0};
    if (any(c, 2))
        script_submit(&c->script, &j);
    else
        submit_in_ways(c, &j);
}

/* Sums that the engine keeps are what its parts add up to. */
static void check_sums(struct chaos *c)
{
    struct engine_status status;
    struct attempt_view attempt = {0};
    struct job_view job = {0};
    uint32_t running[CHAOS_HOSTS] = {0}, held = 0;
    uint64_t attempts = 0, ready = 0, total = 0, free_slots = 0;
    engine_status(c->script.engine, &status);
    for (; engine_attempt_after(c->script.engine, attempt.attempt, &attempt) == 0; attempts++)
        running[attempt.host]++;
    for (uint32_t h = 0; h < CHAOS_HOSTS; h++) {
        struct host_view host;
        if (engine_host(c->script.engine, h, &host) < 0)
            continue;
        assert_int_equal(host.running, running[h]);
        if (!host.joined || host.silent || host.lost || host.draining || host.suspect)
            continue;
        total += (uint64_t)host.total.amount[RES_SLOTS];
        free_slots += (uint64_t)host.free.amount[RES_SLOTS];
    }
    while (engine_job_after(c->script.engine, job.job, &job) == 0) {
        ready += job.ready;
        held += job.held_stages;
        assert_true(job.ready + job.running + job.done <= job.tasks);
        assert_true(job.tasks == 0 || job.done < job.tasks);
    }
    assert_int_equal(status.attempts, attempts);
    assert_int_equal(status.tasks_ready, ready);
    assert_int_equal(status.held_stages, held);
    assert_int_equal((uint64_t)status.slots, total);
    assert_int_equal((uint64_t)status.slots_free, free_slots);
}

/* Each request has at most one rejection, with its number and kind; each start fits where it goes.
 */
static void check_answers(const struct chaos *c, const struct event *e)
{
    size_t rejects = script_count(&c->script, DECISION_REJECT);
    assert_true(rejects <= (is_request(e->kind) || e->kind == EVENT_HOST_FORGET));
    const struct decision *d = script_decision(&c->script, DECISION_REJECT, 0);
    assert_true(!d || (d->reject.request == e->request && d->reject.event == e->kind &&
                       d->reason != REASON_NONE));
    for (size_t i = 0; (d = script_decision(&c->script, DECISION_START, i)); i++) {
        struct host_view host;
        struct job_view job;
        assert_int_equal(engine_host(c->script.engine, d->start.host, &host), 0);
        assert_true(engine_job(c->script.engine, d->start.job, &job) == 0 && !job.held_by);
        assert_true(host.joined && !host.silent && !host.lost && !host.draining &&
                    (!host.suspect || d->reason == REASON_PROBE) && d->start.unit < host.units);
    }
    assert_true(e->kind != EVENT_CLAIM || rejects ||
                script_count(&c->script, DECISION_CLAIM_RESULT));
}

static void chaos_step(struct chaos *c)
{
    struct event e = {.kind = (enum event_kind)any(c, EVENT_KINDS)};
    if (any(c, 8) == 0) {
        submit(c);
        return;
    }
    if (any(c, 3) == 0)
        e.kind = any(c, 2) ? EVENT_ATTEMPT_DONE : EVENT_HOST_JOIN;
    if (is_request(e.kind)) {
        e.request = ++c->script.requests;
        make_request(c, &e);
    } else {
        make_fact(c, &e);
    }
    c->script.now_ns += (int64_t)any(c, SECOND);
    script_event(&c->script, e);
    check_answers(c, &e);
}

enum { CHAOS_STEPS = DRAWS(12000, 3000) };

static void test_chaos(void **state)
{
    (void)state;
    static struct chaos c;
    uint64_t stream = test_seed(), starts = 0, jobs_done = 0, rejects = 0, ignored = 0;
    for (int run = 0; run < 6; run++) {
        struct engine_config config = script_config();
        config.hosts_max = CHAOS_HOSTS;
        config.units_per_host_max = 2;
        config.finished_max = 2;
        config.shapes_max = 6;
        config.tasks_max = 200;
        config.cells_per_job_max = 200;
        if (run % 2) {
            strcpy(config.turn, "srpt");
            strcpy(config.place, "joint");
            strcpy(config.network, "rank");
        }
        memset(&c, 0, sizeof(c));
        script_begin(&c.script, &config);
        c.stream = test_random(&stream);
        for (int step = 0; step < CHAOS_STEPS; step++) {
            chaos_step(&c);
            check_sums(&c);
            if (step % 500 == 0)
                engine_destroy(load_dump_of(c.script.engine));
        }
        struct engine_counters counters;
        engine_counters(c.script.engine, &counters);
        starts += counters.starts;
        jobs_done += counters.jobs_done;
        rejects += counters.rejects;
        ignored += counters.ignored_facts;
        script_end(&c.script);
    }
    /* One run may lose its hosts early and do little; six together reach every kind of work. */
    assert_true(starts > 100 && jobs_done > 5 && rejects > 100 && ignored > 10);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static void small(struct script *s)
{
    struct engine_config config = script_config();
    config.hosts_max = 2;
    config.units_per_host_max = 1;
    config.jobs_max = 2;
    config.stages_per_job_max = 2;
    config.finished_max = 1;
    config.shapes_max = 2;
    config.tasks_max = 10;
    config.cells_per_job_max = 6;
    script_begin(s, &config);
}

static void assert_full(const struct script *s, int64_t bound)
{
    assert_int_equal(script_rejection(s), REASON_TABLE_FULL);
    assert_int_equal(script_decision(s, DECISION_REJECT, 0)->right, bound);
}

static void test_tables_say_when_they_are_full(void **state)
{
    (void)state;
    struct script s;
    small(&s);
    script_job_begin(&s, 1);
    script_job_begin(&s, 2);
    script_job_begin(&s, 3);
    assert_full(&s, 2);
    script_stage(&s, 1, 0, 11, ENGINE_NONE, 0);
    assert_full(&s, 10);
    script_stage(&s, 1, 0, 2, ENGINE_NONE, 0);
    script_stage(&s, 1, 1, 4, 0, EDGE_BARRIER);
    script_stage(&s, 1, 2, 1, ENGINE_NONE, 0);
    assert_full(&s, 2);
    script_bytes(&s, 1, 1, 0, 4, MEGABYTE);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    struct event matrix = {.kind = EVENT_JOB_BYTES};
    uint64_t cells[8] = {0};
    script_stage(&s, 2, 0, 2, ENGINE_NONE, 0);
    script_stage(&s, 2, 1, 2, 0, EDGE_BARRIER);
    script_stage(&s, 2, 1, 3, 0, EDGE_BARRIER);
    matrix.job_bytes.job = 2;
    matrix.job_bytes.stage = 1;
    matrix.job_bytes.matrix = 1;
    matrix.job_bytes.bytes = (struct u64s){cells, 4};
    script_event(&s, matrix);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    script_cancel(&s, 2);
    script_job_begin(&s, 2);
    script_stage(&s, 2, 0, 4, ENGINE_NONE, 0);
    struct event labelled = script_stage_event(2, 1, 0, NULL, NULL);
    labelled.job_stage.tasks = 1;
    script_event(&s, labelled);
    assert_full(&s, 10);
    script_cancel(&s, 2);
    script_job_begin(&s, 2);
    labelled.job_stage.stage = 0;
    labelled.job_stage.constraint = "a";
    script_event(&s, labelled);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    labelled.job_stage.stage = 1;
    labelled.job_stage.constraint = "b";
    script_event(&s, labelled);
    assert_full(&s, 2);
    script_end(&s);
}

static void test_facts_beyond_bounds_are_counted(void **state)
{
    (void)state;
    struct script s;
    struct engine_counters counters;
    small(&s);
    uint64_t vectors[2 * ENGINE_RESOURCES] = {3, 0, 0, 0, 0, 0, 4};
    script_event(&s, script_join(2, 0, vectors));
    script_event(&s, script_seen_event(1, 1, 0, 0, 2));
    script_host_event(&s, EVENT_HOST_LOST, ENGINE_NONE);
    script_attempt(&s, EVENT_ATTEMPT_DONE, 77, 0);
    script_load(&s, 1, 900);
    engine_counters(s.engine, &counters);
    assert_int_equal(counters.ignored_facts, 5);
    struct event join = script_join(0, 0, vectors);
    join.host_join.units.n = 2 * ENGINE_RESOURCES;
    script_event(&s, join);
    struct host_view host;
    engine_host(s.engine, 0, &host);
    assert_int_equal(host.units, 1);
    assert_int_equal(host.total.amount[RES_SLOTS], 3);
    script_end(&s);
}

/* The records of finished jobs are bounded: the oldest one leaves, and its number and name with it.
 */
static void test_finished_jobs_leave(void **state)
{
    (void)state;
    struct script s;
    struct job_view view;
    small(&s);
    script_host(&s, 0, 1);
    for (uint64_t number = 1; number <= 3; number++) {
        struct script_job job = {number, 1, 0, 0, NULL, 0, SECOND, 0, NULL, 0};
        script_submit(&s, &job);
        script_submit(&s, &job);
        assert_int_equal(script_rejection(&s), REASON_SAME_JOB);
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, number, 0, 0), 0);
        assert_int_equal(script_count(&s, DECISION_JOB_DONE), 1);
    }
    assert_int_equal(engine_job(s.engine, 2, &view), -2);
    assert_int_equal(engine_job(s.engine, 3, &view), 0);
    assert_int_equal(view.state, JOB_DONE);
    struct script_job again = {3, 1, 0, 0, NULL, 0, SECOND, 0, NULL, 0};
    script_submit(&s, &again);
    assert_int_equal(script_decision(&s, DECISION_REJECT, 0)->reason, REASON_SAME_JOB);
    script_end(&s);
}

/* Demands that nobody has any more leave room for others, in a table of two and over as many jobs
 * as a daemon sees in a long life; what runs keeps its own. */
static void test_demands_leave(void **state)
{
    (void)state;
    struct script s;
    char constraint[16];
    small(&s);
    s.reload = true;
    script_host(&s, 0, 2);
    script_host(&s, 1, 2);
    script_job_begin(&s, 1);
    script_stage(&s, 1, 0, 2, ENGINE_NONE, 0);
    script_job_end(&s, 1);
    assert_int_equal(script_count(&s, DECISION_START), 2);
    for (uint64_t number = 2; number < 20; number++) {
        struct event odd = script_stage_event(number, 0, 1, NULL, NULL);
        odd.job_stage.constraint = constraint;
        snprintf(constraint, sizeof(constraint), "label-%u", (unsigned)number);
        script_job_begin(&s, number);
        script_event(&s, odd);
        assert_int_equal(script_rejection(&s), REASON_NONE);
        script_cancel(&s, number);
    }
    script_attempt(&s, EVENT_ATTEMPT_FAILED, script_attempt_of(&s, 1, 0, 0), 0);
    assert_non_null(script_start(&s, 1, 0, 0));
    script_end(&s);
}

/* ---- one accepted attempt -------------------------------------------------------------------- */

static void test_copies_and_late_news(void **state)
{
    (void)state;
    struct script s;
    small(&s);
    script_host(&s, 0, 2);
    struct script_job job = {1, 1, 0, 0, NULL, 0, SECOND, 0, NULL, 0};
    script_submit(&s, &job);
    uint64_t own = script_attempt_of(&s, 1, 0, 0);
    script_event(&s, script_seen_event(9, 1, 0, 0, 0));
    assert_int_equal(script_count(&s, DECISION_STOP), 0);
    script_attempt(&s, EVENT_ATTEMPT_DONE, 9, 0);
    assert_int_equal(script_count(&s, DECISION_JOB_DONE), 1);
    assert_int_equal(script_decision(&s, DECISION_STOP, 0)->stop.attempt, own);
    assert_int_equal(script_decision(&s, DECISION_STOP, 0)->reason, REASON_REPLACED);
    static const enum event_kind late[] = {
        EVENT_ATTEMPT_STARTED, EVENT_ATTEMPT_RECEIVED, EVENT_ATTEMPT_DONE, EVENT_ATTEMPT_DONE,
        EVENT_ATTEMPT_KILLED,  EVENT_ATTEMPT_FAILED,   EVENT_ATTEMPT_LOST};
    for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
        script_attempt(&s, late[i], own, MEGABYTE);
        assert_int_equal(s.decisions.n, 0);
        script_attempt(&s, late[i], 9, MEGABYTE);
        assert_int_equal(s.decisions.n, 0);
    }
    struct host_view host;
    engine_host(s.engine, 0, &host);
    assert_int_equal(host.free.amount[RES_SLOTS], 2);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chaos),
        cmocka_unit_test(test_tables_say_when_they_are_full),
        cmocka_unit_test(test_facts_beyond_bounds_are_counted),
        cmocka_unit_test(test_finished_jobs_leave),
        cmocka_unit_test(test_demands_leave),
        cmocka_unit_test(test_copies_and_late_news),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
