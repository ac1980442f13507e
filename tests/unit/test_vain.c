/* Placements asked for one user after the other. joint is not asked again for users that it was
 * asked for in vain, and decides the same: beside one that is. Where to ask is said to change
 * nothing (place_policy.pure) it does not: beside one that is asked more often. */
#include "tests/model/script.h"

#include "controller/engine/books/cluster.h"
#include "controller/engine/commit/commit.h"
#include "controller/engine/mode/mode_rule.h"
#include "controller/engine/network/network.h"
#include "controller/engine/place/place.h"
#include "controller/engine/turn/turn.h"
#include "controller/engine/users/division.h"

/* In place of controller/engine/policies.c: joint that counts how often it looks for something, and
 * the same as it looks each time; and all that are pure, as they are asked more often by one of the
 * engines. */
static struct place_policy joint_counts, joint_forgets, random_more, greedy_more, delay_more,
    nats_more;
static uint64_t remembering, forgetting;
const struct turn_policy *const turn_policies[] = {&turn_srpt, &turn_fifo, &turn_fair, NULL};
const struct place_policy *const place_policies[] = {
    &joint_counts, &joint_forgets, &random_more, &greedy_more, &delay_more, &nats_more, NULL};
const struct commit_policy *const commit_policies[] = {&commit_single, NULL};
const struct network_policy *const network_policies[] = {&network_rank, &network_cans, NULL};
const struct mode_policy *const mode_policies[] = {&mode_first, NULL};
const struct users_policy *const users_policies[] = {&users_sequence, &users_drf,
                                                     &users_proportional, &users_none, NULL};
const char *const policy_defaults[QUESTIONS] = {"srpt", "joint", "single",
                                                "rank", "first", "sequence"};

#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
enum { STEPS = 400, LOOKS_AGAIN = true /* to see that it was in vain: division_ask */ };
#else
enum { STEPS = 2000, LOOKS_AGAIN = false };
#endif
enum { USERS = 40, HOSTS = 40, SLOTS = 4, ENDS_MAX = 64, ROUNDS = 10, MEGABYTE = 1000000 };

/* The two engines, which are told the same. */
struct pair {
    struct script remembers, forgets;
    uint64_t stream, jobs;
};

static uint64_t draw(struct pair *p, uint64_t below)
{
    return test_random(&p->stream) % below;
}

static void tell(struct pair *p, const struct event *events, size_t n)
{
    script_events(&p->remembers, events, n);
    script_events(&p->forgets, events, n);
    script_same_decisions(&p->remembers.decisions, &p->forgets.decisions);
}

static void begin(struct script *s, const char *place, uint32_t round)
{
    static const char *const users[] = {"sequence", "sequence", "sequence", "drf", "proportional"};
    struct engine_config config = script_config();
    strcpy(config.turn, round % 3 == 2 ? "fair" : "srpt");
    strcpy(config.place, place);
    strcpy(config.network, round % 2 ? "cans" : "rank");
    strcpy(config.users, users[round % 5]);
    engine_config_say(&config, "even_wait", round % 4 > 1 ? 3 * SECOND : 0, NULL);
    engine_config_say(&config, "pack", round % 4 == 3, NULL);
    script_begin(s, &config);
    for (uint32_t user = 0; user < USERS; user++) {
        char name[16];
        snprintf(name, sizeof(name), "u%u", user);
        script_user(s, user, name, 1 + user % 3);
    }
    for (uint32_t h = 0; h < HOSTS; h++)
        script_host(s, h, SLOTS);
}

