/* Users' shares in the engine: whose tasks get what is free. */
#include "tests/unit/users_script.h"

#include "tests/model/script_dump.h"
#include "tests/unit/draws.h"

#include <errno.h>

/* The source's table 1: shares 5 and 3, five slots. User 0 has a share too, which it lends. */
static void test_busy_users_run_in_the_order_of_the_sequence(void **state)
{
    static const uint32_t totals[][2] = {{3, 2},  {6, 4},   {9, 6},   {13, 7},
                                         {16, 9}, {19, 11}, {22, 13}, {25, 15}};
    struct script s;
    uint32_t counts[3] = {0};
    (void)state;
    begin(&s, "greedy", 0);
    set_user(&s, 0, 5);
    set_user(&s, 1, 3);
    submit(&s, 1, 0, 100, 1);
    submit(&s, 2, 1, 100, 1);
    script_host(&s, 0, 5);
    for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
        count_starts(&s, counts);
        assert_int_equal(counts[0], totals[i][0]);
        assert_int_equal(counts[1], totals[i][1]);
        assert_owed(&s, 0, 0);
        end_all(&s);
    }
    script_end(&s);
}

static void test_slots_that_come_one_by_one_go_by_share_too(void **state)
{
    struct script s;
    uint32_t counts[4] = {0};
    (void)state;
    begin(&s, "random", 1);
    set_user(&s, 1, 4);
    set_user(&s, 2, 2);
    set_user(&s, 3, 1);
    for (uint32_t user = 0; user < 4; user++)
        submit(&s, user + 1, user, 200, 1);
    script_host(&s, 0, 1);
    for (uint32_t t = 1; t <= 80; t++) {
        count_starts(&s, counts);
        static const int64_t shares[] = {1, 4, 2, 1};
        for (int u = 0; u < 4; u++)
            assert_true(llabs((int64_t)counts[u] * 8 - t * shares[u]) < 8);
        end_all(&s);
    }
    script_end(&s);
}

/* Who has nothing to run lends, and gets it back when it has. */
static void test_lending_and_getting_back(void **state)
{
    struct script s;
    struct debt_view debt;
    uint32_t counts[3] = {0};
    (void)state;
    begin(&s, "greedy", 1);
    set_user(&s, 0, 1);
    set_user(&s, 1, 1);
    script_host(&s, 0, 4);
    submit(&s, 1, 0, 100, 1);
    assert_int_equal(script_count(&s, DECISION_START), 4);
    assert_owed(&s, 1, 2);
    end_all(&s);
    assert_owed(&s, 1, 4);
    assert_owed(&s, 0, -4);
    assert_int_equal(engine_debt_from(s.engine, 0, 0, &debt), 0);
    assert_true(debt.borrower == 0 && debt.lender == 1 && debt.amount == 4);
    assert_int_equal(engine_debt_from(s.engine, 0, 2, &debt), -ENOENT);
    submit(&s, 2, 1, 100, 1);
    for (int i = 0; i < 2; i++) {
        end_all(&s);
        count_starts(&s, counts);
    }
    assert_true(counts[0] == 0 && counts[1] == 8);
    assert_owed(&s, 1, 0);
    end_all(&s);
    count_starts(&s, counts);
    assert_true(counts[0] == 2 && counts[1] == 10);
    script_end(&s);
}

/* ---- what is a loan ---- */

static const char *const holding[] = {"delay", "nats", "joint", "neat"};
enum { HOLDING = sizeof(holding) / sizeof(holding[0]) };

/* Maps next to their blocks on one host. */
static void submit_local(struct script *s, uint64_t job, uint32_t user, uint32_t maps,
                         uint32_t host)
{
    uint32_t blocks[16];
    for (uint32_t i = 0; i < maps; i++)
        blocks[i] = host;
    s->user = user;
    script_submit(s, &(struct script_job){.number = job,
                                          .maps = maps,
                                          .per = 1,
                                          .replicas = blocks,
                                          .map_input = 64000000,
                                          .map_ns = SECOND});
}

