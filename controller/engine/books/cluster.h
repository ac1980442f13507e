/* Hosts, their units, what fits where, and whether the network is congested. Private to
 * controller/engine.
 *
 * A *shape* is one (demand, constraint, application whose room it takes, application whose allows
 * bound it); per shape the engine keeps how many more such tasks fit and in which order hosts are
 * preferred, so that no decision looks at all hosts. host_touch() brings the indexes up to date
 * after any change of a host: O(shapes · units that changed · log hosts), where an attempt that
 * comes or goes changes its unit alone. Slots of silent, lost and draining hosts are not free.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* Takes the host out of what is up, or back in. `which`: its suspicion as a source or reader
 * (source.h decides), or as one that fails what runs there (failing.h). */
void cluster_set_suspect(struct engine *engine, struct host *host, bool *which, bool suspect);

/* NULL: unknown. */
struct host *cluster_host(const struct engine *engine, uint32_t index);
/* The host, made as a not yet joined one when it is unknown (for attempts seen before it joined);
 * NULL beyond hosts_max. */
struct host *cluster_adopt(struct engine *engine, uint32_t index);
/* The unit of this number, the last one for any that it has not. */
struct unit *host_own_unit(const struct host *host, uint32_t unit);
bool host_up(const struct host *host);
bool host_suspect(const struct host *host);
/* Whether it may be given one more attempt: what it runs and has not answered is bounded. */
bool host_takes(const struct engine *engine, const struct host *host);
/* What constraints ask of it; borrowed. */
struct constraint_host host_words(const struct host *host);
/* Its name, rack or labels are others: which constraints it meets follows; the caller touches
 * it. */
void host_follow_words(const struct engine *engine, struct host *host);
void host_touch(struct engine *engine, struct host *host);
/* Another policy says where: hosts with room stand in the orders that it wants
 * (place_policy.orders). O(hosts · shapes · log). */
void cluster_follow_orders(struct engine *engine);
/* Draws the host's random place among equals anew; the next host_touch applies it. */
void host_draw_tie(struct engine *engine, struct host *host);
/* After the first of its waiting locals changed. */
void host_shape_update(struct shape *shape, struct host_shape *host_shape);
/* Fewest receivers first, then fewest tasks, then the lowest index; HOST_CROWDED receivers and more
 * count as so many. */
uint64_t host_crowd(const struct host *host);
enum { HOST_CROWDED = 255 };
/* A unit of the host with room for the shape, the one with the fewest tasks; NULL: none. */
struct fit *host_fit(const struct host *host, const struct shape *shape);
/* What the shape's tasks would run in as the host's unit i: that, or the room of the shape's
 * application (i = 0); NULL: nothing is there for them. */
const struct unit *host_unit(const struct host *host, const struct shape *shape, uint32_t i);

/* Occupies or frees what the attempt has of its room or unit (one beyond the known ones is clipped
 * to the last); the caller touches the host. */
void host_occupy(struct engine *engine, const struct attempt *attempt, bool occupy);

/* A change of a host stands between these two, so that the sums of hosts that are up stay right
 * whatever changed, and all its units are fitted anew when it is touched. */
void host_leave_sums(struct engine *engine, const struct host *host);
void host_enter_sums(struct engine *engine, struct host *host);
/* An amount of one unit or room, cut to what the sums of all bear. */
int64_t cluster_amount(const struct engine *engine, int64_t amount);

/* Applications: whose room its tasks take, and whose allows bound them; 0: none. */
struct shape_of {
    uint64_t application, bound;
};
/* The shape, made when new, for the account (NULL: nobody counts); NULL when shapes_max are in use,
 * or the account's share of them. The caller counts itself in and out of shape->users. One without
 * users stays until another one is made, so that a cluster which idles between jobs of one kind
 * keeps its indexes. Making and dropping: O(hosts). */
struct shape *cluster_shape(struct engine *engine, const struct resources *demand,
                            const char *constraint, const struct shape_of *of,
                            struct account *account);
/* For load: makes it behind the others and drops none. */
struct shape *cluster_shape_create(struct engine *engine, const struct resources *demand,
                                   const char *constraint, const struct shape_of *of);
/* So many more of its tasks may be started or allowed now. O(log n). */
int64_t shape_times(const struct engine *engine, const struct shape *shape);
void cluster_done(struct engine *engine);
/* Gives the host other units, with what runs there taken off them. */
void host_replace_units(struct engine *engine, struct host *host, const struct u64s *vectors);
