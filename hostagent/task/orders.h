/* Takes the agent's orders and forks a parent for each attempt.
 *
 * One thread. The address space is small and stays so: a fork costs a tenth of a millisecond, where
 * a program loaded anew would cost three, and the agent's own fork a multiple of that. Nothing is
 * kept of an attempt here: its fork answers. An order whose agent has gone is dropped; so are, with
 * the descriptors in them, those that wait when this process dies, and the agent sees its attempts'
 * sockets end. */
#pragma once

#include "hostagent/task/settings.h"

/* Returns when the agent's end of `fd` (SOCK_SEQPACKET) closes; in a fork, never. */
void orders_serve(int fd, const struct task_settings *settings);

/* The same for whoever connects to `fd`, a listening socket, and runs as our own user: a process
 * each, so that one that hangs keeps no later one waiting. Others are refused. Returns when it
 * cannot go on. */
void orders_accept(int fd, const struct task_settings *settings);
