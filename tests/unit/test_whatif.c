/* A state runs on as the run would have from which it is. */
#include "tests/unit/whatif_cases.h"

#include "testbed/sim/cluster/recording_replay.h"

#include <stdbool.h>

enum { HOSTS = 6, SLOTS = 2, JOBS = 12, TASKS_MAX = 32, STAGES = 2 };

static uint64_t *numbers(uint64_t *stream, uint32_t n, uint64_t least, uint64_t most)
{
    uint64_t *all = calloc(n, sizeof(*all));
    for (uint32_t i = 0; i < n; i++)
        all[i] = least + test_random(stream) % (most - least + 1);
    return all;
}

/* Whether jobs have blocks and a second stage that reads what the maps make; whether from one host
 * only; whether some of them compute meanwhile. */
struct kind {
    bool shuffles, lone, pipelined;
};

/* All arrive within a second. */
static struct workload_job draw_job(uint64_t *stream, uint64_t id, struct kind kind)
{
    struct workload_job job = {
        .id = id, .arrival_ns = id * 70 * (uint64_t)MS, .estimate_bytes = -1, .n_stages = 1};
    snprintf(job.name, sizeof(job.name), "j%" PRIu64, id);
    job.stages = calloc(STAGES, sizeof(*job.stages));
    struct workload_stage *maps = &job.stages[0], *reduces = &job.stages[1];
    maps->tasks = kind.lone ? 1 : 2 + (uint32_t)(test_random(stream) % 6);
    maps->demand.slots = 1;
    maps->compute_ns = numbers(stream, maps->tasks, 200 * MS, 3000 * MS);
    maps->input_bytes = numbers(stream, maps->tasks, 1, UNIT);
    maps->replicas = calloc(maps->tasks, sizeof(*maps->replicas));
    for (uint32_t t = 0; kind.shuffles && t < maps->tasks; t++) {
        uint32_t first = (uint32_t)(test_random(stream) % HOSTS);
        maps->replicas[t] = (struct workload_replicas){2, {first, (first + 1) % HOSTS}};
    }
    if (!kind.shuffles || id % 4 == 0)
        return job;
    job.n_stages = STAGES;
    reduces->tasks = 1 + (uint32_t)(test_random(stream) % 4);
    reduces->demand.slots = 1;
    reduces->compute_ns = numbers(stream, reduces->tasks, 100 * MS, 1000 * MS);
    reduces->n_parents = 1;
    reduces->parents = calloc(1, sizeof(*reduces->parents));
    reduces->parents[0].pipelined = kind.pipelined && id % 3 == 0;
    reduces->parents[0].sums = numbers(stream, reduces->tasks, UNIT / 2, 4 * UNIT);
    return job;
}

struct scene {
    struct workload_job jobs[JOBS];
    double jct_s[JOBS];
    struct run_config config;
    struct photo photo;
};

static void scene_draw(struct scene *scene, uint64_t *stream, const char *policy, struct kind kind)
{
    *scene = (struct scene){.config = config_of(policy, HOSTS, SLOTS, 8 * UNIT)};
    for (uint64_t i = 0; i < JOBS; i++)
        scene->jobs[i] = draw_job(stream, i + 1, kind);
    scene->config.all_told = true;
    scene->config.passes = time_passes;
    scene->config.passer = &scene->photo;
}

static void scene_run(struct scene *scene, int64_t at_ns)
{
    free(scene->photo.text);
    scene->photo = (struct photo){.at_ns = at_ns};
    simulate(&scene->config, scene->jobs, JOBS, scene->jct_s);
}

static double ended_s(const struct scene *scene, size_t i)
{
    return (double)scene->jobs[i].arrival_ns * 1e-9 + scene->jct_s[i];
}

static void scene_done(struct scene *scene)
{
    for (size_t i = 0; i < JOBS; i++)
        workload_job_done(&scene->jobs[i]);
    free(scene->photo.text);
}

/* How far the jobs' ends are from those of the run that went on: the most, and means. */
struct distance {
    double most_s, mean_s, left_s;
    double later_s; /* the mean with its sign */
    size_t n;
};

