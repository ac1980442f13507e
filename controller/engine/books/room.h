/* Room of applications on hosts: their executors come, change and go while jobs run. Private to
 * controller/engine.
 *
 * All executors of an application on one host together are its *room* there. An application that
 * reports rooms gets shapes of its own (cluster.h), whose tasks fit only in its rooms; one that
 * reports none runs in everybody's room (ENGINE_EVERYBODY) where that is reported, else in the
 * hosts' units. So no policy needs to know of rooms.
 *
 * A host's units are reduced by the sum of its rooms, used or not. What rooms have beyond the units
 * belongs to the host, too: a host without an agent has empty units and its rooms. A framework's
 * attempt occupies its application's room on that host, else everybody's, else the unit; it moves
 * when room comes or goes.
 *
 * Allows that no longer fit into a room are withdrawn, the newest first; what runs there runs on
 * until its framework reports otherwise.
 *
 * Bounds: shapes_max applications, hosts_max × units_per_host_max rooms; reports beyond them are
 * ignored and counted. O(log n), the shapes, and the attempts on that host. After an application's
 * first and last report its jobs (for everybody's room: all frameworks' jobs) move in portions, in
 * order of their numbers; until its turn a job takes the room that it took before.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* Whose room the job's tasks take now; 0: the hosts' units. O(log n). */
uint64_t room_owner(const struct engine *engine, const struct job *job);
/* NULL: the application has none there. O(log n). */
struct room *room_find(const struct host *host, uint64_t application);
/* Moves the attempt, which became a framework's, to the room that it should occupy. The caller
 * touches the host. */
void room_enter(struct engine *engine, struct attempt *attempt);
/* Subtracts the rooms from the host's new units. */
void room_take(struct host *host);
/* Adds the rooms to the host's units again, until room_take. */
void room_give_back(struct host *host);

void room_done(struct host *host);
void room_applications_done(struct engine *engine);
/* NULL: it reported none. */
struct application *room_application(const struct engine *engine, uint64_t number);
