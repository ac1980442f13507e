/* How far each agent is to reach into its host, as operators said: for one host, a rack, or all
 * (pure).
 *
 * What was said last about a host, its rack or all counts; what was said about all makes everything
 * before it void. Without a word: enforce. Bounded: STANCE_RULES names, then −E2BIG until all are
 * told at once. O(rules). */
#pragma once

#include "schemas/duopoly.pb.h"

#include <stdbool.h>
#include <stdint.h>

#define STANCE_RULES 1024

enum stance_scope { STANCE_OF_ALL, STANCE_OF_RACK, STANCE_OF_HOST };

struct stances {
    duopoly_Stance of_all; /* UNSAID: enforce */
    uint32_t n;
    struct stance_rule { /* in the order in which they were said */
        enum stance_scope scope;
        duopoly_Stance stance;
        char name[64];
    } rules[STANCE_RULES];
};

/* `name` without meaning for all. −E2BIG: the bound; −EINVAL: no such stance. */
int stances_set(struct stances *stances, enum stance_scope scope, const char *name,
                duopoly_Stance stance);

duopoly_Stance stances_of(const struct stances *stances, const char *host, const char *rack);
/* As people write it. */
const char *stances_word(duopoly_Stance stance);
