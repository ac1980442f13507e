/* Every entry of every policy table, held to its contract. */
#include "controller/engine/policy/questions.h"
#include "controller/engine/watch/locality.h"
#include "tests/model/model_step.h"

#include <errno.h>

enum { MEGABYTE = 1000000 };

static void configure(struct engine_config *config, unsigned turn, unsigned place, unsigned network)
{
    *config = script_config();
    config->hosts_max = M_HOSTS;
    config->epoch = 7;
    strcpy(config->turn, engine_policy_name("turn", turn));
    strcpy(config->place, engine_policy_name("place", place));
    strcpy(config->network, engine_policy_name("network", network));
}

static unsigned count(const char *question)
{
    unsigned n = 0;
    while (engine_policy_name(question, n))
        n++;
    return n;
}

/* Names are words that fit the configuration and differ; what must be there is there. */
static void test_tables(void **state)
{
    (void)state;
    static const char *const questions[] = {"turn", "place", "commit", "network", "users"};
    for (int q = 0; q < 5; q++) {
        assert_true(count(questions[q]) > 0);
        for (unsigned i = 0; i < count(questions[q]); i++) {
            const char *name = engine_policy_name(questions[q], i);
            assert_true(strlen(name) > 0 && strlen(name) < sizeof(script_config().turn));
            for (unsigned k = 0; k < i; k++)
                assert_string_not_equal(name, engine_policy_name(questions[q], k));
        }
    }
    assert_null(engine_policy_name("colour", 0));
    assert_string_equal(engine_policy_name("mode", 3), "starved");
    assert_null(engine_policy_name("mode", 4));
    for (int i = 0; turn_policies[i]; i++)
        assert_non_null(turn_policies[i]->number);
    for (int i = 0; place_policies[i]; i++) {
        const struct place_policy *p = place_policies[i];
        assert_non_null(p->pick);
        assert_true(!p->even || p->policy.state[POLICY_JOB].size >= sizeof(struct locality_job));
    }
    for (int i = 0; commit_policies[i]; i++)
        assert_non_null(commit_policies[i]->admits);
    for (int i = 0; network_policies[i]; i++) {
        assert_non_null(network_policies[i]->levels);
        assert_non_null(network_policies[i]->explain);
        for (int mode = 0; mode < 2; mode++)
            assert_true(network_policies[i]->order((enum mode)mode) < ORDERS);
    }
}

/* Every combination obeys the rules that all share: the literal model follows each decision.
 * Policies that hold nothing leave no slot free that a ready task could take. */
static void check_nothing_left(struct model *m)
{
    for (int i = 0; i < M_JOBS && !m->holds; i++)
        for (uint32_t s = 0; m->job[i].number && s < m->job[i].n_stages; s++)
            assert_true(!m_stage_ready(&m->job[i], s) || !m_times_stage(m, &m->job[i].stage[s]));
}

static void no_opinion(struct model *m, const struct decision *start)
{
    (void)m;
    (void)start;
}

static const struct m_judge judge = {no_opinion, check_nothing_left, NULL, NULL};

/* Under each; TEST_EVENTS says another number (make soak-model). */
static uint64_t events_wanted(void)
{
    const char *said = getenv("TEST_EVENTS");
    return said && *said ? strtoull(said, NULL, 10) : 250;
}

/* Random events, at random points of which the engine is replaced by load(dump(engine)). */
static void follow_events(struct model *m, uint64_t wanted, uint64_t *stream)
{
    for (uint64_t events = 0; events < wanted; events += m->n_events) {
        m->script.reload = test_random(stream) % 64 == 0;
        model_step(m);
    }
    m->script.reload = false;
}

static void test_every_combination(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    static struct model m;
    for (unsigned t = 0; t < count("turn"); t++)
        for (unsigned p = 0; p < count("place"); p++)
            for (unsigned n = 0; n < count("network"); n++) {
                struct engine_config config;
                configure(&config, t, p, n);
                engine_config_say(&config, "start_wait", n % 2 * SECOND, NULL);
                model_begin(&m, &config, test_random(&stream));
                m.judge = &judge;
                m.mode_events = true;
                m.variants = (t + p + n) % 3;
                follow_events(&m, events_wanted(), &stream);
                assert_true(m.starts > 0);
                model_end(&m);
            }
}

