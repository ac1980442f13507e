/* Attaches programs to a port by tcx links (Linux 6.6), in front of all others.
 *
 * A link is pinned in the agent's bpf file system, so it outlives the agent; a new program replaces
 * the old one in it in one step. tcx runs before clsact, and runs its programs in order until one
 * ends processing: ours is in front, so it sees all packets. Blocking, for system calls. */
#pragma once

#include "hostagent/changes.h"
#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tcx_way { TCX_INGRESS = 46, TCX_EGRESS = 47 }; /* linux/bpf.h of 6.6: BPF_TCX_… */

/* Whether this kernel has tcx. */
bool tcx_works(void);

/* One port and direction; the pin is a path in a bpf file system. */
struct tcx_hook {
    const char *port, *pin;
    int ifindex;
    enum tcx_way way;
};

/* Attaches the program in front of all others; it is borrowed during the call. */
int tcx_attach(const struct tcx_hook *hook, int program, struct err *err);

/* 0: it is in front; 1: it is not, with the reason in `what`. */
int tcx_compare(const struct tcx_hook *hook, int program, char *what, size_t size);

/* Detaches ours; nothing there is fine, and so is a port that is gone. */
int tcx_detach(const struct tcx_hook *hook, struct err *err);

/* The number of the program attached by our link; 0: none. */
uint32_t tcx_standing(const struct tcx_hook *hook);
/* Whether that one is in front. */
bool tcx_is_first(const struct tcx_hook *hook);
