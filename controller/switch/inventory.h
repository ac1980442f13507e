/* What the controller knows of switches from their agents' reports, in parts: ports, steps still to
 * do, and since when it differs from what is wanted (pure).
 *
 * A switch is known from its first part until it is forgotten; a part 0 starts it again. As many as
 * there may be agents; of each at most INVENTORY_PORTS and INVENTORY_STEPS rows; only the agent
 * counts more. O(rows) for each part. */
#pragma once

#include "schemas/duopoly.pb.h"

#include <stdint.h>

#define INVENTORY_PORTS 2048
#define INVENTORY_STEPS 1024

struct inventory_switch {
    char name[64];
    duopoly_SwitchPart head; /* its last part 0, without its rows */
    int64_t told_ns;         /* when */
    uint32_t ports_n, steps_n;
    duopoly_SwitchPort *ports;
    duopoly_SwitchStep *steps;
};

/* Zero it first. */
struct inventory {
    uint32_t n;
    struct inventory_switch **switches; /* in order of their names */
};

void inventory_take(struct inventory *inventory, const char *name, int64_t now_ns,
                    const duopoly_SwitchPart *part);
void inventory_forget(struct inventory *inventory, const char *name);
void inventory_done(struct inventory *inventory);

/* NULL: no agent has reported a switch of this name. */
const struct inventory_switch *inventory_find(const struct inventory *inventory, const char *name);

/* For how long it has differed from what is wanted, in ns until `now_ns`; −1: it does not. */
int64_t inventory_differs_ns(const struct inventory_switch *one, int64_t now_ns);
/* Seconds until it reverts by itself; 0: it does not. */
uint32_t inventory_confirm_s(const struct inventory_switch *one, int64_t now_ns);