/* A need is of another question, and names policies that there are. */
static void check_needs(enum question of, const struct policy *policy)
{
    for (const struct policy_need *need = policy->needs; need && need->one_of; need++) {
        assert_true(need->question < QUESTIONS && need->question != of);
        assert_true(need->one_of[0] && need->why && *need->why);
        for (unsigned i = 0; need->one_of[i]; i++)
            assert_non_null(policy_find(need->question, need->one_of[i], NULL));
    }
}

static void take_names(struct engine_config *config, const struct engine_combination *all)
{
    strcpy(config->turn, all->turn);
    strcpy(config->place, all->place);
    strcpy(config->commit, all->commit);
    strcpy(config->network, all->network);
    strcpy(config->mode, all->mode);
    strcpy(config->users, all->users);
}

/* Each combination of the table is there once, can be made if it says so, and is refused with its
 * words if not. */
static void test_the_table_of_combinations(void **state)
{
    (void)state;
    static const char *const questions[] = {"turn", "place", "commit", "network", "mode", "users"};
    struct engine_combination all, before = {0};
    uint64_t n = 0, product = 1;
    for (int q = 0; q < QUESTIONS; q++) {
        product *= count(questions[q]);
        for (unsigned i = 0; policy_listed((enum question)q, i); i++)
            check_needs((enum question)q, policy_listed((enum question)q, i));
    }
    for (; engine_combination(n, &all) == 0; n++) {
        struct engine_config config = script_config();
        struct engine *engine = NULL;
        struct err err = {0};
        config.hosts_max = 1;
        take_names(&config, &all);
        assert_int_equal(engine_create(&config, &engine, &err), *all.refused ? -EINVAL : 0);
        assert_string_equal(err.text, all.refused);
        engine_destroy(engine);
        assert_true(!n || strcmp(all.users, before.users) != 0);
        before = all;
    }
    assert_int_equal(n, product);
}

/* ---- what the mode tells ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

/* What a step does to tasks and to the wire in its mode. */
static uint64_t mix_step(uint64_t hash, const struct model *m)
{
    bool rich = strcmp(m->config.mode, "rich") == 0;
    for (size_t i = 0; i < m->script.decisions.n; i++) {
        const struct decision *d = &m->script.decisions.at[i];
        if (d->kind != DECISION_MODE)
            hash = mix(mix(hash, d->kind), d->reason);
        if (d->kind == DECISION_START)
            hash = mix(mix(mix(hash, d->start.job), d->start.host),
                       rich ? d->start.coflow_level : d->start.macroflow_level);
        if (d->kind == DECISION_LEVEL)
            hash = mix(mix(hash, d->level.attempt),
                       rich ? d->level.coflow_level : d->level.macroflow_level);
    }
    return hash;
}

static uint64_t plan_in(const char *rule, unsigned place, unsigned network, uint64_t seed)
{
    static struct model m;
    struct engine_config config;
    uint64_t hash = 0;
    configure(&config, 1, place, network);
    strcpy(config.mode, rule);
    model_begin(&m, &config, seed);
    for (int step = 0; step < 150; step++) {
        model_step(&m);
        hash = mix_step(hash, &m);
    }
    model_end(&m);
    return hash;
}

/* Who says that the mode tells it nothing does the same in both, all others do not. */
static void test_what_the_mode_tells(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (unsigned p = 0; p < count("place"); p++)
        for (unsigned n = 0; n < count("network"); n++) {
            bool says = place_policies[p]->policy.by_mode || network_policies[n]->policy.by_mode;
            bool does = false;
            for (int round = 0; round < 2 || (says && !does && round < 20); round++) {
                uint64_t seed = test_random(&stream);
                does |= plan_in("rich", p, n, seed) != plan_in("starved", p, n, seed);
            }
            if (does != says)
                fail_msg("place %s and network %s: the plan is %s in the other mode",
                         place_policies[p]->policy.name, network_policies[n]->policy.name,
                         does ? "another" : "the same");
        }
}

