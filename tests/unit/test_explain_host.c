/* What the engine says of a host's slots: what they are used for, who waits although some are free,
 * and why; with bounds of what it looks at. And what it shows of the mode, of congestion, and of
 * what is read from a host. */
#include "tests/model/script.h"

#include <errno.h>
#include <stdarg.h>

static struct engine_explanation explained(const struct script *s, uint32_t host)
{
    struct engine_explanation e;
    assert_int_equal(engine_explain_host(s->engine, host, &e), 0);
    return e;
}

__attribute__((format(printf, 2, 3))) static void says(const struct engine_explanation *e,
                                                       const char *format, ...)
{
    char words[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(words, sizeof(words), format, ap);
    va_end(ap);
    if (!strstr(e->text, words))
        fail_msg("\"%s\" does not say \"%s\"", e->text, words);
}

/* "": there is no such fact. */
static const char *fact(const struct engine_explanation *e, const char *name)
{
    for (uint32_t i = 0; i < e->facts; i++)
        if (strcmp(e->fact[i].name, name) == 0)
            return e->fact[i].value;
    return "";
}

/* A job of `maps` maps that need so many slots on a host that meets the constraint. */
static void submit(struct script *s, uint64_t job, uint32_t maps, int64_t slots,
                   const char *constraint)
{
    const struct script_job of = {.number = job, .maps = maps, .map_ns = SECOND};
    struct event events[8];
    char name[32];
    uint64_t room[256];
    size_t n = script_job_events(&of, events, room, name, sizeof(name));
    events[0].job_begin.user = s->user;
    events[1].job_stage.demand.amount[RES_SLOTS] = slots;
    events[1].job_stage.constraint = constraint;
    script_events(s, events, n);
}

static void begin(struct script *s, const char *turn, const char *place)
{
    struct engine_config config = script_config();
    strcpy(config.turn, turn);
    strcpy(config.place, place);
    script_begin(s, &config);
}

static void nothing_waits(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "fifo", "greedy");
    struct engine_explanation e;
    assert_int_equal(engine_explain_host(s.engine, 0, &e), -ENOENT);
    script_host(&s, 0, 4);
    e = explained(&s, 0);
    assert_string_equal(e.text, " 4 of its 4 slots are free. No task is ready: they are used when "
                                "one is that may run here.");
    assert_string_equal(fact(&e, "slots_free"), "4");
    submit(&s, 1, 3, 1, "");
    e = explained(&s, 0);
    assert_string_equal(e.text, " 1 of its 4 slots is free. First in turn of those that run there "
                                "is job 1 (job-1), 1 of 1. No task is ready: they are used when "
                                "one is that may run here.");
    submit(&s, 2, 3, 1, "");
    e = explained(&s, 0);
    says(&e, " No slot of its 4 is free: one is when an attempt there ends, of which there are 4. "
             "First in "
             "turn of those that run there is job 1 (job-1), 1 of 2.");
    assert_string_equal(fact(&e, "attempts"), "4");
    assert_string_equal(fact(&e, "first_job"), "1");
    assert_string_equal(fact(&e, "waiting_1"), "");
    script_host_event(&s, EVENT_HOST_SILENT, 0);
    e = explained(&s, 0);
    assert_string_equal(e.text, "");
    assert_string_equal(fact(&e, "attempts"), "4");
    script_end(&s);
}

/* Two hosts: the first has room, the other one has not, or is silent. */
static void what_does_not_fit(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "fifo", "greedy");
    script_host(&s, 0, 3);
    script_host(&s, 1, 8);
    submit(&s, 1, 1, 8, "host=h1");
    submit(&s, 2, 2, 1, "host=h1");
    submit(&s, 3, 1, 5, "");
    submit(&s, 4, 2, 2, "");
    struct engine_explanation e = explained(&s, 0);
    says(&e, " 1 of its 3 slots is free.");
    says(&e, " Stage 0 of job 2 (job-2), 2 of 4 in turn, has 2 ready tasks. None may run here: "
             "this host does not meet 'host=h1'.");
    says(&e, " Stage 0 of job 3 (job-3), 3 of 4 in turn, has 1 ready task. Each needs slots 5 in "
             "one unit, more than any has here.");
    says(&e, " Stage 0 of job 4 (job-4), 4 of 4 in turn, has 1 ready task. Each needs slots 2 in "
             "one unit, and the most that is free in one here is slots 1.");
    assert_string_equal(fact(&e, "waiting_1"), "2/0, 2 ready, place 2: constraint");
    assert_string_equal(fact(&e, "waiting_2"), "3/0, 1 ready, place 3: never-fits");
    assert_string_equal(fact(&e, "waiting_3"), "4/0, 1 ready, place 4: no-room");
    assert_string_equal(fact(&e, "tasks_ready"), "4");
    script_end(&s);
}

