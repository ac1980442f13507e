/* Workload files: random jobs there and back, named faults, the conversion of a trace, the
 * generator. */
#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "lib/workload/workload.h"
#include "lib/workload/workload_convert.h"
#include "lib/workload/workload_file.h"
#include "lib/workload/workload_input.h"
#include "testbed/workload/generate.h"

static uint64_t *random_array(uint64_t *stream, uint64_t n, uint64_t below)
{
    uint64_t *array = calloc(n, sizeof(*array));
    assert_non_null(array);
    for (uint64_t i = 0; i < n; i++)
        array[i] = test_random(stream) % below;
    return array;
}

/* Whatever it computes: it reads before that. */
static struct profile random_profile(uint64_t *stream)
{
    return (struct profile){test_random(stream) % 2 << 30, 1 + test_random(stream) % (1 << 30), 1,
                            0};
}

static void random_variants(uint64_t *stream, struct workload_stage *stage)
{
    static const char *const commands[] = {"", "map-gpu", "a \"quoted\" näme"};
    stage->n_variants = (uint32_t)(test_random(stream) % WORKLOAD_VARIANTS_MAX);
    stage->variants = calloc(stage->n_variants + 1, sizeof(*stage->variants));
    assert_non_null(stage->variants);
    for (uint32_t i = 0; i < stage->n_variants; i++) {
        struct workload_variant *variant = &stage->variants[i];
        variant->demand = stage->demand;
        variant->demand.gpu_milli = 100 * (i + 1);
        strcpy(variant->command, commands[test_random(stream) % 3]);
        strcpy(variant->constraint, test_random(stream) % 2 ? stage->constraint : "!spot");
        if (test_random(stream) % 2)
            variant->compute_ns = random_array(stream, stage->tasks, (uint64_t)1 << 50);
        variant->profiled = stage->profiled || test_random(stream) % 2;
        variant->profile = test_random(stream) % 2 && stage->profiled ? stage->profile
                           : variant->profiled                        ? random_profile(stream)
                                                                      : (struct profile){0};
    }
}

static void random_wishes(uint64_t *stream, struct workload_stage *stage)
{
    static const char *const words[WORKLOAD_WISHES_MAX] = {"gpu", "!spot", "rack=r1 | host=h3",
                                                           "a & b"};
    stage->n_wishes = (uint32_t)(test_random(stream) % (WORKLOAD_WISHES_MAX + 1));
    for (uint32_t i = 0; i < stage->n_wishes; i++) {
        strcpy(stage->wishes[i].constraint, words[i]);
        stage->wishes[i].utility = 1 + (uint32_t)(test_random(stream) % WORKLOAD_UTILITY_MAX);
        stage->wishes[i].speed = 1 + (uint32_t)(test_random(stream) % 3);
    }
}

static void random_stage(uint64_t *stream, struct workload_job *job, uint32_t index, uint32_t hosts)
{
    struct workload_stage *stage = &job->stages[index];
    stage->tasks = 1 + (uint32_t)(test_random(stream) % 6);
    stage->demand = (struct workload_demand){.slots = (int64_t)(1 + test_random(stream) % 2),
                                             .mem_bytes = (int64_t)(test_random(stream) % 2 << 40)};
    snprintf(stage->command, sizeof(stage->command), "%s",
             test_random(stream) % 2 ? "map" : "a \"quoted\" näme");
    if (test_random(stream) % 2)
        strcpy(stage->constraint, test_random(stream) % 2 ? "gpu" : "gpu & !(spot | rack=r1)");
    if (test_random(stream) % 2)
        stage->input_bytes = random_array(stream, stage->tasks, 1 << 30);
    if (test_random(stream) % 2)
        stage->compute_ns = random_array(stream, stage->tasks, (uint64_t)1 << 50);
    if (test_random(stream) % 2) {
        stage->replicas = calloc(stage->tasks, sizeof(*stage->replicas));
        assert_non_null(stage->replicas);
        for (uint32_t t = 0; t < stage->tasks; t++) {
            stage->replicas[t].n = (uint8_t)(test_random(stream) % 4);
            for (unsigned i = 0; i < stage->replicas[t].n; i++)
                stage->replicas[t].hosts[i] = (uint32_t)(test_random(stream) + i) % hosts;
            for (unsigned i = 1; i < stage->replicas[t].n; i++)
                stage->replicas[t].hosts[i] = (stage->replicas[t].hosts[0] + i) % hosts;
        }
    }
    stage->profiled = test_random(stream) % 2;
    if (stage->profiled)
        stage->profile = random_profile(stream);
    random_variants(stream, stage);
    random_wishes(stream, stage);
    if (test_random(stream) % 2)
        stage->at_most.host = 1 + (uint32_t)(test_random(stream) % 3);
    if (test_random(stream) % 2)
        stage->at_most.rack = 3 + (uint32_t)(test_random(stream) % 3);
    stage->parents = calloc(index + 1, sizeof(*stage->parents));
    assert_non_null(stage->parents);
    for (uint32_t parent = 0; parent < index; parent++) {
        if (test_random(stream) % 2)
            continue;
        struct workload_edge *edge = &stage->parents[stage->n_parents++];
        edge->parent = parent;
        edge->pipelined = test_random(stream) % 2;
        uint64_t form = test_random(stream) % 3;
        if (form == 1)
            edge->sums = random_array(stream, stage->tasks, 1 << 30);
        if (form == 2)
            edge->matrix =
                random_array(stream, (uint64_t)stage->tasks * job->stages[parent].tasks, 1 << 20);
    }
}

