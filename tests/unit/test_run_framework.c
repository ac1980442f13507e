/* Frameworks with all manners in the simulation. A prompt, obedient one that places maps as advised
 * has the plan of slots of our own, on the demo's workload and under every policy: task, host, time
 * and both levels. With each of the others, over seeds, nothing waits for the engine beyond
 * hold_max + 2 s, no slot counts twice, and what was recorded is decided again byte for byte. */
#include "tests/unit/run_cases.h"

#include "controller/engine/base/record.h"
#include "testbed/sim/cluster/recording_replay.h"
#include "testbed/sim/run_setup.h"

#include <errno.h>

enum { LINE = 1 << 20 };

/* A decision's number by its name, where the recording has it. */
static uint64_t field(const char *line, const char *name)
{
    uint64_t value = 0;
    assert_int_equal(record_field_u64(line, name, &value), 0);
    return value;
}

struct plan {
    char *text;
    size_t size;
    FILE *file;
    uint64_t starts;
};

/* What starts, as one line each: `kind` says so in the recording. */
static struct plan plan_of(FILE *recording, const char *kind)
{
    struct plan plan = {0};
    char *line = malloc(LINE), now[64] = "";
    plan.file = open_memstream(&plan.text, &plan.size);
    rewind(recording);
    while (fgets(line, LINE, recording)) {
        const char *at = strstr(line, kind);
        if (strncmp(line, "step ", 5) == 0)
            snprintf(now, sizeof(now), "%.*s", (int)strcspn(line + 5, " \n"), line + 5);
        if (!at || at - line > 2)
            continue;
        plan.starts++;
        fprintf(plan.file, "%s %llu/%llu/%llu on %llu at %llu %llu, %llu bytes\n", now,
                (unsigned long long)field(at, "job"), (unsigned long long)field(at, "stage"),
                (unsigned long long)field(at, "task"), (unsigned long long)field(at, "host"),
                (unsigned long long)field(at, "coflow_level"),
                (unsigned long long)field(at, "macroflow_level"),
                (unsigned long long)field(at, "input_bytes"));
    }
    fclose(plan.file);
    free(line);
    return plan;
}

/* The first line that differs says more than both texts. */
static void same_text(const char *own, const char *allowed)
{
    for (; *own || *allowed; own += strcspn(own, "\n") + 1, allowed += strcspn(allowed, "\n") + 1) {
        size_t n = strcspn(own, "\n"), m = strcspn(allowed, "\n");
        if (n != m || memcmp(own, allowed, n) != 0)
            fail_msg("own slots: %.*s, framework: %.*s", (int)n, own, (int)m, allowed);
    }
}

static void same_plan(const char *policy)
{
    struct run_setup setup;
    struct run_inputs in = {0};
    struct err err = {0};
    struct run_config config;
    struct plan plans[2];
    run_setup_init(&setup);
    setup.path = "testbed/workloads/demo.jsonl";
    setup.policy = preset_find(policy);
    if (run_inputs_read(&setup, &in, &err))
        fail_msg("%s", err.text);
    if (run_setup_set(&setup, "framework", "prompt", &err))
        fail_msg("%s", err.text);
    run_setup_configure(&setup, &in, &config);
    config.engine.hold_max_ns = 1000000000000; /* nothing is opened */
    double *jct_s = calloc(2 * in.n, sizeof(*jct_s));
    for (int framework = 0; framework < 2; framework++) {
        config.framework = framework ? manners_find("prompt") : NULL;
        config.engine.framework_jobs_max = framework ? config.engine.jobs_max : 0;
        config.recording = tmpfile();
        simulate(&config, in.jobs, in.n, jct_s + (size_t)framework * in.n);
        plans[framework] = plan_of(config.recording, framework ? "allow " : "start ");
        fclose(config.recording);
    }
    print_message("%s: %llu starts\n", policy, (unsigned long long)plans[0].starts);
    assert_true(plans[0].starts > 1000);
    same_text(plans[0].text, plans[1].text);
    assert_memory_equal(jct_s, jct_s + in.n, in.n * sizeof(*jct_s));
    free(plans[0].text);
    free(plans[1].text);
    free(jct_s);
    run_inputs_done(&in);
}

