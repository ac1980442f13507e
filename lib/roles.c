#include "lib/roles.h"

#include "lib/wire.h"

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

/* The table. Its test walks every kind: one that is not here fails it. */
static const uint8_t senders[WIRE_KINDS] = {
    [WIRE_KIND(hello)] = AGENT,
    [WIRE_KIND(inventory_part)] = AGENT,
    [WIRE_KIND(inventory_end)] = AGENT,
    [WIRE_KIND(agent_heartbeat)] = AGENT,
    [WIRE_KIND(load)] = AGENT,
    [WIRE_KIND(progress)] = AGENT,
    [WIRE_KIND(attempt_state)] = AGENT,
    [WIRE_KIND(output_lost)] = AGENT,
    [WIRE_KIND(agent_counters)] = AGENT,
    [WIRE_KIND(source_state)] = AGENT,
    [WIRE_KIND(host_room)] = AGENT,
    [WIRE_KIND(host_state)] = AGENT,
    [WIRE_KIND(switch_part)] = AGENT,
    [WIRE_KIND(links_part)] = AGENT,
    [WIRE_KIND(guests_part)] = AGENT,

    [WIRE_KIND(framework_hello)] = FRAMEWORK,
    [WIRE_KIND(framework_job)] = FRAMEWORK,
    [WIRE_KIND(framework_stage)] = FRAMEWORK,
    [WIRE_KIND(framework_tasks)] = FRAMEWORK,
    [WIRE_KIND(framework_bytes)] = FRAMEWORK,
    [WIRE_KIND(framework_task)] = FRAMEWORK,
    [WIRE_KIND(framework_end)] = FRAMEWORK,
    [WIRE_KIND(framework_replayed)] = FRAMEWORK,
    [WIRE_KIND(framework_executor)] = FRAMEWORK,

    [WIRE_KIND(welcome)] = CONTROLLER,
    [WIRE_KIND(refused)] = CONTROLLER,
    [WIRE_KIND(lease)] = CONTROLLER,
    [WIRE_KIND(start)] = CONTROLLER,
    [WIRE_KIND(start_inputs)] = CONTROLLER,
    [WIRE_KIND(stop)] = CONTROLLER,
    [WIRE_KIND(levels)] = CONTROLLER,
    [WIRE_KIND(mode)] = CONTROLLER,
    [WIRE_KIND(forget)] = CONTROLLER,
    [WIRE_KIND(ask_attempt)] = CONTROLLER,
    [WIRE_KIND(take_stance)] = CONTROLLER,
    [WIRE_KIND(guest_levels)] = CONTROLLER,
    [WIRE_KIND(guest_allows)] = CONTROLLER,
    [WIRE_KIND(submit_credit)] = CONTROLLER,
    [WIRE_KIND(accepted)] = CONTROLLER,
    [WIRE_KIND(page)] = CONTROLLER,
    [WIRE_KIND(explanation)] = CONTROLLER,
    [WIRE_KIND(status)] = CONTROLLER,
    [WIRE_KIND(job_event)] = CONTROLLER,
    [WIRE_KIND(controller_keys)] = CONTROLLER,
    [WIRE_KIND(audit_page)] = CONTROLLER,
    [WIRE_KIND(switch_page)] = CONTROLLER,
    [WIRE_KIND(link_page)] = CONTROLLER,
    [WIRE_KIND(guest_page)] = CONTROLLER,
    [WIRE_KIND(guest_hello)] = CONTROLLER,
    [WIRE_KIND(guest_task)] = CONTROLLER,
    [WIRE_KIND(guest_mark)] = CONTROLLER,
    [WIRE_KIND(set_flows)] = CONTROLLER,
    [WIRE_KIND(set_plane_ports)] = CONTROLLER,
    [WIRE_KIND(get_plane_ports)] = CONTROLLER,
    [WIRE_KIND(plane_ports)] = CONTROLLER,
    [WIRE_KIND(begin_capture)] = CONTROLLER,
    [WIRE_KIND(end_capture)] = CONTROLLER,
    [WIRE_KIND(captured)] = CONTROLLER,
    [WIRE_KIND(snapshot)] = CONTROLLER,

    /* Says nothing but that its sender is there. */
    [WIRE_KIND(acknowledge)] = AGENT | FRAMEWORK | READ | CONTROLLER,

    [WIRE_KIND(list)] = READ,
    [WIRE_KIND(explain)] = READ,
    [WIRE_KIND(get_status)] = READ,
    [WIRE_KIND(watch)] = READ,
    [WIRE_KIND(get_controller_keys)] = READ,
    [WIRE_KIND(get_audit)] = READ,

    [WIRE_KIND(submit_begin)] = WORK,
    [WIRE_KIND(submit_stage)] = WORK,
    [WIRE_KIND(submit_tasks)] = WORK,
    [WIRE_KIND(submit_bytes)] = WORK,
    [WIRE_KIND(submit_end)] = WORK,
    [WIRE_KIND(submit_prepare)] = WORK,
    [WIRE_KIND(submit_commit)] = WORK,
    [WIRE_KIND(cancel_job)] = WORK,

    [WIRE_KIND(drain_host)] = OPERATE,
    [WIRE_KIND(set_policy)] = OPERATE,
    [WIRE_KIND(forget_host)] = OPERATE,
    [WIRE_KIND(set_stance)] = OPERATE,

    [WIRE_KIND(key_set)] = ADMIN,
    [WIRE_KIND(key_revoke)] = ADMIN,
    [WIRE_KIND(rotate_controller)] = ADMIN,
    [WIRE_KIND(store_care)] = ADMIN, /* writes a file on the controller's host */
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
    return kind < WIRE_KINDS && (senders[kind] & BIT(role)) != 0;
}