static struct workload_job random_job(uint64_t *stream, uint32_t hosts)
{
    struct workload_job job = {
        .id = 1 + test_random(stream) % WORKLOAD_ID_MAX,
        .arrival_ns = test_random(stream) >> 15,
        .user = (uint32_t)test_random(stream),
        .kind = (enum workload_kind)(test_random(stream) % 3),
        .priority = (int32_t)test_random(stream),
        .deadline_ns = test_random(stream) >> 15,
        .estimate_bytes = (int64_t)(test_random(stream) >> 12) - 1,
        .at_most = {test_random(stream) % 2 ? 4 : 0, test_random(stream) % 2 ? 8 : 0}};
    snprintf(job.name, sizeof(job.name), "name \\ %llu", (unsigned long long)job.id % 10);
    job.n_stages = 1 + (uint32_t)(test_random(stream) % 5);
    job.stages = calloc(job.n_stages, sizeof(*job.stages));
    assert_non_null(job.stages);
    for (uint32_t i = 0; i < job.n_stages; i++)
        random_stage(stream, &job, i, hosts);
    return job;
}

static void assert_same_array(const uint64_t *a, const uint64_t *b, uint64_t n)
{
    assert_int_equal(!a, !b);
    if (a)
        assert_memory_equal(a, b, n * sizeof(*a));
}

static void assert_same_job(const struct workload_job *a, const struct workload_job *b)
{
    assert_string_equal(a->name, b->name);
    assert_true(a->id == b->id && a->arrival_ns == b->arrival_ns && a->user == b->user &&
                a->kind == b->kind && a->priority == b->priority &&
                a->deadline_ns == b->deadline_ns && a->estimate_bytes == b->estimate_bytes &&
                a->at_most.host == b->at_most.host && a->at_most.rack == b->at_most.rack &&
                a->n_stages == b->n_stages);
    for (uint32_t i = 0; i < a->n_stages; i++) {
        const struct workload_stage *x = &a->stages[i], *y = &b->stages[i];
        assert_int_equal(x->tasks, y->tasks);
        assert_string_equal(x->command, y->command);
        assert_string_equal(x->constraint, y->constraint);
        assert_memory_equal(&x->demand, &y->demand, sizeof(x->demand));
        assert_same_array(x->input_bytes, y->input_bytes, x->tasks);
        assert_same_array(x->compute_ns, y->compute_ns, x->tasks);
        assert_int_equal(!x->replicas, !y->replicas);
        for (uint32_t t = 0; x->replicas && t < x->tasks; t++) {
            assert_int_equal(x->replicas[t].n, y->replicas[t].n);
            assert_memory_equal(x->replicas[t].hosts, y->replicas[t].hosts,
                                x->replicas[t].n * sizeof(uint32_t));
        }
        assert_int_equal(x->profiled, y->profiled);
        assert_memory_equal(&x->profile, &y->profile, sizeof(x->profile));
        assert_int_equal(x->n_variants, y->n_variants);
        for (uint32_t v = 0; v < x->n_variants; v++) {
            const struct workload_variant *one = &x->variants[v], *other = &y->variants[v];
            assert_string_equal(one->command, other->command);
            assert_string_equal(one->constraint, other->constraint);
            assert_memory_equal(&one->demand, &other->demand, sizeof(one->demand));
            assert_same_array(one->compute_ns, other->compute_ns, x->tasks);
            assert_int_equal(one->profiled, other->profiled);
            assert_memory_equal(&one->profile, &other->profile, sizeof(one->profile));
        }
        assert_memory_equal(&x->at_most, &y->at_most, sizeof(x->at_most));
        assert_int_equal(x->n_wishes, y->n_wishes);
        for (uint32_t w = 0; w < x->n_wishes; w++) {
            assert_string_equal(x->wishes[w].constraint, y->wishes[w].constraint);
            assert_int_equal(x->wishes[w].utility, y->wishes[w].utility);
            assert_int_equal(x->wishes[w].speed, y->wishes[w].speed);
        }
        assert_int_equal(x->n_parents, y->n_parents);
        for (uint32_t p = 0; p < x->n_parents; p++) {
            assert_int_equal(x->parents[p].parent, y->parents[p].parent);
            assert_int_equal(x->parents[p].pipelined, y->parents[p].pipelined);
            assert_same_array(x->parents[p].sums, y->parents[p].sums, x->tasks);
            assert_same_array(x->parents[p].matrix, y->parents[p].matrix,
                              (uint64_t)x->tasks * a->stages[x->parents[p].parent].tasks);
        }
    }
}