static void test_same_plan_as_own_slots(void **state)
{
    (void)state;
    for (const struct preset *preset = presets; preset->name; preset++)
        same_plan(preset->name);
}

/* ---- others ---- */

enum { HOLD_MAX_S = 10, NEWS_S = 2, SEEDS = 3 };

struct watched {
    const struct run_config *config;
    uint32_t on_host, running;
    struct engine_counters counters;
};

static void count_attempt(void *context, const struct attempt_view *attempt)
{
    struct watched *w = context;
    w->on_host++;
    w->running += !attempt->allow;
}

/* What the engine counts on a host is what runs there and what may, and never do more run than
 * there are slots. */
static void check_slots(void *user, int64_t now_ns, const struct engine *engine,
                        const struct decisions *decisions)
{
    struct watched *w = user;
    (void)now_ns;
    (void)decisions;
    for (uint32_t h = 0; h < w->config->hosts; h++) {
        struct host_view host;
        if (engine_host(engine, h, &host) < 0)
            continue;
        w->on_host = w->running = 0;
        engine_host_attempts(engine, h, count_attempt, w);
        assert_int_equal(host.running, w->on_host);
        assert_true(w->running <= w->config->slots);
        assert_int_equal(host.free.amount[RES_SLOTS], (int64_t)w->config->slots - w->on_host);
    }
    engine_counters(engine, &w->counters);
}

static char *text_of(FILE *recording, size_t *ret_size)
{
    fseek(recording, 0, SEEK_END);
    *ret_size = (size_t)ftell(recording);
    char *text = malloc(*ret_size + 1);
    rewind(recording);
    assert_int_equal(fread(text, 1, *ret_size, recording), *ret_size);
    rewind(recording);
    return text;
}

/* One run; what its engine counted, checked step by step as it is decided again. */
static struct engine_counters one_run(struct run_config *config, const struct run_inputs *in,
                                      struct run_result *ret_result, FILE **ret_recording)
{
    struct watched watched = {.config = config};
    struct recording_replay_result replayed;
    struct err err = {0};
    double *jct_s = calloc(in->n, sizeof(*jct_s));
    config->recording = *ret_recording = tmpfile();
    *ret_result = simulate(config, in->jobs, in->n, jct_s);
    rewind(*ret_recording);
    if (recording_replay_watched(*ret_recording, NULL, check_slots, &watched, &replayed, &err))
        fail_msg("%s", err.text);
    if (replayed.first_difference_line)
        fail_msg("line %llu: %s, decided again: %s",
                 (unsigned long long)replayed.first_difference_line, replayed.recorded,
                 replayed.decided);
    assert_true(replayed.decisions > 1000);
    free(jct_s);
    return watched.counters;
}

