/* What agents tell of guests, executors that they did not start (schemas/duopoly.proto, GuestsPart),
 * and the level of each application of them (pure).
 *
 * An application is a name and a user. It has one level on all hosts: by the bytes that its guests on
 * all of them have received, as D-CLAS takes a Coflow's (engine/network/dclas.c), since its tasks are
 * not known. The level only falls while any agent tells of the application, also when executors go
 * and take their bytes along; who comes back after that begins anew. An agent that has no session
 * keeps what it told last.
 *
 * Bounds: AGENT_GUESTS applications of an agent. O(applications of the part); looking one up is
 * O(1). */
#pragma once

#include "controller/engine/engine.h"
#include "schemas/duopoly.pb.h"

#include <stddef.h>
#include <stdint.h>

#define AGENT_GUESTS                                                                               \
    (sizeof(((duopoly_GuestsPart *)0)->applications) / sizeof(duopoly_GuestApplication))
#define AGENT_GUEST_LEVELS 8 /* on the wire */

struct guest_level;

/* Zero but for the table to begin with. */
struct guest_levels {
    struct level_table table;
    struct guest_level *applications; /* a hash */
};

/* Of one agent. Zero to begin with. */
struct agent_guests {
    uint32_t n;
    duopoly_GuestApplication *rows; /* `level`: in force, or what would be */
    uint64_t refused, left_out;
};

/* The part's first n applications. *ret_levels: of those of its applications whose level, or whether they are `vouched` for, is not as
 * told there. Rows whose names cannot
 * be are left out, and without memory all. */
void agent_guests_take(struct guest_levels *levels, struct agent_guests *guests,
                       const duopoly_GuestsPart *part, uint32_t n,
                       bool (*vouched)(void *user, const duopoly_GuestApplication *row), void *user,
                       duopoly_GuestLevels *ret_levels);
/* Whether the agent tells of an application with this name. O(rows). */
bool agent_guests_has(const struct agent_guests *guests, const char *name);
void agent_guests_done(struct guest_levels *levels, struct agent_guests *guests);