static void test_a_written_job_is_read_as_it_was(void **state)
{
    (void)state;
    const struct workload_header header = {.hosts = 9, .scale = 1};
    uint64_t stream = test_seed();
    for (int round = 0; round < 500; round++) {
        struct workload_job job = random_job(&stream, header.hosts), again;
        struct err err = {0};
        char *text = workload_job_format(&job);
        assert_non_null(text);
        if (workload_job_parse(&header, text, strlen(text), &again, &err) < 0)
            fail_msg("%s in %s", err.text, text);
        assert_same_job(&job, &again);
        workload_job_done(&again);
        workload_job_done(&job);
        free(text);
    }
}

static void test_any_cut_of_a_line_is_refused_with_a_sentence(void **state)
{
    (void)state;
    const struct workload_header header = {.hosts = 9, .scale = 1};
    uint64_t stream = test_seed();
    struct workload_job job = random_job(&stream, header.hosts), again;
    char *text = workload_job_format(&job);
    assert_non_null(text);
    for (size_t length = 0; length < strlen(text); length++) {
        struct err err = {0};
        assert_int_equal(workload_job_parse(&header, text, length, &again, &err), -EINVAL);
        assert_true(err.text[0] != 0);
    }
    workload_job_done(&job);
    free(text);
}

static void test_damaged_lines_are_refused_or_keep_the_rules(void **state)
{
    (void)state;
    const struct workload_header header = {.hosts = 9, .scale = 1};
    uint64_t stream = test_seed();
    for (int round = 0; round < 3000; round++) {
        struct workload_job job = random_job(&stream, header.hosts), again;
        struct err err = {0};
        char *text = workload_job_format(&job);
        assert_non_null(text);
        size_t length = strlen(text);
        for (uint64_t damages = 1 + test_random(&stream) % 3; damages > 0; damages--)
            text[test_random(&stream) % length] =
                "0123456789-.e[]{},:\"x\\ "[test_random(&stream) % 24];
        if (workload_job_parse(&header, text, length, &again, &err) == 0) {
            assert_int_equal(workload_job_check(&header, &again, &err), 0);
            workload_job_done(&again);
        } else {
            assert_true(err.text[0] != 0);
        }
        workload_job_done(&job);
        free(text);
    }
}

static const struct workload_header nine_hosts = {.hosts = 9, .scale = 1};