/* User 1's map waits for its host, which is full; user 0 takes what is free elsewhere. */
static void use_beside(struct script *s, const char *place)
{
    begin(s, place, 1);
    set_user(s, 1, 1);
    script_host(s, 0, 1);
    submit_local(s, 1, 0, 1, 0);
    script_host(s, 1, 4);
    submit_local(s, 2, 1, 1, 0);
    submit_local(s, 3, 0, 4, 1);
}

/* Whose task the placement holds on purpose is owed nothing, and lent nothing. */
static void test_who_is_held_lends_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < HOLDING; i++) {
        struct script s;
        use_beside(&s, holding[i]);
        assert_int_equal(script_status(&s).held_stages, 1);
        assert_int_equal(script_count(&s, DECISION_START), 4);
        assert_owed(&s, 0, -1); /* of before user 1 had a task: it was idle */
        script_end(&s);
    }
}

/* Who has nothing ready lends, whatever the placement. */
static void test_who_is_idle_lends(void **state)
{
    (void)state;
    for (int i = 0; i < HOLDING; i++) {
        struct script s;
        begin(&s, holding[i], 1);
        set_user(&s, 1, 1);
        script_host(&s, 1, 4);
        submit_local(&s, 1, 0, 4, 1);
        assert_int_equal(script_count(&s, DECISION_START), 4);
        assert_owed(&s, 1, 2);
        script_end(&s);
    }
}

/* Whose tasks are all too large for what is free is owed it, whatever the placement. */
static void test_who_is_too_large_is_owed(void **state)
{
    (void)state;
    for (int i = 0; i < HOLDING; i++) {
        struct script s;
        begin(&s, holding[i], 1);
        set_user(&s, 1, 1);
        submit(&s, 1, 1, 1, 3);
        script_host(&s, 0, 2);
        submit_local(&s, 2, 0, 2, 0);
        assert_int_equal(script_count(&s, DECISION_START), 2);
        assert_owed(&s, 1, 1);
        assert_owed(&s, 0, -1);
        script_end(&s);
    }
}

/* What is larger than a user's part runs as a loan where it fits: nothing is left idle. */
static void test_large_tasks_run_as_loans(void **state)
{
    struct script s;
    (void)state;
    begin(&s, "greedy", 1);
    set_user(&s, 1, 1);
    script_host(&s, 0, 4);
    submit(&s, 1, 1, 100, 4);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    assert_owed(&s, 1, -2);
    script_end(&s);
}

static void test_what_is_refused_or_lost_comes_back(void **state)
{
    static const enum event_kind kinds[] = {EVENT_ATTEMPT_REFUSED, EVENT_ATTEMPT_LOST,
                                            EVENT_ATTEMPT_KILLED};
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct script s;
        begin(&s, "greedy", 1);
        set_user(&s, 1, 1);
        script_host(&s, 0, 1);
        submit(&s, 1, 1, 1, 1);
        int64_t owed = view(&s, 1).owed;
        script_attempt(&s, kinds[i], script_attempt_of(&s, 1, 0, 0), 0);
        /* It started again, or waits for another host. */
        if (!script_count(&s, DECISION_START))
            script_cancel(&s, 1);
        assert_true(llabs(view(&s, 1).owed) <= llabs(owed));
        script_end(&s);
    }
}

/* Kinds of demand that are over make room for others. */
static void test_kinds_of_demand_come_and_go(void **state)
{
    struct script s;
    (void)state;
    begin(&s, "greedy", 1);
    set_user(&s, 1, 1);
    script_host(&s, 0, 3);
    submit(&s, 1, 0, 1, 1);
    submit(&s, 2, 1, 9, 2);
    for (uint64_t job = 3; job < 12; job++) {
        submit(&s, job, (uint32_t)(job % 2), 2, (int64_t)(job % 3) + 1);
        end_all(&s);
        assert_true(script_count(&s, DECISION_START) > 0);
    }
    script_end(&s);
}

