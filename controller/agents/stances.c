#include "controller/agents/stances.h"

#include "lib/wire.h"

#include <errno.h>
#include <string.h>

/* The place of its rule; n: it has none. */
static uint32_t place_of(const struct stances *stances, enum stance_scope scope, const char *name)
{
    uint32_t i = 0;
    while (i < stances->n &&
           (stances->rules[i].scope != scope || strcmp(stances->rules[i].name, name) != 0))
        i++;
    return i;
}

int stances_may_set(const struct stances *stances, enum stance_scope scope, const char *name,
                    duopoly_Stance stance)
{
    if (stance < duopoly_Stance_STANCE_OBSERVE || stance > duopoly_Stance_STANCE_ENFORCE)
        return -EINVAL;
    if (scope == STANCE_OF_ALL)
        return 0;
    return place_of(stances, scope, name) == STANCE_RULES ? -E2BIG : 0;
}

int stances_set(struct stances *stances, enum stance_scope scope, const char *name,
                duopoly_Stance stance)
{
    int r = stances_may_set(stances, scope, name, stance);
    if (r < 0)
        return r;
    if (scope == STANCE_OF_ALL) {
        stances->of_all = stance;
        stances->n = 0;
        return 0;
    }
    uint32_t place = place_of(stances, scope, name);
    if (place < stances->n)
        memmove(&stances->rules[place], &stances->rules[place + 1],
                (--stances->n - place) * sizeof(stances->rules[0]));
    struct stance_rule *rule = &stances->rules[stances->n++];
    *rule = (struct stance_rule){.scope = scope, .stance = stance};
    wire_copy(rule->name, sizeof(rule->name), name);
    return 0;
}

const char *stances_word(duopoly_Stance stance)
{
    static const char *const words[] = {"", "observe", "mark", "enforce"};
    return (size_t)stance < sizeof(words) / sizeof(words[0]) ? words[stance] : "";
}

duopoly_Stance stances_of(const struct stances *stances, const char *host, const char *rack)
{
    for (uint32_t i = stances->n; i > 0; i--) {
        const struct stance_rule *rule = &stances->rules[i - 1];
        if (strcmp(rule->name, rule->scope == STANCE_OF_RACK ? rack : host) == 0)
            return rule->stance;
    }
    return stances->of_all ? stances->of_all : duopoly_Stance_STANCE_ENFORCE;
}
