/* Hosts that others cannot read from: whose fault it is, what runs again, how they come back. */
#include "tests/model/script_dump.h"

enum { MEGABYTE = 1000000 };

struct scene {
    struct script s;
    uint64_t reduce[8]; /* the reduce attempt on each host; 0: none */
};

static uint32_t lone_sources_max = 1;

static void begin(struct script *s, uint32_t hosts, uint64_t slots)
{
    struct engine_config config = script_config();
    strcpy(config.place, "greedy");
    config.source_lost_ns = 30 * SECOND;
    config.lone_sources_max = lone_sources_max;
    script_begin(s, &config);
    s->reload = true;
    for (uint32_t h = 0; h < hosts; h++)
        script_host(s, h, slots);
}

static void say(struct script *s, enum event_kind kind, uint64_t attempt, uint32_t source,
                uint32_t others)
{
    struct event event = {.kind = kind};
    event.source.attempt = attempt;
    event.source.host = source;
    event.source.others = others;
    script_event(s, event);
}

static void stalled(struct script *s, uint64_t attempt, uint32_t source)
{
    say(s, EVENT_SOURCE_STALLED, attempt, source, 0);
}

/* `hosts` maps, one on each host, all done; then as many reduces, one on each, all receiving. */
static void shuffle(struct scene *c, uint32_t hosts)
{
    memset(c, 0, sizeof(*c));
    begin(&c->s, hosts, 1);
    script_job_begin(&c->s, 1);
    script_stage(&c->s, 1, 0, hosts, ENGINE_NONE, 0);
    script_stage(&c->s, 1, 1, hosts, 0, EDGE_BARRIER);
    script_bytes(&c->s, 1, 1, 0, hosts, MEGABYTE);
    script_job_end(&c->s, 1);
    for (uint32_t t = 0; t < hosts; t++)
        script_attempt(&c->s, EVENT_ATTEMPT_DONE, script_attempt_of(&c->s, 1, 0, t), 0);
    for (uint32_t t = 0; t < hosts; t++) {
        uint64_t number = script_attempt_of(&c->s, 1, 1, t);
        script_attempt(&c->s, EVENT_ATTEMPT_STARTED, number, 0);
        c->reduce[script_attempt_view(&c->s, number).host] = number;
    }
}