static void test_who_leaves_pays_first(void **state)
{
    struct script s;
    (void)state;
    begin(&s, "greedy", 1);
    set_user(&s, 1, 1);
    script_host(&s, 0, 4);
    submit(&s, 1, 1, 4, 1);
    assert_owed(&s, 1, -2);
    script_user_leave(&s, 1);
    end_all(&s);
    assert_true(is_there(&s, 1) && view(&s, 1).jobs == 0);
    submit(&s, 2, 0, 100, 1);
    assert_false(is_there(&s, 1));
    script_end(&s);
}

static void test_who_leaves_is_inherited(void **state)
{
    struct script s;
    (void)state;
    begin(&s, "greedy", 1);
    set_user(&s, 1, 1);
    set_user(&s, 2, 2);
    script_host(&s, 0, 4);
    submit(&s, 1, 0, 100, 1);
    assert_owed(&s, 0, -3);
    assert_owed(&s, 2, 2);
    script_user_leave(&s, 2);
    assert_false(is_there(&s, 2));
    /* Half of its 2 each to user 1 and to the debtor itself. */
    assert_owed(&s, 1, 2);
    assert_owed(&s, 0, -2);
    script_end(&s);
}

static void test_debts_outlive_a_change_of_policy(void **state)
{
    struct script s;
    (void)state;
    begin(&s, "greedy", 1);
    set_user(&s, 1, 1);
    script_host(&s, 0, 4);
    submit(&s, 1, 0, 100, 1);
    assert_owed(&s, 1, 2);
    script_policy(&s, "users", "none");
    end_all(&s);
    assert_owed(&s, 1, 2);
    script_policy(&s, "users", "sequence");
    assert_owed(&s, 1, 2);
    script_policy(&s, "place", "nats");
    assert_owed(&s, 1, 2);
    script_policy(&s, "place", "random");
    submit(&s, 2, 1, 100, 1);
    end_all(&s);
    assert_int_equal(script_count(&s, DECISION_START), 4);
    assert_owed(&s, 1, 0);
    script_end(&s);
}

/* Jobs of an unknown user become its own once it is told of. What their transfers are is still
 * known: a slot on a link that one would be first on is not kept from it. */
static void test_jobs_that_change_users_are_found(void **state)
{
    static const uint64_t sums[] = {100000000, 100000000};
    struct script s;
    (void)state;
    begin(&s, "nats", 1);
    s.reload = false; /* a load finds all anew */
    script_host(&s, 0, 2);
    submit(&s, 1, 7, 2, 1);
    script_host(&s, 1, 1);
    s.user = 7;
    script_submit(&s, &(struct script_job){.number = 2, .maps = 1, .reduces = 2, .sums = sums});
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 2, 0, 0), 0);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    set_user(&s, 7, 1);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    script_end(&s);
}

static void test_shares_without_a_turn_are_rejected(void **state)
{
    struct script s;
    struct err err;
    (void)state;
    begin(&s, "greedy", 1);
    set_user(&s, 1, 1u << 20);
    assert_int_equal(script_rejection(&s), REASON_TURN_TOO_LONG);
    assert_int_equal(engine_user_fits(s.engine, 1, 1u << 20, &err), -E2BIG);
    assert_non_null(strstr(err.text, "user 1 has 1048576, user 0 has 1"));
    set_user(&s, 1, (1u << 20) - 1);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    script_end(&s);
}

/* Offers of one slot: the plain way gives the largest user all of them. */
static void test_plain_parts_of_single_slots(void **state)
{
    (void)state;
    for (int kept = 0; kept < 2; kept++) {
        struct script s;
        uint32_t counts[2] = {0};
        begin(&s, "greedy", 1);
        script_policy(&s, "users", "proportional");
        script_parameter(&s, "remainders", kept);
        set_user(&s, 0, 5);
        set_user(&s, 1, 3);
        submit(&s, 1, 0, 60, 1);
        submit(&s, 2, 1, 60, 1);
        script_host(&s, 0, 1);
        for (int i = 0; i < 32; i++) {
            count_starts(&s, counts);
            end_all(&s);
        }
        assert_int_equal(counts[0], kept ? 20 : 32);
        assert_int_equal(counts[1], kept ? 12 : 0);
        script_end(&s);
    }
}

