/* Who may say what: one table of kinds of messages (roles.c), asked at every door before a message is looked
 * at any further.
 *
 * A role belongs to a key (lib/keys.h) or, on the Unix socket, to root and two groups. Pure; O(1). */
#pragma once

#include "lib/err.h"
#include "schemas/duopoly.pb.h"

#include <stdbool.h>

enum role {
    ROLE_NOBODY,
    ROLE_AGENT,      /* a host or a switch: what happens there */
    ROLE_SCHEDULER,  /* a program that submits jobs, watches and cancels them */
    ROLE_FRAMEWORK,  /* an application that places its tasks by itself: what it does */
    ROLE_READER,     /* looks at everything and changes nothing */
    ROLE_OPERATOR,   /* changes what runs */
    ROLE_ADMIN,      /* and who may */
    ROLE_CONTROLLER, /* duopolyd itself: nobody else may send what it sends */
    ROLES
};

/* As in key files and on command lines: "agent", "scheduler", "framework", "read-only", "operator", "admin",
 * "controller"; "nobody" for others. */
const char *role_name(enum role role);

/* −EINVAL with the names that there are; "nobody" is none of them. */
int role_parse(const char *text, enum role *ret_role, struct err *err);

/* Whether who has this role may send messages of this kind (duopoly_Envelope_…_tag). Unknown kinds:
 * nobody. */
bool role_may_send(enum role role, pb_size_t kind);
