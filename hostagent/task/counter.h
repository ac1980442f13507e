/* Counts what commands' processes have read from disks, for an agent that may not look at them
 * (lib/attempt.h has the messages). */
#pragma once

#include <stdint.h>

/* Makes this process the counter of the agent at `fd` (SOCK_SEQPACKET): for good it has no
 * capability, and goes to files as that user and group, which are the commands'. Nobody but its
 * own user can end it. Returns when the agent's end closes, or sends what is no request. One
 * thread. */
void counter_serve(int fd, uint32_t uid, uint32_t gid);