static const struct decision *stop_of(const struct script *s, uint64_t attempt)
{
    const struct decision *d;
    for (size_t n = 0; (d = script_decision(s, DECISION_STOP, n)); n++)
        if (d->stop.attempt == attempt)
            return d;
    return NULL;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

struct reading {
    uint32_t block;
};

static void see(void *context, const struct engine_input *input)
{
    if (input->block)
        ((struct reading *)context)->block = input->host;
}

static uint32_t block_of(const struct script *s, uint64_t attempt)
{
    struct reading reading = {ENGINE_NONE};
    assert_true(engine_inputs(s->engine, attempt, see, &reading) >= 0);
    return reading.block;
}

/* A map on host 0 or 1, its block on 2 and 3. */
static uint64_t far_map(struct script *s)
{
    static const uint32_t replicas[] = {2, 3};
    begin(s, 2, 1);
    script_host(s, 2, 0);
    script_host(s, 3, 0);
    script_job_begin(s, 1);
    script_stage(s, 1, 0, 1, ENGINE_NONE, 0);
    script_tasks(s, 1, 0, 1, MEGABYTE, 2, replicas);
    script_job_end(s, 1);
    uint64_t first = script_attempt_of(s, 1, 0, 0);
    script_attempt(s, EVENT_ATTEMPT_STARTED, first, 0);
    return first;
}

/* What reads its block from a host that is lost is not left to wait for it: it runs again, reads
 * another replica, and has not failed. */
static void test_block_of_a_lost_host(void **state)
{
    (void)state;
    struct script s;
    uint64_t first = far_map(&s);
    uint32_t from = block_of(&s, first);
    script_host_event(&s, EVENT_HOST_LOST, from);
    assert_non_null(stop_of(&s, first));
    assert_int_equal(stop_of(&s, first)->reason, REASON_SOURCE_LOST);
    uint64_t again = script_attempt_of(&s, 1, 0, 0);
    assert_int_not_equal(again, first);
    assert_int_equal(block_of(&s, again), from == 2 ? 3 : 2);
    script_attempt(&s, EVENT_ATTEMPT_KILLED, first, 0);
    struct task_view task;
    assert_int_equal(engine_task(s.engine, 1, 0, 0, &task), 0);
    assert_int_equal(task.failures, 0);
    script_end(&s);
}

static void test_block_of_a_source_that_gives_nothing(void **state)
{
    (void)state;
    struct script s;
    uint64_t first = far_map(&s);
    uint32_t from = block_of(&s, first);
    stalled(&s, first, from);
    assert_non_null(stop_of(&s, first));
    assert_int_equal(block_of(&s, script_attempt_of(&s, 1, 0, 0)), from == 2 ? 3 : 2);
    assert_false(script_host_view(&s, from).suspect);
    script_end(&s);
}

/* Both replicas give nothing: there is nothing better to do than to wait, but not for ever. */
static void test_block_without_another_replica(void **state)
{
    (void)state;
    struct script s;
    uint64_t first = far_map(&s);
    uint32_t from = block_of(&s, first);
    script_host_event(&s, EVENT_HOST_LOST, from == 2 ? 3 : 2);
    stalled(&s, first, from);
    assert_null(stop_of(&s, first));
    assert_int_equal(engine_deadline_ns(s.engine), s.now_ns + 30 * SECOND);
    s.now_ns += 30 * SECOND;
    script_events(&s, NULL, 0);
    assert_non_null(stop_of(&s, first));
    script_end(&s);
}

/* A silent host is no source while another one has the block. */
static void test_blocks_come_from_hosts_that_are_up(void **state)
{
    (void)state;
    static const uint32_t replicas[] = {2, 3};
    for (uint32_t silent = 2; silent < 4; silent++)
        for (uint64_t job = 1; job < 9; job++) {
            struct script s;
            begin(&s, 4, 1);
            script_host(&s, 2, 0);
            script_host(&s, 3, 0);
            script_host_event(&s, EVENT_HOST_SILENT, silent);
            for (uint64_t j = 1; j <= job; j++) {
                script_job_begin(&s, j);
                script_stage(&s, j, 0, 1, ENGINE_NONE, 0);
                script_tasks(&s, j, 0, 1, MEGABYTE, 2, replicas);
                script_job_end(&s, j);
                uint64_t number = script_attempt_of(&s, j, 0, 0);
                if (number)
                    assert_int_equal(block_of(&s, number), silent == 2 ? 3 : 2);
                script_attempt(&s, EVENT_ATTEMPT_DONE, number, 0);
            }
            script_end(&s);
        }
}

/* ---- a source that is mute ------------------------------------------------------------------- */

static void test_one_reader_proves_nothing(void **state)
{
    (void)state;
    struct scene c;
    shuffle(&c, 4);
    stalled(&c.s, c.reduce[0], 3);
    stalled(&c.s, c.reduce[0], 3);
    assert_false(script_host_view(&c.s, 3).suspect);
    assert_int_equal(script_host_view(&c.s, 3).readers, 1);
    script_end(&c.s);
}

/* Two readers: no new work there; after source_lost its outputs are made again elsewhere, while its
 * own task goes on. */
static void test_two_readers_make_a_host_suspect(void **state)
{
    (void)state;
    struct scene c;
    struct engine_status status;
    shuffle(&c, 4);
    stalled(&c.s, c.reduce[0], 3);
    stalled(&c.s, c.reduce[1], 3);
    assert_true(script_host_view(&c.s, 3).suspect && script_host_view(&c.s, 3).mute);
    engine_status(c.s.engine, &status);
    assert_int_equal(status.hosts_suspect, 1);
    assert_int_equal(status.hosts_up, 3);
    assert_int_equal(script_task_state(&c.s, 1, 0, 3), TASK_DONE);
    script_attempt(&c.s, EVENT_ATTEMPT_RECEIVED, c.reduce[3], MEGABYTE); /* it can read itself */
    assert_true(script_host_view(&c.s, 3).suspect);
    c.s.now_ns += 30 * SECOND;
    script_events(&c.s, NULL, 0);
    for (uint32_t h = 0; h < 3; h++)
        assert_non_null(stop_of(&c.s, c.reduce[h]));
    assert_null(stop_of(&c.s, c.reduce[3]));
    for (uint32_t h = 0; h < 3; h++)
        script_attempt(&c.s, EVENT_ATTEMPT_KILLED, c.reduce[h], 0);
    uint32_t lost = 0;
    for (uint32_t t = 0; t < 4; t++) {
        if (script_task_state(&c.s, 1, 0, t) == TASK_DONE)
            continue;
        lost++;
        assert_int_not_equal(script_attempt_view(&c.s, script_attempt_of(&c.s, 1, 0, t)).host, 3);
    }
    assert_int_equal(lost, 1);
    script_end(&c.s);
}

static void test_back_as_soon_as_it_is_read_from(void **state)
{
    (void)state;
    for (int received = 0; received < 2; received++) {
        struct scene c;
        shuffle(&c, 4);
        stalled(&c.s, c.reduce[0], 3);
        stalled(&c.s, c.reduce[1], 3);
        assert_true(script_host_view(&c.s, 3).suspect);
        if (received)
            script_attempt(&c.s, EVENT_ATTEMPT_RECEIVED, c.reduce[0], MEGABYTE);
        else
            say(&c.s, EVENT_SOURCE_FLOWS, c.reduce[0], 3, 0);
        assert_false(script_host_view(&c.s, 3).suspect);
        assert_false(script_host_view(&c.s, 3).trial);
        say(&c.s, EVENT_SOURCE_FLOWS, c.reduce[1], 3, 0);
        assert_int_equal(script_host_view(&c.s, 3).readers, 0);
        assert_int_equal(engine_deadline_ns(c.s.engine), INT64_MAX);
        assert_int_equal(script_counters(&c.s).sources_replaced, 0);
        script_end(&c.s);
    }
}

/* Nobody is left to read from it: it is on trial after a while, and then one reader is enough, and
 * the next time takes twice as long. */
static void test_on_trial(void **state)
{
    (void)state;
    struct scene c;
    shuffle(&c, 4);
    stalled(&c.s, c.reduce[0], 3);
    stalled(&c.s, c.reduce[1], 3);
    script_cancel(&c.s, 1);
    assert_true(script_host_view(&c.s, 3).suspect);
    assert_int_equal(engine_deadline_ns(c.s.engine), c.s.now_ns + 60 * SECOND);
    c.s.now_ns += 60 * SECOND;
    script_events(&c.s, NULL, 0);
    assert_false(script_host_view(&c.s, 3).suspect);
    assert_true(script_host_view(&c.s, 3).trial);
    struct event event = script_seen_event(77, 0, 0, 0, 0);
    script_job_begin(&c.s, 2);
    script_stage(&c.s, 2, 0, 1, ENGINE_NONE, 0);
    script_stage(&c.s, 2, 1, 1, 0, EDGE_BARRIER);
    script_bytes(&c.s, 2, 1, 0, 1, MEGABYTE);
    script_job_end(&c.s, 2);
    event.attempt_seen.job = 2;
    event.attempt_seen.stage = 1;
    event.attempt_seen.host = 0;
    script_event(&c.s, event);
    stalled(&c.s, 77, 3);
    assert_true(script_host_view(&c.s, 3).suspect);
    script_end(&c.s);
}

static void test_own_server_is_its_own_fault(void **state)
{
    (void)state;
    struct scene c;
    shuffle(&c, 4);
    stalled(&c.s, c.reduce[3], 3);
    assert_true(script_host_view(&c.s, 3).suspect);
    script_end(&c.s);
}

/* ---- a reader that is blind ------------------------------------------------------------------ */

static void test_reader_that_reaches_nobody_is_at_fault(void **state)
{
    (void)state;
    struct scene c;
    shuffle(&c, 4);
    for (uint32_t h = 1; h < 4; h++)
        stalled(&c.s, c.reduce[0], h);
    assert_true(script_host_view(&c.s, 0).suspect && script_host_view(&c.s, 0).blind);
    for (uint32_t h = 1; h < 4; h++)
        assert_false(script_host_view(&c.s, h).suspect);
    c.s.now_ns += 30 * SECOND;
    script_events(&c.s, NULL, 0);
    assert_non_null(stop_of(&c.s, c.reduce[0]));
    for (uint32_t t = 0; t < 4; t++)
        assert_int_equal(script_task_state(&c.s, 1, 0, t), TASK_DONE);
    script_attempt(&c.s, EVENT_ATTEMPT_DONE, c.reduce[1], MEGABYTE);
    for (uint32_t t = 0; t < 4; t++)
        if (script_task_state(&c.s, 1, 1, t) == TASK_RUNNING)
            assert_int_not_equal(script_attempt_view(&c.s, script_attempt_of(&c.s, 1, 1, t)).host,
                                 0);
    script_end(&c.s);
}

static void test_reader_that_reaches_somebody_is_not(void **state)
{
    (void)state;
    struct scene c;
    shuffle(&c, 4);
    say(&c.s, EVENT_SOURCE_STALLED, c.reduce[0], 1, 1);
    say(&c.s, EVENT_SOURCE_STALLED, c.reduce[0], 2, 1);
    assert_false(script_host_view(&c.s, 0).suspect);
    script_end(&c.s);
}

/* All tasks of a stage of job 1 that run. */
static void all_of_stage(struct script *s, uint32_t stage, enum event_kind kind)
{
    struct attempt_view view;
    for (uint32_t t = 0; t < 4; t++) {
        uint64_t number = script_attempt_of(s, 1, stage, t);
        if (engine_attempt(s->engine, number, &view) == 0)
            script_attempt(s, kind, number, 0);
    }
}

/* A reduce on host 0 gets nothing from that host, and says that it does from the others, until it
 * is believed. */
static void lone_word(struct script *s, uint32_t source)
{
    struct attempt_view view;
    all_of_stage(s, 0, EVENT_ATTEMPT_DONE);
    all_of_stage(s, 1, EVENT_ATTEMPT_STARTED);
    for (uint32_t t = 0; t < 4; t++)
        if (engine_attempt(s->engine, script_attempt_of(s, 1, 1, t), &view) == 0 && view.host == 0)
            say(s, EVENT_SOURCE_STALLED, view.attempt, source, 3);
    s->now_ns += 30 * SECOND;
    script_events(s, NULL, 0);
}

static void two_lone_words(struct script *s)
{
    static const uint64_t sums[] = {4, 4, 4, 4};
    struct script_job job = {1, 4, 0, 4, NULL, 0, SECOND, SECOND, sums, -1};
    begin(s, 4, 4);
    script_submit(s, &job);
    lone_word(s, 1);
    assert_true(script_host_view(s, 1).suspect);
    lone_word(s, 2);
}

/* Whatever it says that it reads: with the second source it is the one that cannot be believed. */
static void test_one_word_alone_is_not_believed_of_many(void **state)
{
    struct script s;
    (void)state;
    two_lone_words(&s);
    assert_true(script_host_view(&s, 0).suspect);
    assert_false(script_host_view(&s, 1).suspect || script_host_view(&s, 2).suspect ||
                 script_host_view(&s, 3).suspect);
    script_end(&s);
    lone_sources_max = 0; /* as in logs of before */
    two_lone_words(&s);
    assert_true(script_host_view(&s, 2).suspect);
    assert_false(script_host_view(&s, 0).suspect);
    script_end(&s);
    lone_sources_max = 1;
}

/* ---- few hosts ------------------------------------------------------------------------------- */

/* All readers are on one host: after source_lost it is believed. */
static void test_one_reader_is_believed_in_the_end(void **state)
{
    (void)state;
    struct scene c;
    shuffle(&c, 4);
    stalled(&c.s, c.reduce[0], 3);
    c.s.now_ns += 30 * SECOND;
    script_events(&c.s, NULL, 0);
    assert_true(script_host_view(&c.s, 3).suspect);
    assert_non_null(stop_of(&c.s, c.reduce[0]));
    script_end(&c.s);
}

/* Two hosts that cannot read from one another: one of them goes on alone. */
static void test_two_hosts(void **state)
{
    (void)state;
    struct scene c;
    shuffle(&c, 2);
    stalled(&c.s, c.reduce[0], 1);
    stalled(&c.s, c.reduce[1], 0);
    c.s.now_ns += 30 * SECOND;
    script_events(&c.s, NULL, 0);
    assert_int_equal(script_host_view(&c.s, 0).suspect + script_host_view(&c.s, 1).suspect, 1);
    assert_non_null(stop_of(&c.s, c.reduce[0]));
    assert_non_null(stop_of(&c.s, c.reduce[1]));
    uint32_t alone = script_host_view(&c.s, 0).suspect ? 1 : 0;
    script_attempt(&c.s, EVENT_ATTEMPT_KILLED, c.reduce[0], 0);
    script_attempt(&c.s, EVENT_ATTEMPT_KILLED, c.reduce[1], 0);
    for (int round = 0; round < 4; round++) {
        struct attempt_view attempt;
        assert_int_equal(engine_attempt_after(c.s.engine, 0, &attempt), 0);
        assert_int_equal(attempt.host, alone);
        script_attempt(&c.s, EVENT_ATTEMPT_DONE, attempt.attempt, 0);
        if (script_count(&c.s, DECISION_JOB_DONE))
            break;
    }
    struct job_view job;
    assert_int_equal(engine_job(c.s.engine, 1, &job), 0);
    assert_int_equal(job.state, JOB_DONE);
    script_end(&c.s);
}

static void test_never_more_suspect_than_up(void **state)
{
    (void)state;
    struct scene c;
    shuffle(&c, 4);
    for (uint32_t reader = 0; reader < 4; reader++)
        for (uint32_t source = 0; source < 4; source++)
            stalled(&c.s, c.reduce[reader], source);
    uint32_t suspect = 0;
    for (uint32_t h = 0; h < 4; h++)
        suspect += script_host_view(&c.s, h).suspect;
    assert_int_equal(suspect, 2);
    script_end(&c.s);
}

/* ---- explain, dumps of before, forgetting ---------------------------------------------------- */

static void test_explain_says_who_gives_nothing(void **state)
{
    (void)state;
    struct scene c;
    struct engine_explanation e;
    shuffle(&c, 4);
    stalled(&c.s, c.reduce[0], 3);
    stalled(&c.s, c.reduce[1], 3);
    c.s.now_ns += 2 * SECOND;
    script_events(&c.s, NULL, 0);
    for (uint32_t t = 0; t < 4; t++) {
        assert_int_equal(engine_explain(c.s.engine, 1, 1, t, &e), 0);
        bool waits = script_attempt_of(&c.s, 1, 1, t) == c.reduce[0];
        assert_true(!waits ||
                    strstr(e.text, "gets nothing from h3: h0 cannot read there since 2.0"));
    }
    script_job_begin(&c.s, 2);
    script_stage(&c.s, 2, 0, 1, ENGINE_NONE, 0);
    script_job_end(&c.s, 2);
    assert_int_equal(engine_explain(c.s.engine, 2, 0, 0, &e), 0);
    assert_non_null(strstr(e.text, "1 suspect host gets no new work"));
    script_end(&c.s);
}

/* A dump of before has no line "sources": nobody looks after them then, as it was. */
static void test_dump_of_before(void **state)
{
    (void)state;
    struct scene c;
    shuffle(&c, 4);
    struct lines lines = {0}, old = {0};
    const char *line;
    int n;
    assert_int_equal(engine_dump(c.s.engine, lines_keep, &lines), 0);
    while ((n = lines_next(&lines, &line)) > 0)
        if (strncmp(line, "sources ", 8) != 0)
            lines_keep(&old, line, strcspn(line, "\n"));
    engine_destroy(c.s.engine);
    assert_int_equal(engine_load(lines_next, &old, &c.s.engine, NULL), 0);
    stalled(&c.s, c.reduce[0], 3);
    stalled(&c.s, c.reduce[1], 3);
    assert_false(script_host_view(&c.s, 3).suspect);
    free(lines.text);
    free(old.text);
    script_end(&c.s);
}

static void forget(struct script *s, uint32_t host)
{
    struct event event = {.kind = EVENT_HOST_FORGET, .request = 9};
    event.host.host = host;
    script_event(s, event);
}

static void test_forget(void **state)
{
    (void)state;
    struct script s;
    struct engine_status status;
    begin(&s, 2, 1);
    forget(&s, 1);
    assert_int_equal(script_rejection(&s), REASON_BAD_STATE);
    forget(&s, 7);
    assert_int_equal(script_rejection(&s), REASON_UNKNOWN_HOST);
    script_host_event(&s, EVENT_HOST_LOST, 1);
    forget(&s, 1);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    engine_status(s.engine, &status);
    assert_int_equal(status.hosts, 1);
    assert_false(script_host_view(&s, 1).joined);
    assert_string_equal(script_host_view(&s, 1).name, "");
    script_host(&s, 1, 3);
    assert_int_equal(script_host_view(&s, 1).total.amount[RES_SLOTS], 3);
    engine_status(s.engine, &status);
    assert_int_equal(status.hosts_up, 2);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block_of_a_lost_host),
        cmocka_unit_test(test_block_of_a_source_that_gives_nothing),
        cmocka_unit_test(test_block_without_another_replica),
        cmocka_unit_test(test_blocks_come_from_hosts_that_are_up),
        cmocka_unit_test(test_one_reader_proves_nothing),
        cmocka_unit_test(test_two_readers_make_a_host_suspect),
        cmocka_unit_test(test_back_as_soon_as_it_is_read_from),
        cmocka_unit_test(test_on_trial),
        cmocka_unit_test(test_own_server_is_its_own_fault),
        cmocka_unit_test(test_reader_that_reaches_nobody_is_at_fault),
        cmocka_unit_test(test_reader_that_reaches_somebody_is_not),
        cmocka_unit_test(test_one_word_alone_is_not_believed_of_many),
        cmocka_unit_test(test_one_reader_is_believed_in_the_end),
        cmocka_unit_test(test_two_hosts),
        cmocka_unit_test(test_never_more_suspect_than_up),
        cmocka_unit_test(test_explain_says_who_gives_nothing),
        cmocka_unit_test(test_dump_of_before),
        cmocka_unit_test(test_forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
