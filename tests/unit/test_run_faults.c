/* Delays, failing hosts, slow attempts and their copies under virtual time: cases by hand, and
 * properties of any run that has all of them. */
#include "tests/unit/run_cases.h"

#include "testbed/sim/cluster/recording_replay.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NEWS_MAX = 1 << 16 };

struct diary {
    struct run_news news[NEWS_MAX];
    size_t n;
};
static struct diary diary;

static void write_diary(void *watcher, const struct run_news *news)
{
    struct diary *d = watcher;
    assert_true(d->n < NEWS_MAX);
    d->news[d->n++] = *news;
}

static struct run_result run_watched(struct run_config *config, const struct workload_job *jobs,
                                     size_t n, double *jct_s)
{
    diary.n = 0;
    config->watch = write_diary;
    config->watcher = &diary;
    return simulate(config, jobs, n, jct_s);
}

static size_t count(enum run_moment moment)
{
    size_t n = 0;
    for (size_t i = 0; i < diary.n; i++)
        n += diary.news[i].moment == moment;
    return n;
}

/* The i-th news of a kind. */
static const struct run_news *find(enum run_moment moment, size_t i)
{
    for (size_t at = 0; at < diary.n; at++)
        if (diary.news[at].moment == moment && i-- == 0)
            return &diary.news[at];
    fail_msg("too few");
    return NULL;
}

static void expect_s(double got_s, double want_s)
{
    if (fabs(got_s - want_s) > 1e-6)
        fail_msg("%.9f s, not %.9f", got_s, want_s);
}

/* Two maps of 1 s, one after the other: order .5 late, report .25 late. 0.5 to 1.5, known at 1.75,
 * next begins at 2.25. The job ends with its task, at 3.25. */
static void test_delays_add_up(void **state)
{
    (void)state;
    double jct_s[1];
    struct workload_job job = job_of("{\"id\":1,\"stages\":[{\"tasks\":2,\"compute_ms\":1000}]}");
    struct run_config config = config_of("duopoly", 1, 1, 8 * UNIT);
    config.report_delay_ns = 250000000;
    config.decision_delay_ns = 500000000;
    struct run_result result = run_watched(&config, &job, 1, jct_s);
    expect_s(jct_s[0], 3.25);
    expect_s(result.makespan_s, 3.25);
    expect_s((double)find(RUN_STARTED, 0)->now_ns * 1e-9, .5);
    expect_s((double)find(RUN_STARTED, 1)->now_ns * 1e-9, 2.25);
    workload_job_done(&job);
}

static struct run_config failing(uint32_t hosts, uint32_t host, double down_s, double up_s)
{
    struct run_config config = config_of("fair", hosts, 1, 8 * UNIT);
    config.faults.n_listed = 1;
    config.faults.listed[0] =
        (struct fault){host, (int64_t)(down_s * 1e9), up_s > 0 ? (int64_t)(up_s * 1e9) : INT64_MAX};
    return config;
}

/* Two maps of 10 s on two hosts; the second host fails at 4. Back at 6 it begins anew. Never back,
 * it is lost at 34, when the first host has been free for long. */
static void test_what_ran_on_a_failed_host_runs_again(void **state)
{
    (void)state;
    double jct_s[1];
    struct workload_job job = job_of("{\"id\":1,\"stages\":[{\"tasks\":2,\"compute_ms\":10000}]}");
    struct run_config config = failing(2, 1, 4, 6);
    struct run_result result = run_watched(&config, &job, 1, jct_s);
    expect_s(jct_s[0], 16);
    assert_int_equal(result.attempts, 3);
    assert_int_equal(result.lost_attempts, 1);
    assert_int_equal(result.host_failures, 1);
    assert_int_equal(count(RUN_HOST_UP), 1);
    config = failing(2, 1, 4, 0);
    run_watched(&config, &job, 1, jct_s);
    expect_s(jct_s[0], 44);
    assert_int_equal(find(RUN_STARTED, 2)->host, 0);
    workload_job_done(&job);
}

