/* Users that a placement was asked for in vain, so that it need not look again. Private to
 * controller/engine/place.
 *
 * Whoever divides the cluster asks for one user after the other, in each step nearly all of them
 * again. That nothing of a user starts stands until
 *   - something of the user changed (users_moved), a stage of it is overdue or goes anywhere,
 *   - what concerns all users changed: a number that the placement counts,
 *   - a host changed that has room, and has blocks of the user's ready maps, or may take one of its
 *     ready reduce tasks: that the placement knows.
 * It does not stand for users with jobs that have a home (homes.h), nor for those with tasks of a
 * shape for which no slot is free, as that alone may be why. */
#pragma once

#include "controller/engine/base/state.h"

/* The placement was asked for the user, on any host, and had nothing. O(shapes). */
void vain_keep(const struct engine *engine, const struct user *user, uint64_t whole,
               struct vain *vain);
/* Whether it has nothing again. `takes_reduce`: whether the host, which has room for the shape, may
 * take one of the ready reduce tasks of these queues. O(shapes) for each host that changed
 * since. */
bool vain_stands(struct engine *engine, const struct user *user, uint64_t whole,
                 bool (*takes_reduce)(const struct host *host, const struct shape *shape,
                                      const struct queues *queues),
                 struct vain *vain);