static void same_again(struct run_config *config, const struct run_inputs *in, FILE *recording)
{
    struct run_result result;
    FILE *other;
    size_t size, other_size;
    one_run(config, in, &result, &other);
    char *text = text_of(recording, &size), *again = text_of(other, &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(text, again, size);
    fclose(other);
    free(text);
    free(again);
}

/* Bytes between its stages come when a job is told of, or later. */
static void check_when_sizes_come(FILE *recording, bool late)
{
    static unsigned long long told[4096];
    char *line = malloc(LINE);
    unsigned long long now = 0;
    uint64_t pieces = 0;
    rewind(recording);
    while (fgets(line, LINE, recording)) {
        const char *job = strstr(line, "framework_job "), *bytes = strstr(line, "framework_bytes ");
        if (strncmp(line, "step ", 5) == 0)
            now = strtoull(line + 5, NULL, 10);
        if (job && job - line <= 2)
            told[field(job, "job") % 4096] = now;
        if (!bytes || bytes - line > 2)
            continue;
        assert_int_equal(now > told[field(bytes, "job") % 4096], late);
        pieces++;
    }
    assert_true(pieces > 10);
    free(line);
}

/* It does as its name says. */
static void check_manners(const struct manners *m, const struct engine_counters *counters,
                          const struct run_result *result)
{
    if (m->slow || m->forgetful)
        assert_true(counters->allows_unused > 10);
    if (m->disobedient)
        assert_true(counters->granted_unasked > 10);
    assert_int_equal(result->copies > 0, m->copies > 0);
    assert_true(m->losing || !result->lost_attempts);
    assert_true(result->attempts == result->tasks + result->copies || m->losing);
}

/* How many attempts were lost. */
static uint64_t with_manners(const struct manners *m, const char *policy, uint64_t seed)
{
    struct run_setup setup;
    struct run_inputs in = {0};
    struct run_config config;
    struct run_result result;
    struct err err = {0};
    FILE *recording;
    char text[24];
    run_setup_init(&setup);
    setup.path = "testbed/workloads/demo.jsonl";
    setup.policy = preset_find(policy);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)seed);
    if (run_setup_set(&setup, "seed", text, &err) ||
        run_setup_set(&setup, "framework", m->name, &err) || run_inputs_read(&setup, &in, &err))
        fail_msg("%s", err.text);
    run_setup_configure(&setup, &in, &config);
    config.engine.hold_max_ns = HOLD_MAX_S * INT64_C(1000000000);
    struct engine_counters counters = one_run(&config, &in, &result, &recording);
    print_message("%s, %s, seed %s: longest wait %.1f s, %llu allows, %llu unused, %llu opened\n",
                  m->name, policy, text, result.framework_wait_s,
                  (unsigned long long)counters.allows, (unsigned long long)counters.allows_unused,
                  (unsigned long long)counters.opens);
    assert_true(result.framework_wait_s <= HOLD_MAX_S + NEWS_S);
    check_manners(m, &counters, &result);
    if (m->advised)
        check_when_sizes_come(recording, m->late);
    same_again(&config, &in, recording);
    fclose(recording);
    run_inputs_done(&in);
    return result.lost_attempts;
}

static void test_manners_over_seeds(void **state)
{
    static const char *const policies[] = {"joint", "duopoly"};
    uint64_t stream = test_seed();
    (void)state;
    for (const struct manners *m = manners; m->name; m++) {
        uint64_t lost = 0;
        for (size_t p = 0; p < sizeof(policies) / sizeof(policies[0]); p++)
            for (int i = 0; i < SEEDS; i++)
                lost += with_manners(m, policies[p], test_random(&stream) % 1000000);
        assert_int_equal(lost > 0, m->losing);
    }
}

/* ---- maps without places ---- */

enum { PLACELESS_JOBS = 40 };

/* Shuffles that are dear, on four hosts with two slots and 50 Mb/s: (i % 5 + 1)² MB each. */
static void placeless_jobs(struct workload_job *jobs)
{
    for (int i = 0; i < PLACELESS_JOBS; i++) {
        char line[512];
        const int mega = (i % 5 + 1) * (i % 5 + 1);
        snprintf(line, sizeof(line),
                 "{\"id\":%d,\"arrival_ms\":%d,\"stages\":[{\"tasks\":4,\"compute_ms\":200},"
                 "{\"tasks\":4,\"compute_ms\":100,\"parents\":[{\"stage\":0,\"sums\":"
                 "[%d00000,%d00000,%d00000,%d00000]}]}]}",
                 i + 1, i * 500, mega, 2 * mega, 3 * mega, 4 * mega);
        jobs[i] = job_of(line);
    }
}

