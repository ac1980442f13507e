/* The stance of each agent (how much of its host it may change), as operators set it: for one host,
 * a rack, or all (pure).
 *
 * The last setting for a host, its rack or all counts; a setting for all removes everything before
 * it. Without a setting: enforce. At most STANCE_RULES names, then −E2BIG until a setting for all.
 * O(rules). */
#pragma once

#include "schemas/duopoly.pb.h"

#include <stdint.h>

#define STANCE_RULES 1024

enum stance_scope { STANCE_OF_ALL, STANCE_OF_RACK, STANCE_OF_HOST };

struct stances {
    duopoly_Stance of_all; /* UNSAID: enforce */
    uint32_t n;
    struct stance_rule { /* in the order in which they were set */
        enum stance_scope scope;
        duopoly_Stance stance;
        char name[64];
    } rules[STANCE_RULES];
};

/* `name` is ignored for all. −E2BIG: the bound; −EINVAL: no such stance. */
int stances_set(struct stances *stances, enum stance_scope scope, const char *name,
                duopoly_Stance stance);

/* What stances_set would return now. */
int stances_may_set(const struct stances *stances, enum stance_scope scope, const char *name,
                    duopoly_Stance stance);

duopoly_Stance stances_of(const struct stances *stances, const char *host, const char *rack);
/* As people write it. */
const char *stances_word(duopoly_Stance stance);
