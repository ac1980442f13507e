/* What agents report of guests, executors that they did not start (schemas/duopoly.proto,
 * GuestsPart), and the level of each of their applications (pure).
 *
 * An application is a name and a user. It has one level on all hosts: by the bytes that its guests
 * on all of them have received, as D-CLAS takes a Coflow's (engine/network/dclas.c), since its
 * tasks are not known. While any agent reports the application, its urgency only falls, even when
 * executors end with their bytes; an application that comes back after that starts again. For an
 * agent without a session, its last report counts.
 *
 * Bounds: as many applications of an agent as a duopoly_GuestsPart has. O(applications of the
 * part); looking one up is O(1). */
#pragma once

#include "controller/engine/engine.h"
#include "schemas/duopoly.pb.h"

#include <stdint.h>

#define AGENT_GUEST_LEVELS 8 /* on the wire */

struct guest_level;

/* Zero it first, except for the table. */
struct guest_levels {
    struct level_table table;
    struct guest_level *applications; /* a hash */
};

/* Of one agent. Zero it first. */
struct agent_guests {
    uint32_t n;
    duopoly_GuestApplication *rows; /* `level`: in force, or what it would be */
    uint64_t refused, left_out;
};

/* Takes the part's first n applications. *ret_levels: those of its applications whose level, or
 * whether they are `vouched` for, differs from the report. Rows with invalid names are left out,
 * and out of memory all. */
void agent_guests_take(struct guest_levels *levels, struct agent_guests *guests,
                       const duopoly_GuestsPart *part, uint32_t n,
                       bool (*vouched)(void *user, const duopoly_GuestApplication *row), void *user,
                       duopoly_GuestLevels *ret_levels);
/* Whether the agent reports an application with this name. O(rows). */
bool agent_guests_has(const struct agent_guests *guests, const char *name);
void agent_guests_done(struct guest_levels *levels, struct agent_guests *guests);