/* What users hold follows their shares, and what one leaves the others take. */
static void test_lowest_use_first(void **state)
{
    static const char *const names[] = {"capacity", "drf"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct script s;
        uint32_t counts[3] = {0};
        struct engine_explanation why;
        begin(&s, "greedy", 1);
        script_policy(&s, "users", names[i]);
        set_user(&s, 1, 2);
        set_user(&s, 2, 5);
        script_host(&s, 0, 8);
        submit(&s, 1, 0, 100, 1);
        count_starts(&s, counts);
        assert_int_equal(counts[0], 8);
        submit(&s, 2, 1, 100, 1);
        submit(&s, 3, 2, 100, 1);
        memset(counts, 0, sizeof(counts));
        end_all(&s);
        count_starts(&s, counts);
        assert_true(counts[0] == 1 && counts[1] == 2 && counts[2] == 5);
        assert_int_equal(engine_explain(s.engine, 3, 0, 50, &why), 0);
        assert_non_null(strstr(why.text, "Its user u2 holds 62.5 % of "));
        assert_owed(&s, 2, 0);
        script_end(&s);
    }
}

static void test_explain_tells_the_users_part(void **state)
{
    struct script s;
    struct engine_explanation why;
    (void)state;
    begin(&s, "greedy", 1);
    set_user(&s, 1, 3);
    script_host(&s, 0, 4);
    submit(&s, 1, 0, 100, 1);
    assert_int_equal(engine_explain(s.engine, 1, 0, 50, &why), 0);
    assert_non_null(strstr(why.text, "Its user everybody has 1 of 4 places of a turn, of which 0 "
                                     "are used, and owes 3 granules, of which it pays back 1000 "
                                     "of 1000 of its places"));
    script_end(&s);
}

static const char *fact(const struct engine_explanation *why, const char *name)
{
    for (uint32_t i = 0; i < why->facts; i++)
        if (strcmp(why->fact[i].name, name) == 0)
            return why->fact[i].value;
    fail_msg("no fact %s", name);
    return NULL;
}

/* What all users are told, summed up. */
struct explained {
    long long places, next_waited, quotas, used, balances, offer;
};

static void add_explained(const struct script *s, uint64_t job, struct explained *told)
{
    struct engine_explanation why;
    long long n[7];
    uint32_t number;
    char name[ENGINE_NAME_MAX];
    assert_int_equal(engine_explain(s->engine, job, 0, 99, &why), 0);
    assert_true(strlen(why.text) + 1 < sizeof(why.text) && why.text[strlen(why.text) - 1] == '.');
    assert_int_equal(sscanf(fact(&why, "user"), "%u %63s", &number, name), 2);
    assert_int_equal(sscanf(fact(&why, "user_places"), "%lld of %lld", &n[0], &n[1]), 2);
    told->places += n[0];
    assert_int_equal(sscanf(fact(&why, "user_next_place"), "%lld = %lld waited for + %lld lent",
                            &n[0], &n[1], &n[2]),
                     3);
    assert_int_equal(n[0], n[1] + n[2]);
    told->next_waited += n[1];
    assert_int_equal(
        sscanf(fact(&why, "user_quota"), "%lld = %lld places - %lld paid", &n[0], &n[1], &n[2]), 3);
    assert_int_equal(n[0], n[1] - n[2]);
    told->quotas += n[0];
    long long places = n[1];
    assert_int_equal(
        sscanf(fact(&why, "user_balance"),
               "%lld = %lld before + %lld places - %lld used + %lld given + %lld since", &n[0],
               &n[1], &n[2], &n[3], &n[4], &n[5]),
        6);
    assert_int_equal(n[0], n[1] + n[2] - n[3] + n[4] + n[5]);
    assert_int_equal(n[0], view(s, number).owed);
    assert_int_equal(n[2], places);
    told->balances += n[0];
    told->used += n[3];
    assert_int_equal(n[3], strtoll(fact(&why, "user_used"), NULL, 10));
    told->offer = strtoll(fact(&why, "user_offer"), NULL, 10);
}

/* Places make a turn, quotas and uses the offer, balances nothing; after loans, and after something
 * came back. */
