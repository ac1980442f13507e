/* Requests about users. Private to controller/engine. */
#pragma once

#include "controller/engine/base/ground.h"

/* Rejected: BAD_VALUE (a share or a name out of range; left = the share, right = the largest),
 * NAME_TAKEN (left = the user that has it), TABLE_FULL. One that is leaving stays. O(jobs) of a new
 * user, else O(users). */
void user_set(struct engine *engine, const struct event *event);
struct obstacle user_set_obstacle(const struct engine *engine, const struct event *event);
/* Rejected: UNKNOWN_USER; BAD_STATE of user 0, which stays. O(log users). */
void user_leave(struct engine *engine, const struct event *event);
struct obstacle user_leave_obstacle(const struct engine *engine, const struct event *event);
