/* What queues this kernel takes, tried out on an interface made for it.
 *
 * The interface is a dummy, or a bridge without ports where there is no dummy, named SCRATCH_NAME
 * in the calling thread's network namespace, never up. It is removed before the call returns; one that a killed agent left is removed first. Trying a qdisc
 * has the kernel load its module. Blocking, for some exchanges and the removal (tens of ms). */
#pragma once

#include "hostagent/queues/kernel_nl.h"

#define SCRATCH_NAME   "duopoly-try"
#define SCRATCH_QUEUES 2 /* for transmission, as a multi-queue NIC */

/* Fills in bits of enum kernel_kind (kernel_nl.h). −EPERM and others when there can be no such
 * interface. */
int scratch_try(struct qdisc *qdisc, uint32_t *ret_can, struct err *err);

/* What a killed agent left of it. */
void scratch_remove(struct nl_sock *sock);

/* "htb" of its bit. */
const char *scratch_kind_name(uint32_t kind);