/* Maps next to blocks on a few hosts, or on none, and what reads them. */
static void submit(struct pair *p)
{
    enum { MAPS = 12, REDUCES = 6 };
    uint32_t blocks[2 * MAPS];
    uint64_t sums[REDUCES], room[2 * MAPS + 2 * REDUCES];
    uint64_t most = draw(p, 3) ? 100 : 1000;
    struct event events[8];
    char name[32];
    for (int i = 0; i < 2 * MAPS; i++)
        blocks[i] = (uint32_t)draw(p, HOSTS);
    for (int i = 0; i < REDUCES; i++)
        sums[i] = (1 + draw(p, most)) * MEGABYTE;
    struct script_job job = {.number = ++p->jobs,
                             .maps = 1 + (uint32_t)draw(p, MAPS),
                             .per = draw(p, 8) ? 2 : 0,
                             .replicas = blocks,
                             .map_input = 64 * MEGABYTE,
                             .map_ns = SECOND,
                             .reduces = 1 + (uint32_t)draw(p, REDUCES),
                             .sums = sums};
    size_t n = script_job_events(&job, events, room, name, sizeof(name));
    events[0].job_begin.user = (uint32_t)draw(p, USERS);
    tell(p, events, n);
}

/* Some of what runs goes on, or ends in whatever way. */
static void go_on(struct pair *p, uint64_t most)
{
    static const enum event_kind kinds[] = {EVENT_ATTEMPT_DONE, EVENT_ATTEMPT_DONE,
                                            EVENT_ATTEMPT_RECEIVED, EVENT_ATTEMPT_FAILED,
                                            EVENT_ATTEMPT_LOST};
    struct event events[ENDS_MAX];
    struct attempt_view attempt;
    size_t n = 0;
    for (uint64_t after = 0;
         engine_attempt_after(p->remembers.engine, after, &attempt) == 0 && n < most;
         after = attempt.attempt) {
        if (draw(p, HOSTS))
            continue;
        events[n] = (struct event){.kind = kinds[draw(p, 40) ? draw(p, 3) : draw(p, 5)]};
        events[n++].attempt.attempt = attempt.attempt;
    }
    tell(p, events, n);
}

static void happen_to_a_host(struct pair *p)
{
    static const enum event_kind kinds[] = {EVENT_HOST_LOST, EVENT_HOST_SILENT, EVENT_HOST_BACK,
                                            EVENT_HOST_BACK};
    struct event event = {.kind = kinds[draw(p, 4)]};
    event.host.host = (uint32_t)draw(p, HOSTS);
    tell(p, &event, 1);
}

static void change_a_user(struct pair *p)
{
    struct event event = {.kind = EVENT_USER_SET, .request = 1};
    uint32_t user = (uint32_t)draw(p, USERS);
    char name[16];
    snprintf(name, sizeof(name), "u%u", user);
    event.user_set.user = user;
    event.user_set.name = name;
    event.user_set.share = 1 + (uint32_t)draw(p, 4);
    if (!draw(p, 3)) {
        event = (struct event){.kind = EVENT_USER_LEAVE, .request = 1};
        event.user_leave.user = user;
    }
    tell(p, &event, 1);
}

static void cancel(struct pair *p)
{
    struct event event = {.kind = EVENT_JOB_CANCEL, .request = 1};
    event.job_cancel.job = 1 + draw(p, p->jobs + 1);
    tell(p, &event, 1);
}

static void do_something(struct pair *p)
{
    uint64_t what = draw(p, 100);
    int64_t passed =
        (int64_t)draw(p, 20) ? (int64_t)draw(p, SECOND / 10) : (int64_t)draw(p, 20 * SECOND);
    p->remembers.now_ns = p->forgets.now_ns += passed;
    if (what < 60)
        go_on(p, 1);
    else if (what < 75)
        go_on(p, ENDS_MAX);
    else if (what < 95)
        submit(p);
    else if (what < 97)
        change_a_user(p);
    else if (what < 98)
        happen_to_a_host(p);
    else
        cancel(p);
}

