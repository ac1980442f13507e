/* Nobody starves under srpt: no job is behind one that was submitted over AGEING times its key
 * later, over random workloads; and a large job ends although small ones keep all slots busy for
 * ever. */
#include "tests/model/script.h"
#include "tests/unit/draws.h"

enum { AGEING = 100, JOBS = 8, MEGABYTE = 1000000 };

enum { WORKLOADS = DRAWS(100000, 2000) };

static struct engine_config config_of(void)
{
    struct engine_config config = script_config();
    config.hosts_max = 4;
    strcpy(config.turn, "srpt");
    strcpy(config.place, "joint");
    strcpy(config.network, "rank");
    return config;
}

/* What a job had to do when it was submitted. */
struct submitted {
    int64_t at_ns;
    uint64_t key_ns;
};

/* In order of turn, from the last to the first: whoever is before a job was not submitted over
 * AGEING times its first key later. */
static void check_turns(const struct script *s, const struct submitted *jobs)
{
    struct job_view view;
    uint64_t order[JOBS], n = 0;
    for (uint64_t at = 0; engine_job_in_turn(s->engine, at, &view) == 0; at = view.job)
        order[n++] = view.job;
    for (uint64_t behind = 0; behind < n; behind++)
        for (uint64_t before = 0; before < behind; before++) {
            const struct submitted *own = &jobs[order[behind] - 1],
                                   *other = &jobs[order[before] - 1];
            int64_t most = own->at_ns + (int64_t)(AGEING * (own->key_ns + 1));
            if (other->at_ns > most)
                fail_msg(
                    "job %llu, submitted at %lld with %llu ns to do, is behind job %llu of %lld",
                    (unsigned long long)order[behind], (long long)own->at_ns,
                    (unsigned long long)own->key_ns, (unsigned long long)order[before],
                    (long long)other->at_ns);
        }
}

/* Some attempt ends, or has its input. */
static void news(struct script *s, uint64_t *stream)
{
    struct attempt_view view;
    uint64_t after = 0;
    for (uint64_t i = test_random(stream) % 4; i-- > 0;)
        after = engine_attempt_after(s->engine, after, &view) == 0 ? view.attempt : 0;
    if (engine_attempt_after(s->engine, after, &view) == 0)
        script_attempt(s, test_random(stream) % 2 ? EVENT_ATTEMPT_DONE : EVENT_ATTEMPT_RECEIVED,
                       view.attempt, 0);
}

static void random_workload(uint64_t *stream)
{
    struct script s;
    struct submitted jobs[JOBS];
    struct engine_config config = config_of();
    script_begin(&s, &config);
    script_host(&s, 0, 1 + test_random(stream) % 3);
    script_host(&s, 1, 1 + test_random(stream) % 3);
    for (uint64_t number = 1; number <= JOBS; number++) {
        uint64_t size = UINT64_C(1) << test_random(stream) % 12;
        uint64_t sums[2] = {size * MEGABYTE, test_random(stream) % size * MEGABYTE};
        struct script_job job = {.number = number,
                                 .maps = 1 + (uint32_t)(test_random(stream) % 3),
                                 .reduces = (uint32_t)(test_random(stream) % 3),
                                 .map_ns = size * SECOND / 100,
                                 .sums = sums,
                                 .estimate_bytes = -1};
        script_submit(&s, &job);
        struct job_view view;
        assert_int_equal(engine_job(s.engine, number, &view), 0);
        jobs[number - 1] = (struct submitted){s.now_ns, view.key - (uint64_t)s.now_ns / AGEING};
        check_turns(&s, jobs);
        for (uint64_t i = test_random(stream) % 3; i-- > 0;)
            news(&s, stream);
        check_turns(&s, jobs);
        s.now_ns += (int64_t)(SECOND << test_random(stream) % 12) / 4;
    }
    script_end(&s);
}

static void test_over_random_workloads(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int i = 0; i < WORKLOADS; i++)
        random_workload(&stream);
}

/* One host, one slot; each second a job of a second comes, beside one of a minute. */
static void test_a_large_job_ends_beside_endless_small_ones(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = config_of();
    script_begin(&s, &config);
    script_host(&s, 0, 1);
    uint64_t number = 2;
    script_submit(&s, &(struct script_job){.number = 2, .maps = 1, .map_ns = SECOND});
    script_submit(&s, &(struct script_job){.number = 1, .maps = 1, .map_ns = 60 * SECOND});
    struct attempt_view running;
    for (;;) {
        assert_int_equal(engine_attempt_after(s.engine, 0, &running), 0);
        if (running.job == 1)
            break;
        s.now_ns += SECOND;
        assert_true(s.now_ns < 2 * AGEING * 60 * SECOND);
        script_submit(&s, &(struct script_job){.number = ++number, .maps = 1, .map_ns = SECOND});
        script_attempt(&s, EVENT_ATTEMPT_DONE, running.attempt, 0);
    }
    assert_true(s.now_ns > 60 * SECOND);
    assert_true(s.now_ns <= AGEING * 60 * SECOND + SECOND);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_over_random_workloads),
        cmocka_unit_test(test_a_large_job_ends_beside_endless_small_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
