/* A placement that is asked for one user and one host, and offers of one host's room. */
#include "tests/unit/users_script.h"

enum { USERS = 3, HOSTS = 4 };

static const char *const asked_for_one[] = {"greedy", "random", "delay", "nats"};
enum { PLACES = sizeof(asked_for_one) / sizeof(asked_for_one[0]) };

/* Of the last offer of the user of this job. */
static long long offered(const struct script *s, uint64_t job)
{
    struct engine_explanation why;
    assert_int_equal(engine_explain(s->engine, job, 0, 49, &why), 0);
    for (uint32_t i = 0; i < why.facts; i++)
        if (strcmp(why.fact[i].name, "user_offer") == 0)
            return strtoll(why.fact[i].value, NULL, 10);
    fail_msg("no offer");
    return 0;
}

static void begin_two(struct script *s, const char *place, bool one_host)
{
    begin(s, place, 0);
    s->reload = false;
    script_parameter(s, "one_host", one_host);
    set_user(s, 0, 5);
    set_user(s, 1, 3);
    script_host(s, 0, 2);
    script_host(s, 1, 3);
    submit(s, 1, 0, 50, 1);
    submit(s, 2, 1, 50, 1);
    end_all(s);
}

/* Each host's room is an offer; nobody's share changes by that. */
static void test_an_offer_is_one_hosts_room(void **state)
{
    (void)state;
    for (int i = 0; i < PLACES; i++)
        for (int one_host = 0; one_host < 2; one_host++) {
            struct script s;
            uint32_t counts[2] = {0};
            begin_two(&s, asked_for_one[i], one_host);
            for (int round = 0; round < 7; round++) {
                end_all(&s);
                count_starts(&s, counts);
                assert_int_equal(script_count(&s, DECISION_START), 5);
                long long offer = offered(&s, 1);
                assert_true(one_host ? offer == 2 || offer == 3 : offer == 5);
            }
            assert_true(abs((int)counts[0] * 3 - (int)counts[1] * 5) <= 32);
            script_end(&s);
        }
}

/* Others are asked without: the parameter changes nothing there. */
static void test_others_are_asked_for_all_hosts(void **state)
{
    struct script s;
    (void)state;
    begin_two(&s, "gather", true);
    assert_int_equal(offered(&s, 1), 5);
    script_end(&s);
}

static void test_the_table_of_combinations_says_so(void **state)
{
    struct engine_combination all;
    uint64_t n = 0, one_host = 0;
    (void)state;
    for (; engine_combination(n, &all) == 0; n++) {
        bool can = strcmp(all.users, "sequence") == 0, is_asked = false;
        for (int i = 0; i < PLACES; i++)
            is_asked |= strcmp(all.place, asked_for_one[i]) == 0;
        assert_int_equal(all.one_host, can && is_asked);
        one_host += all.one_host;
    }
    assert_true(one_host > 0 && one_host < n);
}

/* ---- any room and any tasks ---- */

struct chaos {
    struct script s;
    uint64_t stream, jobs, claims;
};

static uint64_t draw(struct chaos *c, uint64_t below)
{
    return test_random(&c->stream) % below;
}

static void submit_any(struct chaos *c)
{
    uint32_t blocks[6];
    uint64_t sums[3];
    for (int i = 0; i < 6; i++)
        blocks[i] = (uint32_t)draw(c, HOSTS);
    for (int i = 0; i < 3; i++)
        sums[i] = (1 + draw(c, 100)) * 1000000;
    c->s.user = (uint32_t)draw(c, USERS);
    script_submit(&c->s, &(struct script_job){.number = ++c->jobs,
                                              .maps = 1 + (uint32_t)draw(c, 6),
                                              .per = (uint32_t)draw(c, 2),
                                              .replicas = blocks,
                                              .map_input = 64000000,
                                              .map_ns = SECOND,
                                              .reduces = 3,
                                              .sums = sums});
}

static bool ask(struct chaos *c, struct user *user, struct host *host, struct claim *ret_claim)
{
    struct engine *engine = c->s.engine;
    engine->asked = user;
    engine->asked_host = host;
    bool found = engine->place->pick(engine, ret_claim);
    engine->asked = NULL;
    engine->asked_host = NULL;
    return found;
}

