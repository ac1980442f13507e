/* Roles: what a key (lib/keys.h) or, on the Unix socket, root and two groups may be. Which kinds of messages
 * each may send stands with what takes them, one row a kind: controller/agents/agent_kinds.c,
 * controller/frameworks/application_fact.c and controller/clients/requests.c. Pure; O(1). */
#pragma once

#include "lib/err.h"

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

/* In a set of roles. */
#define ROLE_BIT(role) (1u << (role))

/* As in key files and on command lines: "agent", "scheduler", "framework", "read-only", "operator", "admin",
 * "controller"; "nobody" for others. */
const char *role_name(enum role role);

/* −EINVAL with the names that there are; "nobody" is none of them. */
int role_parse(const char *text, enum role *ret_role, struct err *err);