static void test_what_the_mode_tells_is_said(void **state)
{
    (void)state;
    struct engine_config config = script_config();
    struct script s;
    char text[160], short_text[20];
    script_begin(&s, &config);
    engine_say_mode_use(s.engine, text, sizeof(text));
    assert_string_equal(text, "nats: only the first job is served while slot-starved; cans: levels "
                              "by Coflow while slot-rich, by Macroflow while slot-starved");
    engine_say_mode_use(s.engine, short_text, sizeof(short_text));
    assert_string_equal(short_text, "nats: only the firs");
    script_end(&s);
    strcpy(config.place, "joint");
    strcpy(config.network, "rank");
    script_begin(&s, &config);
    engine_say_mode_use(s.engine, text, sizeof(text));
    assert_string_equal(text, "nothing: place joint and network rank do the same in either mode");
    script_end(&s);
}

/* Whose turn: the first start of two jobs that wait for one slot. */
static uint64_t first_of_two(const char *turn)
{
    struct script s;
    struct engine_config config = script_config();
    strcpy(config.turn, turn);
    script_begin(&s, &config);
    struct script_job large = {5, 1, 0, 0, NULL, 0, SECOND, 0, NULL, 2000000000};
    struct script_job small = {9, 1, 0, 0, NULL, 0, SECOND, 0, NULL, 1};
    script_submit(&s, &large);
    s.now_ns = SECOND;
    script_submit(&s, &small);
    script_host(&s, 0, 1);
    uint64_t job = script_decision(&s, DECISION_START, 0)->start.job;
    script_end(&s);
    return job;
}

static void test_turns(void **state)
{
    (void)state;
    assert_int_equal(first_of_two("sjf"), 9);
    assert_int_equal(first_of_two("fifo"), 5);
    assert_int_equal(first_of_two("fair"), 5);
    assert_int_equal(first_of_two("drf"), 5);
}

/* Fair: running tasks of jobs that have enough of them differ by one at most. */
static void test_fair_is_fair(void **state)
{
    (void)state;
    struct script s;
    struct job_view job;
    struct engine_config config = script_config();
    strcpy(config.turn, "fair");
    strcpy(config.place, "greedy");
    script_begin(&s, &config);
    for (uint64_t number = 1; number <= 4; number++) {
        struct script_job j = {number, 20, 0, 0, NULL, 0, SECOND, 0, NULL, (int64_t)number};
        script_submit(&s, &j);
    }
    script_host(&s, 0, 14);
    uint64_t running = 0;
    for (uint64_t number = 1; number <= 4; number++) {
        engine_job(s.engine, number, &job);
        assert_true(job.running == 3 || job.running == 4);
        running += job.running;
    }
    assert_int_equal(running, 14);
    script_end(&s);
}

static void check_running(const struct script *s, uint64_t a, uint64_t b)
{
    struct job_view view;
    assert_int_equal(engine_job(s->engine, 1, &view), 0);
    assert_int_equal(view.running, a);
    assert_int_equal(engine_job(s->engine, 2, &view), 0);
    assert_int_equal(view.running, b);
}

/* A full host: the job whose task left a slot gets it back, though another one has fewer running
 * tasks and greedy would give it to that; when it has no ready task any more, the other has it. */
static void test_a_freed_slot_goes_back(void **state)
{
    static const char *const places[] = {"gather", "greedy"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct script s;
        struct engine_config config = script_config();
        strcpy(config.turn, "fair");
        strcpy(config.place, places[i]);
        script_begin(&s, &config);
        s.reload = true;
        script_host(&s, 0, 2);
        script_submit(&s, &(struct script_job){1, 4, 0, 0, NULL, 0, SECOND, 0, NULL, 1});
        script_submit(&s, &(struct script_job){2, 4, 0, 0, NULL, 0, SECOND, 0, NULL, 1});
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
        check_running(&s, i ? 1 : 2, i ? 1 : 0);
        if (i == 0) {
            const struct decision *start = script_decision(&s, DECISION_START, 0);
            assert_reason(start, "freed-slot");
            script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 1), 0);
            script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 2), 0);
            check_running(&s, 1, 1);
        }
        script_end(&s);
    }
}

