/* Users' shares over time: spans have what users held meanwhile, whenever it was looked at. */
#include "tests/model/script.h"

#include "controller/shares.h"

enum { SLOTS = 8 };

static void begin(struct script *s, const char *users)
{
    struct engine_config config = script_config();
    strcpy(config.place, "greedy");
    strcpy(config.users, users);
    script_begin(s, &config);
}

static void set_user(struct script *s, uint32_t user, uint32_t share)
{
    char name[16];
    struct event event = {.kind = EVENT_USER_SET, .request = ++s->requests};
    snprintf(name, sizeof(name), "u%u", user);
    event.user_set.user = user;
    event.user_set.name = name;
    event.user_set.share = share;
    script_event(s, event);
}

static void leave(struct script *s, uint32_t user)
{
    struct event event = {.kind = EVENT_USER_LEAVE, .request = ++s->requests};
    event.user_leave.user = user;
    script_event(s, event);
}

/* A job of maps of one slot and so many bytes of memory each. */
static void submit(struct script *s, uint64_t job, uint32_t user, uint32_t maps, int64_t bytes)
{
    struct script_job of = {.number = job, .maps = maps, .map_ns = SECOND};
    struct event events[8];
    char name[32];
    uint64_t *room = calloc(2 * (size_t)maps + 1, sizeof(*room));
    size_t n = script_job_events(&of, events, room, name, sizeof(name));
    events[0].job_begin.user = user;
    events[1].job_stage.demand.amount[RES_MEM_BYTES] = bytes;
    script_events(s, events, n);
    free(room);
}

static void host(struct script *s)
{
    const uint64_t vector[ENGINE_RESOURCES] = {[RES_SLOTS] = SLOTS, [RES_MEM_BYTES] = 1000000000};
    script_event(s, script_join(0, SLOTS, vector));
}

static void end_first(struct script *s)
{
    struct attempt_view attempt;
    if (engine_attempt_after(s->engine, 0, &attempt) == 0)
        script_attempt(s, EVENT_ATTEMPT_DONE, attempt.attempt, 0);
}

static struct share_span last(const struct shares *shares, const uint32_t *user)
{
    struct shares_time time = shares_time(shares);
    const struct share_span *spans = shares_of(shares, user);
    assert_non_null(spans);
    assert_true(time.n > 0);
    return spans[time.n - 1];
}

static void test_a_span_has_what_was_held(void **state)
{
    struct script s;
    struct shares *shares = shares_create(0);
    const uint32_t none = 0, one = 1, unknown = 5;
    (void)state;
    begin(&s, "sequence");
    set_user(&s, 1, 3);
    s.now_ns = SECOND / 4;
    shares_pass(shares, s.engine, s.now_ns);
    host(&s);
    submit(&s, 1, 1, 6, 50000000);
    assert_int_equal(shares_time(shares).n, 0);
    s.now_ns = SECOND / 2;
    end_first(&s);
    end_first(&s);
    shares_pass(shares, s.engine, SECOND);
    assert_int_equal(shares_time(shares).n, 1);
    assert_int_equal(shares_time(shares).span_ns, SECOND);
    assert_int_equal(shares_time(shares).end_ns, SECOND);
    assert_int_equal(last(shares, &one).slots_milli, 6000 / 4 + 4000 / 2);
    assert_int_equal(last(shares, &one).mem_mb, (300 / 4) + (200 / 2));
    assert_int_equal(last(shares, &one).right_ppm, 750000);
    assert_int_equal(last(shares, &one).wanted_permille, 0);
    assert_int_equal(last(shares, &none).slots_milli, 0);
    assert_int_equal(last(shares, &none).right_ppm, 250000);
    assert_int_equal(last(shares, NULL).slots_milli, 3500);
    assert_int_equal(last(shares, NULL).right_ppm, 1000000);
    assert_null(shares_of(shares, &unknown));
    shares_destroy(shares);
    script_end(&s);
}

static void test_waiting_tasks_are_wanted(void **state)
{
    struct script s;
    struct shares *shares = shares_create(0);
    const uint32_t none = 0;
    (void)state;
    begin(&s, "sequence");
    host(&s);
    s.now_ns = SECOND / 2;
    submit(&s, 1, 0, SLOTS + 1, 0);
    s.now_ns = 3 * SECOND / 4;
    end_first(&s);
    shares_pass(shares, s.engine, SECOND);
    assert_int_equal(last(shares, &none).wanted_permille, 250);
    shares_destroy(shares);
    script_end(&s);
}

