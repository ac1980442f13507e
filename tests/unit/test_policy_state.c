/* What policies keep: made of facts whenever it is made, so that neither a dump nor a switch to
 * another policy and back changes the plan; and nothing is kept for a policy that is not in
 * force. */
#include "tests/model/model_step.h"
#include "tests/model/script_dump.h"
#include "tests/unit/draws.h"

#include "controller/engine/base/numbered.h"
#include "controller/engine/base/resources.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/policy/questions.h"

#include <errno.h>

enum { CHOSEN = 4 };
static const char *const chosen[CHOSEN] = {"turn", "place", "network", "users"};

static char *name_in(struct engine_config *config, int question)
{
    char *const names[] = {config->turn, config->place, config->network, config->users};
    return names[question];
}

static const char *any_policy(const char *question, uint64_t *stream)
{
    unsigned n = 0;
    while (engine_policy_name(question, n))
        n++;
    return engine_policy_name(question, (unsigned)(test_random(stream) % n));
}

static struct event setting(int question, const char *name)
{
    struct event event = {.kind = EVENT_POLICY_SET};
    event.policy_set.question = chosen[question];
    event.policy_set.name = name;
    return event;
}

static struct engine_config any_config(uint64_t *stream, unsigned place)
{
    struct engine_config config = script_config();
    config.hosts_max = M_HOSTS;
    config.epoch = 7;
    config.seed = test_random(stream);
    engine_config_say(&config, "even_wait", test_random(stream) % 2 ? SECOND : 0, NULL);
    level_table_exponential(&config.dclas, 50000, 4, 8);
    for (int q = 0; q < CHOSEN; q++)
        strcpy(name_in(&config, q), any_policy(chosen[q], stream));
    strcpy(config.place, engine_policy_name("place", place));
    return config;
}

/* ---- who keeps something ---- */

static void check_kept(const struct engine *engine, enum policy_thing thing, void *const *kept)
{
    for (int q = 0; q < QUESTIONS; q++)
        assert_int_equal(kept[q] != NULL, engine->policies[q]->state[thing].size > 0);
}

/* Each unit of the host is fitted as if it were looked at anew, and the first with room stands for
 * the host. */
static void check_fits(const struct engine *engine, const struct shape *shape,
                       const struct host *host, uint32_t *hosts, uint32_t *units)
{
    const struct host_shape *here = host->shapes[shape->index];
    bool takes = here->meets && host_up(host) && host_takes(engine, host);
    uint32_t fitting = 0, capable = 0, first = ENGINE_NONE;
    for (uint32_t u = 0; u < (shape->application ? 1 : host->n_units); u++) {
        const struct unit *unit = host_unit(host, shape, u);
        int64_t times = takes && unit ? resources_times(&unit->free, &shape->demand) : 0;
        assert_int_equal(here->fit[u].times, times);
        capable += unit && here->meets && host_up(host) &&
                   resources_times(&unit->total, &shape->demand) > 0;
        first = times > 0 && !fitting ? u : first;
        fitting += times > 0;
        assert_int_equal(here->fit[u].by_load.in, u == first);
    }
    assert_int_equal(here->fitting, fitting);
    assert_int_equal(here->capable_units, capable);
    *hosts += fitting > 0;
    *units += fitting;
}

static void check_shape(const struct engine *engine, const struct shape *shape)
{
    uint32_t hosts = 0, units = 0;
    for (uint32_t h = 0; h < engine->n_hosts; h++)
        if (engine->hosts[h])
            check_fits(engine, shape, engine->hosts[h], &hosts, &units);
    assert_int_equal(shape->by_load.n, hosts);
    assert_int_equal(shape->fitting, units);
}

/* Hosts with room stand in the orders that the placement in force reads, and in no other. */
static void check_orders(const struct engine *engine)
{
    for (uint32_t s = 0; s < engine->n_shapes; s++)
        check_shape(engine, engine->shapes[s]);
    for (uint32_t s = 0; s < engine->n_shapes; s++) {
        const struct shape *shape = engine->shapes[s];
        bool tie = engine->place->orders & HOSTS_BY_TIE,
             receivers = (engine->place->orders & HOSTS_BY_RECEIVERS) ||
                         engine_config_value(&engine->config, "ignore_held");
        assert_int_equal(shape->by_tie.n, tie ? shape->by_load.n : 0);
        for (int order = 0; order < ORDERS; order++)
            assert_int_equal(shape->by_receivers[order].n, receivers ? shape->by_load.n : 0);
    }
}

