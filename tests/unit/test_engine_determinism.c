/* Equal in, equal out, byte for byte: on every compiler (a golden hash), for a twin that was loaded
 * from a dump, and again. */
#include "tests/model/model_step.h"
#include "tests/model/script_dump.h"

#include "controller/engine/base/record.h"
#include "lib/fnv1a.h"

static uint64_t hash_decisions(uint64_t hash, const struct decisions *decisions)
{
    char line[1024];
    for (size_t i = 0; i < decisions->n; i++) {
        assert_true(record_encode_decision(&decisions->at[i], line, sizeof(line)) > 0);
        hash = fnv1a(hash, line, strlen(line));
    }
    return hash;
}

/* A run of random events; with a twin, which is loaded anew from a dump now and then, beside it. */
static uint64_t run_with(const char *turn, const char *place, const char *network, uint64_t seed,
                         int steps, bool even_maps, bool with_twin, bool variants)
{
    static struct model m;
    struct decisions decisions = {0};
    struct engine *twin = NULL;
    uint64_t hash = FNV1A_NOTHING;
    struct engine_config config = script_config();
    config.hosts_max = M_HOSTS;
    config.epoch = 7;
    config.seed = seed;
    engine_config_say(&config, "even_wait", even_maps ? SECOND : 0, NULL);
    engine_config_say(&config, "pack", !even_maps, NULL);
    engine_config_say(&config, "lies_there", seed % 2, NULL);
    strcpy(config.turn, turn);
    strcpy(config.place, place);
    strcpy(config.network, network);
    model_begin(&m, &config, seed);
    m.mode_events = true;
    m.variants = variants;
    for (int step = 0; step < steps; step++) {
        model_step(&m);
        hash = hash_decisions(hash, &m.script.decisions);
        if (twin) {
            assert_int_equal(engine_step(twin, m.script.now_ns, m.events, m.n_events, &decisions),
                             0);
            script_same_decisions(&m.script.decisions, &decisions);
            assert_true(engine_deadline_ns(twin) == engine_deadline_ns(m.script.engine));
        }
        if (with_twin && step % 16 == 0) {
            if (twin)
                assert_true(engine_digest(twin) == engine_digest(m.script.engine));
            engine_destroy(twin);
            twin = load_dump_of(m.script.engine);
        }
    }
    engine_destroy(twin);
    decisions_done(&decisions);
    model_end(&m);
    return hash;
}

static uint64_t run(const char *turn, const char *place, const char *network, uint64_t seed,
                    int steps, bool even_maps, bool with_twin)
{
    return run_with(turn, place, network, seed, steps, even_maps, with_twin, false);
}

/* Changes whenever the engine decides differently: then look whether it should, and put the new
 * number here. It must be the same under every compiler and option. */
static void test_golden_run(void **state)
{
    (void)state;
    uint64_t hash = run("sjf", "nats", "cans", 1, 500, false, false) ^
                    run("fair", "nats", "dclas", 2, 300, false, false) ^
                    run("fifo", "random", "none", 3, 300, false, false) ^
                    run("sjf", "nats", "cans", 4, 500, true, false);
    print_message("decisions hash to %016llx\n", (unsigned long long)hash);
    assert_true(hash == UINT64_C(0x7c2f3f68e5810294));
}

static void test_again(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    assert_true(run("sjf", "nats", "cans", seed, 200, true, false) ==
                run("sjf", "nats", "cans", seed, 200, true, false));
}

static void test_loaded_twin_decides_the_same(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    static const char *const turns[] = {"sjf", "fair", "fifo"},
                             *const places[] = {"nats", "greedy", "random"},
                             *const networks[] = {"cans", "dclas", "cans-macroflow", "cans-coflow",
                                                  "none"};
    for (int i = 0; i < 15; i++)
        run(turns[i % 3], places[i / 5], networks[i % 5], test_random(&stream), 150, i % 2, true);
    for (int i = 0; i < 6; i++)
        run(i % 3 == 0   ? "fair"
            : i % 3 == 1 ? "srpt"
                         : "drf",
            "joint", "rank", test_random(&stream), 400, i % 2, true);
}

/* Stages run in one way or another. */
static void test_loaded_twin_runs_it_in_the_same_way(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    static const char *const turns[] = {"sjf", "srpt", "drf"}, *const places[] = {"nats",  "greedy",
                                                                                  "delay", "random",
                                                                                  "joint", "neat"},
                             *const networks[] = {"cans", "rank"};
    for (int i = 0; i < 18; i++)
        run_with(turns[i % 3], places[i / 3], networks[i / 3 == 4], test_random(&stream), 200,
                 i % 2, true, true);
}

/* A step is given to the twin unless it was idle, and idle ones come in between: a fact about an
 * attempt that nobody knows. */
static void run_without_idle_steps(const char *place, const char *network, uint64_t seed,
                                   uint64_t *idle, uint64_t *others)
{
    static struct model m;
    struct decisions decisions = {0}, none = {0};
    struct engine_config config = script_config();
    struct event unknown = {.kind = EVENT_ATTEMPT_DONE};
    unknown.attempt.attempt = UINT64_MAX;
    config.hosts_max = M_HOSTS;
    config.seed = seed;
    config.mode_dwell_ns = 5000000;
    engine_config_say(&config, "even_wait", seed % 2 ? SECOND : 0, NULL);
    strcpy(config.place, place);
    strcpy(config.network, network);
    model_begin(&m, &config, seed);
    m.mode_events = true;
    struct engine *twin = load_dump_of(m.script.engine);
    for (int step = 0; step < 300; step++) {
        engine_step(m.script.engine, m.script.now_ns, &unknown, 1, &none);
        if (!none.idle)
            engine_step(twin, m.script.now_ns, &unknown, 1, &decisions);
        *idle += none.idle;
        model_step(&m);
        *idle += m.script.decisions.idle;
        *others += !m.script.decisions.idle;
        if (m.script.decisions.idle)
            continue;
        engine_step(twin, m.script.now_ns, m.events, m.n_events, &decisions);
        script_same_decisions(&m.script.decisions, &decisions);
        assert_true(engine_deadline_ns(twin) == engine_deadline_ns(m.script.engine));
        assert_true(engine_digest(twin) == engine_digest(m.script.engine));
    }
    engine_destroy(twin);
    decisions_done(&decisions);
    decisions_done(&none);
    model_end(&m);
}

static void test_idle_steps_change_nothing(void **state)
{
    (void)state;
    uint64_t stream = test_seed(), idle = 0, others = 0;
    static const char *const places[] = {"nats", "greedy", "random", "delay", "neat", "joint"},
                             *const networks[] = {"cans", "dclas", "rank"};
    for (int i = 0; i < 18; i++)
        run_without_idle_steps(places[i % 6], networks[i / 6], test_random(&stream), &idle,
                               &others);
    assert_true(idle > 500 && others > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_run),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_loaded_twin_decides_the_same),
        cmocka_unit_test(test_loaded_twin_runs_it_in_the_same_way),
        cmocka_unit_test(test_idle_steps_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
