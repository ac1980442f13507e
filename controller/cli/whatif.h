/* `whatif policy NAME|host-down HOST|job FILE`: the controller's state as it is now, run on twice
 * by the simulator that is installed beside this program, as it is and changed: what is decided
 * otherwise now, and when the present jobs end. Nothing changes in the controller. */
#pragma once

#include "controller/cli/commands.h"

int whatif_check(const struct request *request, struct err *err);
/* −ENOENT: there is no such host or file, or no simulator; −EBADMSG: the change makes no sense, or
 * the state cannot be run on. The state is in memory meanwhile, at most WHATIF_STATE_MOST. */
int run_whatif(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);

/* 10⁶ tasks are 140 MB. */
#define WHATIF_STATE_MOST (UINT64_C(1) << 30)
