/* Laying wanted queues into the rows of QUEUE and PORT_QOS_MAP, of which one may name many ports and
 * queues (pure). sonic_want.h says what for. O(rows + ports). */
#pragma once

#include "lib/sonic/sonic_rows.h"

#include <stddef.h>

#define SONIC_REFERENCE (SONIC_NAME + 32) /* bytes of a reference with brackets and table */

/* A port with ours: references as the switch writes them. */
struct sonic_queues {
    char port[SONIC_NAME];
    struct sonic_queue {
        bool ours;
        char scheduler[SONIC_REFERENCE];
        char wred[SONIC_REFERENCE]; /* "": none */
    } queue[SONIC_QUEUES];
    char dscp_map[SONIC_REFERENCE], queue_map[SONIC_REFERENCE];
};

/* Changes `db`, a copy of `site`, so that its ports have these. −ENOMEM. */
int sonic_lay(const json_t *site, json_t *db, const struct sonic_queues *queues, uint32_t n);

/* The row of PORT_QOS_MAP that names a port, its key where `ret_key` is not NULL; NULL: none does. */
const json_t *sonic_port_maps(const json_t *db, const char *port, const char **ret_key);