static void assert_refused(const char *text, const char *words)
{
    struct workload_job job;
    struct err err = {0};
    assert_int_equal(workload_job_parse(&nine_hosts, text, strlen(text), &job, &err), -EINVAL);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void test_wrong_jobs_are_refused(void **state)
{
    (void)state;
    assert_refused("[]", "one JSON object");
    assert_refused("{\"id\": 1,}", "column");
    assert_refused("{\"stages\": [{\"tasks\": 1}]}", "id is missing");
    assert_refused("{\"id\": 9007199254740993, \"stages\": [{\"tasks\": 1}]}",
                   "id is 9007199254740993");
    assert_refused("{\"id\": 1}", "stages");
    assert_refused("{\"id\": 1, \"stages\": []}", "stages");
    assert_refused("{\"id\": 1, \"id\": 2, \"stages\": [{\"tasks\": 1}]}", "duplicate");
    assert_refused("{\"id\": 1, \"stages\": [{}]}", "stages[0].tasks is missing");
    assert_refused("{\"id\": 1, \"stages\": [{\"tasks\": 1000001}]}", "stages[0].tasks is 1000001");
    assert_refused("{\"id\": 1, \"stages\": [{\"tasks\": 1, \"constraint\": \"gpu & (ssd\"}]}",
                   "stages[0]: constraint 'gpu & (ssd', column 7: this bracket is not closed");
    assert_refused("{\"id\": 1, \"stages\": [{\"tasks\": 2, \"input_bytes\": [1]}]}",
                   "array of 2 numbers");
    assert_refused("{\"id\": 1, \"stages\": [{\"tasks\": 2, \"input_bytes\": [1, -1]}]}",
                   "stages[0].input_bytes[1] is -1");
    assert_refused("{\"id\": 1, \"stages\": [{\"tasks\": 1, \"input_bytes\": 1e300}]}",
                   "whole number");
    assert_refused("{\"id\": 1, \"stages\": [{\"tasks\": 2, \"input_bytes\": 9007199254740992}]}",
                   "more than 2^53 bytes");
    assert_refused("{\"id\": 1, \"stages\": [{\"tasks\": 1, \"compute_ms\": -0.5}]}",
                   "compute_ms is -0.5");
    assert_refused("{\"id\": 1, \"stages\": [{\"tasks\": 1, \"compute_ms\": 1e18}]}", "compute_ms");
    assert_refused("{\"id\": 1, \"stages\": [{\"tasks\": 1, \"replicas\": [[9]]}]}", "host 9 of 9");
    assert_refused("{\"id\": 1, \"stages\": [{\"tasks\": 1, \"replicas\": [[2,2]]}]}",
                   "host 2 twice");
    assert_refused("{\"id\": 1, \"stages\": [{\"tasks\": 1, \"parents\": [{\"stage\": 0}]}]}",
                   "after the first");
    assert_refused(
        "{\"id\": 1, \"stages\": [{\"tasks\": 1}, {\"tasks\": 1, \"parents\": [{\"stage\": 1}]}]}",
        "parents[0].stage is 1");
    assert_refused(
        "{\"id\": 1, \"stages\": [{\"tasks\": 1}, {\"tasks\": 1, \"parents\": [{\"stage\": 0}, "
        "{\"stage\": 0}]}]}",
        "stage 0 twice");
    assert_refused("{\"id\": 1, \"stages\": [{\"tasks\": 1}, {\"tasks\": 1, \"parents\": "
                   "[{\"stage\": 0, \"sums\": "
                   "[1], \"matrix\": [[1]]}]}]}",
                   "both");
    assert_refused(
        "{\"id\": 1, \"stages\": [{\"tasks\": 1}, {\"tasks\": 1, \"parents\": [{\"stage\": 0, "
        "\"edge\": \"soft\"}]}]}",
        "barrier or pipelined");
    assert_refused("{\"id\": 1, \"kind\": \"odd\", \"stages\": [{\"tasks\": 1}]}",
                   "kind is \"odd\"");
    assert_refused("{\"id\": 1, \"name\": \"\", \"stages\": [{\"tasks\": 1}]}", "name is empty");
    assert_refused("{\"id\": 1, \"name\": "
                   "\"0123456789012345678901234567890123456789012345678901234567890123\", "
                   "\"stages\": [{\"tasks\": 1}]}",
                   "at most 63");
    assert_refused("{\"id\": 1, \"stages\": [{\"tasks\": 5000}, {\"tasks\": 5000, \"parents\": "
                   "[{\"stage\": 0, "
                   "\"matrix\": []}]}]}",
                   "5000 rows");
}

#define STAGE(members) "{\"id\": 1, \"stages\": [{\"tasks\": 2, " members "}]}"
#define GPU(milli)     "{\"demand\": {\"gpu_milli\": " #milli "}}"

static void test_wrong_variants_are_refused(void **state)
{
    (void)state;
    assert_refused(STAGE("\"variants\": 1"), "stages[0].variants must be an array");
    assert_refused(STAGE("\"variants\": [1]"), "stages[0].variants[0] must be an object");
    assert_refused(STAGE("\"variants\": [" GPU(1) "," GPU(2) "," GPU(3) "," GPU(4) "]"),
                   "4 ways to run it at most");
    assert_refused(STAGE("\"variants\": [" GPU(1) "," GPU(1) "]"),
                   "stages[0].variants[1] has the demand and the constraint of one before it");
    assert_refused(STAGE("\"variants\": [{\"compute_ms\": 1}]"),
                   "stages[0].variants[0] has the demand and the constraint of the stage");
    assert_refused(STAGE("\"variants\": [{\"demand\": {}}]"),
                   "stages[0].variants[0].demand is nothing");
    assert_refused(STAGE("\"variants\": [{\"constraint\": \"gpu &\"}]"), "stages[0].variants[0]");
    assert_refused(STAGE("\"variants\": [{\"constraint\": \"a\", \"command\": \"a\\nb\"}]"),
                   "stages[0].variants[0].command has a line end");
    assert_refused(STAGE("\"variants\": [{\"constraint\": \"a\", \"compute_ms\": [1]}]"),
                   "stages[0].variants[0].compute_ms must be an array of 2 numbers");
}

#define READS(members) "\"profile\": {" members "}"

static void test_wrong_profiles_are_refused(void **state)
{
    (void)state;
    assert_refused(STAGE("\"profile\": 1"), "stages[0].profile must be an object");
    assert_refused(STAGE(READS("\"reads\": \"never\"")),
                   "stages[0].profile.reads is \"never\", must be before or while");
    assert_refused(STAGE(READS("\"read_bytes\": 5, \"reads\": \"before\"")),
                   "stages[0].profile: reads 5 bytes at rate 0, so it would never end");
    assert_refused(STAGE(READS("\"read_bytes\": -5")), "stages[0].profile.read_bytes is -5");
    assert_refused(
        STAGE("\"compute_ms\": [400, 199], " READS("\"read_bytes\": 200, \"read_bytes_s\": 1000")),
        "stages[0].profile: reads for 200 ms while it computes for 199 ms");
    assert_refused(
        STAGE("\"compute_ms\": 400, " READS(
            "\"read_bytes\": 200, \"read_bytes_s\": 1000") ", "
                                                           "\"variants\": [{\"constraint\": "
                                                           "\"gpu\", \"compute_ms\": 1}]"),
        "stages[0].variants[0].profile: reads for 200 ms while it computes for 1 ms");
}

static void test_a_profile_has_the_mean_of_what_tasks_compute(void **state)
{
    (void)state;
    const struct workload_header header = {.hosts = 9, .scale = 1};
    static const char text[] = STAGE("\"compute_ms\": [400, 200], " READS(
        "\"read_bytes\": 200, \"read_bytes_s\": 1000") ", "
                                                       "\"variants\": [{\"constraint\": \"gpu\", "
                                                       "\"compute_ms\": 10, " READS(
                                                           "\"read_bytes\": 100, \"read_bytes_s\": "
                                                           "500, \"reads\": \"before\"") "}]");
    static const char without[] = STAGE("\"compute_ms\": 400");
    struct workload_job job;
    assert_int_equal(workload_job_parse(&header, text, strlen(text), &job, NULL), 0);
    struct profile cpu = workload_profile_of(&job.stages[0], 0),
                   gpu = workload_profile_of(&job.stages[0], 1);
    assert_memory_equal(&cpu, (&(struct profile){200, 1000, 0, 300000000}), sizeof(cpu));
    assert_memory_equal(&gpu, (&(struct profile){100, 500, 1, 10000000}), sizeof(gpu));
    workload_job_done(&job);
    assert_int_equal(workload_job_parse(&header, without, strlen(without), &job, NULL), 0);
    cpu = workload_profile_of(&job.stages[0], 0);
    assert_false(profile_is_known(&cpu));
    workload_job_done(&job);
}

static void test_wrong_wishes_are_refused(void **state)
{
    (void)state;
    assert_refused(STAGE("\"prefer\": {}"),
                   "stages[0].prefer must be an array of at most 4 objects");
    assert_refused(STAGE("\"prefer\": [1]"), "stages[0].prefer[0] must be an object");
    assert_refused(STAGE("\"prefer\": [{\"utility\": 1}]"),
                   "stages[0].prefer[0].constraint is missing");
    assert_refused(STAGE("\"prefer\": [{\"constraint\": \"gpu &\"}]"), "stages[0].prefer[0]");
    assert_refused(STAGE("\"prefer\": [{\"constraint\": \"gpu\", \"utility\": 0}]"),
                   "stages[0].prefer[0].utility is 0, must be 1…1000");
    assert_refused(STAGE("\"prefer\": [{\"constraint\": \"gpu\", \"speed\": 1001}]"),
                   "stages[0].prefer[0].speed is 1001, must be 1…1000");
    assert_refused(STAGE("\"prefer\": [{\"constraint\": \"a\"}, {\"constraint\": \"a\"}]"),
                   "stages[0].prefer[1] wishes for what prefer[0] does; add their utilities");
}

static void test_wrong_bounds_are_refused(void **state)
{
    (void)state;
    assert_refused(STAGE("\"at_most\": 2"), "stages[0].at_most must be an object");
    assert_refused(STAGE("\"at_most\": {}"), "stages[0].at_most names neither host nor rack");
    assert_refused(STAGE("\"at_most\": {\"host\": 0}"),
                   "stages[0].at_most.host is 0, must be 1…4294967295");
    assert_refused(STAGE("\"at_most\": {\"host\": 3, \"rack\": 2}"),
                   "stages[0].at_most.host is 3, above stages[0].at_most.rack, which is 2");
    assert_refused("{\"id\": 1, \"at_most\": {\"host\": 3, \"rack\": 2}, \"stages\": [{\"tasks\": "
                   "1}]}",
                   "at_most.host is 3, above at_most.rack, which is 2");
    assert_refused("{\"id\": 1, \"at_most\": {\"rack\": 2}, \"stages\": [{\"tasks\": 1, "
                   "\"at_most\": {\"host\": 3}}]}",
                   "stages[0].at_most.host is 3, above the job's at_most.rack, which is 2");
}

/* What it does not say is as the stage says it. */
static void test_a_variant_is_as_the_stage_says(void **state)
{
    (void)state;
    const struct workload_header header = {.hosts = 9, .scale = 1};
    static const char text[] =
        STAGE("\"command\": \"c\", \"constraint\": \"gpu\", \"compute_ms\": 8, "
              "\"variants\": [" GPU(500) ", {\"constraint\": \"\", "
                                         "\"command\": \"d\", \"compute_ms\": [1, 2]}]");
    struct workload_job job;
    assert_int_equal(workload_job_parse(&header, text, strlen(text), &job, NULL), 0);
    const struct workload_stage *stage = &job.stages[0];
    assert_string_equal(workload_command_of(stage, 1), "c");
    assert_string_equal(workload_constraint_of(stage, 1), "gpu");
    assert_int_equal(workload_demand_of(stage, 1)->slots, 0);
    assert_int_equal(workload_demand_of(stage, 1)->gpu_milli, 500);
    assert_int_equal(workload_compute_ns(stage, 1, 1), 8000000);
    assert_string_equal(workload_command_of(stage, 2), "d");
    assert_string_equal(workload_constraint_of(stage, 2), "");
    assert_int_equal(workload_demand_of(stage, 2)->slots, 1);
    assert_int_equal(workload_compute_ns(stage, 2, 1), 2000000);
    assert_int_equal(workload_compute_ns(stage, 0, 1), 8000000);
    workload_job_done(&job);
}

static void test_defaults_and_unknown_members(void **state)
{
    (void)state;
    struct workload_job job;
    struct err err = {0};
    const char *text = "{\"id\": 7, \"arrival_ms\": 0.000001, \"later\": {}, \"stages\": "
                       "[{\"tasks\": 3}, {\"tasks\": 2, "
                       "\"compute_ms\": 25.5, \"parents\": [{\"stage\": 0, \"sums\": [7, 0]}]}]}";
    assert_int_equal(workload_job_parse(&nine_hosts, text, strlen(text), &job, &err), 0);
    assert_string_equal(job.name, "job-7");
    assert_int_equal(job.arrival_ns, 1);
    assert_int_equal(job.estimate_bytes, -1);
    assert_string_equal(job.stages[0].command, "map");
    assert_string_equal(job.stages[1].command, "reduce");
    assert_int_equal(job.stages[0].demand.slots, 1);
    assert_int_equal(job.stages[1].compute_ns[1], 25500000);
    assert_false(job.stages[1].parents[0].pipelined);
    assert_int_equal(workload_split_part(7, 3, 0), 3);
    assert_int_equal(workload_split_part(7, 3, 1), 2);
    assert_int_equal(workload_split_part(7, 3, 2), 2);
    assert_int_equal(workload_task_shuffle_bytes(&job, 1, 0), 7);
    assert_int_equal(workload_job_shuffle_bytes(&job), 7);
    workload_job_done(&job);
}

static int read_all(const char *text, uint64_t *ret_jobs, struct err *err)
{
    struct workload_reader reader;
    struct workload_job job;
    FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(in);
    int r = workload_reader_init(&reader, in, "f", err);
    *ret_jobs = 0;
    while (r >= 0 && (r = workload_reader_next(&reader, &job, err)) > 0) {
        workload_job_done(&job);
        ++*ret_jobs;
    }
    workload_reader_done(&reader);
    fclose(in);
    return r;
}

#define HEADER "{\"duopoly_workload\": 1, \"hosts\": 2}\n"
#define NOTHING(demand)                                                                            \
    "{\"id\": 1, \"stages\": [{\"tasks\": 1}, {\"tasks\": 9, \"demand\": {" demand "}}]}\n"
#define JOB(id, ms) "{\"id\": " #id ", \"arrival_ms\": " #ms ", \"stages\": [{\"tasks\": 1}]}\n"

static void test_files_say_where_they_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
        uint64_t jobs;
    } cases[] = {
        {"\n", "f: the file is empty", 0},
        {"\n \n{}\n", "f:3: this is no workload file", 0},
        {"{\"duopoly_workload\": 2}", "f:1: duopoly_workload must be 1", 0},
        {"{\"duopoly_workload\": 1}", "f:1: hosts is missing", 0},
        {HEADER JOB(1, 5) "\r\n" JOB(2, 4), "f:4: arrival_ms is less", 1},
        {HEADER JOB(5, 0) JOB(7, 0) JOB(6, 0) JOB(8, 0) JOB(4, 0) JOB(6, 0),
         "f:7: id 6 is there twice", 5},
        {HEADER JOB(1, 0) "x", "f:3: column 1", 1},
        {HEADER NOTHING("\"slots\": 0"), "f:2: stages[1].demand is nothing", 0},
        {HEADER NOTHING("\"slots\": 0, \"mem_bytes\": 0"), "f:2: stages[1].demand is nothing", 0},
        {HEADER NOTHING(""), "f:2: stages[1].demand is nothing", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};
        uint64_t jobs;
        assert_int_equal(read_all(cases[i].text, &jobs, &err), -EINVAL);
        if (!strstr(err.text, cases[i].words))
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].words);
        assert_int_equal(jobs, cases[i].jobs);
    }
}