static struct user *user_at(struct engine *engine, uint32_t number)
{
    struct sorted_key key = {number, 0, 0};
    return container_of(sorted_find(&engine->users, key), struct user, by_number);
}

/* What is proposed for a host is on it and the user's; a host that is proposed among all is
 * proposed alone, too. */
static void check_user(struct chaos *c, struct user *user)
{
    struct claim any, claim;
    bool found = ask(c, user, NULL, &any);
    c->claims += found;
    for (uint32_t h = 0; h < c->s.engine->n_hosts; h++) {
        struct host *host = c->s.engine->hosts[h];
        bool here = ask(c, user, host, &claim);
        assert_true(here || !found || any.fit->host != host);
        assert_true(found || !here);
        if (!here)
            continue;
        assert_ptr_equal(claim.fit->host, host);
        assert_ptr_equal(claim.task->stage->job->tenant, user);
        assert_true(claim.fit->times > 0 && task_state(claim.task) == TASK_READY);
        assert_ptr_equal(claim.fit, &host->shapes[claim.task->stage->bucket->shape->index]->fit[0]);
    }
}

/* One start a step, so that room and ready tasks remain. */
static void test_what_is_proposed_for_a_host(void **state)
{
    (void)state;
    for (int i = 0; i < PLACES; i++) {
        struct chaos c = {.stream = test_seed() + (uint64_t)i};
        struct engine_config config = script_config();
        strcpy(config.place, asked_for_one[i]);
        strcpy(config.turn, i % 2 ? "fair" : "fifo");
        strcpy(config.users, "sequence");
        config.step_starts_max = 1;
        script_begin(&c.s, &config);
        for (uint32_t user = 0; user < USERS; user++)
            set_user(&c.s, user, 1 + user);
        for (uint32_t h = 0; h < HOSTS; h++)
            script_host(&c.s, h, 2 + h);
        for (int step = 0; step < 3000; step++) {
            c.s.now_ns += SECOND / 10;
            if (draw(&c, 8) == 0)
                submit_any(&c);
            else if (draw(&c, 3) == 0)
                end_all(&c.s);
            else
                script_events(&c.s, NULL, 0);
            for (uint32_t user = 0; user < USERS; user++)
                check_user(&c, user_at(c.s.engine, user));
        }
        assert_true(c.claims > 100);
        script_end(&c.s);
    }
}

/* ---- levels by users ---- */

/* Attempts of a stage that reads, with bytes to receive; their level. */
static uint64_t level_of(const struct script *s, uint64_t job)
{
    return script_attempt_view(s, script_attempt_of(s, job, 1, 0)).coflow_level;
}

static void test_who_holds_least_is_most_urgent(void **state)
{
    (void)state;
    for (int users_first = 0; users_first < 2; users_first++) {
        static const uint64_t sums[4] = {50000000, 50000000, 50000000, 50000000};
        struct engine_config config = script_config();
        struct script s;
        strcpy(config.place, "greedy");
        strcpy(config.turn, "fifo");
        strcpy(config.network, "rank");
        engine_config_say(&config, "users_first", users_first, NULL);
        script_begin(&s, &config);
        s.reload = true;
        set_user(&s, 1, 1);
        script_host(&s, 0, 3);
        script_host(&s, 1, 3);
        for (uint64_t job = 1; job <= 2; job++) {
            s.user = job == 2;
            script_submit(&s, &(struct script_job){.number = job,
                                                   .maps = 1,
                                                   .map_ns = SECOND,
                                                   .reduces = job == 1 ? 4 : 1,
                                                   .sums = sums});
        }
        end_all(&s);
        assert_int_equal(script_status(&s).attempts, 5);
        assert_true(users_first ? level_of(&s, 2) < level_of(&s, 1)
                                : level_of(&s, 1) < level_of(&s, 2));
        /* With another share it holds more for it. */
        set_user(&s, 0, 9);
        assert_true(level_of(&s, 1) < level_of(&s, 2));
        script_end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_proposed_for_a_host),
        cmocka_unit_test(test_an_offer_is_one_hosts_room),
        cmocka_unit_test(test_others_are_asked_for_all_hosts),
        cmocka_unit_test(test_the_table_of_combinations_says_so),
        cmocka_unit_test(test_who_holds_least_is_most_urgent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
