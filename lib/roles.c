#include "lib/roles.h"

#include <errno.h>
#include <string.h>

static const char *const names[ROLES] = {
    "nobody", "agent", "scheduler", "framework", "read-only", "operator", "admin", "controller",
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