/* The only map fails with its host while the reduces hold all other slots: they give way at 32 (30
 * after the failure), it runs until 42. */
static void test_reduces_give_way_to_a_lost_map(void **state)
{
    (void)state;
    double jct_s[1];
    struct workload_job job = job_of(
        "{\"id\":1,\"stages\":[{\"tasks\":1,\"compute_ms\":10000},{\"tasks\":2,\"parents\":[{"
        "\"stage\":0,\"edge\":\"pipelined\",\"sums\":[1000000,1000000]}]}]}");
    struct run_config config = config_of("fair", 3, 1, 8 * UNIT);
    run_watched(&config, &job, 1, jct_s);
    config = failing(3, find(RUN_STARTED, 0)->host, 2, 0);
    struct run_result result = run_watched(&config, &job, 1, jct_s);
    assert_int_equal(result.lost_attempts, 1);
    assert_int_equal(count(RUN_STOPPED), 2);
    assert_true(jct_s[0] >= 42 && jct_s[0] <= 45);
    workload_job_done(&job);
}

/* A reduce reads half of 4·10⁶ bytes from the other host, which fails meanwhile: what it had
 * computed is lost with it, the map runs again, then the reduce. */
static void test_outputs_on_a_failed_host_are_made_again(void **state)
{
    (void)state;
    double jct_s[1];
    struct workload_job job =
        job_of("{\"id\":1,\"stages\":[{\"tasks\":2,\"compute_ms\":1000},"
               "{\"tasks\":1,\"parents\":[{\"stage\":0,\"sums\":[4000000]}]}]}");
    struct run_config config = config_of("fair", 2, 1, 8 * UNIT);
    run_watched(&config, &job, 1, jct_s);
    expect_s(jct_s[0], 3);
    uint32_t source = !find(RUN_STARTED, 2)->host;
    config = failing(2, source, 2, 0);
    struct run_result result = run_watched(&config, &job, 1, jct_s);
    /* Lost at 32; the map 32 to 33, then all is on one host. */
    expect_s(jct_s[0], 33);
    assert_int_equal(result.attempts, 5);
    assert_int_equal(result.lost_attempts, 0); /* the reduce was stopped */
    assert_int_equal(count(RUN_STOPPED), 1);
    workload_job_done(&job);
}

/* Three maps, their block on hosts 1 and 2, so one reads it for 4 s. When its source fails at 2 it
 * reads it again from the other, until 6. */
static void test_a_block_goes_on_at_another_replica(void **state)
{
    (void)state;
    double jct_s[1];
    struct workload_job job =
        job_of("{\"id\":1,\"stages\":[{\"tasks\":3,\"compute_ms\":10000,\"input_bytes\":4000000,"
               "\"replicas\":[[1,2],[1,2],[1,2]]}]}");
    double received_s = 0;
    for (uint32_t host = 1; host <= 2; host++) {
        struct run_config config = failing(3, host, 2, 0);
        run_watched(&config, &job, 1, jct_s);
        for (size_t i = 0; i < count(RUN_RECEIVED); i++)
            if (find(RUN_RECEIVED, i)->host == 0 && find(RUN_RECEIVED, i)->now_ns < 30000000000)
                received_s += (double)find(RUN_RECEIVED, i)->now_ns * 1e-9;
        expect_s(jct_s[0], 42);
    }
    expect_s(received_s, 4 + 6);
    workload_job_done(&job);
}

/* A start that its host never takes is lost after 10 s. Two maps of 1 s; the second job comes 1 s
 * after the host failed, before anybody noticed. */
static void test_a_start_on_a_silent_host_is_lost(void **state)
{
    (void)state;
    double jct_s[2];
    struct workload_job jobs[2] = {
        job_of("{\"id\":1,\"stages\":[{\"tasks\":1,\"compute_ms\":1000}]}"),
        job_of("{\"id\":2,\"arrival_ms\":5000,\"stages\":[{\"tasks\":2,\"compute_ms\":1000}]}")};
    struct run_config config = failing(2, 1, 4, 0);
    struct run_result result = run_watched(&config, jobs, 2, jct_s);
    assert_int_equal(result.lost_attempts, 1);
    expect_s(jct_s[1], 11);
    workload_job_done(&jobs[0]);
    workload_job_done(&jobs[1]);
}

