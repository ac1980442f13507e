/* Roles by their names; which kinds of messages agents and frameworks may send, beside what is
 * written here again as lists of names. */
#include "tests/unit/test.h"

#include "controller/agents/agents.h"
#include "controller/frameworks/frameworks.h"
#include "lib/roles.h"
#include "lib/wire.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const char *const of_agents[] = {"hello",           "inventory_part", "inventory_end",
                                        "agent_heartbeat", "load",           "progress",
                                        "attempt_state",   "output_lost",    "agent_counters",
                                        "source_state",    "host_room",      "host_state",
                                        "acknowledge",     "switch_part",    "links_part",
                                        "guests_part",     "asked_part",     NULL};
static const char *const of_frameworks[] = {"framework_hello",
                                            "framework_job",
                                            "framework_stage",
                                            "framework_tasks",
                                            "framework_bytes",
                                            "framework_task",
                                            "framework_end",
                                            "framework_replayed",
                                            "framework_executor",
                                            "acknowledge",
                                            NULL};
static bool stands_in(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* What clients may ask is walked at the doors: tests/net/test_kinds.py. */
static void agents_and_frameworks_send_what_is_theirs(void **state)
{
    int agents = 0, frameworks = 0;
    (void)state;
    for (pb_size_t kind = 1; kind < WIRE_KINDS; kind++) {
        const char *name = wire_kind_name(kind);
        if (agents_take(kind) != stands_in(of_agents, name))
            fail_msg("%s of agents", name);
        if (frameworks_take(kind) != stands_in(of_frameworks, name))
            fail_msg("%s of frameworks", name);
        agents += agents_take(kind);
        frameworks += frameworks_take(kind);
    }
    assert_int_equal(agents, sizeof(of_agents) / sizeof(of_agents[0]) - 1);
    assert_int_equal(frameworks, sizeof(of_frameworks) / sizeof(of_frameworks[0]) - 1);
    assert_true(agents_take(0) && frameworks_take(0)); /* of a later version */
}

static void a_role_is_read_by_its_name(void **state)
{
    enum role role;
    struct err err;
    (void)state;
    for (int i = ROLE_NOBODY + 1; i < ROLES; i++) {
        assert_int_equal(role_parse(role_name((enum role)i), &role, NULL), 0);
        assert_int_equal(role, i);
    }
    assert_int_equal(role_parse("nobody", &role, &err), -EINVAL);
    assert_int_equal(role_parse("Admin", &role, &err), -EINVAL);
    assert_non_null(strstr(err.text, "read-only"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agents_and_frameworks_send_what_is_theirs),
        cmocka_unit_test(a_role_is_read_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
