/* What the controller knows of switches: what their agents say, in parts, of ports, of what differs
 * from what should be, and since when (pure).
 *
 * A switch is known from its first part until it is forgotten; a part 0 begins it anew. As many as
 * agents are let in; of each at most INVENTORY_PORTS and INVENTORY_STEPS rows, what is beyond them
 * is counted by the agent only. O(rows) for each part. */
#pragma once

#include "schemas/duopoly.pb.h"

#include <stddef.h>
#include <stdint.h>

#define INVENTORY_PORTS 2048
#define INVENTORY_STEPS 1024

struct inventory_switch {
    char name[64];
    duopoly_SwitchPart head; /* its last part 0; the rows in it are none */
    int64_t told_ns;         /* when */
    uint32_t ports_n, steps_n;
    duopoly_SwitchPort *ports;
    duopoly_SwitchStep *steps;
};

/* Zero to begin with. */
struct inventory {
    uint32_t n;
    struct inventory_switch **switches; /* in order of their names */
};

void inventory_take(struct inventory *inventory, const char *name, int64_t now_ns,
                    const duopoly_SwitchPart *part);
void inventory_forget(struct inventory *inventory, const char *name);
void inventory_done(struct inventory *inventory);

/* NULL: no agent has said anything of a switch of this name. */
const struct inventory_switch *inventory_find(const struct inventory *inventory, const char *name);

/* Since when it differs from what it should be, in ns until `now_ns`; −1: it does not. */
int64_t inventory_differs_ns(const struct inventory_switch *one, int64_t now_ns);
/* Seconds until it goes back by itself; 0: it does not. */
uint32_t inventory_confirm_s(const struct inventory_switch *one, int64_t now_ns);
