#include "lib/sonic/sonic_most.h"

#include <errno.h>
#include <string.h>

/* Ports that are left, by name, and why. */
struct leaving {
    const struct sonic_most *most;
    json_t *why;
};

static void leave(struct leaving *leaving, const char *port, const struct sonic_taken *taken)
{
    bool anothers = taken->owner == SONIC_ANOTHERS;
    if (!anothers && leaving->most->may_replace(leaving->most->user, port))
        return;
    if (anothers || !json_object_get(leaving->why, port))
        json_object_set_new(
            leaving->why, port,
            json_sprintf("%s|%s has a %s, %s", taken->table, taken->key, taken->field,
                         anothers ? "another agent's: let that one restore first"
                                  : "which is somebody's: start with --replace to let "
                                    "it make room until the agent leaves"));
}

/* All ports of the row. */
static void leave_row(void *user, const struct sonic_taken *taken)
{
    const char *at = taken->key, *end = at + strcspn(at, "|");
    char name[SONIC_NAME];
    while (sonic_next_name(&at, end, name))
        leave(user, name, taken);
}

/* Without those that are left; whether there were any. */
static int drop_left(const struct leaving *leaving, struct sonic_port *ports, uint32_t *n)
{
    uint32_t stay = 0, before = *n;
    int r = 0;
    for (uint32_t i = 0; i < before; i++) {
        const json_t *words = json_object_get(leaving->why, ports[i].name);
        struct err why = {0};
        if (!words) {
            ports[stay++] = ports[i];
            continue;
        }
        err_set(&why, EBUSY, "%s", json_string_value(words));
        int other = leaving->most->left(leaving->most->user, ports[i].name, &why);
        r = r < 0 ? r : other;
    }
    *n = stay;
    return r < 0 ? r : stay < before;
}

static int drop_unable(const struct sonic_most *most, const struct sonic_wish *wish,
                       struct sonic_port *ports, uint32_t *n)
{
    uint32_t stay = 0;
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < *n; i++) {
        struct err why = {0};
        if (sonic_can(most->site, wish, &ports[i], &why) >= 0)
            ports[stay++] = ports[i];
        else
            r = most->left(most->user, ports[i].name, &why);
    }
    *n = stay;
    return r;
}

/* 1: some were left, so it is to be done again without them. */
static int want_once(const struct sonic_most *most, struct sonic_wish *wish,
                     struct sonic_port *ports, uint32_t *n, json_t **ret_want, struct err *err)
{
    struct leaving leaving = {.most = most, .why = json_object()};
    wish->ports = ports;
    wish->ports_n = *n;
    int r = leaving.why ? sonic_want(most->site, wish, ret_want, err)
                        : err_sys(err, ENOMEM, "%u ports", *n);
    if (r >= 0) {
        sonic_in_place(most->db, most->site, *ret_want, wish->owner, leave_row, &leaving);
        r = drop_left(&leaving, ports, n);
        if (r != 0)
            json_decref(*ret_want);
    }
    json_decref(leaving.why);
    return r;
}

int sonic_want_most(const struct sonic_most *most, const struct sonic_wish *wish,
                    struct sonic_port *ports, uint32_t *n, json_t **ret_want, struct err *err)
{
    struct sonic_wish own = *wish;
    int r = drop_unable(most, wish, ports, n);
    if (r >= 0)
        r = 1;
    while (r > 0)
        r = want_once(most, &own, ports, n, ret_want, err);
    return r;
}