static double mean_of_placeless(const struct workload_job *jobs, const char *name,
                                struct run_result *ret_result, FILE **ret_recording)
{
    double jct_s[PLACELESS_JOBS], sum_s = 0;
    struct run_config config = config_of("joint", 4, 2, 50 * (uint64_t)UNIT);
    config.framework = manners_find(name);
    config.engine.framework_jobs_max = config.engine.jobs_max;
    config.engine.hold_max_ns = HOLD_MAX_S * INT64_C(1000000000);
    config.recording = *ret_recording = tmpfile();
    *ret_result = simulate(&config, jobs, PLACELESS_JOBS, jct_s);
    for (int i = 0; i < PLACELESS_JOBS; i++)
        sum_s += jct_s[i];
    print_message("%s: mean %.2f s, longest wait %.1f s\n", name, sum_s / PLACELESS_JOBS,
                  ret_result->framework_wait_s);
    return sum_s / PLACELESS_JOBS;
}

static bool has_line(FILE *recording, const char *word)
{
    size_t size;
    char *text = text_of(recording, &size);
    text[size] = 0;
    bool has = strstr(text, word);
    free(text);
    return has;
}

/* Who starts maps where it has a slot loses what its jobs have of one host; who follows what binds
 * them has it; whatever their manners, nothing waits for longer than it may. */
static void test_bound_maps_stay_together(void **state)
{
    (void)state;
    struct workload_job jobs[PLACELESS_JOBS];
    struct run_result result;
    FILE *recording;
    placeless_jobs(jobs);
    double free_s = mean_of_placeless(jobs, "free", &result, &recording);
    assert_false(has_line(recording, "\nd bind "));
    fclose(recording);
    for (const struct manners *m = manners; m->name; m++) {
        double mean_s = mean_of_placeless(jobs, m->name, &result, &recording);
        assert_true(result.framework_wait_s <= HOLD_MAX_S + NEWS_S);
        assert_true(has_line(recording, "\nd bind ") == m->bindable);
        if (strcmp(m->name, "bound") == 0)
            assert_true(mean_s < free_s * .6);
        fclose(recording);
    }
    for (int i = 0; i < PLACELESS_JOBS; i++)
        workload_job_done(&jobs[i]);
}

/* ---- maps with places that are told after their stage ---- */

/* The same jobs; the block of each map, as large as what it sends, is on another host. */
static void placed_jobs(struct workload_job *jobs)
{
    for (int i = 0; i < PLACELESS_JOBS; i++) {
        char line[512];
        const int mega = (i % 5 + 1) * (i % 5 + 1);
        snprintf(line, sizeof(line),
                 "{\"id\":%d,\"arrival_ms\":%d,\"stages\":[{\"tasks\":4,\"compute_ms\":200,"
                 "\"input_bytes\":%d00000,\"replicas\":[[0],[1],[2],[3]]},"
                 "{\"tasks\":4,\"compute_ms\":100,\"parents\":[{\"stage\":0,\"sums\":"
                 "[%d00000,%d00000,%d00000,%d00000]}]}]}",
                 i + 1, i * 500, mega, mega, 2 * mega, 3 * mega, 4 * mega);
        jobs[i] = job_of(line);
    }
}

static double mean_of_placed(const struct workload_job *jobs, bool pack, uint32_t rules)
{
    double jct_s[PLACELESS_JOBS], sum_s = 0;
    struct run_config config = config_of("joint", 4, 2, 50 * (uint64_t)UNIT);
    config.framework = manners_find("late");
    config.engine.framework_jobs_max = config.engine.jobs_max;
    config.engine.rules = rules;
    assert_int_equal(engine_config_say(&config.engine, "pack", pack, NULL), 0);
    simulate(&config, jobs, PLACELESS_JOBS, jct_s);
    for (int i = 0; i < PLACELESS_JOBS; i++)
        sum_s += jct_s[i];
    print_message("pack %d, rules up to %u: mean %.2f s\n", pack, rules, sum_s / PLACELESS_JOBS);
    return sum_s / PLACELESS_JOBS;
}