/* The second job's map waits for its block's host, since the network is congested. */
static void what_is_held(void **state)
{
    (void)state;
    static const uint32_t block[] = {1};
    struct script s;
    begin(&s, "fifo", "nats");
    script_host(&s, 0, 2);
    script_host(&s, 1, 1);
    script_load(&s, 0, 950);
    for (uint64_t job = 1; job <= 2; job++)
        script_submit(&s, &(struct script_job){.number = job,
                                               .maps = 1,
                                               .per = 1,
                                               .replicas = block,
                                               .map_input = 1000000,
                                               .map_ns = SECOND});
    s.now_ns += SECOND;
    script_events(&s, NULL, 0);
    struct engine_explanation e = explained(&s, 0);
    says(&e, " Stage 0 of job 2 (job-2), 2 of 2 in turn, has 1 ready task. Held back: while the "
             "network is congested other jobs than the first (1) start only tasks next to their "
             "blocks. The uplink of h0 is at or above 800 per mille. The hold ends after 29.0 s at "
             "the latest.");
    assert_string_equal(fact(&e, "waiting_1"), "2/0, 1 ready, place 2: congested");
    script_end(&s);
}

/* One more task of a job than may run on a host. */
static void what_is_bounded(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "fifo", "flow");
    script_host(&s, 0, 2);
    script_job_begin(&s, 1);
    struct event stage = script_stage_event(1, 0, 2, NULL, NULL);
    stage.job_stage.at_most_host = 1;
    script_event(&s, stage);
    script_tasks(&s, 1, 0, 2, 0, 0, NULL);
    script_job_end(&s, 1);
    struct engine_explanation e = explained(&s, 0);
    says(&e, "has 1 ready task. As many of them run here, or on its rack, as may at once.");
    script_end(&s);
}

static void who_divides(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = script_config();
    strcpy(config.place, "greedy");
    strcpy(config.users, "capacity");
    script_begin(&s, &config);
    script_user(&s, 1, "ann", 3);
    script_host(&s, 0, 2);
    script_host(&s, 1, 4);
    s.user = 1;
    for (uint64_t job = 1; job <= 2; job++)
        submit(&s, job, 1, 4, "host=h1");
    struct engine_explanation e = explained(&s, 0);
    says(&e, " Its user ann ");
    assert_string_equal(fact(&e, "user"), "1 ann");
    assert_string_equal(fact(&e, "user_share"), "3 of 4");
    script_end(&s);
}

/* Jobs that wait for another host: a few are told, a bounded number is looked at. */
static void much_waits(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "fifo", "greedy");
    script_host(&s, 0, 2);
    script_host(&s, 1, 200);
    for (uint64_t job = 1; job <= 150; job++)
        submit(&s, job, 1, 1, "host=h1");
    struct engine_explanation e = explained(&s, 0);
    says(&e, " No task is ready:");
    assert_string_equal(fact(&e, "jobs_looked_at"), "64 of 150");
    for (uint64_t job = 151; job <= 210; job++)
        submit(&s, job, 1, 1, "host=h1");
    e = explained(&s, 0);
    says(&e, " The first 64 of 210 jobs in turn have no ready task.");
    script_end(&s);
}

