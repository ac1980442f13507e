/* Reads the qdiscs of ports of any kind, keeps them as text and restores them (libnl; for every
 * driver of the kernel's queues).
 *
 * The kernel reports a port's root qdisc, or all qdiscs of a network namespace. So a port with only
 * the default is asked for alone, and a caller with many ports reads them all once (raw_look).
 * Blocking, for one exchange with the kernel each. One thread. */
#pragma once

#include "lib/err.h"

#include <netlink/netlink.h>
#include <stdbool.h>
#include <stdint.h>

#define RAW_QDISCS 1000000 /* in a namespace */

struct raw_qdisc {
    int ifindex;
    uint32_t handle, parent;
    char kind[16];
    uint32_t told;  /* its position among all */
    int64_t marked; /* packets that a red has marked with CE; −1: it is none */
    bool sized;     /* it has a size table (tc-stab), which the kernel reports only in part */
    uint32_t options_bytes;
    const uint8_t *options;
};

/* Of one port, in the kernel's order; borrowed until raw_look, raw_look_away or another
 * raw_read. */
struct raw_list {
    int ifindex;
    uint32_t n;
    const struct raw_qdisc *items;
};

struct raw {
    struct nl_sock *sock;
    struct raw_table *table;
    bool looking, looked;
};

int raw_open(struct raw *raw, struct err *err);
void raw_close(struct raw *raw); /* zeros are fine */

/* Until raw_look_away, the first raw_read that needs it reads all ports at once and caches them. */
void raw_look(struct raw *raw);
void raw_look_away(struct raw *raw);

/* −ENODEV: there is no such interface in this network namespace. */
int raw_port_index(const struct raw *raw, const char *port, struct err *err);

/* What is on a port: now, or since raw_look. The kernel's default counts as nothing. */
int raw_read(struct raw *raw, const char *port, struct raw_list *ret_list, struct err *err);

/* The one with this parent; NULL if there is none. */
const struct raw_qdisc *raw_below(const struct raw_list *list, uint32_t parent);

/* The configured root qdisc; NULL if it is the kernel's default. */
const struct raw_qdisc *raw_root(const struct raw_list *list);

/* Everything on the port, with classes and filters, as foreign.h writes it; "" for the default. The
 * caller owns the text (free). −EOPNOTSUPP, with a sentence, for what could not be restored
 * exactly. */
int raw_record(struct raw *raw, const struct raw_list *list, const char *port, char **ret_text,
               struct err *err);

/* Replaces what is there, which is `list`; "" leaves the kernel's default. Returns 1. */
int raw_put_back(struct raw *raw, const struct raw_list *list, const char *port, const char *text,
                 struct err *err);
