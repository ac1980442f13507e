/* Where our programs hang on a port: which way, and how to leave it as it was, for mark_bpf.c and who
 * keeps an agent's ports.
 *
 *   tcx     where the kernel has it (Linux 6.6): links of our own, in front of all others (tcx_bpf.h).
 *           Nothing else on the port is touched, whatever stands there: a program or a filter of
 *           somebody else that ends processing would keep packets from ours.
 *   clsact  elsewhere: filters of a lower preference than any other's (tc_bpf.h). Refused where that
 *           cannot be, with who is in the way.
 *
 * What an agent left by the other way (another kernel, another version) goes when ours stand. */
#pragma once

#include "hostagent/changes.h"
#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Both exist; borrowed. */
struct hook_folders {
    const char *state_dir, *bpffs;
};

/* Program descriptors, −1 for none; borrowed during the call. Egress comes first (mark.bpf.c leans
 * on that). −EBUSY: somebody else is in the way. −ENODEV: there is no such port. */
int hook_attach(const struct hook_folders *in, const char *port, int ingress, int egress,
                struct err *err);

/* Whether these programs stand there and see all packets: 0, or 1 with why not in `what`. −EBUSY: they
 * cannot, as somebody else is in the way; −ENODEV. */
int hook_compare(const struct hook_folders *in, const char *port, int ingress, int egress,
                 char *what, size_t size, struct err *err);

/* Whether what others do to a port is told by nobody: no group of netlink tells of tcx. */
bool hook_changes_untold(void);

/* Takes both away; a port that is gone, or has none, is fine. */
int hook_detach(const struct hook_folders *in, const char *port, struct err *err);

/* An interface has another name; what is kept about it goes with it. */
void hook_rename(const struct hook_folders *in, const char *from, const char *to);

/* The port of a file of either folder that is kept for one; false: it is none such. */
bool hook_port_of(const char *file, char port[16]);

/* What hook_attach would change, and hook_detach: told in `changes`. */
int hook_plan(const struct hook_folders *in, const char *port, int ingress, int egress,
              struct changes *changes, struct err *err);
int hook_plan_detach(const struct hook_folders *in, const char *port, struct changes *changes,
                     struct err *err);