/* A seed under which task 0 of job 1 is slow on one host of two only. */
static struct faults_config slow_on_one(double times, uint32_t slow)
{
    struct faults_config faults = {.slow_share = .5, .slow_times = times};
    while (!(faults_slowness(&faults, 1, 0, 0, slow) > 1 &&
             faults_slowness(&faults, 1, 0, 0, !slow) < 2))
        faults.seed++;
    return faults;
}

/* 2 s that take 20 here; after 3 s a copy begins there, and ends at 5. */
static void test_a_copy_overtakes_a_straggler(void **state)
{
    (void)state;
    double jct_s[1];
    struct workload_job job = job_of("{\"id\":1,\"stages\":[{\"tasks\":1,\"compute_ms\":2000}]}");
    struct run_config config = config_of("duopoly", 2, 1, 8 * UNIT);
    run_watched(&config, &job, 1, jct_s);
    expect_s(jct_s[0], 2);
    config.faults = slow_on_one(10, find(RUN_STARTED, 0)->host);
    run_watched(&config, &job, 1, jct_s);
    expect_s(jct_s[0], 20);
    config.copy_after = 1.5;
    struct run_result result = run_watched(&config, &job, 1, jct_s);
    expect_s(jct_s[0], 5);
    assert_int_equal(result.copies, 1);
    assert_int_equal(result.attempts, 2);
    assert_int_equal(count(RUN_DONE), 1);
    workload_job_done(&job);
}

/* A copy reads what the first attempt read: 10⁶ bytes of a block on the other host. */
static void test_a_copy_reads_its_block_too(void **state)
{
    (void)state;
    double jct_s[1];
    struct workload_job job =
        job_of("{\"id\":1,\"stages\":[{\"tasks\":1,\"compute_ms\":2000,\"input_bytes\":1000000,"
               "\"replicas\":[[1]]}]}");
    struct run_config config = config_of("fair", 2, 1, 8 * UNIT);
    config.faults = slow_on_one(10, 1);
    config.copy_after = 1.5;
    run_watched(&config, &job, 1, jct_s);
    expect_s(jct_s[0], 3 + 1 + 2);
    workload_job_done(&job);
}

/* The copy waits for a slot; here there is none until the first has ended. */
static void test_no_slot_no_copy(void **state)
{
    (void)state;
    double jct_s[1];
    struct workload_job job = job_of("{\"id\":1,\"stages\":[{\"tasks\":1,\"compute_ms\":2000}]}");
    struct run_config config = config_of("fair", 1, 2, 8 * UNIT);
    config.faults = (struct faults_config){.slow_share = 1, .slow_times = 3};
    config.copy_after = 1.5;
    struct run_result result = run_watched(&config, &job, 1, jct_s);
    expect_s(jct_s[0], 6);
    assert_int_equal(result.copies, 0); /* not on the same host */
    workload_job_done(&job);
}

enum { JOBS = 12, HOSTS_MAX = 8 };

