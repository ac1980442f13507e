/* Finds out which queues this kernel supports, by trying them on an interface made for it.
 *
 * The interface is a dummy, or a bridge without ports if the kernel has no dummy. It is named
 * SCRATCH_NAME, is in the calling thread's network namespace, and is never up. It is removed before
 * the call returns; one that a killed agent left is removed first. Trying a qdisc makes the kernel
 * load its module. Blocking, for some exchanges and the removal (tens of ms). */
#pragma once

#include "hostagent/queues/kernel_nl.h"

#define SCRATCH_NAME   "duopoly-try"
#define SCRATCH_QUEUES 2 /* transmission queues, as a multi-queue NIC */

/* Sets bits of enum kernel_kind (kernel_nl.h). −EPERM or another error if the interface cannot be
 * made. */
int scratch_try(struct qdisc *qdisc, uint32_t *ret_can, struct err *err);

/* Removes what a killed agent left. */
void scratch_remove(struct nl_sock *sock);

/* The name of its bit: "htb". */
const char *scratch_kind_name(uint32_t kind);