static void test_decisions_are_as_by_looking_each_time(void **state)
{
    (void)state;
    remembering = forgetting = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct pair p = {.stream = test_seed() + round};
        begin(&p.remembers, "joint", round);
        begin(&p.forgets, "joint-forgets", round);
        for (uint32_t k = 0; k < STEPS; k++)
            do_something(&p);
        script_end(&p.remembers);
        script_end(&p.forgets);
    }
    print_message("%llu looks, without a memory %llu\n", (unsigned long long)remembering,
                  (unsigned long long)forgetting);
    assert_true(LOOKS_AGAIN || 10 * remembering < 9 * forgetting);
}

/* ---- asked more often ---- */

static struct {
    const struct engine *engine;
    uint64_t stream, times, found;
} more;

/* For any user that has something ready, on any host or on all. */
static void ask_for_one(struct engine *engine, const struct place_policy *place)
{
    struct claim claim;
    struct user *user;
    uint64_t n = test_random(&more.stream) % USERS;
    TAILQ_FOREACH (user, &engine->ready_users, of_ready) {
        if (n--)
            continue;
        engine->asked = user;
        engine->asked_host =
            test_random(&more.stream) % 3
                ? NULL
                : cluster_host(engine, (uint32_t)(test_random(&more.stream) % HOSTS));
        more.times++;
        more.found += place->pick(engine, &claim);
        return;
    }
}

static bool pick_and_ask_more(struct engine *engine, const struct place_policy *place,
                              struct claim *ret_claim)
{
    struct user *asked = engine->asked;
    struct host *asked_host = engine->asked_host;
    for (int i = 0; engine == more.engine && i < 3; i++)
        ask_for_one(engine, place);
    engine->asked = asked;
    engine->asked_host = asked_host;
    return place->pick(engine, ret_claim);
}

#define ASKED_MORE(name)                                                                           \
    static bool name##_pick(struct engine *engine, struct claim *ret_claim)                        \
    {                                                                                              \
        return pick_and_ask_more(engine, &place_##name, ret_claim);                                \
    }
ASKED_MORE(random)
ASKED_MORE(greedy)
ASKED_MORE(delay)
ASKED_MORE(nats)

static void test_what_is_pure_may_be_asked_more_often(void **state)
{
    static const char *const names[] = {"random", "greedy", "delay", "nats"};
    (void)state;
    for (uint32_t round = 0; round < 4 * ROUNDS; round++) {
        struct pair p = {.stream = test_seed() + round};
        begin(&p.remembers, names[round % 4], round / 4);
        begin(&p.forgets, names[round % 4], round / 4);
        more.engine = p.forgets.engine;
        more.stream = test_seed() + round;
        assert_true(p.forgets.engine->place->pure);
        for (uint32_t k = 0; k < STEPS; k++)
            do_something(&p);
        assert_int_equal(engine_digest(p.remembers.engine), engine_digest(p.forgets.engine));
        script_end(&p.remembers);
        script_end(&p.forgets);
    }
    print_message("%llu asked more, %llu found\n", (unsigned long long)more.times,
                  (unsigned long long)more.found);
    assert_true(more.found > 1000 && more.times > 2 * more.found);
}

static bool pick_and_remember(struct engine *engine, struct claim *ret_claim)
{
    remembering++;
    return place_joint.pick(engine, ret_claim);
}

static bool pick_and_forget(struct engine *engine, struct claim *ret_claim)
{
    forgetting++;
    return place_joint.pick(engine, ret_claim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decisions_are_as_by_looking_each_time),
        cmocka_unit_test(test_what_is_pure_may_be_asked_more_often),
    };
    random_more = place_random;
    greedy_more = place_greedy;
    delay_more = place_delay;
    nats_more = place_nats;
    random_more.pick = random_pick;
    greedy_more.pick = greedy_pick;
    delay_more.pick = delay_pick;
    nats_more.pick = nats_pick;
    joint_counts = joint_forgets = place_joint;
    joint_counts.pick = pick_and_remember;
    joint_forgets.pick = pick_and_forget;
    joint_forgets.policy.name = "joint-forgets";
    joint_forgets.in_vain = NULL;
    joint_forgets.pure_without_reduces = false;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