static void test_ids_in_any_order_are_told_apart(void **state)
{
    (void)state;
    enum { IDS = 2000 };
    uint64_t stream = test_seed(), jobs;
    uint32_t ids[IDS];
    for (uint32_t i = 0; i < IDS; i++)
        ids[i] = i + 1;
    for (uint32_t i = IDS - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(test_random(&stream) % (i + 1)), swapped = ids[i];
        ids[i] = ids[j];
        ids[j] = swapped;
    }
    for (int twice = 0; twice < 2; twice++) {
        char *text;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        assert_non_null(out);
        fputs(HEADER, out);
        for (uint32_t i = 0; i < IDS; i++)
            fprintf(out, "{\"id\": %u, \"stages\": [{\"tasks\": 1}]}\n", ids[i]);
        if (twice)
            fprintf(out, "{\"id\": %u, \"stages\": [{\"tasks\": 1}]}\n",
                    ids[test_random(&stream) % IDS]);
        fclose(out);
        struct err err = {0};
        assert_int_equal(read_all(text, &jobs, &err), twice ? -EINVAL : 0);
        assert_int_equal(jobs, IDS);
        free(text);
    }
}

static void test_a_trace_is_converted_as_the_document_says(void **state)
{
    (void)state;
    static const char text[] =
        "150 3\n1 0 1 22 1 65:1.0\n3 2000 2 66 138 2 3:30.0 4:10.0\n2 1000 1 0 1 4:5000.0\n";
    struct workload_convert options = workload_convert_defaults;
    struct workload_converter converter;
    struct workload_fb *trace;
    struct workload_job job;
    struct err err = {0};
    options.cap_bytes = 20u << 20;
    options.map_mb = 8;
    assert_int_equal(workload_fb_parse(text, strlen(text), "t", &trace, &err), 0);
    assert_int_equal(workload_converter_init(&converter, &options, trace, &err), 0);

    assert_int_equal(workload_converter_next(&converter, &job, &err), 1);
    assert_int_equal(job.id, 1);
    assert_int_equal(job.stages[0].tasks, 1);
    assert_int_equal(job.stages[0].replicas[0].n, 3);
    assert_int_equal(job.stages[1].parents[0].sums[0], (1 << 20) / 10);
    assert_int_equal(job.stages[0].compute_ns[0], (1 << 20) / 10 * 10);
    workload_job_done(&job);

    /* In order of arrival, cut to 20 MB = 3 maps of at most 8. */
    assert_int_equal(workload_converter_next(&converter, &job, &err), 1);
    assert_int_equal(job.id, 2);
    assert_int_equal(job.arrival_ns, 200000000);
    assert_int_equal(job.stages[0].tasks, 3);
    assert_int_equal(workload_job_shuffle_bytes(&job), (20u << 20) / 10);
    workload_job_done(&job);

    assert_int_equal(workload_converter_next(&converter, &job, &err), 1);
    assert_int_equal(job.id, 3);
    assert_int_equal(job.stages[1].parents[0].sums[0], (15u << 20) / 10);
    assert_int_equal(workload_job_shuffle_bytes(&job), (20u << 20) / 10);
    workload_job_done(&job);
    assert_int_equal(workload_converter_next(&converter, &job, &err), 0);
    assert_int_equal(converter.n_cut, 2);
    workload_converter_done(&converter);
    workload_fb_destroy(trace);
}

