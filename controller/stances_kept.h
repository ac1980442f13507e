/* The stances that operators have set (stances.h), as the store keeps them: settings "stance" 0000
 * … in the order in which they apply, each with a scope, a stance as its number, and a name. */
#pragma once

#include "controller/agents/agents.h"
#include "controller/store/store.h"

/* Gives `agents` the stored stances: those that are there are told what is another one for them. 0,
 * or −ENOMEM. O(agents · stances). */
int stances_kept_read(const struct store *store, struct agents *agents);

/* Sets one (agents_set_stance, with its errors) and stores all. −ENOENT: no agent has this name, or
 * this rack. O(agents + stances). */
int stances_kept_set(struct store *store, struct agents *agents, enum stance_scope scope,
                     const char *name, duopoly_Stance stance);
/* With its errors; 0: it would be set. */
int stances_kept_may_set(const struct agents *agents, enum stance_scope scope, const char *name,
                         duopoly_Stance stance);
