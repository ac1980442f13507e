/* Interfaces of this network namespace that are stacked on others: which of ours are marked and
 * have no queues of their own, since their packets pass one of our ports below; and a sentence for
 * each that will not work. For ports_nl.c. */
#pragma once

#include "hostagent/queues/ports_nl.h"
#include "hostagent/queues/tunnel_kinds.h"

struct link {
    int ifindex, master;
    int below; /* IFLA_LINK, in this namespace; 0: none */
    char name[PORT_NAME];
    bool loopback, up;
    bool member; /* one of its addresses is a member, once tunnels_note has run */
    struct link_kind kind;
};

struct links_told {
    struct link *links;
    uint32_t n, allocated;
    int error;
};

/* How an interface relates to us. */
enum link_place {
    LINK_OTHERS,
    LINK_PORT,   /* with queues and marks */
    LINK_TUNNEL, /* over a port: with marks for the packets in it */
    LINK_ABOVE,  /* its packets are those of a port below: nothing to do here */
};

/* Changes LINK_PORT to one of the other two if it is not the lowest. O(ours · interfaces). */
void tunnels_place(const struct links_told *told, enum link_place *places);

/* Fills the notes. Asks the kernel for addresses if a tunnel over our ports is not ours. */
void tunnels_note(const struct ports_wanted *wanted, struct links_told *told,
                  const enum link_place *places, struct tunnels_found *found);
