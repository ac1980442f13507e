/* --confirm TIME: how long a change is on trial. */
#pragma once

#include "controller/cli/commands.h"

/* Whole seconds, 1 to 3600, rounded up; 0: none was given. −EINVAL with a sentence. */
int confirm_seconds(const struct request *request, uint32_t *ret_s, struct err *err);
/* Begins a request of this kind, on trial if a time was given (which confirm_seconds has taken). */
duopoly_Envelope *confirm_request(struct client *client, pb_size_t kind,
                                  const struct request *request);
