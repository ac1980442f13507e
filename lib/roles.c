#include "lib/roles.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const names[ROLES] = {
    "nobody", "agent", "scheduler", "framework", "read-only", "operator", "admin", "controller",
};

#define BIT(role)  (1u << (role))
#define AGENT      BIT(ROLE_AGENT)
#define FRAMEWORK  BIT(ROLE_FRAMEWORK)
#define ADMIN      BIT(ROLE_ADMIN)
#define CONTROLLER BIT(ROLE_CONTROLLER)
#define OPERATE    (BIT(ROLE_OPERATOR) | ADMIN)
#define WORK       (BIT(ROLE_SCHEDULER) | OPERATE)
#define READ       (BIT(ROLE_READER) | WORK)

#define KIND(name) duopoly_Envelope_##name##_tag

/* The table. Its test walks every kind: one that is not here fails it. */
static const struct {
    uint8_t senders;
    uint8_t about; /* enum word_about */
} words[] = {
    [KIND(hello)] = {AGENT, ABOUT_THE_SPEAKER},
    [KIND(inventory_part)] = {AGENT, ABOUT_ITS_ATTEMPTS},
    [KIND(inventory_end)] = {AGENT, ABOUT_THE_SPEAKER},
    [KIND(agent_heartbeat)] = {AGENT, ABOUT_THE_SPEAKER},
    [KIND(load)] = {AGENT, ABOUT_THE_SPEAKER},
    [KIND(progress)] = {AGENT, ABOUT_ITS_ATTEMPTS},
    [KIND(attempt_state)] = {AGENT, ABOUT_ITS_ATTEMPTS},
    [KIND(output_lost)] = {AGENT, ABOUT_OTHERS},
    [KIND(agent_counters)] = {AGENT, ABOUT_THE_SPEAKER},
    [KIND(source_state)] = {AGENT, ABOUT_OTHERS},
    [KIND(host_room)] = {AGENT, ABOUT_THE_SPEAKER},
    [KIND(host_state)] = {AGENT, ABOUT_THE_SPEAKER},
    [KIND(switch_part)] = {AGENT, ABOUT_THE_SPEAKER},
    [KIND(links_part)] = {AGENT, ABOUT_THE_SPEAKER},
    [KIND(guests_part)] = {AGENT, ABOUT_THE_SPEAKER},

    [KIND(framework_hello)] = {FRAMEWORK, ABOUT_ITS_APPLICATION},
    [KIND(framework_job)] = {FRAMEWORK, ABOUT_ITS_APPLICATION},
    [KIND(framework_stage)] = {FRAMEWORK, ABOUT_ITS_APPLICATION},
    [KIND(framework_tasks)] = {FRAMEWORK, ABOUT_ITS_APPLICATION},
    [KIND(framework_bytes)] = {FRAMEWORK, ABOUT_ITS_APPLICATION},
    [KIND(framework_task)] = {FRAMEWORK, ABOUT_ITS_APPLICATION},
    [KIND(framework_end)] = {FRAMEWORK, ABOUT_ITS_APPLICATION},
    [KIND(framework_replayed)] = {FRAMEWORK, ABOUT_ITS_APPLICATION},
    [KIND(framework_executor)] = {FRAMEWORK, ABOUT_ITS_APPLICATION},

    [KIND(welcome)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(refused)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(lease)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(start)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(start_inputs)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(stop)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(levels)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(mode)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(forget)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(ask_attempt)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(take_stance)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(guest_levels)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(guest_allows)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(submit_credit)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(accepted)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(page)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(explanation)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(status)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(job_event)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(controller_keys)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(audit_page)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(switch_page)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(link_page)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(guest_page)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(guest_hello)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(guest_task)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(guest_mark)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(set_flows)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(set_plane_ports)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(get_plane_ports)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(plane_ports)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(begin_capture)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(end_capture)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(captured)] = {CONTROLLER, ABOUT_THE_CLUSTER},
    [KIND(snapshot)] = {CONTROLLER, ABOUT_THE_CLUSTER},

    /* Says nothing but that its sender is there. */
    [KIND(acknowledge)] = {AGENT | FRAMEWORK | READ | CONTROLLER, ABOUT_THE_SPEAKER},

    [KIND(list)] = {READ, ABOUT_THE_CLUSTER},
    [KIND(explain)] = {READ, ABOUT_THE_CLUSTER},
    [KIND(get_status)] = {READ, ABOUT_THE_CLUSTER},
    [KIND(watch)] = {READ, ABOUT_THE_CLUSTER},
    [KIND(get_controller_keys)] = {READ, ABOUT_THE_CLUSTER},
    [KIND(get_audit)] = {READ, ABOUT_THE_CLUSTER},

    [KIND(submit_begin)] = {WORK, ABOUT_THE_CLUSTER},
    [KIND(submit_stage)] = {WORK, ABOUT_THE_CLUSTER},
    [KIND(submit_tasks)] = {WORK, ABOUT_THE_CLUSTER},
    [KIND(submit_bytes)] = {WORK, ABOUT_THE_CLUSTER},
    [KIND(submit_end)] = {WORK, ABOUT_THE_CLUSTER},
    [KIND(submit_prepare)] = {WORK, ABOUT_THE_CLUSTER},
    [KIND(submit_commit)] = {WORK, ABOUT_THE_CLUSTER},
    [KIND(cancel_job)] = {WORK, ABOUT_THE_CLUSTER},

    [KIND(drain_host)] = {OPERATE, ABOUT_THE_CLUSTER},
    [KIND(set_policy)] = {OPERATE, ABOUT_THE_CLUSTER},
    [KIND(forget_host)] = {OPERATE, ABOUT_THE_CLUSTER},
    [KIND(set_stance)] = {OPERATE, ABOUT_THE_CLUSTER},

    [KIND(key_set)] = {ADMIN, ABOUT_THE_CLUSTER},
    [KIND(key_revoke)] = {ADMIN, ABOUT_THE_CLUSTER},
    [KIND(rotate_controller)] = {ADMIN, ABOUT_THE_CLUSTER},
    [KIND(store_care)] = {ADMIN, ABOUT_THE_CLUSTER}, /* writes a file on the controller's host */
};

const char *role_name(enum role role)
{
    return role < ROLES ? names[role] : names[ROLE_NOBODY];
}

int role_parse(const char *text, enum role *ret_role, struct err *err)
{
    for (int role = ROLE_NOBODY + 1; role < ROLES; role++)
        if (strcmp(text, names[role]) == 0) {
            *ret_role = (enum role)role;
            return 0;
        }
    return err_set(err, EINVAL,
                   "there is no role '%s'; there are: agent, scheduler, framework, "
                   "read-only, operator, admin, controller",
                   text);
}

bool role_may_send(enum role role, pb_size_t kind)
{
    return kind < sizeof(words) / sizeof(words[0]) && (words[kind].senders & BIT(role)) != 0;
}

enum word_about word_about(pb_size_t kind)
{
    return kind < sizeof(words) / sizeof(words[0]) ? (enum word_about)words[kind].about
                                                   : ABOUT_NOBODY;
}
