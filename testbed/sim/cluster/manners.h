/* How a framework in the simulation follows what it may start (run_framework.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct manners {
    const char *name, *what;
    /* Per mille: of its allows that it acts on late; that it takes for another host or partition;
     * that it never acts on; of its attempts that get a copy. */
    uint32_t slow, disobedient, forgetful, copies;
    bool advised; /* also its tasks without network input start where it is advised */
    bool growing; /* it tells of a stage when those before it are done */
    bool losing;  /* now and then one of its executors ends */
};

/* The last one has no name. */
extern const struct manners manners[];

/* NULL: there is none of this name. */
const struct manners *manners_find(const char *name);
