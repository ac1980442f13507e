#include "controller/stances_kept.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_known(const struct agents *agents, enum stance_scope scope, const char *name)
{
    struct agent_view agent;
    if (scope == STANCE_OF_HOST)
        return agents_named(agents, name, &agent) == 0;
    for (uint32_t i = 0; scope == STANCE_OF_RACK && agents_at(agents, i, &agent) == 0; i++)
        if (strcmp(agent.rack, name) == 0)
            return true;
    return scope == STANCE_OF_ALL;
}

static void keep(struct store *store, uint32_t place, const struct stance_rule *rule)
{
    char name[16], value[80];
    snprintf(name, sizeof(name), "%04" PRIu32, place);
    if (rule)
        snprintf(value, sizeof(value), "%d %d %s", (int)rule->scope, (int)rule->stance, rule->name);
    store_set(store, "stance", name, rule ? value : NULL);
}

/* `before`: the former number. */
static void keep_all(struct store *store, const struct agents *agents, uint32_t before)
{
    const struct stances *stances = agents_stances(agents);
    const struct stance_rule all = {.scope = STANCE_OF_ALL, .stance = stances->of_all};
    keep(store, 0, stances->of_all ? &all : NULL);
    for (uint32_t i = 0; i < stances->n || i < before; i++)
        keep(store, i + 1, i < stances->n ? &stances->rules[i] : NULL);
}

static void on_kept(void *context, const char *name, const char *value)
{
    struct stances *stances = context;
    int scope, stance, at = 0;
    (void)name;
    if (sscanf(value, "%d %d %n", &scope, &stance, &at) == 2 && at)
        stances_set(stances, (enum stance_scope)scope, value + at, (duopoly_Stance)stance);
}

int stances_kept_read(const struct store *store, struct agents *agents)
{
    struct stances *stances = calloc(1, sizeof(*stances));
    if (!stances)
        return -ENOMEM;
    store_settings(store, "stance", on_kept, stances);
    agents_take_stances(agents, stances);
    free(stances);
    return 0;
}

int stances_kept_may_set(const struct agents *agents, enum stance_scope scope, const char *name,
                         duopoly_Stance stance)
{
    return is_known(agents, scope, name)
               ? stances_may_set(agents_stances(agents), scope, name, stance)
               : -ENOENT;
}

int stances_kept_set(struct store *store, struct agents *agents, enum stance_scope scope,
                     const char *name, duopoly_Stance stance)
{
    uint32_t before = agents_stances(agents)->n;
    int r = stances_kept_may_set(agents, scope, name, stance);
    if (r < 0)
        return r;
    r = agents_set_stance(agents, scope, name, stance);
    if (r >= 0)
        keep_all(store, agents, before);
    return r;
}