static void measure(const struct scene *scene, const struct answer *answer, struct distance *all)
{
    double at_s = (double)scene->photo.at_ns * 1e-9;
    for (size_t i = 0; i < JOBS; i++) {
        double end_s = ended_s(scene, i), again_s = at_s + left_s(answer, scene->jobs[i].id);
        bool ended = end_s <= at_s + 1e-9;
        if (ended != (bool)isnan(again_s))
            fail_msg("job %zu ends at %.9f s and again at %.9f s, from %.9f s on", i, end_s,
                     again_s, at_s);
        if (ended)
            continue;
        double off_s = fabs(again_s - end_s);
        all->most_s = fmax(all->most_s, off_s);
        all->mean_s = (all->mean_s * (double)all->n + off_s) / (double)(all->n + 1);
        all->later_s = (all->later_s * (double)all->n + again_s - end_s) / (double)(all->n + 1);
        all->left_s = (all->left_s * (double)all->n + end_s - at_s) / (double)(all->n + 1);
        all->n++;
    }
}

/* Where nothing is received the state has all: each job ends in the same nanosecond. */
static void test_computing_goes_on_to_the_nanosecond(void **state)
{
    uint64_t stream = test_seed();
    (void)state;
    for (int64_t at_ms = 1000; at_ms <= 4000; at_ms += 700) {
        struct scene scene;
        struct distance off = {0};
        scene_draw(&scene, &stream, "fair", (struct kind){0});
        scene_run(&scene, at_ms * MS);
        struct answer answer = ask(&scene.photo, &nothing);
        measure(&scene, &answer, &off);
        if (off.most_s > 2e-9)
            fail_msg("a job ends %.9f s away from its end", off.most_s);
        assert_true(off.n > 0);
        answer_done(&answer);
        scene_done(&scene);
    }
}

static const char *const policies[] = {"duopoly", "joint", "fair", "aalo", "neat"};
enum { POLICIES = sizeof(policies) / sizeof(*policies) };

/* Just after a report, with one source a transfer, the state has all, too: up to whole bytes. The
 * first report is that of the first arrival. */
static void test_transfers_go_on_to_the_byte(void **state)
{
    uint64_t stream = test_seed();
    (void)state;
    for (size_t i = 0; i < 10 * POLICIES; i++) {
        struct scene scene;
        struct distance off = {0};
        scene_draw(&scene, &stream, policies[i % POLICIES], (struct kind){true, true, false});
        scene_run(&scene, 70 * MS + (9 + (int64_t)(test_random(&stream) % 10)) * 100 * MS + 1);
        struct answer answer = ask(&scene.photo, &nothing);
        measure(&scene, &answer, &off);
        if (off.most_s > 1e-4)
            fail_msg("%s: a job ends %.9f s away from its end", policies[i % POLICIES], off.most_s);
        answer_done(&answer);
        scene_done(&scene);
    }
}

static struct distance distance_under(const char *policy, bool pipelined, unsigned rounds)
{
    uint64_t stream = test_seed();
    struct distance off = {0};
    for (unsigned i = 0; i < rounds; i++) {
        struct scene scene;
        scene_draw(&scene, &stream, policy, (struct kind){true, false, pipelined});
        scene_run(&scene, (1000 + (int64_t)(test_random(&stream) % 6000)) * MS);
        struct answer answer = ask(&scene.photo, &nothing);
        measure(&scene, &answer, &off);
        answer_done(&answer);
        scene_done(&scene);
    }
    return off;
}

static void say(const char *what, const struct distance *off)
{
    fprintf(stderr,
            "# %s: %zu jobs end %+.2f %% of what is left later, %.2f %% away, one %.1f s away\n",
            what, off->n, 100 * off->later_s / off->left_s, 100 * off->mean_s / off->left_s,
            off->most_s);
}

/* Reports of received bytes are up to 0.1 s old, and only their sum over a task's sources is known.
 * WHY so wide: a transfer that ends a moment later gives its slot to another task. */
