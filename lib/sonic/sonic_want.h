/* What a SONiC's CONFIG_DB should hold so that its ports are as wanted (pure).
 *
 * Queue 7 is served first (SAI; sonic-swss, orchagent/qosorch.cpp): a port's queues take the numbers
 * from 7 down, past the lossless ones (port.h counts priorities from 0). Each is STRICT; its floor is `cir` in bytes a second, which SAI
 * takes as the minimum rate. Fields of SCHEDULER are create-only (sonic-scheduler.yang), so another
 * floor is another row: names are made of what they name. An ECN threshold is a WRED_PROFILE with
 * equal thresholds in bytes and probability 100: what cannot carry ECN is dropped there, as WRED does.
 *
 * A class map of ours has all 64 code points, since older orchagents apply a new one to the whole
 * switch. Levels and CS6 (control) get traffic classes of their own, each for a queue. All other code
 * points keep the site's class where it can stay: where it leads to a lossless queue, or where it is
 * the class that unmanaged traffic gets here, the one that most of the site's code points have. The
 * rest join them there.
 *
 * A site's row of QUEUE that names more than ours, "Ethernet0|2-4", is split: what is not ours of it
 * stays with the same fields. A row all of which is to be the same stays one row under its key, since
 * orchagent takes a batch of changes in the order of the keys: a range removed would undo the single
 * queue that sorts before it. Other fields of a row are the site's and stay.
 *
 * Nothing here is kept between calls; O(rows + ports). */
#pragma once

#include "lib/err.h"
#include "lib/port/port.h"
#include "lib/sonic/sonic_rows.h"

/* What CONFIG_DB says of a port. */
struct sonic_facts {
    uint64_t link_bps; /* 0: it does not say */
    uint32_t mtu_bytes;
    uint8_t lossless; /* bit q: PFC may pause queue q */
};

/* −ENODEV: there is no such port; −EINVAL: what it says is none of SONiC's. */
int sonic_facts(const json_t *db, const char *port, struct sonic_facts *ret_facts, struct err *err);

/* 0 when `db` is the CONFIG_DB of a switch that this can work on; else −EPROTO. */
int sonic_check(const json_t *db, struct err *err);

struct sonic_wish {
    const char *owner;            /* whose rows these are; any text */
    const uint8_t *dscp_of_level; /* PORT_LEVELS of them */
    const struct sonic_port {
        const char *name;
        const struct port *want;
    } * ports;
    uint32_t ports_n;
};

/* Whether this port, whichever others there are, can have what it is wished: 0, else why sonic_want would
 * fail for it. */
int sonic_can(const json_t *site, const struct sonic_wish *wish, const struct sonic_port *port,
              struct err *err);

/* `site` as it should be, a new value; the caller drops its reference. `site` has nothing of ours.
 * Wanted ports have at most SONIC_QUEUES queues. −E2BIG: fewer traffic classes than queues are left
 * besides those that lead to lossless ones. */
int sonic_want(const json_t *site, const struct sonic_wish *wish, json_t **ret_want,
               struct err *err);

/* The number of a port's queue. */
static inline uint32_t sonic_number(const struct port_queue *queue)
{
    return SONIC_QUEUES - 1 - queue->priority;
}

enum sonic_owner { SONIC_SITES, SONIC_OURS, SONIC_ANOTHERS };

/* Whose an object of this name is. */
enum sonic_owner sonic_owner(const char *name, const char *owner);

/* A row of QUEUE or PORT_QOS_MAP of the site's with a field that is in force and would make room. */
struct sonic_taken {
    const char *table, *key, *field;
    enum sonic_owner owner; /* the site's, or another agent's */
};

/* Calls for each that is in force in `db` and would make room in `want`. What it is called with is
 * borrowed for that long. */
void sonic_in_place(const json_t *db, const json_t *site, const json_t *want, const char *owner,
                    void (*each)(void *user, const struct sonic_taken *taken), void *user);