static void test_what_is_explained_adds_up(void **state)
{
    struct script s;
    (void)state;
    begin(&s, "greedy", 1);
    s.reload = false;
    set_user(&s, 0, 1);
    set_user(&s, 1, 3);
    set_user(&s, 2, 2);
    script_host(&s, 0, 10);
    submit(&s, 1, 0, 100, 1);
    for (uint32_t round = 0; round < 9; round++) {
        struct explained told = {0};
        if (round == 1)
            submit(&s, 2, 1, 100, 1);
        if (round == 2)
            submit(&s, 3, 2, 100, 2);
        if (round == 5) {
            script_host(&s, 1, 3);
            script_host_event(&s, EVENT_HOST_LOST, 1);
        }
        s.now_ns += SECOND;
        if (round > 2)
            end_all(&s);
        for (uint64_t job = 1; job <= 3 && round > 2; job++)
            add_explained(&s, job, &told);
        assert_int_equal(told.places, round > 2 ? 6 : 0);
        assert_int_equal(told.quotas, told.offer);
        assert_int_equal(told.used, told.offer);
        assert_int_equal(told.balances, 0);
    }
    script_end(&s);
}

static void test_who_waits_before_a_user(void **state)
{
    struct script s;
    struct engine_explanation why;
    (void)state;
    begin(&s, "greedy", 0);
    set_user(&s, 0, 5);
    set_user(&s, 1, 3);
    submit(&s, 1, 0, 100, 1);
    submit(&s, 2, 1, 100, 1);
    assert_int_equal(engine_explain(s.engine, 1, 0, 99, &why), 0);
    assert_string_equal(fact(&why, "user_waits_behind"), "nobody");
    assert_int_equal(engine_explain(s.engine, 2, 0, 99, &why), 0);
    assert_string_equal(fact(&why, "user_waits_behind"), "u0 1");
    assert_non_null(strstr(why.text, "its next place comes after 1, behind u0 1."));
    script_host(&s, 0, 1); /* ABAABABA from its second place on */
    assert_int_equal(engine_explain(s.engine, 1, 0, 99, &why), 0);
    assert_string_equal(fact(&why, "user_waits_behind"), "u1 1");
    script_policy(&s, "users", "capacity");
    assert_int_equal(engine_explain(s.engine, 1, 0, 99, &why), 0);
    assert_string_equal(fact(&why, "user_waits_behind"), "u1");
    script_policy(&s, "users", "sequence-time");
    assert_int_equal(engine_explain(s.engine, 1, 0, 99, &why), 0);
    assert_string_equal(fact(&why, "user_waits_behind"), "u1");
    script_cancel(&s, 2);
    assert_int_equal(engine_explain(s.engine, 1, 0, 99, &why), 0);
    assert_string_equal(fact(&why, "user_waits_behind"), "nobody");
    script_end(&s);
}

/* ---- any users, jobs and ends ---- */

enum { ROUNDS = DRAWS(40, 10) };
enum { USERS = 5, HOSTS = 3 };

struct chaos {
    struct script s;
    uint64_t stream, jobs;
};

static uint64_t draw(struct chaos *c, uint64_t below)
{
    return test_random(&c->stream) % below;
}

/* Some of what runs ends, in whatever way. */
static void end_some(struct chaos *c)
{
    static const enum event_kind ends[] = {EVENT_ATTEMPT_DONE, EVENT_ATTEMPT_DONE,
                                           EVENT_ATTEMPT_DONE, EVENT_ATTEMPT_LOST,
                                           EVENT_ATTEMPT_FAILED};
    struct event events[64];
    struct attempt_view attempt;
    size_t n = 0;
    for (uint64_t after = 0; engine_attempt_after(c->s.engine, after, &attempt) == 0 && n < 64;
         after = attempt.attempt) {
        if (draw(c, 3))
            continue;
        events[n] = (struct event){.kind = ends[draw(c, 5)]};
        events[n++].attempt.attempt = attempt.attempt;
    }
    script_events(&c->s, events, n);
}

/* Maps next to blocks, and what reads them. */
static void submit_shuffle(struct chaos *c)
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
                                              .per = 1,
                                              .replicas = blocks,
                                              .map_input = 64000000,
                                              .map_ns = SECOND,
                                              .reduces = 3,
                                              .sums = sums});
}

