#include "controller/agents/stances.h"

#include "lib/wire.h"

#include <errno.h>
#include <string.h>

static void drop(struct stances *stances, enum stance_scope scope, const char *name)
{
    for (uint32_t i = 0; i < stances->n; i++) {
        struct stance_rule *rule = &stances->rules[i];
        if (rule->scope != scope || strcmp(rule->name, name) != 0)
            continue;
        memmove(rule, rule + 1, (--stances->n - i) * sizeof(*rule));
        return;
    }
}

int stances_set(struct stances *stances, enum stance_scope scope, const char *name,
                duopoly_Stance stance)
{
    if (stance < duopoly_Stance_STANCE_OBSERVE || stance > duopoly_Stance_STANCE_ENFORCE)
        return -EINVAL;
    if (scope == STANCE_OF_ALL) {
        stances->of_all = stance;
        stances->n = 0;
        return 0;
    }
    drop(stances, scope, name);
    if (stances->n == STANCE_RULES)
        return -E2BIG;
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
