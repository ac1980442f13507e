/* The qdiscs of ports as the kernel tells them, whatever their kind: to see what stands there, to
 * keep it as text, and to put it back (libnl; for every driver of the kernel's queues).
 *
 * The kernel tells a port's root qdisc, or all qdiscs of a network namespace: so a port with nothing but
 * the default is asked by itself, and who has many ports looks once (raw_look). Blocking, for an exchange with the kernel each. One thread. */
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
    uint32_t told; /* the how-manieth of all */
    bool sized;    /* it has a table of sizes (tc-stab), which the kernel tells in part only */
    uint32_t options_bytes;
    const uint8_t *options;
};

/* Of one port, in the order in which the kernel tells them; borrowed until raw_look, raw_look_away
 * or another raw_read. */
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

/* Until raw_look_away raw_read asks for all ports at the first that has something, and remembers. */
void raw_look(struct raw *raw);
void raw_look_away(struct raw *raw);

/* −ENODEV: there is no such interface in this network namespace. */
int raw_port_index(const struct raw *raw, const char *port, struct err *err);

/* What stands on a port: now, or since raw_look. The kernel's default alone is nothing. */
int raw_read(struct raw *raw, const char *port, struct raw_list *ret_list, struct err *err);

/* The one with this parent, NULL if there is none. */
const struct raw_qdisc *raw_below(const struct raw_list *list, uint32_t parent);

/* The root that somebody put there; NULL where the kernel's default stands. */
const struct raw_qdisc *raw_root(const struct raw_list *list);

/* All of the port with classes and filters, as foreign.h has it; "" where the default stands. The
 * caller owns the text (free). −EOPNOTSUPP, with a sentence, for what could not be put back
 * exactly. */
int raw_record(struct raw *raw, const struct raw_list *list, const char *port, char **ret_text,
               struct err *err);

/* In the place of what stands there, which is `list`; "" leaves the kernel's default.
 * Returns 1. */
int raw_put_back(struct raw *raw, const struct raw_list *list, const char *port, const char *text,
                 struct err *err);
