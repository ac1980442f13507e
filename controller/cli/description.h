/* The description of a kind of switches in a file; schemas/switch.yaml is its manual. */
#pragma once

#include "lib/err.h"
#include "lib/port/port.h"

#define DESCRIPTION_PORTS 512
#define DESCRIPTION_NAME  64

struct description {
    struct {
        char name[DESCRIPTION_NAME];
    } ports[DESCRIPTION_PORTS];
    uint32_t ports_n;
    int64_t rate_bps, mtu;
    int64_t queues; /* of each port */
    int64_t lossless[PORT_QUEUES];
    uint32_t lossless_n;
    int64_t levels, leaf_packets, floor, unmanaged, control; /* shares per mille */
    int64_t unmanaged_joins, ecn_packets;
    bool ecn;
    int64_t dscp[PORT_LEVELS], keep[PORT_CODE_POINTS];
    uint32_t dscp_n, keep_n;
    char site[4096];
};

/* The caller frees. −EINVAL with file, line and column. */
int description_read(const char *path, struct description **ret_description, struct err *err);

/* Whether this can be the name of a switch or a port: it goes into commands. −EINVAL. */
int description_name_check(const char *text, struct err *err);

/* The wish that it expresses for every port, at the port's own speed. */
int description_wish(const struct description *description, struct port_wish *ret_wish,
                     struct err *err);