/* Of a third of the jobs, whichever their blocks are; without the option nothing is another. */
static void test_maps_of_some_jobs_can_run_on_gpus(void **state)
{
    (void)state;
    struct workload_convert options = workload_convert_defaults, plain;
    uint64_t bytes[1] = {1 << 20}, several = 0;
    struct err err = {0};
    plain = options;
    assert_int_equal(workload_convert_set(&options, "gpu", "0.333", &err), 0);
    assert_int_equal(workload_convert_set(&options, "gpu", "1.5", &err), -EINVAL);
    for (uint64_t id = 1; id <= 600; id++) {
        struct workload_job job, without;
        assert_int_equal(workload_make_mapreduce(&options, id, 2, bytes, 1, &job, &err), 0);
        assert_int_equal(workload_make_mapreduce(&plain, id, 2, bytes, 1, &without, &err), 0);
        const struct workload_stage *maps = &job.stages[0];
        assert_int_equal(without.stages[0].n_variants, 0);
        assert_memory_equal(maps->replicas, without.stages[0].replicas,
                            2 * sizeof(*maps->replicas));
        several += maps->n_variants;
        const uint64_t plain_ns = workload_compute_ns(&without.stages[0], 0, 0);
        assert_int_equal(workload_compute_ns(maps, maps->n_variants, 0), plain_ns);
        assert_int_equal(workload_compute_ns(maps, 0, 0),
                         maps->n_variants ? plain_ns / 4 : plain_ns);
        assert_int_equal(workload_demand_of(maps, 0)->gpu_milli, 1000 * maps->n_variants);
        assert_int_equal(workload_demand_of(maps, maps->n_variants)->gpu_milli, 0);
        assert_int_equal(job.stages[1].n_variants, 0);
        workload_job_done(&job);
        workload_job_done(&without);
    }
    assert_true(several > 150 && several < 250);
}

