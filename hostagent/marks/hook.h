/* How our programs are attached to a port, and how to leave it as it was; for mark_bpf.c and for
 * the code that tracks an agent's ports.
 *
 *   tcx     if the kernel has it (Linux 6.6): our own links, in front of all others (tcx_bpf.h).
 *           Nothing else on the port is touched. Another owner's program or filter that ends
 *           processing would keep packets from ours.
 *   clsact  otherwise: filters with a lower preference than any other's (tc_bpf.h). Refused if that
 *           is not possible, naming what is in the way.
 *
 * What an agent left by the other way (another kernel, another version) is removed when ours are
 * attached. */
#pragma once

#include "hostagent/changes.h"
#include "lib/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Both exist; borrowed. */
struct hook_folders {
    const char *state_dir, *bpffs;
};

/* Program descriptors, −1 for none; borrowed during the call. Egress is attached first (mark.bpf.c
 * relies on it). −EBUSY: another owner's is in the way. −ENODEV: there is no such port. */
int hook_attach(const struct hook_folders *in, const char *port, int ingress, int egress,
                struct err *err);

/* Whether these programs are attached and see all packets: 0, or 1 with the reason in `what`.
 * −EBUSY: they cannot be, since another owner's is in the way; −ENODEV. */
int hook_compare(const struct hook_folders *in, const char *port, int ingress, int egress,
                 char *what, size_t size, struct err *err);

/* Whether others can change a port without a report: no netlink group reports tcx. */
bool hook_changes_untold(void);

/* Detaches both; a port that is gone, or has none, is fine. */
int hook_detach(const struct hook_folders *in, const char *port, struct err *err);

/* An interface was renamed: renames its records. */
void hook_rename(const struct hook_folders *in, const char *from, const char *to);

/* The port to which a file of either folder belongs; false: it belongs to none. */
bool hook_port_of(const char *file, char port[16]);

/* Adds what hook_attach, or hook_detach, would change to `changes`. */
int hook_plan(const struct hook_folders *in, const char *port, int ingress, int egress,
              struct changes *changes, struct err *err);
int hook_plan_detach(const struct hook_folders *in, const char *port, struct changes *changes,
                     struct err *err);
