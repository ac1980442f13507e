/* The baselines of make bench-flow: place filter-spread and filter-score,
 * turn by-priority. */
#include "tests/model/script.h"

static void begin(struct script *s, const char *place, const char *turn)
{
    struct engine_config config = script_config();
    strcpy(config.place, place);
    strcpy(config.turn, turn);
    script_begin(s, &config);
}

static void join(struct script *s, uint32_t host, uint64_t slots, const char *labels)
{
    uint64_t vector[ENGINE_RESOURCES] = {slots};
    struct event event = script_join(host, slots, vector);
    event.host_join.labels = labels;
    script_event(s, event);
}

/* A job of one stage without blocks; `wish` NULL: none. */
static void submit(struct script *s, uint64_t job, uint32_t tasks, const char *wish)
{
    uint32_t utility = 1;
    struct event stage = script_stage_event(job, 0, tasks, NULL, NULL);
    if (wish) {
        stage.job_stage.wishes = wish;
        stage.job_stage.utilities = (struct u32s){&utility, 1};
    }
    script_job_begin(s, job);
    script_event(s, stage);
    script_tasks(s, job, 0, tasks, 0, 0, NULL);
    script_job_end(s, job);
}

static uint32_t host_of(const struct script *s, uint64_t job, uint32_t task)
{
    const struct decision *start = script_start(s, job, 0, task);
    assert_non_null(start);
    return start->start.host;
}

/* The host with the fewest tasks, wherever a block is. */
static void spread_ignores_blocks(void **state)
{
    (void)state;
    static const uint32_t blocks[] = {0, 0};
    struct script s;
    begin(&s, "filter-spread", "fifo");
    join(&s, 0, 4, "");
    join(&s, 1, 4, "");
    script_submit(&s, &(struct script_job){.number = 1,
                                           .maps = 2,
                                           .per = 1,
                                           .replicas = blocks,
                                           .map_input = 1000000,
                                           .map_ns = SECOND});
    assert_int_equal(host_of(&s, 1, 0) + host_of(&s, 1, 1), 1);
    script_end(&s);
}

/* A wish outweighs load: 200 of 400 points. */
static void score_follows_wishes(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "filter-score", "by-priority");
    join(&s, 0, 4, "");
    join(&s, 1, 4, "gpu");
    submit(&s, 1, 1, "gpu");
    assert_int_equal(host_of(&s, 1, 0), 1);
    assert_reason(script_start(&s, 1, 0, 0), "score");
    submit(&s, 2, 1, "gpu");
    assert_int_equal(host_of(&s, 2, 0), 1);
    submit(&s, 3, 1, NULL);
    assert_int_equal(host_of(&s, 3, 0), 0);
    script_end(&s);
}

/* Of a host with more free slots and one with fewer, equal otherwise. */
static void score_follows_what_stays_free(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "filter-score", "by-priority");
    join(&s, 0, 2, "");
    join(&s, 1, 8, "");
    submit(&s, 1, 1, NULL);
    assert_int_equal(host_of(&s, 1, 0), 1);
    script_end(&s);
}

/* Tasks of one job go apart: 200 points outweigh the load of a smaller host. */
static void score_spreads_a_job(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "filter-score", "by-priority");
    join(&s, 0, 2, "");
    join(&s, 1, 8, "");
    submit(&s, 1, 2, NULL);
    assert_int_equal(host_of(&s, 1, 0) + host_of(&s, 1, 1), 1);
    script_end(&s);
}

static void the_higher_priority_is_first(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "filter-spread", "by-priority");
    join(&s, 0, 1, "");
    submit(&s, 9, 1, NULL);
    for (uint64_t job = 1; job <= 3; job++) {
        struct event event = {.kind = EVENT_JOB_UPDATE};
        submit(&s, job, 1, NULL);
        event.job_update.job = job;
        event.job_update.estimate_bytes = event.job_update.estimate_ns = -1;
        event.job_update.deadline_ns = INT64_MIN;
        event.job_update.priority = job == 2 ? 5 : -1;
        script_event(&s, event);
    }
    static const uint64_t order[] = {9, 2, 1, 3};
    for (int i = 0; i + 1 < 4; i++) {
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, order[i], 0, 0), 0);
        assert_non_null(script_start(&s, order[i + 1], 0, 0));
    }
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spread_ignores_blocks),         cmocka_unit_test(score_follows_wishes),
        cmocka_unit_test(score_follows_what_stays_free), cmocka_unit_test(score_spreads_a_job),
        cmocka_unit_test(the_higher_priority_is_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