/* A further way to run a stage stands in queues, so placements keep of it what they keep of a
 * stage; nobody else does. */
static void check_variant(const struct engine *engine, const struct stage *variant)
{
    for (int q = 0; q < QUESTIONS; q++)
        assert_int_equal(variant->kept[q] != NULL,
                         q == QUESTION_PLACE && engine->policies[q]->state[POLICY_STAGE].size > 0);
    assert_int_equal(variant->n_ready, variant->first->n_ready);
    for (uint32_t t = 0; t < variant->n_tasks; t++)
        assert_int_equal(task_state(&variant->tasks[t]) == TASK_READY,
                         task_state(&variant->first->tasks[t]) == TASK_READY);
}

static bool has_its_input(const struct task *task)
{
    const struct attempt *attempt = task->attempts;
    while (attempt && attempt->state != ATTEMPT_COMPUTING)
        attempt = attempt->next_of_task;
    return attempt;
}

/* It is counted as if each task were looked at anew. */
static void check_remaining(const struct job *job)
{
    uint64_t maps = 0, bytes = 0;
    engine_wide work_ns = 0;
    for (uint32_t s = 0; s < job->n_stages; s++)
        for (uint32_t t = 0; t < job->stages[s]->n_tasks; t++) {
            const struct task *task = &job->stages[s]->tasks[t];
            if (task_state(task) == TASK_DONE)
                continue;
            maps += !task->bytes;
            work_ns += task->bytes ? 0 : variant_work_ns(task);
            bytes += has_its_input(task) ? 0 : task->bytes;
        }
    assert_int_equal(job->remaining.maps, maps);
    assert_true(job->remaining.work_ns == work_ns);
    assert_int_equal(job->remaining.bytes, bytes);
}

static void check_all_kept(const struct engine *engine)
{
    const struct sorted_node *node;
    static void *const nothing[QUESTIONS];
    check_kept(engine, POLICY_ENGINE, engine->kept);
    check_orders(engine);
    for (uint32_t h = 0; h < engine->n_hosts; h++)
        if (engine->hosts[h])
            check_kept(engine, POLICY_HOST, engine->hosts[h]->kept);
    const struct attempt *attempt;
    for (attempt = numbered_after(&engine->attempts, 0); attempt;
         attempt = numbered_after(&engine->attempts, attempt->number))
        check_kept(engine, POLICY_ATTEMPT, attempt->kept);
    for (node = sorted_first(&engine->jobs); node; node = sorted_next(node)) {
        const struct job *job = container_of(node, struct job, by_number);
        if (job->state != JOB_ACTIVE) {
            assert_memory_equal(job->kept, nothing, sizeof(nothing));
            continue;
        }
        check_kept(engine, POLICY_JOB, job->kept);
        check_remaining(job);
        for (uint32_t s = 0; s < job->n_stages; s++) {
            check_kept(engine, POLICY_STAGE, job->stages[s]->kept);
            check_kept(engine, POLICY_TASK, job->stages[s]->kept_tasks);
            for (uint32_t i = 0; i < job->stages[s]->n_others; i++)
                check_variant(engine, job->stages[s]->others[i]);
        }
    }
}

/* ---- there and back ---- */

/* It counts starts of stages that are over, which no fact tells (policy.h). */
static bool counts_its_past(const struct engine *engine, const char *question)
{
    return strcmp(engine->policies[policy_question(question)]->name, "affinity") == 0;
}

/* Each question's policy is switched to every other one and back, within one step; not that of
 * `users`, which was charged for what runs. */
static void switch_there_and_back(struct model *m)
{
    struct decisions decisions = {0};
    struct event events[64];
    size_t n = 0;
    for (int q = 0; q < CHOSEN - 1; q++) {
        const char *name;
        if (counts_its_past(m->script.engine, chosen[q]))
            continue;
        for (unsigned i = 0; (name = engine_policy_name(chosen[q], i)); i++)
            events[n++] = setting(q, name);
        events[n++] = setting(q, name_in(&m->config, q));
    }
    assert_int_equal(engine_step(m->script.engine, m->script.now_ns, events, n, &decisions), 0);
    assert_int_equal(decisions.n, 0);
    check_all_kept(m->script.engine);
    decisions_done(&decisions);
}