static size_t random_jobs(struct workload_job *jobs, uint64_t *seed, uint32_t hosts, bool pipelined)
{
    size_t n = 1 + test_random(seed) % JOBS;
    uint64_t arrival_ms = 0;
    for (size_t i = 0; i < n; i++) {
        char line[2048];
        uint32_t maps = (uint32_t)(1 + test_random(seed) % 8);
        uint32_t reduces = (uint32_t)(1 + test_random(seed) % 6);
        arrival_ms += test_random(seed) % 3000;
        int at = sprintf(line,
                         "{\"id\":%zu,\"arrival_ms\":%u,\"stages\":[{\"tasks\":%u,\"compute_ms\":%"
                         "u,\"input_bytes\":%u,\"replicas\":[",
                         i + 1, (uint32_t)arrival_ms, maps, (uint32_t)(test_random(seed) % 800),
                         (uint32_t)(test_random(seed) % UNIT));
        for (uint32_t t = 0; t < maps; t++) {
            uint32_t first = (uint32_t)(test_random(seed) % hosts);
            at += sprintf(line + at, hosts > 1 ? "%s[%u,%u]" : "%s[%u]", t ? "," : "", first,
                          (first + 1) % hosts);
        }
        at += sprintf(line + at,
                      "]},{\"tasks\":%u,\"compute_ms\":%u,\"parents\":[{\"stage\":0,"
                      "\"edge\":\"%s\",\"sums\":[",
                      reduces, (uint32_t)(test_random(seed) % 800),
                      pipelined && test_random(seed) % 2 ? "pipelined" : "barrier");
        for (uint32_t t = 0; t < reduces; t++)
            at += sprintf(line + at, "%s%u", t ? "," : "",
                          (uint32_t)(1 + test_random(seed) % (2 * UNIT)));
        sprintf(line + at, "]}]}]}");
        jobs[i] = job_of(line);
    }
    return n;
}

static void random_trouble(struct run_config *config, uint64_t *seed, bool failures)
{
    if (test_random(seed) % 2) {
        config->report_delay_ns = (int64_t)(test_random(seed) % 300000000);
        config->decision_delay_ns = (int64_t)(test_random(seed) % 300000000);
    }
    config->faults.seed = test_random(seed);
    if (test_random(seed) % 2) {
        config->faults.slow_share = .2;
        config->faults.start_spread_ns = 5000000;
        config->faults.slow_times = 5;
    }
    config->copy_after = test_random(seed) % 2 ? 1.5 : 0;
    if (failures) {
        config->faults.mtbf_s = 40;
        config->faults.repair_s = 8;
    }
}

struct life {
    const struct run_news *started, *received, *ended;
};

static struct life life_of(uint64_t attempt)
{
    struct life life = {0};
    for (size_t i = 0; i < diary.n; i++) {
        const struct run_news *news = &diary.news[i];
        if (news->attempt != attempt)
            continue;
        const struct run_news **of = news->moment == RUN_STARTED    ? &life.started
                                     : news->moment == RUN_RECEIVED ? &life.received
                                                                    : &life.ended;
        assert_null(*of);
        *of = news;
    }
    return life;
}

/* No host ever runs more than it has slots, none while it is down; whatever began has ended or was
 * still there when the last job ended. */
static void check_slots(const struct run_config *config)
{
    int64_t used[HOSTS_MAX] = {0};
    bool down[HOSTS_MAX] = {0};
    for (size_t i = 0; i < diary.n; i++) {
        const struct run_news *news = &diary.news[i];
        assert_true(!i || news->now_ns >= diary.news[i - 1].now_ns);
        if (news->moment == RUN_HOST_DOWN || news->moment == RUN_HOST_UP)
            down[news->host] = news->moment == RUN_HOST_DOWN;
        if (news->moment == RUN_STARTED) {
            assert_false(down[news->host]);
            assert_true(++used[news->host] <= (int64_t)config->slots);
        }
        if (news->moment == RUN_DONE || news->moment == RUN_LOST ||
            (news->moment == RUN_STOPPED && life_of(news->attempt).started))
            assert_true(--used[news->host] >= 0);
    }
}

/* When it was done first, and how often later. */
static int64_t first_done_ns(uint64_t job, uint32_t stage, uint32_t task, unsigned *ret_later)
{
    int64_t first_ns = INT64_MAX;
    *ret_later = 0;
    for (size_t i = diary.n; i-- > 0;) {
        const struct run_news *news = &diary.news[i];
        if (news->moment != RUN_DONE || news->job != job || news->stage != stage ||
            news->task != task)
            continue;
        *ret_later += news->now_ns < first_ns && first_ns != INT64_MAX;
        first_ns = news->now_ns;
    }
    return first_ns;
}

