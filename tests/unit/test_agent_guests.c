/* One level for an application of guests, by what all agents tell of it:
 * controller/agents/agent_guests.c beside a list that is added up anew each time. */
#include "tests/unit/test.h"

#include "controller/agents/agent_guests.h"
#include "lib/wire.h"

#include <string.h>

#define AGENTS 3
#define NAMES  4
#define USERS  2

static struct guest_levels levels;
static struct agent_guests agents[AGENTS];
static duopoly_GuestsPart parts[AGENTS];
static duopoly_GuestLevels told;

static void begin(void)
{
    levels = (struct guest_levels){0};
    memset(agents, 0, sizeof(agents));
    memset(parts, 0, sizeof(parts));
    level_table_exponential(&levels.table, 10, 10, 8);
}

static void end(void)
{
    for (int i = 0; i < AGENTS; i++)
        agent_guests_done(&levels, &agents[i]);
    assert_null(levels.applications);
}

static duopoly_GuestApplication *row(int agent, const char *name, uint32_t user, uint64_t bytes)
{
    duopoly_GuestsPart *part = &parts[agent];
    duopoly_GuestApplication *one = &part->applications[part->applications_count++];
    *one =
        (duopoly_GuestApplication){.user = user, .guests = 1, .received_bytes = bytes, .level = -1};
    wire_copy(one->name, sizeof(one->name), name);
    return one;
}

/* Nobody's but "d" of user 1. */
static bool is_vouched(void *user, const duopoly_GuestApplication *one)
{
    (void)user;
    return one->name[0] == 'd' && one->user == 1;
}

static void tell(int agent)
{
    agent_guests_take(&levels, &agents[agent], &parts[agent], parts[agent].applications_count,
                      is_vouched, NULL, &told);
}

/* What the agent is answered for the only application that it tells of: −1, nothing. */
static int level_of(int agent, const char *name, uint32_t user, uint64_t bytes, int had)
{
    parts[agent].applications_count = 0;
    row(agent, name, user, bytes)->level = had;
    tell(agent);
    if (!told.levels_count)
        return -1;
    assert_int_equal(told.levels_count, 1);
    assert_string_equal(told.levels[0].name, name);
    assert_int_equal(told.levels[0].user, user);
    return (int)told.levels[0].level;
}

static void test_the_bytes_of_all_hosts_count(void **state)
{
    (void)state;
    begin();
    assert_int_equal(level_of(0, "a", 5, 9, -1), 0);
    assert_int_equal(level_of(0, "a", 5, 9, 0), -1);
    assert_int_equal(level_of(1, "a", 5, 1, -1), 1); /* ten together */
    assert_int_equal(level_of(0, "a", 5, 9, 0), 1);
    assert_int_equal(level_of(2, "a", 6, 5, -1), 0); /* another user's */
    assert_int_equal(level_of(1, "a", 5, UINT64_C(1) << 60, 1), 7);
    end();
}

static void test_a_level_never_rises_while_anybody_is_there(void **state)
{
    (void)state;
    begin();
    assert_int_equal(level_of(0, "a", 5, 5, -1), 0);
    assert_int_equal(level_of(1, "a", 5, 100, -1), 2);
    parts[1].applications_count = 0;
    tell(1); /* its executors are gone, and their bytes */
    assert_int_equal(told.levels_count, 0);
    assert_int_equal(level_of(0, "a", 5, 5, 0), 2);
    agent_guests_done(&levels, &agents[0]);
    assert_int_equal(level_of(0, "a", 5, 5, -1), 0);
    end();
}

static void test_who_is_vouched_for_is_told(void **state)
{
    (void)state;
    begin();
    row(0, "d", 1, 1)->level = 0;
    tell(0);
    assert_int_equal(told.levels_count, 1);
    assert_true(told.levels[0].vouched);
    parts[0].applications[0].vouched = true;
    tell(0);
    assert_int_equal(told.levels_count, 0);
    parts[0].applications[0].user = 2;
    tell(0); /* another user's is not */
    assert_int_equal(told.levels_count, 1);
    assert_false(told.levels[0].vouched);
    assert_true(agent_guests_has(&agents[0], "d"));
    assert_false(agent_guests_has(&agents[0], "dd"));
    end();
}

static void test_nonsense_is_left_out(void **state)
{
    (void)state;
    begin();
    row(0, "a b", 5, 1);
    row(0, "", 5, 1);
    row(0, "a", 5, 1);
    row(0, "a", 5, 9); /* twice */
    tell(0);
    assert_int_equal(agents[0].n, 2);
    assert_int_equal(told.levels_count, 2);
    assert_int_equal(told.levels[0].level, 1);
    end();
}

/* Numbers of agents that lie: their sum is more than 64 bits have. */
static void test_no_sum_is_too_large(void **state)
{
    (void)state;
    begin();
    row(0, "a", 5, UINT64_MAX);
    row(0, "a", 5, 5); /* twice in one part */
    tell(0);
    assert_int_equal(told.levels[1].level, 7);
    assert_int_equal(level_of(1, "a", 5, UINT64_MAX, -1), 7);
    assert_int_equal(level_of(1, "a", 5, 3, 7), -1);
    assert_int_equal(level_of(0, "b", 5, 9, -1), 0);
    agent_guests_done(&levels, &agents[1]);
    assert_int_equal(level_of(1, "a", 5, 3, -1), 0); /* nothing of them is left in the sum */
    end();
}

/* The level that an application has reached. */
struct model {
    int level;
};

static void test_random_parts(void **state)
{
    (void)state;
    begin();
    uint64_t stream = test_seed();
    static const char *const names[NAMES] = {"a", "b", "c", "d"};
    struct model models[NAMES][USERS] = {0};
    for (int step = 0; step < 3000; step++) {
        int agent = (int)(test_random(&stream) % AGENTS);
        parts[agent].applications_count = 0;
        for (int n = 0; n < NAMES; n++)
            for (uint32_t user = 0; user < USERS; user++)
                if (test_random(&stream) % 3 == 0)
                    row(agent, names[n], user, test_random(&stream) % 2000);
        tell(agent);
        for (int n = 0; n < NAMES; n++)
            for (uint32_t user = 0; user < USERS; user++) {
                struct model *model = &models[n][user];
                uint64_t bytes = 0;
                bool there = false;
                for (int a = 0; a < AGENTS; a++)
                    for (pb_size_t i = 0; i < parts[a].applications_count; i++) {
                        const duopoly_GuestApplication *one = &parts[a].applications[i];
                        if (strcmp(one->name, names[n]) == 0 && one->user == user) {
                            bytes += one->received_bytes;
                            there = true;
                        }
                    }
                int level = (int)level_table_level(&levels.table, bytes);
                model->level = there && level > model->level ? level : there ? model->level : 0;
            }
        for (pb_size_t i = 0; i < told.levels_count; i++)
            assert_int_equal(told.levels[i].level,
                             models[told.levels[i].name[0] - 'a'][told.levels[i].user].level);
        assert_int_equal(told.levels_count, parts[agent].applications_count);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_bytes_of_all_hosts_count),
        cmocka_unit_test(test_a_level_never_rises_while_anybody_is_there),
        cmocka_unit_test(test_who_is_vouched_for_is_told),
        cmocka_unit_test(test_nonsense_is_left_out),
        cmocka_unit_test(test_no_sum_is_too_large),
        cmocka_unit_test(test_random_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
