/* Computes the wanted CONFIG_DB of a SONiC switch for as many ports as possible. Each port is
 * judged alone; a port that cannot have its queues is left as the site has it (pure). O(rows +
 * ports), once more each time that ports are left. */
#pragma once

#include "lib/sonic/sonic_want.h"

struct sonic_most {
    const json_t *db, *site; /* what is in force; the site's part of it */
    /* Whether other owners' settings on this port may be replaced; another agent's never are. */
    bool (*may_replace)(void *user, const char *port);
    /* Called for a port that is left, with the reason. Returns 0, or the error for sonic_want_most
     * to return. */
    int (*left)(void *user, const char *port, const struct err *why);
    void *user;
};

/* As sonic_want, for those of `ports` (*n of them) that can have their queues: these are moved to
 * the front, and *n becomes their number. */
int sonic_want_most(const struct sonic_most *most, const struct sonic_wish *wish,
                    struct sonic_port *ports, uint32_t *n, json_t **ret_want, struct err *err);
