/* Hosts, their units, what fits where. Private to controller/engine.
 *
 * A *shape* is one (demand, constraint, application whose room it takes, application whose allows
 * limit it). Per shape the engine keeps how many more such tasks fit and in which order hosts are
 * preferred, so that no decision looks at all hosts. host_touch() updates the indexes after any
 * change of a host: O(shapes · changed units · log hosts); an attempt that comes or goes changes
 * its unit alone. Slots of silent, lost and draining hosts are not free.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* Sets or clears a suspicion; a suspect host is not up. `which`: the host's suspicion as a source
 * or reader (source.h), or as one whose attempts fail (failing.h). */
void cluster_set_suspect(struct engine *engine, struct host *host, bool *which, bool suspect);

/* NULL: unknown. */
struct host *cluster_host(const struct engine *engine, uint32_t index);
/* The host; an unknown one is made, not joined yet (for attempts seen before it joined). NULL
 * beyond hosts_max. */
struct host *cluster_adopt(struct engine *engine, uint32_t index);
/* The unit of this number; the last one for numbers beyond. */
struct unit *host_own_unit(const struct host *host, uint32_t unit);
bool host_up(const struct host *host);
bool host_suspect(const struct host *host);
/* Whether it may get one more attempt: its attempts and unanswered messages are bounded. */
bool host_takes(const struct engine *engine, const struct host *host);
/* The words that constraints test; borrowed from the host. */
struct constraint_host host_words(const struct host *host);
/* Its name, rack or labels changed: finds which constraints it meets now. The caller touches the
 * host. */
void host_follow_words(const struct engine *engine, struct host *host);
void host_touch(struct engine *engine, struct host *host);
/* Keeps the orders of hosts with room that the placement in force wants (place_policy.orders).
 * O(hosts · shapes · log). */
void cluster_follow_orders(struct engine *engine);
/* Draws the host's random place among equals again; the next host_touch applies it. */
void host_draw_tie(struct engine *engine, struct host *host);
/* Call after the first of its waiting locals changed. */
void host_queue_update(struct host_queue *queue, const struct host_shape *here);
/* Fewest receivers first, then fewest tasks, then the lowest index; more than HOST_CROWDED
 * receivers count as HOST_CROWDED. */
uint64_t host_crowd(const struct host *host);
/* Its place in shape->by_load: fewest tasks first, then in random order; behind all others,
 * whatever runs there, those whose disk hangs. */
struct sorted_key host_by_load(const struct host *host);
enum { HOST_CROWDED = 255 };
/* The host's unit with room for the shape and the fewest tasks; NULL: none. */
struct fit *host_fit(const struct host *host, const struct shape *shape);
/* Where the shape's tasks would run as the host's unit i: that unit, or the room of the shape's
 * application (i = 0); NULL: nowhere. */
const struct unit *host_unit(const struct host *host, const struct shape *shape, uint32_t i);

/* Occupies or frees the attempt's part of its room or unit (an unknown unit stands for the last
 * one); the caller touches the host. */
void host_occupy(struct engine *engine, const struct attempt *attempt, bool occupy);

/* Enclose a change of a host, so that the sums over hosts that are up stay right and the next touch
 * fits all its units again. */
void host_leave_sums(struct engine *engine, const struct host *host);
void host_enter_sums(struct engine *engine, struct host *host);
/* An amount of one unit or room, cut so that sums cannot overflow. */
int64_t cluster_amount(const struct engine *engine, int64_t amount);

/* Applications: whose room its tasks take, and whose allows limit them; 0: none. */
struct shape_of {
    uint64_t application, bound;
};
/* The shape, made when new, for the account (NULL: not counted); NULL when shapes_max are in use,
 * or the account's share of them. The caller counts itself in shape->users. A shape without users
 * stays until another one is made, so that a cluster which idles between jobs of one kind keeps its
 * indexes. Making and dropping: O(hosts). */
struct shape *cluster_shape(struct engine *engine, const struct resources *demand,
                            const char *constraint, const struct shape_of *of,
                            struct account *account);
/* For load: appends it and drops none. */
struct shape *cluster_shape_create(struct engine *engine, const struct resources *demand,
                                   const char *constraint, const struct shape_of *of);
/* How many more of its tasks may be started or allowed now. O(log n). */
int64_t shape_times(const struct engine *engine, const struct shape *shape);
void cluster_done(struct engine *engine);
/* Replaces the host's units and subtracts what runs there. */
void host_replace_units(struct engine *engine, struct host *host, const struct u64s *vectors);