static void test_options_are_read_from_words(void **state)
{
    (void)state;
    struct workload_convert options = workload_convert_defaults;
    struct err err = {0};
    assert_int_equal(workload_convert_set(&options, "speed", "2.5", &err), 0);
    assert_int_equal(options.speed_milli, 2500);
    assert_int_equal(workload_convert_set(&options, "cap", "1.5G", &err), 0);
    assert_int_equal(options.cap_bytes, 1500000000);
    assert_int_equal(workload_convert_set(&options, "link", "1G", &err), 0);
    assert_int_equal(options.link_bps, 1000000000);
    static const char *const wrong[][2] = {{"speed", "0"},
                                           {"speed", "-1"},
                                           {"jobs", "x"},
                                           {"jobs", "1.5"},
                                           {"hosts", "0"},
                                           {"scale", ""},
                                           {"link", "1GG"},
                                           {"size", "1"},
                                           {"cap", "9999999G"},
                                           {"replicas", "9"},
                                           {"seed", " 1"},
                                           {"link", "1e9"},
                                           {"seed", "99999999999999999999999999"}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct workload_convert before = options;
        assert_int_equal(workload_convert_set(&options, wrong[i][0], wrong[i][1], &err), -EINVAL);
        assert_memory_equal(&before, &options, sizeof(options));
    }
}

