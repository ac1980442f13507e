/* Drops rights of duopoly-task's processes. The first one needs to change users (CAP_SETUID,
 * CAP_SETGID) and to end processes of other users (CAP_KILL); it runs as root, or as the agent's
 * user with these three capabilities. */
#pragma once

#include <stdint.h>

/* Becomes an ordinary process of that user for good, whatever is executed next: no groups, no
 * capabilities, and no way to get any. −errno. */
int rights_become(uint32_t uid, uint32_t gid);

/* Goes to files as that user and group for good, with no capability and otherwise as who it was.
 * −errno. */
int rights_look_as(uint32_t uid, uint32_t gid);

/* For an attempt's parent: gives up changing users. −errno. */
int rights_keep_kill(void);
