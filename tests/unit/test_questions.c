/* Questions that wait for agents: each ends once, by its answer, by time, or with its client; never
 * more than the bounds are open. */
#include "tests/unit/test.h"

#include "controller/clients/questions.h"

#include <string.h>

#define MS     INT64_C(1000000)
#define HOSTS  8
#define STEPS  20000
#define FUTURE (QUESTIONS_MOST * UINT64_C(1000000))

static struct timers timers;
static struct questions questions;
static uint64_t late_client;
static char late_host[64];
static uint32_t lates;

static void on_late(void *user, uint64_t client, const char *host)
{
    (void)user;
    late_client = client;
    snprintf(late_host, sizeof(late_host), "%s", host);
    lates++;
}

static int setup(void **state)
{
    (void)state;
    timers_init(&timers);
    questions_init(&questions, &timers, on_late, NULL);
    lates = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    questions_done(&questions);
    assert_int_equal(timers_next_ns(&timers), INT64_MAX);
    return 0;
}

static void an_answer_ends_the_question_that_it_is_of(void **state)
{
    (void)state;
    uint64_t number = questions_begin(&questions, 0, 7, "w1");
    assert_true(number > 0);
    assert_int_equal(questions_answered(&questions, "w2", number), 0);
    assert_int_equal(questions_answered(&questions, "w1", number + 1), 0);
    assert_int_equal(questions_answered(&questions, "w1", number + QUESTIONS_MOST), 0);
    assert_int_equal(questions_answered(&questions, "w1", 0), 0);
    assert_int_equal(questions_answered(&questions, "w1", number), 7);
    assert_int_equal(questions_answered(&questions, "w1", number), 0);
    timers_run(&timers, 2 * QUESTIONS_WAIT_NS);
    assert_int_equal(lates, 0);
}

static void one_without_an_answer_is_late_once(void **state)
{
    (void)state;
    uint64_t number = questions_begin(&questions, 5 * MS, 7, "w1");
    timers_run(&timers, 5 * MS + QUESTIONS_WAIT_NS - 1);
    assert_int_equal(lates, 0);
    timers_run(&timers, 5 * MS + QUESTIONS_WAIT_NS);
    assert_int_equal(lates, 1);
    assert_int_equal(late_client, 7);
    assert_string_equal(late_host, "w1");
    assert_int_equal(questions_answered(&questions, "w1", number), 0);
    timers_run(&timers, 5 * QUESTIONS_WAIT_NS);
    assert_int_equal(lates, 1);
    /* Its place is another question's now: the late answer is not that one's. */
    for (uint64_t i = 0; i < QUESTIONS_OF_HOST; i++)
        assert_true(questions_begin(&questions, 0, 8 + i, "w1") > 0);
    assert_int_equal(questions_answered(&questions, "w1", number), 0);
}

static void one_whose_client_is_gone_is_nobodys(void **state)
{
    (void)state;
    uint64_t number = questions_begin(&questions, 0, 7, "w1");
    uint64_t other = questions_begin(&questions, 0, 8, "w1");
    questions_drop(&questions, 7);
    questions_drop(&questions, 9);
    assert_int_equal(questions_answered(&questions, "w1", number), 0);
    timers_run(&timers, QUESTIONS_WAIT_NS);
    assert_int_equal(lates, 1);
    assert_int_equal(late_client, 8);
    assert_int_equal(questions_answered(&questions, "w1", other), 0);
}

static void one_host_leaves_room_for_the_others(void **state)
{
    (void)state;
    uint64_t client = 0, last = 0;
    for (int i = 0; i < QUESTIONS_OF_HOST; i++)
        assert_true((last = questions_begin(&questions, 0, ++client, "hangs")) > 0);
    assert_int_equal(questions_begin(&questions, 0, ++client, "hangs"), 0);
    for (int i = QUESTIONS_OF_HOST; i < QUESTIONS_MOST; i++) {
        char host[16];
        snprintf(host, sizeof(host), "w%d", i);
        assert_true(questions_begin(&questions, 0, ++client, host) > 0);
    }
    assert_int_equal(questions_begin(&questions, 0, ++client, "w1"), 0);
    assert_true(questions_answered(&questions, "hangs", last) > 0);
    assert_true(questions_begin(&questions, 0, ++client, "w1") > 0);
}

/* Beside a model: the client of each open question by its number, and when it is late. */
static struct {
    uint64_t number, client;
    int64_t due_ns;
    uint32_t host;
} model[QUESTIONS_MOST];
static uint32_t model_n;
static uint64_t expected_lates;

static uint32_t model_of_host(uint32_t host)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < model_n; i++)
        n += model[i].host == host;
    return n;
}

static void model_expire(int64_t now_ns)
{
    for (uint32_t i = model_n; i-- > 0;)
        if (model[i].due_ns <= now_ns) {
            expected_lates++;
            model[i] = model[--model_n];
        }
}

static void begin_one(int64_t now_ns, uint64_t client, uint32_t host)
{
    char name[16];
    snprintf(name, sizeof(name), "h%u", host);
    bool room = model_n < QUESTIONS_MOST && model_of_host(host) < QUESTIONS_OF_HOST;
    uint64_t number = questions_begin(&questions, now_ns, client, name);
    assert_int_equal(number != 0, room);
    for (uint32_t i = 0; i < model_n; i++)
        assert_true(model[i].number != number);
    if (!number)
        return;
    model[model_n].number = number;
    model[model_n].client = client;
    model[model_n].due_ns = now_ns + QUESTIONS_WAIT_NS;
    model[model_n++].host = host;
}

static void answer_one(uint32_t at)
{
    char name[16];
    snprintf(name, sizeof(name), "h%u", model[at].host);
    assert_int_equal(questions_answered(&questions, "nobody", model[at].number), 0);
    assert_int_equal(questions_answered(&questions, name, model[at].number), model[at].client);
    model[at] = model[--model_n];
}

static uint32_t below(uint64_t *seed, uint32_t n)
{
    return (uint32_t)(test_random(seed) % n);
}

static void whatever_happens_each_ends_once(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    int64_t now_ns = 0;
    uint64_t client = 0;
    model_n = 0;
    expected_lates = 0;
    for (int step = 0; step < STEPS; step++) {
        uint32_t what = below(&seed, 10);
        if (what < 6)
            begin_one(now_ns, ++client, below(&seed, HOSTS));
        else if (what < 8 && model_n)
            answer_one(below(&seed, model_n));
        else if (what < 9)
            assert_int_equal(questions_answered(&questions, "h1", FUTURE + (uint64_t)step), 0);
        else if (model_n) {
            uint32_t at = below(&seed, model_n);
            questions_drop(&questions, model[at].client);
            model[at] = model[--model_n];
        }
        now_ns += below(&seed, 10) * MS;
        timers_run(&timers, now_ns);
        model_expire(now_ns);
        assert_int_equal(lates, expected_lates);
    }
    assert_true(lates > 100);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(whatever_happens_each_ends_once),     CASE(an_answer_ends_the_question_that_it_is_of),
        CASE(one_without_an_answer_is_late_once),  CASE(one_whose_client_is_gone_is_nobodys),
        CASE(one_host_leaves_room_for_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
