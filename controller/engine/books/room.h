/* Room that applications have on hosts: their executors come, change and go while jobs run. Private
 * to controller/engine.
 *
 * What all executors of an application have on one host is its *room* there. An application that
 * tells where it has some gets shapes of its own (cluster.h), whose tasks fit in its rooms and
 * nowhere else; one that tells none runs in the room of everybody (ENGINE_EVERYBODY) where some is
 * told, else in the hosts' units. So no policy needs to know of rooms.
 *
 * A host's units have so much less as its rooms have together, whoever uses them. What rooms have
 * beyond the units is the host's, too: so a host without an agent has units of nothing, and what
 * its rooms have. What a framework's attempt occupies is its application's room on that host, else
 * everybody's, else the unit's: so what runs where no room was told is taken there, and moves when
 * room comes or goes.
 *
 * Allows that do not fit into a room any more are withdrawn, the newest first; what runs there runs
 * on until its framework says otherwise.
 *
 * Bounds: shapes_max applications, hosts_max × units_per_host_max rooms; what is told beyond them
 * is ignored and counted. O(log n), the shapes, and the attempts on that host; an application's
 * first and last word: O(its jobs' stages and ready tasks), of everybody those of all frameworks'
 * jobs.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* Whose room the job's tasks take; 0: the hosts' units. O(log n). */
uint64_t room_owner(const struct engine *engine, const struct job *job);
/* NULL: it has none there. O(log n). */
struct room *room_find(const struct host *host, uint64_t application);
/* The attempt occupies what it should: after it became a framework's. The caller touches the
 * host. */
void room_enter(struct engine *engine, struct attempt *attempt);
/* The host has other units, of which nothing is taken yet. */
void room_take(struct host *host);
/* Rooms take nothing of its units, until room_take. */
void room_give_back(struct host *host);

void room_done(struct host *host);
void room_applications_done(struct engine *engine);
/* NULL: it tells of none. */
struct application *room_application(const struct engine *engine, uint64_t number);
