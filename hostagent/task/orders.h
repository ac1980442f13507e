/* Takes the agent's orders and forks a parent for each attempt.
 *
 * One thread. The address space is small and stays so: a fork costs a tenth of a millisecond;
 * loading a program would cost three, and a fork of the agent a multiple of that. This process
 * keeps nothing of an attempt: its fork answers. An order whose agent is gone is dropped. When this
 * process dies, waiting orders are lost with their descriptors, and the agent sees its attempts'
 * sockets end.
 *
 * A connection that asks for it is served by a counter instead (counter.h). */
#pragma once

#include "hostagent/task/settings.h"

/* Returns when the agent's end of `fd` (SOCK_SEQPACKET) closes; in a fork, never. */
void orders_serve(int fd, const struct task_settings *settings);

/* The same for each client of `fd`, a listening socket, that runs as our own user: one process
 * each, so that one that hangs does not delay a later one. Others are refused. Returns when it
 * cannot continue. */
void orders_accept(int fd, const struct task_settings *settings);