static void test_transfers_go_on_nearly(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * POLICIES; i++) {
        const char *policy = policies[i / 2];
        struct distance off = distance_under(policy, i % 2, 30);
        say(policy, &off);
        if (off.mean_s > 0.15 * off.left_s || fabs(off.later_s) > 0.05 * off.left_s)
            fail_msg("%s: ends are off by %.3f s of %.3f s", policy, off.mean_s, off.left_s);
    }
}

/* Each task that was not done ends once, none that was done runs again. */
struct ends {
    unsigned done[JOBS + 1][STAGES][TASKS_MAX];
    unsigned n;
};

static void take_end(void *context, const struct run_news *news)
{
    struct ends *ends = context;
    if (news->moment != RUN_DONE)
        return;
    ends->done[news->job][news->stage][news->task]++;
    ends->n++;
}

static unsigned count_open(const struct engine *engine, const struct present_jobs *present,
                           const struct ends *ends)
{
    struct task_view task;
    unsigned open = 0;
    for (size_t i = 0; i < present->n; i++)
        for (uint32_t s = 0; s < present->jobs[i].n_stages; s++)
            for (uint32_t t = 0; t < present->jobs[i].stages[s].tasks; t++) {
                uint64_t job = present->jobs[i].id;
                assert_int_equal(engine_task(engine, job, s, t, &task), 0);
                unsigned due = task.state != TASK_DONE;
                if (ends)
                    assert_int_equal(ends->done[job][s][t], due);
                open += due;
            }
    return open;
}

static void test_each_task_ends_once(void **state)
{
    uint64_t stream = test_seed();
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct scene scene;
        struct ends ends = {0};
        struct err err = {0};
        struct present_jobs present;
        scene_draw(&scene, &stream, policies[round % POLICIES], (struct kind){true, false, true});
        scene_run(&scene, (1000 + (int64_t)(test_random(&stream) % 6000)) * MS);
        struct state before = state_of(&scene.photo), runs = state_of(&scene.photo);
        assert_int_equal(present_jobs_make(&before, &present, &err), 0);
        double jct_s[JOBS];
        enum run_end run_ends[JOBS];
        struct run_assumed assumed;
        struct run_resume resume = {.engine = runs.engine,
                                    .at_ns = runs.at_ns,
                                    .received = runs.received,
                                    .n_received = runs.n_received,
                                    .n_jobs = present.n,
                                    .ends = run_ends,
                                    .assumed = &assumed};
        struct run_config config = config_of("duopoly", HOSTS, SLOTS, 8 * UNIT);
        config.engine = *engine_configuration(runs.engine);
        config.resume = &resume;
        config.watch = take_end;
        config.watcher = &ends;
        struct run_result result = {.jct_s = jct_s};
        if (run_simulate(&config, present.jobs, present.n, &result, &err))
            fail_msg("%s", err.text);
        assert_int_equal(count_open(before.engine, &present, &ends), ends.n);
        present_jobs_done(&present);
        state_done(&before);
        state_done(&runs);
        scene_done(&scene);
    }
}

/* A host that goes down in the state is one that went down at that time in the run. */
static void test_a_host_goes_down(void **state)
{
    uint64_t stream = test_seed();
    struct distance off = {0};
    unsigned moved = 0;
    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        struct scene scene;
        struct whatif_change change = nothing;
        int64_t at_ns = (1000 + (int64_t)(test_random(&stream) % 3000)) * MS;
        change.host = round % HOSTS;
        scene_draw(&scene, &stream, "duopoly", (struct kind){.shuffles = true});
        scene_run(&scene, at_ns);
        struct answer as_it_is = ask(&scene.photo, &nothing), answer = ask(&scene.photo, &change);
        /* WHY a ns later: the state is of before the failure. */
        scene.config.faults.n_listed = 1;
        scene.config.faults.listed[0] = (struct fault){change.host, at_ns + 1, INT64_MAX};
        scene_run(&scene, at_ns);
        measure(&scene, &answer, &off);
        for (size_t i = 0; i < answer.present.n; i++)
            moved += answer.side.left_s[i] != as_it_is.side.left_s[i];
        assert_int_equal(answer.side.result.host_failures, 1);
        answer_done(&as_it_is);
        answer_done(&answer);
        scene_done(&scene);
    }
    say("a host goes down", &off);
    assert_true(moved > 20);
    assert_true(off.mean_s <= 0.15 * off.left_s && fabs(off.later_s) <= 0.05 * off.left_s);
}