/* A user that is gone is forgotten; all keep what it had. Its number is a new user's then. */
static void test_users_come_and_go(void **state)
{
    struct script s;
    struct shares *shares = shares_create(0);
    const uint32_t one = 1, two = 2;
    (void)state;
    begin(&s, "none");
    set_user(&s, 1, 1);
    host(&s);
    submit(&s, 1, 1, 2, 0);
    s.now_ns = SECOND;
    shares_pass(shares, s.engine, s.now_ns);
    set_user(&s, 2, 2);
    end_first(&s);
    end_first(&s);
    leave(&s, 1);
    set_user(&s, 1, 7);
    s.now_ns = 2 * SECOND;
    shares_pass(shares, s.engine, s.now_ns);
    assert_int_equal(last(shares, &one).slots_milli, 0);
    assert_int_equal(last(shares, &one).right_ppm, 700000);
    assert_int_equal(shares_of(shares, &two)[0].right_ppm, 0);
    assert_int_equal(last(shares, &two).right_ppm, 200000);
    leave(&s, 1);
    shares_pass(shares, s.engine, 3 * SECOND);
    assert_null(shares_of(shares, &one));
    assert_int_equal(shares_of(shares, NULL)[0].slots_milli, 2000);
    shares_destroy(shares);
    script_end(&s);
}

static double sum(const struct share_span *spans, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += spans[i].slots_milli;
    return sum / 1000;
}

/* Slot-seconds of all spans are what was held until the newest ended, also when spans have become
 * longer. */
static void test_spans_add_up(void **state)
{
    struct script s;
    struct shares *shares = shares_create(0);
    const uint32_t none = 0;
    uint64_t stream = test_seed(), jobs = 0;
    double held = 0, until_end = 0;
    (void)state;
    begin(&s, "none");
    host(&s);
    while (s.now_ns < 900 * SECOND) {
        int64_t passed = (int64_t)(test_random(&stream) % (uint64_t)(7 * SECOND / 2));
        double running = SLOTS - (double)script_status(&s).slots_free;
        shares_pass(shares, s.engine, s.now_ns + passed);
        until_end = held + running * (double)(shares_time(shares).end_ns - s.now_ns) / 1e9;
        held += running * (double)passed / 1e9;
        s.now_ns += passed;
        if (test_random(&stream) % 2)
            submit(&s, ++jobs, 0, 1, 0);
        else
            end_first(&s);
    }
    struct shares_time time = shares_time(shares);
    double span_s = (double)time.span_ns / 1e9;
    assert_int_equal(time.span_ns, 8 * SECOND);
    assert_true(time.n >= SHARES_SPANS / 2 && time.n < SHARES_SPANS);
    double found = sum(shares_of(shares, &none), time.n) * span_s;
    assert_true(found <= until_end && found > until_end - 900. * 4 / 1000);
    assert_true(sum(shares_of(shares, NULL), time.n) * span_s == found);
    shares_destroy(shares);
    script_end(&s);
}

/* Months without an event, and more: spans are as long as they may be, and the oldest go. */
static void test_there_is_a_bound(void **state)
{
    struct script s;
    struct shares *shares = shares_create(0);
    const uint32_t none = 0;
    (void)state;
    begin(&s, "none");
    host(&s);
    submit(&s, 1, 0, 3, 0);
    shares_pass(shares, s.engine, 100 * 86400 * SECOND);
    struct shares_time time = shares_time(shares);
    assert_int_equal(time.span_ns, SHARES_SPAN_MAX_NS);
    assert_true(time.n == SHARES_SPANS - 1 &&
                100 * 86400 * SECOND - time.end_ns < SHARES_SPAN_MAX_NS);
    for (uint32_t i = 0; i < time.n; i++)
        assert_int_equal(shares_of(shares, &none)[i].slots_milli, 3000);
    shares_destroy(shares);
    script_end(&s);
}

static void test_how_far_orders_drift(void **state)
{
    struct script s;
    struct shares *shares = shares_create(0);
    static const uint32_t of[] = {20, 14, 8, 5};
    (void)state;
    begin(&s, "none");
    for (uint32_t i = 0; i < 4; i++)
        set_user(&s, i, of[i]);
    const struct users_drift *drift = shares_drift(shares, s.engine);
    assert_int_equal(drift->entries, 47);
    assert_true(drift->literal_ahead > 47 && drift->literal_ahead <= 47 * 105 / 100);
    assert_true(drift->even_ahead <= 47 * 83 / 100 + 1 && drift->even_behind <= 47 * 83 / 100 + 1);
    assert_ptr_equal(shares_drift(shares, s.engine), drift);
    set_user(&s, 3, 6);
    assert_int_equal(shares_drift(shares, s.engine)->entries, 24);
    leave(&s, 3);
    assert_int_equal(shares_drift(shares, s.engine)->entries, 21);
    shares_destroy(shares);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_span_has_what_was_held),
        cmocka_unit_test(test_waiting_tasks_are_wanted),
        cmocka_unit_test(test_users_come_and_go),
        cmocka_unit_test(test_spans_add_up),
        cmocka_unit_test(test_there_is_a_bound),
        cmocka_unit_test(test_how_far_orders_drift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
