/* Programs on a port by links of tcx (Linux 6.6), in front of everybody's.
 *
 * A link is pinned in the agent's bpf file system, so it outlives the agent; a new program takes the
 * old one's place in it in one step. tcx runs before clsact, and runs what stands there in its order
 * until one ends processing: ours is put in front, and looks at all. Blocking for system calls. */
#pragma once

#include "hostagent/changes.h"
#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tcx_way { TCX_INGRESS = 46, TCX_EGRESS = 47 }; /* linux/bpf.h of 6.6: BPF_TCX_… */

/* Whether this kernel has it. */
bool tcx_works(void);

/* One port and direction; the pin is a path in a bpf file system. */
struct tcx_hook {
    const char *port, *pin;
    int ifindex;
    enum tcx_way way;
};

/* The program in front of all others; borrowed during the call. */
int tcx_attach(const struct tcx_hook *hook, int program, struct err *err);

/* 0: it stands in front; 1: it does not, with why in `what`. */
int tcx_compare(const struct tcx_hook *hook, int program, char *what, size_t size);

/* Nothing there is fine, and so is a port that is gone. */
int tcx_detach(const struct tcx_hook *hook, struct err *err);

/* The number of the program that stands there by our link; 0: none. */
uint32_t tcx_standing(const struct tcx_hook *hook);
/* Whether that one is in front. */
bool tcx_is_first(const struct tcx_hook *hook);