/* A task computes as long as it should on its host, after all it reads; a reduce starts after its
 * maps and their reports, if its edge is a barrier. */
static void check_causality(const struct run_config *config, const struct workload_job *jobs)
{
    for (size_t i = 0; i < diary.n; i++) {
        const struct run_news *done = &diary.news[i];
        if (done->moment != RUN_DONE)
            continue;
        struct life life = life_of(done->attempt);
        const struct workload_stage *stage = &jobs[done->job - 1].stages[done->stage];
        assert_true(life.started && life.received && life.received->now_ns >= life.started->now_ns);
        double slowness =
            faults_slowness(&config->faults, done->job, done->stage, done->task, done->host);
        int64_t compute_ns =
            stage->compute_ns ? (int64_t)((double)stage->compute_ns[done->task] * slowness) : 0;
        compute_ns +=
            faults_lateness_ns(&config->faults, done->job, done->stage, done->task, done->host);
        bool pipelined = stage->n_parents && stage->parents[0].pipelined;
        assert_true(done->now_ns >= life.started->now_ns + compute_ns);
        if (!pipelined)
            assert_true(done->now_ns == life.received->now_ns + compute_ns);
        unsigned later;
        for (uint32_t m = 0; stage->n_parents && m < jobs[done->job - 1].stages[0].tasks; m++) {
            int64_t map_ns = first_done_ns(done->job, 0, m, &later);
            int64_t after_ns = pipelined ? life.received->now_ns : life.started->now_ns;
            assert_true(after_ns >= map_ns + config->report_delay_ns + config->decision_delay_ns);
        }
    }
}

/* Every task was done; where nothing is lost and a stop takes no time, never again at a later
 * instant. */
static void check_tasks(const struct run_config *config, const struct workload_job *jobs, size_t n,
                        const double *jct_s)
{
    bool once = !faults_hosts_fail(&config->faults) && !config->decision_delay_ns &&
                !config->report_delay_ns;
    for (size_t i = 0; i < n; i++) {
        int64_t last_ns = 0;
        for (uint32_t s = 0; s < jobs[i].n_stages; s++)
            for (uint32_t t = 0; t < jobs[i].stages[s].tasks; t++) {
                unsigned later;
                int64_t done_ns = first_done_ns(jobs[i].id, s, t, &later);
                assert_true(done_ns != INT64_MAX && (!once || !later));
                last_ns = done_ns > last_ns ? done_ns : last_ns;
            }
        assert_true(jct_s[i] >= (double)(last_ns - (int64_t)jobs[i].arrival_ns) * 1e-9 - 1e-9);
    }
}

static void check_recording(FILE *recording)
{
    struct err err = {0};
    struct recording_replay_result again;
    rewind(recording);
    if (recording_replay(recording, NULL, &again, &err))
        fail_msg("%s", err.text);
    assert_int_equal(again.first_difference_line, 0);
}

static void check_run(struct run_config *config, const struct workload_job *jobs, size_t n)
{
    double first_s[JOBS], second_s[JOBS];
    config->recording = tmpfile();
    assert_non_null(config->recording);
    struct run_result result = run_watched(config, jobs, n, first_s);
    check_recording(config->recording);
    fclose(config->recording);
    config->recording = NULL;
    check_slots(config);
    check_causality(config, jobs);
    check_tasks(config, jobs, n, first_s);
    assert_int_equal(count(RUN_STARTED), result.attempts);
    assert_int_equal(count(RUN_HOST_DOWN), result.host_failures);
    assert_true(result.link_use >= 0 && result.link_use <= 1 + 1e-6);
    /* Work conservation: those that never hold leave no slot free that somebody could use. */
    if (strcmp(config->engine.place, "greedy") == 0)
        assert_true(result.held_slot_s < 1e-9);
    /* The result is the same although without a log some reports are left out. */
    run_watched(config, jobs, n, second_s);
    assert_memory_equal(first_s, second_s, n * sizeof(*first_s));
}

