/* The objective of place flow is changed every ten seconds while jobs of maps and reduce tasks come
 * and end: each task is accepted exactly once, none is lost, no unit is over-full, and the first
 * round after a change is by the new weights. With and without a dump and a load after each step.
 */
#include "tests/model/script.h"

enum { HOSTS = 6, SLOTS = 4, JOBS = 60, MAPS = 5, REDUCES = 3, TASKS = MAPS + REDUCES };
enum { SWITCH_S = 10, STEP_S = 1, RUNNING_MAX = HOSTS * SLOTS };

static const char *const objectives[] = {"quincy", "borg", "duopoly", "weights"};
enum { OBJECTIVES = sizeof(objectives) / sizeof(objectives[0]) };

struct attempt_seen {
    uint64_t attempt, job;
    uint32_t stage, task;
    bool received;
};

struct world {
    struct script s;
    uint64_t stream;
    struct attempt_seen running[RUNNING_MAX];
    uint32_t n_running, submitted, done, switches;
    uint8_t accepted[JOBS + 1][2][MAPS];
};

static int64_t value_of(const char *objective)
{
    int64_t value;
    assert_int_equal(engine_choice_find(engine_parameter("objective"), objective, &value, NULL), 0);
    return value;
}

static uint32_t draw(struct world *w, uint32_t n)
{
    return (uint32_t)(test_random(&w->stream) % n);
}

static void take_decisions(struct world *w)
{
    const struct decision *d;
    for (size_t i = 0; (d = script_decision(&w->s, DECISION_START, i)); i++) {
        assert_true(w->n_running < RUNNING_MAX);
        w->running[w->n_running++] = (struct attempt_seen){
            .attempt = d->start.attempt,
            .job = d->start.job,
            .stage = d->start.stage,
            .task = d->start.task,
            .received = !d->start.input_bytes,
        };
    }
}

static void submit(struct world *w)
{
    uint32_t replicas[MAPS * 2];
    uint64_t sums[REDUCES];
    for (int i = 0; i < MAPS * 2; i += 2) {
        replicas[i] = draw(w, HOSTS);
        replicas[i + 1] = (replicas[i] + 1) % HOSTS;
    }
    for (int i = 0; i < REDUCES; i++)
        sums[i] = 1000000 * (1 + draw(w, 50));
    script_submit(&w->s, &(struct script_job){.number = ++w->submitted,
                                              .maps = MAPS,
                                              .per = 2,
                                              .reduces = REDUCES,
                                              .replicas = replicas,
                                              .map_input = 1000000,
                                              .map_ns = SECOND,
                                              .reduce_ns = SECOND,
                                              .sums = sums});
    take_decisions(w);
}

static void go_on(struct world *w)
{
    uint32_t at = draw(w, w->n_running);
    struct attempt_seen *a = &w->running[at];
    if (!a->received) {
        a->received = true;
        script_attempt(&w->s, EVENT_ATTEMPT_RECEIVED, a->attempt, 0);
        take_decisions(w);
        return;
    }
    assert_int_equal(w->accepted[a->job][a->stage][a->task]++, 0);
    w->done++;
    uint64_t attempt = a->attempt;
    *a = w->running[--w->n_running];
    script_attempt(&w->s, EVENT_ATTEMPT_DONE, attempt, 0);
    take_decisions(w);
}

static void switch_objective(struct world *w)
{
    const char *objective = objectives[w->switches++ % OBJECTIVES];
    assert_int_equal(script_parameter(&w->s, "objective", value_of(objective)), REASON_NONE);
    take_decisions(w);
}

static void run(bool reload)
{
    struct engine_config config = script_config();
    struct world w = {.stream = test_seed()};
    strcpy(config.place, "flow");
    strcpy(config.turn, "srpt");
    strcpy(config.network, "rank");
    script_begin(&w.s, &config);
    w.s.reload = reload;
    for (uint32_t h = 0; h < HOSTS; h++)
        script_host(&w.s, h, SLOTS);
    for (uint32_t second = 0; w.done < JOBS * TASKS; second += STEP_S) {
        assert_true(second < 100 * JOBS);
        w.s.now_ns += STEP_S * SECOND;
        if (second % SWITCH_S == 0)
            switch_objective(&w);
        if (w.submitted < JOBS && draw(&w, 2))
            submit(&w);
        for (uint32_t n = draw(&w, 6); n && w.n_running; n--)
            go_on(&w);
        if (!w.n_running) { /* what is held starts when its hold is over */
            script_events(&w.s, NULL, 0);
            take_decisions(&w);
        }
    }
    for (uint32_t job = 1; job <= JOBS; job++)
        for (uint32_t t = 0; t < TASKS; t++)
            assert_int_equal(w.accepted[job][t >= MAPS][t >= MAPS ? t - MAPS : t], 1);
    struct engine_status status = script_status(&w.s);
    assert_int_equal(status.jobs_active, 0);
    assert_int_equal(status.attempts, 0);
    fprintf(stderr, "# %u switches of the objective, %u tasks, each accepted once\n", w.switches,
            w.done);
    assert_true(w.switches >= 10);
    script_end(&w.s);
}

static void nothing_is_lost(void **state)
{
    (void)state;
    run(false);
}

static void nothing_is_lost_where_it_is_loaded_anew(void **state)
{
    (void)state;
    run(true);
}

/* The waiting cost that a start names is that of the weights in force: of the round in which the
 * change came, not of a later one. */
static void the_first_round_is_by_the_new_objective(void **state)
{
    (void)state;
    struct engine_config config = script_config();
    struct script s;
    int64_t waits[OBJECTIVES];
    strcpy(config.place, "flow");
    strcpy(config.turn, "fifo");
    script_begin(&s, &config);
    script_host(&s, 0, 1);
    script_parameter(&s, "weight.load", 8); /* else its weights are duopoly's */
    for (int i = 0; i < OBJECTIVES; i++) {
        assert_int_equal(script_parameter(&s, "objective", value_of(objectives[i])), REASON_NONE);
        script_submit(&s,
                      &(struct script_job){.number = (uint64_t)i + 1, .maps = 1, .map_ns = SECOND});
        const struct decision *start = script_start(&s, (uint64_t)i + 1, 0, 0);
        assert_non_null(start);
        waits[i] = start->right;
        script_attempt(&s, EVENT_ATTEMPT_DONE, start->start.attempt, 0);
    }
    for (int i = 1; i < OBJECTIVES; i++)
        assert_true(waits[i] != waits[i - 1]);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(nothing_is_lost_where_it_is_loaded_anew),
        cmocka_unit_test(the_first_round_is_by_the_new_objective),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