static void what_is_shown_of_the_mode(void **state)
{
    (void)state;
    struct script s;
    struct mode_view mode;
    begin(&s, "fifo", "greedy");
    script_host(&s, 0, 1);
    s.now_ns = 7 * SECOND;
    submit(&s, 1, 3, 1, "");
    engine_mode(s.engine, &mode);
    assert_int_equal(mode.mode, MODE_SLOT_STARVED);
    assert_int_equal(mode.wanted, MODE_SLOT_STARVED);
    assert_int_equal(mode.ready, 2);
    assert_int_equal(mode.free, 0);
    assert_int_equal(mode.first_job, 1);
    assert_int_equal(mode.since_ns, 7 * SECOND);
    assert_int_equal(mode.until_ns, 7 * SECOND + script_config().mode_dwell_ns);
    assert_reason(&(struct decision){.reason = mode.reason}, "first-blocked");
    script_end(&s);
}

static struct congestion_view congestion_of(const struct script *s)
{
    struct congestion_view view;
    engine_congestion(s->engine, &view);
    return view;
}

static void what_makes_the_network_congested(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "fifo", "greedy");
    for (uint32_t h = 0; h < 3; h++)
        script_host(&s, h, 1);
    s.reload = true;
    script_load(&s, 0, 850);
    struct congestion_view view = congestion_of(&s);
    assert_false(view.congested);
    assert_int_equal(view.uplinks, 3);
    assert_int_equal(view.over, 0);
    assert_int_equal(view.uncleared, 1);
    script_load(&s, 1, 950);
    view = congestion_of(&s);
    assert_true(view.congested);
    assert_int_equal(view.over, 1);
    assert_int_equal(view.uncleared, 2);
    script_load(&s, 1, 100);
    assert_true(congestion_of(&s).congested);
    script_host_event(&s, EVENT_HOST_SILENT, 0);
    view = congestion_of(&s);
    assert_false(view.congested);
    assert_int_equal(view.uncleared, 0);
    script_end(&s);
}

struct seen {
    uint32_t n;
    uint64_t job;
    uint32_t outputs;
};

static void on_outputs(void *context, uint64_t job, uint32_t outputs)
{
    struct seen *seen = context;
    *seen = (struct seen){seen->n + 1, job, outputs};
}

static void on_attempt(void *context, const struct attempt_view *attempt)
{
    struct seen *seen = context;
    *seen = (struct seen){seen->n + 1, attempt->job, 0};
}

static void what_is_read_from_a_host(void **state)
{
    (void)state;
    static const uint64_t sums[] = {1000, 1000};
    static const uint32_t block[] = {0};
    struct script s;
    struct seen seen = {0};
    begin(&s, "fifo", "greedy");
    script_host(&s, 0, 1);
    script_host(&s, 1, 4);
    assert_int_equal(engine_host_outputs(s.engine, 7, 4, on_outputs, &seen), 0);
    script_submit(&s, &(struct script_job){.number = 1,
                                           .maps = 1,
                                           .reduces = 2,
                                           .per = 1,
                                           .replicas = block,
                                           .map_input = 1000,
                                           .sums = sums});
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    assert_int_equal(engine_host_outputs(s.engine, 0, 4, on_outputs, &seen), 1);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.job, 1);
    assert_int_equal(seen.outputs, 1);
    assert_int_equal(engine_host_outputs(s.engine, 0, 0, on_outputs, &seen), 1);
    assert_int_equal(seen.n, 1);
    script_submit(&s, &(struct script_job){.number = 2,
                                           .maps = 2,
                                           .per = 1,
                                           .replicas = (const uint32_t[]){0, 0},
                                           .map_input = 1000});
    seen = (struct seen){0};
    engine_block_readers(s.engine, 0, 4, on_attempt, &seen);
    assert_in_range(seen.n, 1, 2);
    assert_int_equal(seen.job, 2);
    const uint32_t all = seen.n;
    engine_block_readers(s.engine, 0, all - 1, on_attempt, &seen);
    assert_int_equal(seen.n, 2 * all - 1);
    engine_block_readers(s.engine, 1, 4, on_attempt, &seen);
    assert_int_equal(seen.n, 2 * all - 1);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_waits),
        cmocka_unit_test(what_does_not_fit),
        cmocka_unit_test(what_is_held),
        cmocka_unit_test(what_is_bounded),
        cmocka_unit_test(who_divides),
        cmocka_unit_test(much_waits),
        cmocka_unit_test(what_is_shown_of_the_mode),
        cmocka_unit_test(what_makes_the_network_congested),
        cmocka_unit_test(what_is_read_from_a_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