static void check_rounds(bool failures, bool pipelined)
{
    uint64_t seed = test_seed();
    for (int round = 0; round < 12; round++)
        for (const struct preset *p = presets; p->name; p++) {
            struct workload_job jobs[JOBS];
            uint32_t hosts = (uint32_t)(1 + test_random(&seed) % HOSTS_MAX);
            size_t n = random_jobs(jobs, &seed, hosts, pipelined);
            struct run_config config =
                config_of(p->name, hosts, (uint32_t)(1 + test_random(&seed) % 3), 8 * UNIT);
            random_trouble(&config, &seed, failures);
            check_run(&config, jobs, n);
            for (size_t i = 0; i < n; i++)
                workload_job_done(&jobs[i]);
        }
}

static void test_delays_and_copies_keep_the_laws(void **state)
{
    (void)state;
    check_rounds(false, true);
}

static void test_failures_keep_the_laws(void **state)
{
    (void)state;
    check_rounds(true, true);
}

/* With a log all reports are sent, without one only those that may matter: check_run compares. */
static void test_reports_that_are_left_out_change_nothing(void **state)
{
    (void)state;
    static const char *const mixes[][2] = {{"greedy", "dclas"}, {"neat", "scf"},
                                           {"nats", "dclas"},   {"neat-fair", "none"},
                                           {"delay", "scf"},    {"neat", "dclas"}};
    uint64_t seed = test_seed();
    for (int round = 0; round < 60; round++) {
        struct workload_job jobs[JOBS];
        uint32_t hosts = (uint32_t)(1 + test_random(&seed) % HOSTS_MAX);
        size_t n = random_jobs(jobs, &seed, hosts, false);
        struct run_config config =
            config_of("aalo", hosts, (uint32_t)(1 + test_random(&seed) % 3), 8 * UNIT);
        strcpy(config.engine.place, mixes[round % 6][0]);
        strcpy(config.engine.network, mixes[round % 6][1]);
        level_table_exponential(&config.engine.dclas, UNIT / 8, 2, 8);
        level_table_exponential(&config.engine.coflow, UNIT / 8, 2, 8);
        check_run(&config, jobs, n);
        for (size_t i = 0; i < n; i++)
            workload_job_done(&jobs[i]);
    }
}

static void test_reads_failures_and_stragglers(void **state)
{
    (void)state;
    struct err err = {0};
    struct faults_config c = {0};
    assert_false(faults_hosts_fail(&c));
    assert_int_equal(faults_read_failures(&c, "3@10.5+60,7@20", &err), 0);
    assert_int_equal(c.n_listed, 2);
    assert_int_equal(c.listed[0].host, 3);
    assert_int_equal(c.listed[0].up_ns - c.listed[0].down_ns, 60000000000);
    assert_true(c.listed[1].up_ns == INT64_MAX);
    assert_int_equal(faults_read_failures(&c, "3600/60", &err), 0);
    assert_true(faults_hosts_fail(&c) && !c.n_listed && c.mtbf_s > 3599);
    static const char *const wrong[] = {"",     "3",   "3@",  "3@1,",   "3@1+",  "x@1",
                                        "-1@1", "0/1", "1/x", "3@1+1x", "1/2/3", "nan/1"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct faults_config before = c;
        assert_int_equal(faults_read_failures(&c, wrong[i], &err), -EINVAL);
        assert_memory_equal(&before, &c, sizeof(c));
    }
    assert_int_equal(faults_read_stragglers(&c, "0.05/8", &err), 0);
    assert_int_equal(faults_read_stragglers(&c, "2/8", &err), -EINVAL);
    assert_int_equal(faults_read_stragglers(&c, "0.1/0.5", &err), -EINVAL);
    assert_int_equal(faults_read_stragglers(&c, "0.1", &err), -EINVAL);
}

/* The means are those that were asked for, to a few standard errors; hosts go down and up in turn;
 * the share of slow attempts is as asked. */