/* The real trace where it is present: FB_TRACE, or beside the tree. */
static void test_the_real_trace_converts(void **state)
{
    (void)state;
    const char *path =
        getenv("FB_TRACE") ? getenv("FB_TRACE") : "../shared/traces/FB2010-1Hr-150-0.txt";
    FILE *probe = fopen(path, "re");
    if (!probe)
        skip_since("no Facebook trace (FB_TRACE=)");
    fclose(probe);
    struct workload_convert options = workload_convert_defaults;
    struct workload_input input;
    struct workload_job job;
    struct err err = {0};
    uint64_t bytes = 0;
    int r = workload_input_open(&input, path, &options, &err);
    while (r >= 0 && (r = workload_input_next(&input, &job, &err)) > 0) {
        bytes += workload_job_shuffle_bytes(&job);
        workload_job_done(&job);
    }
    assert_int_equal(r, 0);
    assert_int_equal(input.jobs, 40);
    assert_int_equal(input.converter.n_cut, 3);
    assert_in_range(bytes, 4000000000, 4300000000);
    workload_input_done(&input);
}

static void test_generated_jobs_keep_the_load_and_the_rules(void **state)
{
    (void)state;
    struct workload_convert options = workload_convert_defaults;
    struct workload_header header;
    struct generator generator;
    struct workload_job job;
    struct err err = {0};
    options.jobs = 4000;
    options.seed = test_seed();
    assert_int_equal(generator_init(&generator, &options, 0.7, &err), 0);
    generator_header(&generator, &header);
    uint64_t bytes = 0, arrival_ns = 0;
    int r;
    while ((r = generator_next(&generator, &job, &err)) > 0) {
        assert_int_equal(workload_job_check(&header, &job, &err), 0);
        assert_true(job.arrival_ns >= arrival_ns);
        arrival_ns = job.arrival_ns;
        bytes += workload_job_shuffle_bytes(&job);
        workload_job_done(&job);
    }
    assert_int_equal(r, 0);
    double load = (double)bytes * 8 / 9 / 1e8 / ((double)arrival_ns / 1e9);
    assert_true(load > 0.7 * 0.9 && load < 0.7 * 1.1);
}

static void test_a_longer_generated_workload_begins_with_the_shorter(void **state)
{
    (void)state;
    struct workload_convert options = workload_convert_defaults;
    struct generator shorter, longer;
    struct err err = {0};
    options.seed = test_seed();
    options.jobs = 50;
    assert_int_equal(generator_init(&shorter, &options, 0.9, &err), 0);
    options.jobs = 100;
    assert_int_equal(generator_init(&longer, &options, 0.9, &err), 0);
    struct workload_job a, b;
    while (generator_next(&shorter, &a, &err) > 0) {
        assert_int_equal(generator_next(&longer, &b, &err), 1);
        assert_same_job(&a, &b);
        workload_job_done(&a);
        workload_job_done(&b);
    }
    assert_int_equal(generator_init(&shorter, &options, 0, &err), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_written_job_is_read_as_it_was),
        cmocka_unit_test(test_any_cut_of_a_line_is_refused_with_a_sentence),
        cmocka_unit_test(test_damaged_lines_are_refused_or_keep_the_rules),
        cmocka_unit_test(test_wrong_jobs_are_refused),
        cmocka_unit_test(test_wrong_variants_are_refused),
        cmocka_unit_test(test_wrong_profiles_are_refused),
        cmocka_unit_test(test_a_profile_has_the_mean_of_what_tasks_compute),
        cmocka_unit_test(test_wrong_wishes_are_refused),
        cmocka_unit_test(test_wrong_bounds_are_refused),
        cmocka_unit_test(test_a_variant_is_as_the_stage_says),
        cmocka_unit_test(test_defaults_and_unknown_members),
        cmocka_unit_test(test_files_say_where_they_are_wrong),
        cmocka_unit_test(test_ids_in_any_order_are_told_apart),
        cmocka_unit_test(test_a_trace_is_converted_as_the_document_says),
        cmocka_unit_test(test_maps_of_some_jobs_can_run_on_gpus),
        cmocka_unit_test(test_options_are_read_from_words),
        cmocka_unit_test(test_the_real_trace_converts),
        cmocka_unit_test(test_generated_jobs_keep_the_load_and_the_rules),
        cmocka_unit_test(test_a_longer_generated_workload_begins_with_the_shorter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
