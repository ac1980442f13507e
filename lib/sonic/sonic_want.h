/* Computes the CONFIG_DB of a SONiC switch that gives its ports the wanted queues (pure).
 *
 * Queue 7 is served first (SAI; sonic-swss, orchagent/qosorch.cpp): a port's queues take the
 * numbers from 7 down, past the lossless ones (port.h counts priorities from 0). Each is STRICT;
 * its floor is `cir` in bytes a second, which SAI takes as the minimum rate. Fields of SCHEDULER
 * are create-only (sonic-scheduler.yang), so a different floor needs a different row: an object's
 * name is derived from its content. An ECN threshold is a WRED_PROFILE with equal thresholds in
 * bytes and probability 100: packets that cannot carry ECN are dropped there, as WRED does.
 *
 * Our class map has all 64 code points, since older orchagents apply a new one to the whole switch.
 * Levels and CS6 (control) get traffic classes of their own, each for a queue. All other code
 * points keep the site's class if it leads to a lossless queue, or if it is the class for unmanaged
 * traffic: the one that most of the site's code points have. The rest are moved to that class.
 *
 * A site's row of QUEUE that names more than our queues, "Ethernet0|2-4", is split: the other
 * queues keep the same fields. A row whose queues all become equal stays one row under its key:
 * orchagent applies a batch of changes in the order of the keys, and removing a range would undo
 * the single queue that sorts before it. Other fields of a row belong to the site and stay.
 *
 * Nothing here is kept between calls; O(rows + ports). */
#pragma once

#include "lib/err.h"
#include "lib/port/port.h"
#include "lib/sonic/sonic_rows.h"

/* A port's facts in CONFIG_DB. */
struct sonic_facts {
    uint64_t link_bps; /* 0: not given */
    uint32_t mtu_bytes;
    uint8_t lossless; /* bit q: queue q is lossless (PFC) */
};

/* −ENODEV: there is no such port; −EINVAL: its row is not valid. */
int sonic_facts(const json_t *db, const char *port, struct sonic_facts *ret_facts, struct err *err);

/* 0 if `db` is the CONFIG_DB of a switch that this code supports; else −EPROTO. */
int sonic_check(const json_t *db, struct err *err);

struct sonic_wish {
    const char *owner;            /* the owner of these rows; any text */
    const uint8_t *dscp_of_level; /* PORT_LEVELS of them */
    const struct sonic_port {
        const char *name;
        const struct port *want;
    } * ports;
    uint32_t ports_n;
};

/* Whether this port, regardless of the others, can have its wanted queues: 0, else the error of
 * sonic_want for it. */
int sonic_can(const json_t *site, const struct sonic_wish *wish, const struct sonic_port *port,
              struct err *err);

/* `site` with the wanted changes, as a new value; the caller drops its reference. `site` contains
 * nothing of ours. Wanted ports have at most SONIC_QUEUES queues. −E2BIG: fewer traffic classes are
 * left than queues, besides those that lead to lossless queues. */
int sonic_want(const json_t *site, const struct sonic_wish *wish, json_t **ret_want,
               struct err *err);

/* SONiC's number of a port's queue. */
static inline uint32_t sonic_number(const struct port_queue *queue)
{
    return SONIC_QUEUES - 1 - queue->priority;
}

enum sonic_owner { SONIC_SITES, SONIC_OURS, SONIC_ANOTHERS };

/* The owner of an object of this name. */
enum sonic_owner sonic_owner(const char *name, const char *owner);

/* A site's row of QUEUE or PORT_QOS_MAP with a field in force that our change would replace. */
struct sonic_taken {
    const char *table, *key, *field;
    enum sonic_owner owner; /* the site's, or another agent's */
};

/* Calls `each` for every such field in `db` that `want` replaces. The arguments are borrowed for
 * the call. */
void sonic_in_place(const json_t *db, const json_t *site, const json_t *want, const char *owner,
                    void (*each)(void *user, const struct sonic_taken *taken), void *user);
