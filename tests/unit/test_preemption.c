/* place flow that stops running tasks: for what has a higher priority (preempt), and to run them
 * where it costs less (migrate). Each engine is replaced by load(dump()) after each step. */
#include "tests/model/script.h"
#include "tests/unit/draws.h"

#include "testbed/sim/cluster/recording_replay.h"
#include "tests/unit/run_cases.h"

enum { MEGABYTE = 1000000 };

static void say(struct script *s, const char *word, int64_t value)
{
    assert_int_equal(script_parameter(s, word, value), REASON_NONE);
}

static void begin(struct script *s, uint32_t hosts, uint64_t slots)
{
    struct engine_config config = script_config();
    strcpy(config.place, "flow");
    strcpy(config.turn, "fifo");
    config.framework_jobs_max = 4;
    script_begin(s, &config);
    s->reload = true;
    for (uint32_t h = 0; h < hosts; h++)
        script_host(s, h, slots);
    say(s, "weight.priority", 1);
    say(s, "preempt", 1);
}

static void submit(struct script *s, uint64_t number, uint32_t maps, int64_t priority)
{
    s->now_ns += SECOND;
    s->priority = priority;
    script_submit(s, &(struct script_job){.number = number, .maps = maps, .map_ns = SECOND});
}

static const struct decision *stop_at(const struct script *s, size_t n)
{
    return script_decision(s, DECISION_STOP, n);
}

static void killed(struct script *s, uint64_t attempt)
{
    script_attempt(s, EVENT_ATTEMPT_KILLED, attempt, 0);
}

static void done(struct script *s, uint64_t job, uint32_t task)
{
    script_attempt(s, EVENT_ATTEMPT_DONE, script_attempt_of(s, job, 0, task), 0);
}

static void explained(const struct script *s, uint64_t job, uint32_t task, const char *words)
{
    struct engine_explanation e;
    assert_int_equal(engine_explain(s->engine, job, 0, task, &e), 0);
    if (!strstr(e.text, words))
        fail_msg("\"%s\" does not say \"%s\"", e.text, words);
}

/* ---- preemption ---- */

/* A late job gets two of four slots; what ran there runs again when they are free. */
static void the_highest_priority_takes_slots(void **state)
{
    (void)state;
    struct script s;
    uint64_t stopped[2];
    begin(&s, 2, 2);
    submit(&s, 1, 4, 0);
    s.now_ns += 2 * SECOND;
    submit(&s, 2, 2, 5);
    assert_int_equal(script_count(&s, DECISION_STOP), 2);
    assert_int_equal(script_count(&s, DECISION_START), 0);
    for (size_t i = 0; i < 2; i++) {
        const struct decision *stop = stop_at(&s, i);
        assert_reason(stop, "optimum-stops");
        assert_true(stop->left == 1 + 3 * 255 && stop->right == 5 && stop->stop.requeue);
        assert_true(stop->stop.by_job == 2 && stop->stop.by_task == i);
        stopped[i] = stop->stop.attempt;
    }
    /* Their slots are on the way, so nothing more is stopped for the same two. */
    s.now_ns += SECOND;
    script_events(&s, NULL, 0);
    assert_int_equal(script_count(&s, DECISION_STOP), 0);
    uint32_t waits = 0;
    while (script_task_state(&s, 1, 0, waits) != TASK_READY)
        waits++;
    explained(&s, 1, waits,
              "in the optimum a task of priority 5 has its slot; what it had run for "
              "counted 766. Task 2/0/");
    explained(&s, 2, 0, " Task 1/0/");
    explained(&s, 2, 1, " for it.");
    for (size_t i = 0; i < 2; i++) {
        killed(&s, stopped[i]);
        assert_int_equal(script_count(&s, DECISION_START), 1);
        assert_int_equal(script_decision(&s, DECISION_START, 0)->start.job, 2);
    }
    assert_int_equal(script_job_view(&s, 1).ready, 2);
    assert_true(script_job_view(&s, 1).evictions == 2);
    assert_true(script_job_view(&s, 1).evicted_ns == 6 * SECOND);
    done(&s, 2, 0);
    done(&s, 2, 1);
    assert_int_equal(script_job_view(&s, 1).running, 4);
    script_end(&s);
}