static void check_there_and_back(const struct engine_config *config, uint64_t stream)
{
    static struct model m;
    struct decisions decisions = {0};
    struct engine *twin = NULL;
    model_begin(&m, config, stream);
    m.mode_events = true;
    m.variants = stream % 2;
    model_users(&m);
    for (int step = 0; step < 120; step++) {
        if (step == 8)
            twin = load_dump_of(m.script.engine);
        if (step % 3 == 0)
            switch_there_and_back(&m);
        model_step(&m);
        if (!twin)
            continue;
        assert_int_equal(engine_step(twin, m.script.now_ns, m.events, m.n_events, &decisions), 0);
        script_same_decisions(&m.script.decisions, &decisions);
        assert_true(engine_digest(twin) == engine_digest(m.script.engine));
    }
    engine_destroy(twin);
    decisions_done(&decisions);
    model_end(&m);
}

static void test_there_and_back_is_the_same_plan(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int round = 0; round < DRAWS(4, 1); round++)
        for (unsigned place = 0; engine_policy_name("place", place); place++) {
            struct engine_config config = any_config(&stream, place);
            check_there_and_back(&config, test_random(&stream));
        }
}

/* ---- jobs that no policy keeps anything for ---- */

/* One that is still being submitted, and one that is done: a dump and a switch pass them by. */
static void test_jobs_that_are_not_active_have_no_turn(void **state)
{
    (void)state;
    const char *turn;
    for (unsigned i = 0; (turn = engine_policy_name("turn", i)); i++) {
        struct engine_config config = script_config();
        struct script script;
        strcpy(config.turn, turn);
        script_begin(&script, &config);
        script_host(&script, 0, 1);
        script_submit(&script, &(struct script_job){.number = 1, .maps = 1});
        script_attempt(&script, EVENT_ATTEMPT_DONE, script_attempt_of(&script, 1, 0, 0), 0);
        script_job_begin(&script, 2);
        script_stage(&script, 2, 0, 1, ENGINE_NONE, 0);
        struct engine *twin = load_dump_of(script.engine);
        assert_true(engine_digest(twin) == engine_digest(script.engine));
        for (unsigned other = 0; engine_policy_name("turn", other); other++)
            script_event(&script, setting(0, engine_policy_name("turn", other)));
        check_all_kept(script.engine);
        check_all_kept(twin);
        engine_destroy(twin);
        script_end(&script);
    }
}

/* ---- another policy for good ---- */

/* As model_step, with one event: another policy. */
static void switch_one(struct model *m, uint64_t *stream)
{
    int question = (int)(test_random(stream) % CHOSEN);
    const char *name = any_policy(chosen[question], stream);
    strcpy(name_in(&m->config, question), name);
    m_take_policies(m);
    m->events[0] = setting(question, name);
    m->n_events = 1;
    script_events(&m->script, m->events, m->n_events);
    m_follow(m);
    m_compare(m);
}

static void check_switches(const struct engine_config *config, uint64_t stream)
{
    static struct model m;
    struct decisions decisions = {0};
    struct engine *twin = NULL;
    model_begin(&m, config, stream);
    m.variants = stream % 2;
    model_users(&m);
    for (int step = 0; step < 160; step++) {
        if (step % 8 == 7)
            switch_one(&m, &stream);
        else
            model_step(&m);
        check_all_kept(m.script.engine);
        if (twin) {
            assert_int_equal(engine_step(twin, m.script.now_ns, m.events, m.n_events, &decisions),
                             0);
            script_same_decisions(&m.script.decisions, &decisions);
            assert_true(engine_digest(twin) == engine_digest(m.script.engine));
        }
        if (step % 16 == 5) {
            engine_destroy(twin);
            twin = load_dump_of(m.script.engine);
            check_all_kept(twin);
        }
    }
    engine_destroy(twin);
    decisions_done(&decisions);
    model_end(&m);
}

static void test_a_switch_is_planned_on_alike_after_load(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int round = 0; round < DRAWS(4, 1); round++)
        for (unsigned place = 0; engine_policy_name("place", place); place++) {
            struct engine_config config = any_config(&stream, place);
            check_switches(&config, test_random(&stream));
        }
}

/* ---- the records of a dump ---- */

static int refusal(const char *config_line, const char *record, struct err *err)
{
    struct lines lines = {0};
    struct engine *engine = NULL;
    lines_keep(&lines, config_line, strlen(config_line));
    lines_keep(&lines, record, strlen(record));
    int r = engine_load(lines_next, &lines, &engine, err);
    engine_destroy(engine);
    free(lines.text);
    return r;
}