static void test_draws_have_their_means(void **state)
{
    (void)state;
    enum { CHANGES = 20000, HOSTS = 4 };
    struct faults_config c = {
        .seed = test_seed(), .mtbf_s = 100, .repair_s = 10, .slow_share = .1, .slow_times = 3};
    struct faults f;
    struct fault_change change;
    bool down[HOSTS] = {0};
    size_t slow = 0;
    assert_int_equal(faults_init(&f, &c, HOSTS, NULL), 0);
    int64_t now_ns = 0;
    for (int i = 0; i < CHANGES; i++) {
        assert_true(faults_next_ns(&f) >= now_ns);
        now_ns = faults_next_ns(&f);
        assert_int_equal(faults_take(&f, now_ns, &change), 1);
        assert_true(down[change.host] != change.down);
        down[change.host] = change.down;
        slow += faults_slowness(&c, 7, 1, (uint32_t)i, change.host) > 1;
    }
    double cycles = CHANGES / 2., per_cycle_s = (double)now_ns * 1e-9 * HOSTS / cycles;
    assert_true(fabs(per_cycle_s - 110) < 6 * 100 / sqrt(cycles));
    assert_true(fabs((double)slow / CHANGES - .1) < .02);
    faults_done(&f);
}

static void test_refuses_a_host_that_there_is_not(void **state)
{
    (void)state;
    struct err err = {0};
    double jct_s[1];
    struct run_result result = {.jct_s = jct_s};
    struct workload_job job = job_of("{\"id\":1,\"stages\":[{\"tasks\":1}]}");
    struct run_config config = failing(2, 2, 1, 0);
    assert_int_equal(run_simulate(&config, &job, 1, &result, &err), -EINVAL);
    assert_string_equal(err.text, "host 2 is to fail, but there are 2, counted from 0");
    /* All are down for ever: said, not waited for. */
    config = failing(1, 0, 0, 0);
    assert_int_equal(run_simulate(&config, &job, 1, &result, &err), -EINVAL);
    assert_string_equal(err.text, "1 of 1 jobs never end: nothing runs and nothing is decided");
    workload_job_done(&job);
}

/* A task of 100 s on hosts that fail every second: it would be tried for the rest of time. */
static void test_gives_up_where_hosts_only_fail(void **state)
{
    (void)state;
    struct err err = {0};
    double jct_s[1];
    struct run_result result = {.jct_s = jct_s};
    struct workload_job job = job_of("{\"id\":1,\"stages\":[{\"tasks\":1,\"compute_ms\":100000}]}");
    struct run_config config = config_of("fair", 2, 1, 8 * UNIT);
    config.faults.mtbf_s = config.faults.repair_s = 1;
    assert_int_equal(run_simulate(&config, &job, 1, &result, &err), -EINVAL);
    assert_non_null(strstr(err.text, "1 of 1 jobs do not end: after "));
    assert_non_null(strstr(err.text, "hosts have failed 1000 times each"));
    workload_job_done(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delays_add_up),
        cmocka_unit_test(test_what_ran_on_a_failed_host_runs_again),
        cmocka_unit_test(test_reduces_give_way_to_a_lost_map),
        cmocka_unit_test(test_outputs_on_a_failed_host_are_made_again),
        cmocka_unit_test(test_a_block_goes_on_at_another_replica),
        cmocka_unit_test(test_a_start_on_a_silent_host_is_lost),
        cmocka_unit_test(test_a_copy_overtakes_a_straggler),
        cmocka_unit_test(test_a_copy_reads_its_block_too),
        cmocka_unit_test(test_no_slot_no_copy),
        cmocka_unit_test(test_delays_and_copies_keep_the_laws),
        cmocka_unit_test(test_failures_keep_the_laws),
        cmocka_unit_test(test_reports_that_are_left_out_change_nothing),
        cmocka_unit_test(test_reads_failures_and_stragglers),
        cmocka_unit_test(test_draws_have_their_means),
        cmocka_unit_test(test_refuses_a_host_that_there_is_not),
        cmocka_unit_test(test_gives_up_where_hosts_only_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
