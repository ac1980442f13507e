/* Attaching programs to a port's clsact qdisc, and leaving the port as it was: for hook.c, where the
 * kernel has no tcx (every one since 4.5 has clsact).
 *
 * Ours are known by their handle. They stand at one preference, or a lower one where somebody else has a
 * filter before that: a filter that ends processing keeps packets from those behind it. A new program
 * takes the old one's place in one step, so a restarted agent leaves no gap. An ingress qdisc at clsact's
 * place is refused. A note in `state_dir`, made before it, tells whether the
 * clsact is ours: only then, and only when no other filter hangs on it, does it go again. Blocking, for a few
 * exchanges with the kernel. */
#pragma once

#include "hostagent/changes.h"
#include "lib/err.h"

#include <stddef.h>

#define TC_BPF_PRIORITY 0xd0d
#define TC_BPF_HANDLE   0xd0d
#define TC_BPF_NOTE     "clsact-" /* and the port: a file of the state folder */

/* Program descriptors, −1 for none; borrowed during the call. Egress comes first (mark.bpf.c leans
 * on that). −EBUSY: the qdisc or a filter of somebody else is in the way. */
int tc_bpf_attach(const char *state_dir, const char *port, int ingress_fd, int egress_fd,
                  struct err *err);

/* Whether these programs stand there, before all others: 0, or 1 with why not in `what`. −EBUSY: they
 * cannot. −ENODEV: there is no such port. */
int tc_bpf_compare(const char *port, int ingress_fd, int egress_fd, char *what, size_t size,
                   struct err *err);

/* An interface has another name; what is kept about it goes with it. */
void tc_bpf_rename(const char *state_dir, const char *from, const char *to);

/* Takes both away; a port that is gone, or has none, is fine. */
int tc_bpf_detach(const char *state_dir, const char *port, struct err *err);

/* What tc_bpf_attach would change, and tc_bpf_detach: told in `changes`. */
int tc_bpf_plan(const char *state_dir, const char *port, int ingress_fd, int egress_fd,
                struct changes *changes, struct err *err);
int tc_bpf_plan_detach(const char *state_dir, const char *port, struct changes *changes,
                       struct err *err);