/* A job of `tasks` that want so much, all given but its end. */
static void demand(struct script *s, uint64_t job, uint32_t tasks, const struct resources *of_each)
{
    script_job_begin(s, job);
    struct event stage = script_stage_event(job, 0, tasks, NULL, NULL);
    stage.job_stage.demand = *of_each;
    script_event(s, stage);
    script_job_end(s, job);
}

static struct event join_of(uint32_t host, uint64_t cpu_milli, uint64_t mem_bytes)
{
    static uint64_t vectors[2][ENGINE_RESOURCES];
    vectors[host][RES_SLOTS] = 100;
    vectors[host][RES_CPU_MILLI] = cpu_milli;
    vectors[host][RES_MEM_BYTES] = mem_bytes;
    return script_join(host, 100, vectors[host]);
}

/* The example of its source (Ghodsi and others, section 4.1): 9 processors and 18 GB, tasks of 1
 * and 4 beside tasks of 3 and 1: three of the first and two of the others, two thirds of what each
 * wants most. */
static void test_drf_is_its_sources_example(void **state)
{
    (void)state;
    const uint64_t gb = 1000 * MEGABYTE;
    const struct resources a = {.amount = {1, 1000, 4000 * INT64_C(1000000)}},
                           b = {.amount = {1, 3000, 1000 * INT64_C(1000000)}};
    struct script s;
    struct engine_config config = script_config();
    strcpy(config.turn, "drf");
    strcpy(config.place, "greedy");
    script_begin(&s, &config);
    s.reload = true;
    demand(&s, 1, 20, &a);
    demand(&s, 2, 20, &b);
    script_event(&s, join_of(0, 9000, 18 * gb));
    check_running(&s, 3, 2);
    for (int i = 0; i < 2; i++) { /* one ends, another one of its job has its turn */
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, (uint32_t)i), 0);
        check_running(&s, 3, 2);
    }
    /* With as many processors once more, memory is what is short: the first hold all of it that is
     * left. */
    script_event(&s, join_of(1, 9000, 2 * gb));
    check_running(&s, 3, 4);
    script_host_event(&s, EVENT_HOST_LOST, 1);
    check_running(&s, 3, 2);
    script_end(&s);
}

/* Random placement: 4000 maps over ten hosts of equal size, each gets its share within six standard
 * deviations. */
static void test_random_spreads(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = script_config();
    strcpy(config.place, "random");
    script_begin(&s, &config);
    for (uint32_t h = 0; h < 10; h++)
        script_host(&s, h, 4000);
    struct script_job job = {1, 4000, 0, 0, NULL, 0, SECOND, 0, NULL, 1};
    script_submit(&s, &job);
    for (uint32_t h = 0; h < 10; h++) {
        struct host_view view;
        engine_host(s.engine, h, &view);
        assert_in_range(view.running, 400 - 6 * 19, 400 + 6 * 19);
    }
    script_end(&s);
}

/* ---- levels ---------------------------------------------------------------------------------- */

static void test_level_tables(void **state)
{
    (void)state;
    struct level_table table;
    level_table_exponential(&table, 10, 8, 8);
    static const uint64_t thresholds[] = {10, 80, 640, 5120, 40960, 327680, 2621440};
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(table.threshold_bytes[i], thresholds[i]);
        assert_int_equal(level_table_level(&table, thresholds[i] - 1), i);
        assert_int_equal(level_table_level(&table, thresholds[i]), i + 1);
    }
    assert_int_equal(level_table_level(&table, UINT64_MAX), 7);
    level_table_exponential(&table, 10, 8, 1);
    assert_int_equal(level_table_level(&table, UINT64_MAX), 0);
    level_table_exponential(&table, 1u << 30, 1u << 30, ENGINE_LEVELS_MAX);
    assert_true(table.threshold_bytes[ENGINE_LEVELS_MAX - 2] == UINT64_MAX);
    table.levels = 0;
    assert_int_equal(level_table_level(&table, 12345), 12345);
}

