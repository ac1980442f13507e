/* A prompt, obedient framework that places maps as advised has the plan of slots of our own, on the
 * demo's workload and under every policy: task, host, time and both levels. */
#include "tests/unit/run_cases.h"

#include "controller/engine/record.h"
#include "testbed/sim/run_setup.h"

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
        config.framework = framework;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_plan_as_own_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
