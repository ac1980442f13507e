/* Roles: what the holder of a key (lib/keys.h) may do, or, on the Unix socket, root and the members
 * of two groups. Which messages each role may send is in the tables of those that handle them:
 * controller/agents/agent_kinds.c, controller/frameworks/application_fact.c and
 * controller/clients/requests.c. Pure; O(1). */
#pragma once

#include "lib/err.h"

enum role {
    ROLE_NOBODY,
    ROLE_AGENT,      /* a host or a switch: reports what happens there */
    ROLE_SCHEDULER,  /* a program that submits jobs, watches and cancels them */
    ROLE_FRAMEWORK,  /* an application that places its own tasks: reports what it does */
    ROLE_READER,     /* reads everything and changes nothing */
    ROLE_OPERATOR,   /* changes what runs */
    ROLE_ADMIN,      /* and changes who may do what */
    ROLE_CONTROLLER, /* duopolyd itself: only it may send what it sends */
    ROLES
};

/* The role's bit in a set of roles. */
#define ROLE_BIT(role) (1u << (role))

/* As in key files and on command lines: "agent", "scheduler", "framework", "read-only", "operator",
 * "admin", "controller"; "nobody" for others. */
const char *role_name(enum role role);

/* −EINVAL with the list of roles; "nobody" is not one of them. */
int role_parse(const char *text, enum role *ret_role, struct err *err);