/* One job: a map, then two reduce tasks of 2 and 18 MB. Returns the start of the larger one. */
static struct decision reduce_start(struct script *s, const char *network)
{
    struct engine_config config = script_config();
    static const uint64_t sums[] = {2 * MEGABYTE, 18 * MEGABYTE};
    strcpy(config.network, network);
    strcpy(config.place, "greedy");
    script_begin(s, &config);
    script_host(s, 0, 1);
    script_host(s, 1, 9);
    struct script_job job = {1, 1, 0, 2, NULL, 0, SECOND, 0, sums, 0};
    script_submit(s, &job);
    script_attempt(s, EVENT_ATTEMPT_DONE, script_attempt_of(s, 1, 0, 0), 0);
    return *script_start(s, 1, 1, 1);
}

/* 20 MB are Coflow level 1 (10 MB × 8), 18 MB are Macroflow level 3 (1 MB × 4). */
static void test_levels_of_cans(void **state)
{
    (void)state;
    static const struct {
        const char *network;
        uint64_t coflow, macroflow;
    } cases[] = {{"cans", 1, 3},
                 {"cans-coflow", 1, 1},
                 {"cans-macroflow", 3, 3},
                 {"none", 0, 0},
                 {"dclas", 0, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct script s;
        struct decision start = reduce_start(&s, cases[i].network);
        assert_int_equal(start.start.coflow_level, cases[i].coflow);
        assert_int_equal(start.start.macroflow_level, cases[i].macroflow);
        script_end(&s);
    }
}

/* A switch of the mode changes no attempt; progress changes none either under cans. */
static void test_cans_levels_never_change(void **state)
{
    (void)state;
    struct script s;
    uint64_t attempt = reduce_start(&s, "cans").start.attempt;
    script_attempt(&s, EVENT_ATTEMPT_PROGRESS, attempt, 17 * MEGABYTE);
    assert_int_equal(script_count(&s, DECISION_LEVEL), 0);
    struct script_job other = {2, 30, 0, 0, NULL, 0, 1, 0, NULL, 1};
    script_submit(&s, &other);
    assert_int_equal(script_count(&s, DECISION_MODE), 1);
    assert_int_equal(script_count(&s, DECISION_LEVEL), 0);
    script_end(&s);
}

static void report(struct script *s, uint64_t attempt, uint64_t bytes, size_t levels,
                   uint64_t level)
{
    script_attempt(s, EVENT_ATTEMPT_PROGRESS, attempt, bytes);
    assert_int_equal(script_count(s, DECISION_LEVEL), levels);
    for (size_t i = 0; i < levels; i++) {
        const struct decision *d = script_decision(s, DECISION_LEVEL, i);
        struct attempt_view view;
        assert_int_equal(d->reason, REASON_RECEIVED);
        assert_int_equal(d->level.coflow_level, level);
        assert_int_equal(d->level.macroflow_level, level);
        assert_true(d->left >= d->right);
        assert_int_equal(engine_attempt(s->engine, d->level.attempt, &view), 0);
        assert_int_equal(view.coflow_level, level);
        assert_int_equal(d->level.host, view.host);
    }
}

/* D-CLAS: the level follows what all tasks of the stage have received, for every live attempt of
 * it; 10 MB × 10. */
static void test_dclas_follows_bytes_received(void **state)
{
    (void)state;
    struct script s;
    uint64_t b = reduce_start(&s, "dclas").start.attempt, a = script_attempt_of(&s, 1, 1, 0);
    report(&s, a, 4 * MEGABYTE, 0, 0);
    report(&s, b, 6 * MEGABYTE - 1, 0, 0);
    report(&s, b, 6 * MEGABYTE, 2, 1);
    report(&s, b, 5 * MEGABYTE, 0, 1);
    report(&s, b, 6 * MEGABYTE, 0, 1);
    script_attempt(&s, EVENT_ATTEMPT_DONE, a, 4 * MEGABYTE);
    report(&s, b, 95 * MEGABYTE, 0, 1);
    report(&s, b, 96 * MEGABYTE, 1, 2);
    script_attempt(&s, EVENT_ATTEMPT_FAILED, b, 0);
    assert_int_equal(script_start(&s, 1, 1, 1)->start.coflow_level, 2);
    script_end(&s);
}

static void test_policy_set(void **state)
{
    (void)state;
    static const char *const questions[] = {"turn", "place", "commit", "network",
                                            "mode", "users", "colour"};
    static const char *const names[] = {"fifo", "greedy",   "single", "dclas",
                                        "all",  "sequence", "red"};
    struct script s;
    struct engine_config config = script_config();
    script_begin(&s, &config);
    for (int q = 0; q < 7; q++)
        for (int n = 0; n < 7; n++) {
            assert_int_equal(script_policy(&s, questions[q], names[n]),
                             q == n && q < 6 ? REASON_NONE : REASON_UNSUPPORTED);
            if (q == n && q < 6)
                assert_string_equal(engine_policy(s.engine, questions[q]), names[n]);
        }
    script_end(&s);
}

/* Maps that wait next to their blocks, in the order that waiting.h keeps. */
static size_t in_order(const struct script *s)
{
    const struct engine *engine = s->engine;
    size_t n = 0;
    for (uint32_t h = 0; h < engine->n_hosts; h++)
        for (uint32_t i = 0; i < engine->n_shapes; i++)
            n += engine->hosts[h]->shapes[i]->all.waiting.n;
    return n;
}

/* Maps from..to end; the most that stood in order. Each runs next to its block, in turn. */
static size_t end_maps(struct script *s, uint32_t from, uint32_t to)
{
    size_t most = in_order(s);
    for (uint32_t t = from; t < to; t++) {
        uint64_t attempt = script_attempt_of(s, 1, 0, t);
        struct attempt_view view;
        assert_int_equal(engine_attempt_after(s->engine, attempt - 1, &view), 0);
        assert_true(view.attempt == attempt && view.host == t % 2);
        script_attempt(s, EVENT_ATTEMPT_DONE, attempt, 0);
        most = in_order(s) > most ? in_order(s) : most;
    }
    return most;
}

/* No placement but one that asks keeps it, and that keeps it from when it was put in force. */
static void test_waiting_maps_are_in_order_for_who_asks(void **state)
{
    (void)state;
    enum { MAPS = 60 };
    struct script s;
    struct engine_config config = script_config();
    uint32_t blocks[MAPS];
    strcpy(config.turn, "fifo");
    strcpy(config.place, "greedy");
    script_begin(&s, &config);
    for (uint32_t i = 0; i < MAPS; i++)
        blocks[i] = i % 2;
    for (uint32_t h = 0; h < 2; h++)
        script_host(&s, h, 1);
    script_submit(&s, &(struct script_job){.number = 1,
                                           .maps = MAPS,
                                           .per = 1,
                                           .replicas = blocks,
                                           .map_input = MEGABYTE,
                                           .map_ns = SECOND});
    assert_int_equal(end_maps(&s, 0, 20), 0);
    script_policy(&s, "place", "delay");
    assert_int_equal(end_maps(&s, 20, 58), 2);
    assert_int_equal(in_order(&s), 0);
    script_end(&s);
}

/* Every parameter says what it is, its default is in its range, and one word means one thing. */
static void test_parameters_are_whole(void **state)
{
    (void)state;
    static const char *const questions[] = {"turn", "place", "commit", "network", "mode", "users"};
    const struct engine_parameter *parameter;
    unsigned n = 0;
    for (int q = 0; q < 6; q++)
        for (unsigned i = 0; engine_policy_name(questions[q], i); i++) {
            const char *policy = engine_policy_name(questions[q], i);
            unsigned at = 0;
            for (; (parameter = engine_policy_parameter(questions[q], policy, at)); at++) {
                assert_true(strlen(parameter->word) < ENGINE_WORD_MAX && *parameter->what);
                assert_true(parameter->least <= parameter->preset);
                assert_true(parameter->preset <= parameter->most);
                assert_ptr_equal(engine_parameter(parameter->word), parameter);
            }
            assert_true(at <= 16);
        }
    for (int q = 0; q < 6; q++)
        for (unsigned i = 0; (parameter = engine_question_parameter(questions[q], i)); i++, n++)
            for (unsigned k = 0; k < i; k++)
                assert_string_not_equal(parameter->word,
                                        engine_question_parameter(questions[q], k)->word);
    assert_true(n >= 3 && n <= ENGINE_VALUES_MAX);
    assert_null(engine_policy_parameter("place", "random", 0));
    assert_null(engine_policy_parameter("place", "tetris", 0));
    assert_null(engine_policy_parameter("colour", "red", 0));
    assert_null(engine_parameter("colour"));
}

/* Values come by configuration or by event, are kept for policies that are not in force, and stand
 * in dumps. */
static void test_parameters_are_set(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = script_config();
    struct err err;
    assert_int_equal(engine_config_say(&config, "colour", 1, &err), -ENOENT);
    assert_string_equal(err.text, "no policy has a parameter 'colour'");
    assert_int_equal(engine_config_say(&config, "even_wait", -1, &err), -ERANGE);
    assert_int_equal(engine_config_say(&config, "ignore_held", 1, &err), 0);
    script_begin(&s, &config);
    assert_int_equal(engine_value(s.engine, "ignore_held"), 1);
    assert_int_equal(engine_value(s.engine, "even_wait"), 0);
    assert_int_equal(script_parameter(&s, "colour", 1), REASON_UNSUPPORTED);
    assert_int_equal(script_parameter(&s, "even_wait", -1), REASON_BAD_VALUE);
    assert_int_equal(script_parameter(&s, "ignore_held", 2), REASON_BAD_VALUE);
    uint64_t before = engine_digest(s.engine);
    assert_int_equal(script_parameter(&s, "even_wait", SECOND), REASON_NONE);
    assert_int_equal(engine_value(s.engine, "even_wait"), SECOND);
    assert_int_not_equal(engine_digest(s.engine), before);
    script_policy(&s, "place", "random");
    assert_int_equal(script_parameter(&s, "even_wait", 2 * SECOND), REASON_NONE);
    assert_int_equal(engine_value(s.engine, "even_wait"), 2 * SECOND);
    script_end(&s);
    config.values[0].value = 2;
    struct engine *engine;
    assert_int_equal(engine_create(&config, &engine, &err), -EINVAL);
}

static void test_unknown_policies_are_named(void **state)
{
    (void)state;
    struct engine_config config = script_config();
    struct engine *engine = NULL;
    struct err err = {0};
    strcpy(config.place, "tetris");
    assert_true(engine_create(&config, &engine, &err) < 0);
    assert_non_null(strstr(err.text, "tetris"));
    assert_non_null(strstr(err.text, "nats"));
    assert_null(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_every_combination),
        cmocka_unit_test(test_the_table_of_combinations),
        cmocka_unit_test(test_what_the_mode_tells),
        cmocka_unit_test(test_what_the_mode_tells_is_said),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_fair_is_fair),
        cmocka_unit_test(test_drf_is_its_sources_example),
        cmocka_unit_test(test_random_spreads),
        cmocka_unit_test(test_a_freed_slot_goes_back),
        cmocka_unit_test(test_level_tables),
        cmocka_unit_test(test_parameters_are_whole),
        cmocka_unit_test(test_parameters_are_set),
        cmocka_unit_test(test_levels_of_cans),
        cmocka_unit_test(test_cans_levels_never_change),
        cmocka_unit_test(test_dclas_follows_bytes_received),
        cmocka_unit_test(test_policy_set),
        cmocka_unit_test(test_waiting_maps_are_in_order_for_who_asks),
        cmocka_unit_test(test_unknown_policies_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
