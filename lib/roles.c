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
static const uint8_t senders[] = {
    [KIND(hello)] = AGENT,
    [KIND(inventory_part)] = AGENT,
    [KIND(inventory_end)] = AGENT,
    [KIND(agent_heartbeat)] = AGENT,
    [KIND(load)] = AGENT,
    [KIND(progress)] = AGENT,
    [KIND(attempt_state)] = AGENT,
    [KIND(output_lost)] = AGENT,
    [KIND(agent_counters)] = AGENT,
    [KIND(source_state)] = AGENT,
    [KIND(host_room)] = AGENT,
    [KIND(host_state)] = AGENT,
    [KIND(switch_part)] = AGENT,
    [KIND(links_part)] = AGENT,
    [KIND(guests_part)] = AGENT,

    [KIND(framework_hello)] = FRAMEWORK,
    [KIND(framework_job)] = FRAMEWORK,
    [KIND(framework_stage)] = FRAMEWORK,
    [KIND(framework_tasks)] = FRAMEWORK,
    [KIND(framework_bytes)] = FRAMEWORK,
    [KIND(framework_task)] = FRAMEWORK,
    [KIND(framework_end)] = FRAMEWORK,
    [KIND(framework_replayed)] = FRAMEWORK,
    [KIND(framework_executor)] = FRAMEWORK,

    [KIND(welcome)] = CONTROLLER,
    [KIND(refused)] = CONTROLLER,
    [KIND(lease)] = CONTROLLER,
    [KIND(start)] = CONTROLLER,
    [KIND(start_inputs)] = CONTROLLER,
    [KIND(stop)] = CONTROLLER,
    [KIND(levels)] = CONTROLLER,
    [KIND(mode)] = CONTROLLER,
    [KIND(forget)] = CONTROLLER,
    [KIND(ask_attempt)] = CONTROLLER,
    [KIND(take_stance)] = CONTROLLER,
    [KIND(guest_levels)] = CONTROLLER,
    [KIND(guest_allows)] = CONTROLLER,
    [KIND(submit_credit)] = CONTROLLER,
    [KIND(accepted)] = CONTROLLER,
    [KIND(page)] = CONTROLLER,
    [KIND(explanation)] = CONTROLLER,
    [KIND(status)] = CONTROLLER,
    [KIND(job_event)] = CONTROLLER,
    [KIND(controller_keys)] = CONTROLLER,
    [KIND(audit_page)] = CONTROLLER,
    [KIND(switch_page)] = CONTROLLER,
    [KIND(link_page)] = CONTROLLER,
    [KIND(guest_page)] = CONTROLLER,
    [KIND(guest_hello)] = CONTROLLER,
    [KIND(guest_task)] = CONTROLLER,
    [KIND(guest_mark)] = CONTROLLER,
    [KIND(set_flows)] = CONTROLLER,
    [KIND(set_plane_ports)] = CONTROLLER,
    [KIND(get_plane_ports)] = CONTROLLER,
    [KIND(plane_ports)] = CONTROLLER,
    [KIND(begin_capture)] = CONTROLLER,
    [KIND(end_capture)] = CONTROLLER,
    [KIND(captured)] = CONTROLLER,
    [KIND(snapshot)] = CONTROLLER,

    /* Says nothing but that its sender is there. */
    [KIND(acknowledge)] = AGENT | FRAMEWORK | READ | CONTROLLER,

    [KIND(list)] = READ,
    [KIND(explain)] = READ,
    [KIND(get_status)] = READ,
    [KIND(watch)] = READ,
    [KIND(get_controller_keys)] = READ,
    [KIND(get_audit)] = READ,

    [KIND(submit_begin)] = WORK,
    [KIND(submit_stage)] = WORK,
    [KIND(submit_tasks)] = WORK,
    [KIND(submit_bytes)] = WORK,
    [KIND(submit_end)] = WORK,
    [KIND(submit_prepare)] = WORK,
    [KIND(submit_commit)] = WORK,
    [KIND(cancel_job)] = WORK,

    [KIND(drain_host)] = OPERATE,
    [KIND(set_policy)] = OPERATE,
    [KIND(forget_host)] = OPERATE,
    [KIND(set_stance)] = OPERATE,

    [KIND(key_set)] = ADMIN,
    [KIND(key_revoke)] = ADMIN,
    [KIND(rotate_controller)] = ADMIN,
    [KIND(store_care)] = ADMIN, /* writes a file on the controller's host */
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
    return kind < sizeof(senders) / sizeof(senders[0]) && (senders[kind] & BIT(role)) != 0;
}