/* The same policy, named, is no change; a run is the same each time. */
static void test_no_change_is_none(void **state)
{
    uint64_t stream = test_seed();
    struct scene scene;
    struct whatif_change change = nothing;
    struct whatif_difference differences[1];
    struct err err = {0};
    (void)state;
    scene_draw(&scene, &stream, "duopoly", (struct kind){true, false, true});
    scene_run(&scene, 2500 * MS);
    struct state read = state_of(&scene.photo);
    assert_int_equal(whatif_read_policies(read.engine, "duopoly", &change, &err), 0);
    state_done(&read);
    struct answer one = ask(&scene.photo, &nothing), other = ask(&scene.photo, &change);
    assert_int_equal(whatif_compare(&one.side, &other.side, differences, 1), 0);
    for (size_t i = 0; i < one.present.n; i++)
        assert_true(one.side.left_s[i] == other.side.left_s[i]);
    answer_done(&one);
    answer_done(&other);
    whatif_change_done(&change);
    scene_done(&scene);
}

static void test_jobs_of_frameworks_are_left_out(void **state)
{
    uint64_t stream = test_seed();
    struct scene scene;
    (void)state;
    scene_draw(&scene, &stream, "duopoly", (struct kind){.shuffles = true});
    scene.config.framework = manners_find("prompt");
    scene.config.engine.framework_jobs_max = 1000;
    scene_run(&scene, 2000 * MS);
    struct answer answer = ask(&scene.photo, &nothing);
    assert_int_equal(answer.present.n, 0);
    struct state read = state_of(&scene.photo);
    struct err err = {0};
    double jct_s[1];
    enum run_end ends[1];
    struct run_assumed assumed;
    struct workload_job job = job_of("{\"id\":900,\"stages\":[{\"tasks\":1,\"compute_ms\":1000}]}");
    struct run_resume resume = {
        .engine = read.engine, .at_ns = read.at_ns, .ends = ends, .assumed = &assumed};
    struct run_config config = {.engine = *engine_configuration(read.engine),
                                .hosts = HOSTS,
                                .slots = 1,
                                .link_bps = 8 * UNIT,
                                .local_free = true,
                                .resume = &resume};
    struct run_result result = {.jct_s = jct_s};
    if (run_simulate(&config, &job, 1, &result, &err))
        fail_msg("%s", err.text);
    assert_true(assumed.jobs_left_out > 0);
    assert_true(assumed.left_out > 0);
    assert_true(fabs(jct_s[0] - 1) < 1e-6);
    workload_job_done(&job);
    state_done(&read);
    answer_done(&answer);
    scene_done(&scene);
}

/* The newline before the first step that is later; NULL: there is none. */
static char *first_step_after(const struct photo *recorded, int64_t at_ns)
{
    int64_t step_ns;
    char *step = recorded->text;
    while ((step = strstr(step + 1, "\nstep "))) {
        assert_int_equal(sscanf(step, " step %" SCNd64, &step_ns), 1);
        if (step_ns > at_ns)
            return step;
    }
    return NULL;
}

static size_t dump_size(const struct photo *photo)
{
    const char *end = strstr(photo->text, "\nbegin ");
    assert_non_null(end);
    return (size_t)(end - photo->text);
}

/* What is written again of what was read is the same; only when attempts had all their input is not
 * the engine's any more. */
static size_t expect_read(const struct photo *photo)
{
    struct state read = state_of(photo);
    struct photo again = {0};
    size_t lines = 0;
    assert_true(read.at_ns == photo->at_ns);
    photo_take(&again, read.engine, read.at_ns);
    assert_int_equal(dump_size(&again), dump_size(photo));
    assert_memory_equal(again.text, photo->text, dump_size(photo));
    for (const char *at = photo->text; (at = strstr(at, "\nreceived ")); at++, lines++) {
        uint64_t attempt;
        int64_t at_ns;
        assert_int_equal(sscanf(at, " received %" SCNu64 " %" SCNd64, &attempt, &at_ns), 2);
        assert_true(lines < read.n_received);
        assert_true(read.received[lines].attempt == attempt);
        assert_true(read.received[lines].at_ns == at_ns);
    }
    assert_int_equal(lines, read.n_received);
    free(again.text);
    state_done(&read);
    return lines;
}

