/* Interfaces that stand on others, among those of this network namespace: which of ours are marked
 * and have no queues of their own, since what they carry passes a port of ours below; and what will
 * not work, in a sentence each. For ports_nl.c. */
#pragma once

#include "hostagent/queues/ports_nl.h"
#include "hostagent/queues/tunnel_kinds.h"

struct link {
    int ifindex, master;
    int below; /* IFLA_LINK, in this namespace; 0: none */
    char name[PORT_NAME];
    bool loopback, up;
    bool member; /* one of its addresses is, once tunnels_note has looked */
    struct link_kind kind;
};

struct links_told {
    struct link *links;
    uint32_t n, room;
    int error;
};

/* Of an interface with respect to us. */
enum link_place {
    LINK_OTHERS,
    LINK_PORT,   /* with queues and marks */
    LINK_TUNNEL, /* over a port: with marks for the packets in it */
    LINK_ABOVE,  /* its packets are those of a port below: nothing is to be done here */
};

/* Turns LINK_PORT into the other two where it is not the lowest. O(ours · interfaces). */
void tunnels_place(const struct links_told *told, enum link_place *places);

/* Fills the notes. Asks the kernel for addresses where a tunnel over our ports is not ours. */
void tunnels_note(const struct ports_wanted *wanted, struct links_told *told,
                  const enum link_place *places, struct tunnels_found *found);
