/* What a SONiC's CONFIG_DB should hold for as many ports as can have what is wished of them: each by
 * itself, and all others are left as the site has them (pure). O(rows + ports), once more for each time
 * that some are left. */
#pragma once

#include "lib/sonic/sonic_want.h"

struct sonic_most {
    const json_t *db, *site; /* what is in force, and the site's of it */
    /* Whether what is somebody's may make room on this port; another agent's never does. */
    bool (*may_replace)(void *user, const char *port);
    /* A port is left, and why. 0, or what sonic_want_most then returns. */
    int (*left)(void *user, const char *port, const struct err *why);
    void *user;
};

/* As sonic_want, of those of `ports` (as many as *n) that can: they come first, and *n is how many they are. */
int sonic_want_most(const struct sonic_most *most, const struct sonic_wish *wish,
                    struct sonic_port *ports, uint32_t *n, json_t **ret_want, struct err *err);