/* The recorded steps after it are decided the same from it on; how many they are. */
static uint64_t expect_replayed(const struct photo *photo, const struct photo *recorded)
{
    struct recording_replay_result result;
    struct err err = {0};
    struct photo joined = {0};
    const char *step = first_step_after(recorded, photo->at_ns);
    if (!step)
        return 0;
    FILE *file = open_memstream(&joined.text, &joined.size);
    fwrite(photo->text, 1, dump_size(photo), file);
    fprintf(file, "\nbegin 0%s", step);
    fclose(file);
    file = fmemopen(joined.text, joined.size, "r");
    if (recording_replay(file, NULL, &result, &err) || result.first_difference_line)
        fail_msg("%s%s / %s", err.text, result.recorded, result.decided);
    fclose(file);
    free(joined.text);
    return result.steps;
}

static void test_a_state_goes_on_as_recorded(void **state)
{
    uint64_t stream = test_seed(), steps = 0;
    size_t received = 0;
    (void)state;
    for (size_t i = 0; i < 6 * POLICIES; i++) {
        struct scene scene;
        struct photo recorded = {0};
        scene_draw(&scene, &stream, policies[i % POLICIES], (struct kind){true, false, i % 2});
        scene.config.recording = open_memstream(&recorded.text, &recorded.size);
        scene_run(&scene, (500 + (int64_t)(test_random(&stream) % 5000)) * MS);
        fclose(scene.config.recording);
        assert_non_null(scene.photo.text);
        received += expect_read(&scene.photo);
        steps += expect_replayed(&scene.photo, &recorded);
        free(recorded.text);
        scene_done(&scene);
    }
    fprintf(stderr, "# %zu attempts with all their input; %" PRIu64 " steps decided again\n",
            received, steps);
    assert_true(received > 0 && steps > 100);
}

/* A recording that its writer left in the middle says the same as a state. */
static void test_a_recording_is_replayed(void **state)
{
    uint64_t stream = test_seed();
    (void)state;
    struct distance off = {0};
    for (int round = 0; round < 10; round++) {
        struct scene scene;
        struct photo recorded = {0};
        scene_draw(&scene, &stream, "duopoly", (struct kind){.shuffles = true});
        scene.config.recording = open_memstream(&recorded.text, &recorded.size);
        scene_run(&scene, 3000 * MS);
        fclose(scene.config.recording);
        /* The first step after that time, and a half line. */
        const char *step = first_step_after(&recorded, scene.photo.at_ns);
        assert_non_null(step);
        recorded.size = (size_t)(step - recorded.text) + 4;
        struct state read = state_of(&recorded);
        scene.photo.at_ns = read.at_ns;
        assert_true(read.at_ns <= 3000 * MS && read.at_ns >= 1000 * MS);
        state_done(&read);
        struct answer answer = ask(&recorded, &nothing);
        measure(&scene, &answer, &off);
        answer_done(&answer);
        free(recorded.text);
        scene_done(&scene);
    }
    say("a recording", &off);
    assert_true(off.mean_s <= 0.15 * off.left_s && fabs(off.later_s) <= 0.05 * off.left_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_computing_goes_on_to_the_nanosecond),
        cmocka_unit_test(test_transfers_go_on_to_the_byte),
        cmocka_unit_test(test_transfers_go_on_nearly),
        cmocka_unit_test(test_each_task_ends_once),
        cmocka_unit_test(test_a_host_goes_down),
        cmocka_unit_test(test_no_change_is_none),
        cmocka_unit_test(test_jobs_of_frameworks_are_left_out),
        cmocka_unit_test(test_a_recording_is_replayed),
        cmocka_unit_test(test_a_state_goes_on_as_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