static void test_records_name_the_policy(void **state)
{
    (void)state;
    struct lines lines = {0};
    struct script s;
    struct err err = {0};
    struct engine_config config = script_config();
    strcpy(config.place, "random");
    script_begin(&s, &config);
    script_host(&s, 0, 3);
    script_submit(&s, &(struct script_job){.number = 1, .maps = 2, .map_ns = SECOND});
    assert_int_equal(engine_dump(s.engine, lines_keep, &lines), 0);
    assert_non_null(
        strstr(lines.text, "\npolicy question=place name=random of=engine draws=2\nend\n"));
    *strchr(lines.text, '\n') = 0;
    static const struct {
        const char *record, *words;
    } wrong[] = {
        {"policy question=place name=nats of=engine draws=2", "no policy nats is in force"},
        {"policy question=colour name=random of=engine draws=2", "the question \"colour\""},
        {"policy question=place name=random of=job job=1 draws=2", "keeps nothing of \"job\""},
        {"policy question=place name=random of=engine", "field draws is missing"},
        {"policy question=place name=random of=engine draws=2 more=1", "more than its fields"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_int_equal(refusal(lines.text, wrong[i].record, &err), -EINVAL);
        if (!strstr(err.text, wrong[i].words) || !strstr(err.text, "line 2"))
            fail_msg("\"%s\" does not say \"%s\"", err.text, wrong[i].words);
    }
    free(lines.text);
    script_end(&s);
}

/* A dump without its last lines: only how the first one is read is looked at. */
static int load_with(const char *dump, const char *word, const char *instead,
                     struct engine **ret_engine, struct err *err)
{
    const char *at = strstr(dump, word);
    struct lines lines = {0};
    char *text = NULL;
    assert_non_null(at);
    assert_true(asprintf(&text, "%.*s%s%s", (int)(at - dump), dump, instead, at + strlen(word)) >
                0);
    lines_keep(&lines, text, strlen(text));
    int r = engine_load(lines_next, &lines, ret_engine, err);
    free(lines.text);
    free(text);
    return r;
}

/* What was said otherwise: a rule's number, parameters as fields of the configuration. A name that
 * does not fit is refused whole. */
static void test_dumps_of_before(void **state)
{
    (void)state;
    static const struct {
        const char *word, *instead;
        const char *parameter; /* NULL: it is refused */
        int64_t value;
        const char *says, *says_not;
    } cases[] = {
        {"mode=first", "mode_rule=3", "", 0, "starved", NULL},
        {"mode=first", "mode_rule=99", NULL, 0, "no rule number 99", NULL},
        {"mode=first", "mode=first mode_ignore_held=1", "ignore_held", 1, NULL, NULL},
        {" hold_max_ns=", " even_wait_ns=5 start_wait_ns=6 hold_max_ns=", "even_wait", 5, NULL,
         NULL},
        {" hold_max_ns=", " even_wait_ns=5 start_wait_ns=6 hold_max_ns=", "start_wait", 6, NULL,
         NULL},
        {"mode=first", "mode=a-name-of-more-than-sixteen", NULL, 0, NULL, "unknown mode policy"},
    };
    struct lines lines = {0};
    struct script s;
    struct engine_config config = script_config();
    script_begin(&s, &config);
    assert_int_equal(engine_dump(s.engine, lines_keep, &lines), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};
        struct engine *engine = NULL;
        int r = load_with(lines.text, cases[i].word, cases[i].instead, &engine, &err);
        assert_int_equal(r, cases[i].parameter ? 0 : -EINVAL);
        if (cases[i].parameter && *cases[i].parameter)
            assert_int_equal(engine_value(engine, cases[i].parameter), cases[i].value);
        if (cases[i].says)
            assert_non_null(strstr(r ? err.text : engine_policy(engine, "mode"), cases[i].says));
        if (cases[i].says_not)
            assert_null(strstr(err.text, cases[i].says_not));
        engine_destroy(engine);
    }
    free(lines.text);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back_is_the_same_plan),
        cmocka_unit_test(test_jobs_that_are_not_active_have_no_turn),
        cmocka_unit_test(test_a_switch_is_planned_on_alike_after_load),
        cmocka_unit_test(test_records_name_the_policy),
        cmocka_unit_test(test_dumps_of_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