/* Of what runs the lowest priority is stopped, and of that what has run for the shortest. */
static void the_lowest_priority_is_stopped(void **state)
{
    (void)state;
    struct script s;
    begin(&s, 1, 3);
    submit(&s, 1, 1, 1);
    submit(&s, 2, 1, 0);
    submit(&s, 3, 1, 0);
    submit(&s, 4, 2, 2);
    assert_int_equal(script_count(&s, DECISION_STOP), 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_not_equal(stop_at(&s, i)->stop.attempt, script_attempt_of(&s, 1, 0, 0));
    script_end(&s);
    begin(&s, 1, 3);
    submit(&s, 1, 1, 1);
    submit(&s, 2, 1, 0);
    submit(&s, 3, 1, 0);
    uint64_t newest = script_attempt_of(&s, 3, 0, 0);
    submit(&s, 4, 1, 2);
    assert_int_equal(script_count(&s, DECISION_STOP), 1);
    assert_int_equal(stop_at(&s, 0)->stop.attempt, newest);
    script_end(&s);
}

static uint32_t stops_for(int64_t priority, const char *word, int64_t value)
{
    struct script s;
    begin(&s, 2, 1);
    if (word)
        say(&s, word, value);
    submit(&s, 1, 2, 0);
    submit(&s, 2, 1, priority);
    uint32_t n = (uint32_t)script_count(&s, DECISION_STOP);
    script_events(&s, NULL, 0);
    n += (uint32_t)script_count(&s, DECISION_STOP);
    script_end(&s);
    return n;
}

static void nothing_else_is_a_reason(void **state)
{
    (void)state;
    assert_int_equal(stops_for(1, NULL, 0), 1);
    assert_int_equal(stops_for(0, NULL, 0), 0);
    assert_int_equal(stops_for(-1, NULL, 0), 0);
    assert_int_equal(stops_for(1, "preempt", 0), 0);
    assert_int_equal(stops_for(1, "weight.priority", 0), 0);
    assert_int_equal(stops_for(0, "weight.wait", 8), 0);
    assert_int_equal(stops_for(0, "fair_parts", 1), 0);
    assert_int_equal(stops_for(1, "weight.lost", 8), 1); /* what is lost never decides it */
}

/* A free slot is room, and so is none where a task may not run. */
static void only_where_it_helps(void **state)
{
    (void)state;
    static const uint64_t one[ENGINE_RESOURCES] = {1};
    struct script s;
    begin(&s, 2, 1);
    submit(&s, 1, 1, 0);
    submit(&s, 2, 1, 5);
    assert_int_equal(script_count(&s, DECISION_STOP), 0);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    script_end(&s);

    begin(&s, 2, 1);
    struct event event = script_join(2, 1, one);
    event.host_join.labels = "gpu";
    script_event(&s, event);
    submit(&s, 1, 3, 0);
    uint64_t there = 0;
    for (uint32_t t = 0; t < 3; t++)
        if (script_attempt_view(&s, script_attempt_of(&s, 1, 0, t)).host == 2)
            there = script_attempt_of(&s, 1, 0, t);
    s.now_ns += SECOND;
    event = script_begin_event(2, "gpu");
    event.job_begin.priority = 5;
    script_event(&s, event);
    event = script_stage_event(2, 0, 2, NULL, NULL);
    event.job_stage.constraint = "gpu";
    script_event(&s, event);
    script_tasks(&s, 2, 0, 2, 0, 0, NULL);
    script_job_end(&s, 2);
    assert_int_equal(script_count(&s, DECISION_STOP), 1);
    assert_int_equal(stop_at(&s, 0)->stop.attempt, there);
    script_events(&s, NULL, 0);
    assert_int_equal(script_count(&s, DECISION_STOP), 0);
    script_end(&s);
}

static void no_attempt_of_a_framework_is_stopped(void **state)
{
    (void)state;
    const uint64_t foreign = UINT64_C(1) << ENGINE_APPLICATION_SHIFT;
    struct script s;
    begin(&s, 1, 2);
    script_offer(&s, foreign, 1);
    script_started(&s, 77, foreign, 0, 0, 0);
    submit(&s, 1, 1, 0);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    uint64_t ours = script_attempt_of(&s, 1, 0, 0);
    submit(&s, 2, 2, 5);
    assert_int_equal(script_count(&s, DECISION_STOP), 1);
    assert_int_equal(stop_at(&s, 0)->stop.attempt, ours);
    script_events(&s, NULL, 0);
    assert_int_equal(script_count(&s, DECISION_STOP), 0);
    script_end(&s);
}

static void where_users_divide_nothing_is_stopped(void **state)
{
    (void)state;
    struct script s;
    begin(&s, 1, 1);
    script_policy(&s, "users", "sequence");
    submit(&s, 1, 1, 0);
    submit(&s, 2, 1, 5);
    assert_int_equal(script_count(&s, DECISION_STOP), 0);
    script_end(&s);
}

/* A task is stopped twice at most, a step stops 64. */
static void stops_are_bounded(void **state)
{
    (void)state;
    struct script s;
    begin(&s, 1, 1);
    submit(&s, 1, 1, 0);
    for (uint64_t job = 2; job <= 4; job++) {
        submit(&s, job, 1, 5);
        assert_int_equal(script_count(&s, DECISION_STOP), job < 4);
        if (job == 4)
            break;
        killed(&s, stop_at(&s, 0)->stop.attempt);
        assert_non_null(script_start(&s, job, 0, 0));
        done(&s, job, 0);
        assert_non_null(script_start(&s, 1, 0, 0));
    }
    done(&s, 1, 0);
    assert_non_null(script_start(&s, 4, 0, 0));
    script_end(&s);

    begin(&s, 10, 8);
    submit(&s, 1, 80, 0);
    submit(&s, 2, 100, 5);
    assert_int_equal(script_count(&s, DECISION_STOP), 64);
    script_events(&s, NULL, 0);
    assert_int_equal(script_count(&s, DECISION_STOP), 16);
    script_events(&s, NULL, 0);
    assert_int_equal(script_count(&s, DECISION_STOP), 0);
    assert_int_equal(script_job_view(&s, 1).ready, 80);
    script_end(&s);
}

/* A host that does not answer frees no slot: another one is taken. */
static void what_comes_counts_only_where_it_comes(void **state)
{
    (void)state;
    struct script s;
    begin(&s, 2, 1);
    submit(&s, 1, 2, 0);
    submit(&s, 2, 1, 5);
    assert_int_equal(script_count(&s, DECISION_STOP), 1);
    uint32_t host = stop_at(&s, 0)->stop.host;
    script_host_event(&s, EVENT_HOST_SILENT, host);
    assert_int_equal(script_count(&s, DECISION_STOP), 1);
    assert_int_not_equal(stop_at(&s, 0)->stop.host, host);
    script_end(&s);
}

/* It frees the last of its host's units, where it is counted. */
static void what_ran_on_a_unit_that_is_gone_is_stopped(void **state)
{
    (void)state;
    struct script s;
    begin(&s, 0, 0);
    submit(&s, 1, 1, 0);
    struct event seen = script_seen_event(77, 1, 0, 0, 0);
    seen.attempt_seen.unit = 100000;
    script_event(&s, seen);
    script_host(&s, 0, 1);
    submit(&s, 2, 1, 5);
    assert_int_equal(script_count(&s, DECISION_STOP), 1);
    assert_int_equal(stop_at(&s, 0)->stop.attempt, 77);
    script_end(&s);
}

/* ---- migration ---- */

/* Job 2's map runs away from its block, which is on host 0, where job 1's map ends `after` ns. */
static void begin_away(struct script *s, int64_t after)
{
    static const uint32_t block[] = {0};
    begin(s, 2, 1);
    say(s, "preempt", 0);
    say(s, "weight.locality", 8);
    for (uint64_t job = 1; job <= 2; job++)
        script_submit(s, &(struct script_job){.number = job,
                                              .maps = 1,
                                              .per = 1,
                                              .replicas = block,
                                              .map_input = MEGABYTE,
                                              .map_ns = SECOND});
    assert_int_equal(script_start(s, 2, 0, 0)->start.host, 1);
    s->now_ns += after;
}

static void a_task_moves_where_it_gains_more_than_it_loses(void **state)
{
    (void)state;
    static const struct {
        int64_t migrate, lost, after;
        bool moves;
    } cases[] = {{1, 1, SECOND, true},
                 {0, 1, SECOND, false},
                 {1, 1, 10 * SECOND, false},
                 {1, 0, 10 * SECOND, true},
                 {1, 8, SECOND, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct script s;
        begin_away(&s, cases[i].after);
        say(&s, "migrate", cases[i].migrate);
        say(&s, "weight.lost", cases[i].lost);
        done(&s, 1, 0);
        assert_int_equal(script_count(&s, DECISION_STOP), cases[i].moves);
        if (!cases[i].moves) {
            script_end(&s);
            continue;
        }
        assert_reason(stop_at(&s, 0), "optimum-moves");
        assert_int_equal(stop_at(&s, 0)->left, 8 * 255);
        assert_int_equal(stop_at(&s, 0)->stop.by_job, 0);
        assert_int_equal(script_start(&s, 2, 0, 0)->start.host, 0);
        assert_true(script_task_view(&s, 2, 0, 0).evictions == 1);
        explained(&s, 2, 0, "in the optimum it runs on another host: to leave it there cost 2040");
        script_end(&s);
    }
}

/* What waits for a slot gets it, and nobody moves there. */
static void none_moves_before_those_who_wait(void **state)
{
    (void)state;
    struct script s;
    begin_away(&s, SECOND / 2);
    say(&s, "migrate", 1);
    submit(&s, 3, 1, 0);
    done(&s, 1, 0);
    assert_int_equal(script_count(&s, DECISION_STOP), 0);
    assert_non_null(script_start(&s, 3, 0, 0));
    script_end(&s);
}

/* ---- random rounds ---- */

enum { HOSTS = 5, SLOTS = 3, JOBS = 50, MAPS = 4, REDUCES = 2, TASKS = MAPS + REDUCES };
enum { SEEN = 256 };

struct attempt_seen {
    uint64_t attempt, job;
    uint32_t stage, task;
    bool received, stopped;
};

struct world {
    struct script s;
    uint64_t stream, digest;
    struct attempt_seen seen[SEEN];
    uint32_t n_seen, submitted, done, stops, moves;
    uint8_t accepted[JOBS + 1][TASKS];
};

static uint32_t draw(struct world *w, uint32_t n)
{
    return (uint32_t)(test_random(&w->stream) % n);
}

static void mix(struct world *w, uint64_t value)
{
    w->digest = (w->digest ^ value) * 0x100000001b3u;
}

static void take_decisions(struct world *w)
{
    const struct decision *d;
    for (size_t i = 0; (d = script_decision(&w->s, DECISION_START, i)); i++) {
        assert_true(w->n_seen < SEEN);
        w->seen[w->n_seen++] = (struct attempt_seen){.attempt = d->start.attempt,
                                                     .job = d->start.job,
                                                     .stage = d->start.stage,
                                                     .task = d->start.task,
                                                     .received = !d->start.input_bytes};
        mix(w, d->start.attempt ^ (uint64_t)d->start.host << 32 ^ (uint64_t)d->reason << 48);
        mix(w, d->start.job << 16 ^ (uint64_t)d->start.stage << 8 ^ d->start.task);
    }
    for (size_t i = 0; (d = script_decision(&w->s, DECISION_STOP, i)); i++) {
        w->stops++;
        w->moves += strcmp(reason_name(d->reason), "optimum-moves") == 0;
        mix(w, d->stop.attempt ^ d->stop.by_job << 40 ^ (uint64_t)d->reason << 56);
        mix(w, (uint64_t)d->left);
        for (uint32_t a = 0; a < w->n_seen; a++)
            w->seen[a].stopped |= w->seen[a].attempt == d->stop.attempt;
    }
}

static void submit_any(struct world *w)
{
    static const int64_t priorities[] = {0, 0, 0, -1, 2, 5};
    uint32_t replicas[MAPS * 2];
    uint64_t sums[REDUCES];
    for (int i = 0; i < MAPS * 2; i++)
        replicas[i] = draw(w, HOSTS);
    for (int i = 0; i < REDUCES; i++)
        sums[i] = MEGABYTE * (1 + draw(w, 50));
    w->s.priority = priorities[draw(w, 6)];
    script_submit(&w->s, &(struct script_job){.number = ++w->submitted,
                                              .maps = MAPS,
                                              .per = 2,
                                              .reduces = REDUCES,
                                              .replicas = replicas,
                                              .map_input = MEGABYTE,
                                              .map_ns = SECOND,
                                              .reduce_ns = SECOND,
                                              .sums = sums});
    take_decisions(w);
}

static enum event_kind end_of(struct world *w, const struct attempt_seen *a)
{
    if (!a->stopped)
        return EVENT_ATTEMPT_DONE;
    return draw(w, 4) ? EVENT_ATTEMPT_KILLED : EVENT_ATTEMPT_DONE;
}

static void go_on(struct world *w)
{
    uint32_t at = draw(w, w->n_seen);
    struct attempt_seen a = w->seen[at];
    if (!a.received && !a.stopped) {
        w->seen[at].received = true;
        script_attempt(&w->s, EVENT_ATTEMPT_RECEIVED, a.attempt, 0);
        take_decisions(w);
        return;
    }
    enum event_kind kind = end_of(w, &a);
    w->seen[at] = w->seen[--w->n_seen];
    if (!a.stopped) {
        assert_int_equal(w->accepted[a.job][a.stage * MAPS + a.task]++, 0);
        w->done++;
    }
    script_attempt(&w->s, kind, a.attempt, 0);
    take_decisions(w);
}

static void world_begin(struct world *w, unsigned run, bool reload)
{
    struct engine_config config = script_config();
    *w = (struct world){.stream = test_seed() + run};
    strcpy(config.place, "flow");
    strcpy(config.turn, "srpt");
    strcpy(config.network, "rank");
    script_begin(&w->s, &config);
    w->s.reload = reload;
    for (uint32_t h = 0; h < HOSTS; h++)
        script_host(&w->s, h, SLOTS);
    say(&w->s, "weight.priority", 1);
    say(&w->s, "weight.locality", run % 2 ? 8 : 1);
    say(&w->s, "weight.lost", run % 3);
    say(&w->s, "hold_stalls", run / 2 % 2);
    say(&w->s, "fair_parts", run / 4 % 2);
    say(&w->s, "preempt", run % 5 != 4);
    say(&w->s, "migrate", run % 4 != 3);
}

static void world_step(struct world *w)
{
    w->s.now_ns += SECOND / 4;
    if (draw(w, 100) == 0) {
        say(&w->s, "preempt", draw(w, 3) > 0);
        take_decisions(w);
    }
    if (w->submitted < JOBS && draw(w, 5) == 0)
        submit_any(w);
    for (uint32_t n = draw(w, 4); n && w->n_seen; n--)
        go_on(w);
    if (!w->n_seen) { /* what is held starts when its hold is over */
        script_events(&w->s, NULL, 0);
        take_decisions(w);
    }
}

static void world_end(struct world *w)
{
    for (uint32_t job = 1; job <= JOBS; job++)
        for (uint32_t t = 0; t < TASKS; t++)
            assert_int_equal(w->accepted[job][t], 1);
    assert_int_equal(script_status(&w->s).jobs_active, 0);
    script_end(&w->s);
}

/* Each task is accepted exactly once; and an engine that is loaded anew decides the same. */
static void nothing_is_lost_or_done_twice(void **state)
{
    (void)state;
    enum { RUNS = DRAWS(20, 6) };
    static struct world w[2];
    uint32_t stops = 0, moves = 0;
    for (unsigned run = 0; run < RUNS; run++) {
        for (int i = 0; i < 2; i++)
            world_begin(&w[i], run, i);
        for (unsigned step = 0; w[0].done < JOBS * TASKS || w[0].n_seen; step++) {
            assert_true(step < 400 * JOBS);
            for (int i = 0; i < 2; i++)
                world_step(&w[i]);
            assert_true(w[0].digest == w[1].digest);
        }
        stops += w[0].stops;
        moves += w[0].moves;
        for (int i = 0; i < 2; i++)
            world_end(&w[i]);
    }
    fprintf(stderr, "# %u stops, %u of them to move\n", stops, moves);
    assert_true(moves > RUNS / 4 && stops - moves > 5 * RUNS);
}

/* ---- the simulator ---- */

/* Times of a long job of six tasks and of a short one of two that comes after a second with the
 * higher priority, on six slots; the recording decides the same again. */
static struct run_result simulated(bool preempt, double *jct_s)
{
    struct workload_job jobs[] = {
        job_of("{\"id\":1,\"arrival_ms\":0,\"stages\":[{\"tasks\":6,\"compute_ms\":4000}]}"),
        job_of("{\"id\":2,\"arrival_ms\":1000,\"priority\":1,"
               "\"stages\":[{\"tasks\":2,\"compute_ms\":500}]}")};
    struct err err = {0};
    struct recording_replay_result again;
    struct run_config config = config_of("fair", 3, 2, 8 * UNIT);
    int64_t objective;
    strcpy(config.engine.place, "flow");
    assert_int_equal(engine_choice_find(engine_parameter("objective"), "borg", &objective, NULL),
                     0);
    assert_int_equal(engine_config_say(&config.engine, "objective", objective, NULL), 0);
    assert_int_equal(engine_config_say(&config.engine, "preempt", preempt, NULL), 0);
    config.recording = tmpfile();
    const struct run_result result = simulate(&config, jobs, 2, jct_s);
    rewind(config.recording);
    if (recording_replay(config.recording, NULL, &again, &err))
        fail_msg("%s", err.text);
    assert_int_equal(again.first_difference_line, 0);
    fclose(config.recording);
    for (int i = 0; i < 2; i++)
        workload_job_done(&jobs[i]);
    return result;
}

static void in_the_simulator_the_highest_priority_is_soon_done(void **state)
{
    (void)state;
    double jct_s[2];
    assert_int_equal(simulated(false, jct_s).attempts, 8);
    assert_true(jct_s[0] < 4.1 && jct_s[1] > 3.4);
    assert_int_equal(simulated(true, jct_s).attempts, 10);
    assert_true(jct_s[0] > 5.4 && jct_s[0] < 5.6 && jct_s[1] < .6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_highest_priority_takes_slots),
        cmocka_unit_test(the_lowest_priority_is_stopped),
        cmocka_unit_test(nothing_else_is_a_reason),
        cmocka_unit_test(only_where_it_helps),
        cmocka_unit_test(no_attempt_of_a_framework_is_stopped),
        cmocka_unit_test(where_users_divide_nothing_is_stopped),
        cmocka_unit_test(stops_are_bounded),
        cmocka_unit_test(what_comes_counts_only_where_it_comes),
        cmocka_unit_test(what_ran_on_a_unit_that_is_gone_is_stopped),
        cmocka_unit_test(a_task_moves_where_it_gains_more_than_it_loses),
        cmocka_unit_test(none_moves_before_those_who_wait),
        cmocka_unit_test(nothing_is_lost_or_done_twice),
        cmocka_unit_test(in_the_simulator_the_highest_priority_is_soon_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