/* A job whose maps have blocks has no home, though its first map is placed before they are told. */
static void test_blocks_are_told_after_their_stage(void **state)
{
    (void)state;
    struct workload_job jobs[PLACELESS_JOBS];
    placed_jobs(jobs);
    double spread_s = mean_of_placed(jobs, false, ENGINE_RULES),
           home_s = mean_of_placed(jobs, true, RULE_BLOCK_NO_HOME - 1);
    assert_true(mean_of_placed(jobs, true, ENGINE_RULES) < 1.02 * spread_s);
    assert_true(home_s > 1.1 * spread_s);
    for (int i = 0; i < PLACELESS_JOBS; i++)
        workload_job_done(&jobs[i]);
}

/* ---- opened stages ---- */

/* Four maps, and `reduces` tasks that receive half a megabyte each and compute for 1 to 3 s, so
 * that they end one by one. */
static struct workload_job spread_job(int id, int arrival_ms, int reduces)
{
    char *line;
    size_t size;
    FILE *file = open_memstream(&line, &size);
    fprintf(file,
            "{\"id\":%d,\"arrival_ms\":%d,\"stages\":[{\"tasks\":4,\"compute_ms\":100},"
            "{\"tasks\":%d,\"compute_ms\":[",
            id, arrival_ms, reduces);
    for (int i = 0; i < reduces; i++)
        fprintf(file, "%s%d", i ? "," : "", 1000 + i * 137 % 2000);
    fprintf(file, "],\"parents\":[{\"stage\":0,\"sums\":[");
    for (int i = 0; i < reduces; i++)
        fprintf(file, "%s500000", i ? "," : "");
    fprintf(file, "]}]}]}");
    fclose(file);
    struct workload_job job = job_of(line);
    free(line);
    return job;
}

/* How long the smaller of two jobs takes, as a part of the larger one's time. The larger one's
 * stage is opened when the smaller comes, and has more tasks than there are slots. */
static double part_of_smaller(const char *name, uint32_t rules)
{
    struct workload_job jobs[] = {spread_job(1, 0, 200), spread_job(2, 4000, 40)};
    struct run_config config = config_of("joint", 2, 16, 10 * (uint64_t)UNIT);
    double jct_s[2];
    config.framework = manners_find(name);
    config.engine.framework_jobs_max = config.engine.jobs_max;
    config.engine.hold_max_ns = 1000000000;
    config.engine.rules = rules;
    simulate(&config, jobs, 2, jct_s);
    print_message("%s, rules up to %u: %.2f and %.2f s\n", name, rules, jct_s[0], jct_s[1]);
    workload_job_done(&jobs[0]);
    workload_job_done(&jobs[1]);
    return jct_s[1] / jct_s[0];
}

/* A framework takes its jobs in the engine's order, those that it places itself, too. And joint
 * keeps no slot from a job that the framework would then give to a later one. */
static void test_opened_stages_take_what_is_left(void **state)
{
    (void)state;
    double kept = part_of_smaller("prompt", RULE_LEFT_IS_TAKEN - 1),
           taken = part_of_smaller("prompt", RULE_LEFT_IS_TAKEN),
           late = part_of_smaller("late", RULE_LEFT_IS_TAKEN);
    assert_true(taken < .4);
    assert_true(late < .4);
    assert_true(taken < kept * .7);
}

static void test_unknown_manners(void **state)
{
    struct run_setup setup;
    struct err err;
    (void)state;
    run_setup_init(&setup);
    assert_int_equal(run_setup_set(&setup, "framework", "rude", &err), -EINVAL);
    assert_string_equal(err.text,
                        "--framework is one of prompt, late, free, bound, slow, disobedient, "
                        "forgetful, speculating, growing, losing, none, not 'rude'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_plan_as_own_slots),
        cmocka_unit_test(test_manners_over_seeds),
        cmocka_unit_test(test_bound_maps_stay_together),
        cmocka_unit_test(test_blocks_are_told_after_their_stage),
        cmocka_unit_test(test_opened_stages_take_what_is_left),
        cmocka_unit_test(test_unknown_manners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
