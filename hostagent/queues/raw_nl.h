/* The qdiscs of a port as the kernel tells them, whatever their kind: to see what stands there, to
 * keep it as text, and to put it back (libnl; for every driver of the kernel's queues).
 *
 * A qdisc is kept as the bytes of its options and put back by the same bytes. That makes the same
 * qdisc again only for some kinds: of others, and of more than RAW_QDISCS on one port, nothing is
 * kept, and the driver leaves them standing. Blocking, for an exchange with the kernel each. */
#pragma once

#include "hostagent/queues/qdisc.h"

#include <netlink/netlink.h>

#define RAW_QDISCS  32  /* looked at on one port */
#define RAW_OPTIONS 512 /* bytes, of a qdisc that we can put back */

struct raw_qdisc {
    uint32_t handle, parent;
    char kind[16];
    uint32_t options_bytes;
    uint8_t options[RAW_OPTIONS];
    bool too_long;
};

struct raw_list {
    int ifindex;
    uint32_t n;
    bool too_many;
    struct raw_qdisc items[RAW_QDISCS];
};

/* −ENODEV: there is no such interface in this network namespace. */
int raw_port_index(const char *port, struct err *err);

int raw_read(struct nl_sock *sock, const char *port, struct raw_list *ret_list, struct err *err);

/* The one with this parent, NULL if there is none. */
const struct raw_qdisc *raw_below(const struct raw_list *list, uint32_t parent);

/* The root that somebody put there; NULL where the kernel's default stands. */
const struct raw_qdisc *raw_root(const struct raw_list *list);

/* All of the list. −EOPNOTSUPP, with a sentence, for what could not be put back exactly. */
int raw_record(const struct raw_list *list, const char *port, struct qdisc_record *ret_record,
               struct err *err);

/* "" removes the root. Returns libnl's error, < 0. */
int raw_put_back(struct nl_sock *sock, int ifindex, const struct qdisc_record *record);
