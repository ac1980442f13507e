/* Who may say what: every kind of message of the schema, for every role, beside what is written here
 * again as lists of names. */
#include "tests/unit/test.h"

#include "lib/roles.h"
#include "lib/wire.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define KINDS 256 /* numbers of kinds are below it */

static const char *const of_agents[] = {"hello",
                                        "inventory_part",
                                        "inventory_end",
                                        "agent_heartbeat",
                                        "load",
                                        "progress",
                                        "attempt_state",
                                        "output_lost",
                                        "agent_counters",
                                        "source_state",
                                        "host_room",
                                        "host_state",
                                        "acknowledge",
                                        "switch_part",
                                        "links_part",
                                        "guests_part",
                                        NULL};
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
static const char *const of_readers[] = {"list",      "explain",     "get_status",
                                         "watch",     "acknowledge", "get_controller_keys",
                                         "get_audit", NULL};
static const char *const of_schedulers[] = {"submit_begin",  "submit_stage", "submit_tasks",
                                            "submit_bytes",  "submit_end",   "submit_prepare",
                                            "submit_commit", "cancel_job",   NULL};
static const char *const of_operators[] = {"drain_host", "set_policy", "forget_host", "set_stance",
                                           NULL};
static const char *const of_admins[] = {"key_set", "key_revoke", "rotate_controller", "store_care",
                                        NULL};
static const char *const of_the_controller[] = {"welcome",
                                                "refused",
                                                "lease",
                                                "start",
                                                "start_inputs",
                                                "stop",
                                                "levels",
                                                "mode",
                                                "take_stance",
                                                "forget",
                                                "ask_attempt",
                                                "acknowledge",
                                                "submit_credit",
                                                "accepted",
                                                "page",
                                                "explanation",
                                                "status",
                                                "job_event",
                                                "audit_page",
                                                "controller_keys",
                                                "switch_page",
                                                "set_flows",
                                                "link_page",
                                                "guest_page",
                                                "guest_levels",
                                                "guest_allows",
                                                "guest_hello",
                                                "guest_task",
                                                "guest_mark",
                                                "snapshot",
                                                "set_plane_ports",
                                                "get_plane_ports",
                                                "plane_ports",
                                                "begin_capture",
                                                "end_capture",
                                                "captured",
                                                NULL};

static bool stands_in(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* What a role may send, written as who has what of whom. */
static bool expected(enum role role, const char *kind)
{
    switch (role) {
    case ROLE_AGENT:
        return stands_in(of_agents, kind);
    case ROLE_FRAMEWORK:
        return stands_in(of_frameworks, kind);
    case ROLE_CONTROLLER:
        return stands_in(of_the_controller, kind);
    case ROLE_ADMIN:
        return stands_in(of_admins, kind) || expected(ROLE_OPERATOR, kind);
    case ROLE_OPERATOR:
        return stands_in(of_operators, kind) || expected(ROLE_SCHEDULER, kind);
    case ROLE_SCHEDULER:
        return stands_in(of_schedulers, kind) || expected(ROLE_READER, kind);
    case ROLE_READER:
        return stands_in(of_readers, kind);
    default:
        return false;
    }
}

static void every_kind_is_for_the_roles_that_it_is_for(void **state)
{
    int kinds = 0, allowed = 0;
    (void)state;
    for (pb_size_t kind = 0; kind < KINDS; kind++) {
        const char *name = wire_kind_name(kind);
        bool anybody = false;
        for (int role = ROLE_NOBODY; role < ROLES; role++) {
            bool may = role_may_send((enum role)role, kind);
            if (may != expected((enum role)role, name))
                fail_msg("%s %s send %s", role_name((enum role)role), may ? "may" : "may not",
                         name);
            anybody |= may;
            allowed += may;
        }
        /* A kind that nobody may send was forgotten in the table. */
        assert_int_equal(anybody, strcmp(name, "unknown") != 0);
        kinds += anybody;
    }
    printf("# %d kinds × %d roles, %d allowed\n", kinds, ROLES, allowed);
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
        cmocka_unit_test(every_kind_is_for_the_roles_that_it_is_for),
        cmocka_unit_test(a_role_is_read_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
