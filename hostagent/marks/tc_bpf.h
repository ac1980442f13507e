/* Attaches programs to a port's clsact qdisc, and restores the port; for hook.c, if the kernel has
 * no tcx (every one since 4.5 has clsact).
 *
 * Ours are recognized by their handle. They have one preference, or a lower one if somebody else's
 * filter is before that: a filter that ends processing keeps packets from those after it. A new
 * program replaces the old one in one step, so a restarted agent leaves no gap. An ingress qdisc in
 * clsact's place is refused. A note in `state_dir`, written first, says whether the clsact is ours:
 * only then, and only if no other filter is on it, is it removed. Blocking, for a few exchanges
 * with the kernel. */
#pragma once

#include "hostagent/changes.h"
#include "lib/err.h"

#include <stddef.h>

#define TC_BPF_PRIORITY 0xd0d
#define TC_BPF_HANDLE   0xd0d
#define TC_BPF_NOTE     "clsact-" /* and the port: a file of the state folder */

/* Program descriptors, −1 for none; borrowed during the call. Egress is attached first (mark.bpf.c
 * relies on it). −EBUSY: the qdisc or a filter of somebody else is in the way. */
int tc_bpf_attach(const char *state_dir, const char *port, int ingress_fd, int egress_fd,
                  struct err *err);

/* Whether these programs are attached, before all others: 0, or 1 with the reason in `what`.
 * −EBUSY: they cannot be. −ENODEV: there is no such port. */
int tc_bpf_compare(const char *port, int ingress_fd, int egress_fd, char *what, size_t size,
                   struct err *err);

/* An interface was renamed: renames its records. */
void tc_bpf_rename(const char *state_dir, const char *from, const char *to);

/* Detaches both; a port that is gone, or has none, is fine. */
int tc_bpf_detach(const char *state_dir, const char *port, struct err *err);

/* Adds what tc_bpf_attach, or tc_bpf_detach, would change to `changes`. */
int tc_bpf_plan(const char *state_dir, const char *port, int ingress_fd, int egress_fd,
                struct changes *changes, struct err *err);
int tc_bpf_plan_detach(const char *state_dir, const char *port, struct changes *changes,
                       struct err *err);