static void do_something(struct chaos *c)
{
    uint64_t what = draw(c, 100);
    c->s.now_ns += SECOND / 10;
    if (what < 70)
        end_some(c);
    else if (what < 77)
        submit_shuffle(c);
    else if (what < 80)
        submit_urgent(&c->s, ++c->jobs, (uint32_t)draw(c, USERS), 1 + (uint32_t)draw(c, 6), 7);
    else if (what < 90)
        submit(&c->s, ++c->jobs, (uint32_t)draw(c, USERS), 1 + (uint32_t)draw(c, 6),
               1 + (int64_t)draw(c, 3));
    else if (what < 95)
        set_user(&c->s, (uint32_t)draw(c, USERS), 1 + (uint32_t)draw(c, 6));
    else if (what < 98)
        script_user_leave(&c->s, 1 + (uint32_t)draw(c, USERS - 1));
    else
        script_host_event(&c->s, draw(c, 2) ? EVENT_HOST_LOST : EVENT_HOST_BACK,
                          (uint32_t)draw(c, HOSTS));
}

static void check(struct chaos *c)
{
    struct user_view user;
    struct engine *engine = c->s.engine;
    int64_t sum = 0;
    for (uint64_t from = 0; engine_user_from(engine, from, &user) == 0;
         from = (uint64_t)user.user + 1)
        sum += user.owed;
    assert_int_equal(sum, 0);
    /* Nothing is left idle that something ready fits, but what the placement holds. */
    bool all_at_once = !engine->place->held && engine_deadline_ns(engine) > c->s.now_ns;
    for (uint32_t i = 0; all_at_once && i < engine->n_shapes; i++)
        assert_true(!engine->shapes[i]->n_ready || !engine->shapes[i]->fitting);
}

static void test_any_users_and_jobs(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t round = i * 7 % 40; /* of all kinds, also where they are few */
        struct chaos c = {.stream = test_seed() + round};
        const char *place = engine_policy_name("place", round / 2);
        begin(&c.s, place ? place : "greedy", round % 3 != 0);
        if (round % 5 == 4)
            script_policy(&c.s, "users", round % 2 ? "capacity" : "drf");
        if (round % 5 == 3)
            script_policy(&c.s, "users", "proportional");
        script_parameter(&c.s, "force_priority", round % 3 * 5);
        script_parameter(&c.s, "one_host", round % 2);
        c.s.reload = round % 4 == 0;
        for (uint32_t h = 0; h < HOSTS; h++)
            script_host(&c.s, h, 3);
        for (uint32_t k = 0; k < 1000; k++) {
            do_something(&c);
            check(&c);
        }
        script_end(&c.s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_users_and_jobs),
        cmocka_unit_test(test_busy_users_run_in_the_order_of_the_sequence),
        cmocka_unit_test(test_slots_that_come_one_by_one_go_by_share_too),
        cmocka_unit_test(test_lending_and_getting_back),
        cmocka_unit_test(test_large_tasks_run_as_loans),
        cmocka_unit_test(test_who_is_held_lends_nothing),
        cmocka_unit_test(test_who_is_idle_lends),
        cmocka_unit_test(test_who_is_too_large_is_owed),
        cmocka_unit_test(test_what_is_refused_or_lost_comes_back),
        cmocka_unit_test(test_kinds_of_demand_come_and_go),
        cmocka_unit_test(test_who_leaves_pays_first),
        cmocka_unit_test(test_who_leaves_is_inherited),
        cmocka_unit_test(test_debts_outlive_a_change_of_policy),
        cmocka_unit_test(test_jobs_that_change_users_are_found),
        cmocka_unit_test(test_shares_without_a_turn_are_rejected),
        cmocka_unit_test(test_lowest_use_first),
        cmocka_unit_test(test_plain_parts_of_single_slots),
        cmocka_unit_test(test_explain_tells_the_users_part),
        cmocka_unit_test(test_what_is_explained_adds_up),
        cmocka_unit_test(test_who_waits_before_a_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
