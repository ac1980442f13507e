/* What a process of duopoly-task may do, and gives away. The first one needs to change users
 * (CAP_SETUID, CAP_SETGID) and to end what then is another user's (CAP_KILL); it runs as root, or
 * as the agent's user with these three. */
#pragma once

#include <stdint.h>

/* An ordinary process of that user, for good, whatever is executed next: no groups, no capability,
 * none to be had. −errno. */
int rights_become(uint32_t uid, uint32_t gid);

/* An attempt's parent changes no user any more. −errno. */
int rights_keep_kill(void);
