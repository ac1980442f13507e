/* Writes wanted queues into the rows of QUEUE and PORT_QOS_MAP, where one row may name many ports
 * and queues (pure). sonic_want.h says why. O(rows + ports). */
#pragma once

#include "lib/sonic/sonic_rows.h"

#define SONIC_REFERENCE (SONIC_NAME + 32) /* bytes of a reference with brackets and table */

/* A port with our queues; references in the form that the switch uses. */
struct sonic_queues {
    char port[SONIC_NAME];
    struct sonic_queue {
        bool ours;
        char scheduler[SONIC_REFERENCE];
        char wred[SONIC_REFERENCE]; /* "": none */
    } queue[SONIC_QUEUES];
    char dscp_map[SONIC_REFERENCE], queue_map[SONIC_REFERENCE];
};

/* Changes `db`, a copy of `site`, so that its ports have these queues. −ENOMEM. */
int sonic_lay(const json_t *site, json_t *db, const struct sonic_queues *queues, uint32_t n);

/* The row of PORT_QOS_MAP that names a port, and its key if `ret_key` is not NULL; NULL: no row
 * does. */
const json_t *sonic_port_maps(const json_t *db, const char *port, const char **ret_key);
