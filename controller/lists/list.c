#include "controller/lists/list.h"

const struct list *list_find(duopoly_ListOf of)
{
    static const struct list *const lists[] = {
        &list_of_jobs,    &list_of_tasks,        &list_of_hosts,    &list_of_counters,
        &list_of_keys,    &list_of_ports,        &list_of_switches, &list_of_steps,
        &list_of_links,   &list_of_guests,       &list_of_units,    &list_of_users,
        &list_of_debts,   &list_of_combinations, &list_of_history,  &list_of_modes,
        &list_of_coflows, &list_of_macroflows,   &list_of_config,   &list_of_config_changes};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        if (lists[i]->of == of)
            return lists[i];
    return NULL;
}

struct value stance_value(duopoly_Stance stance)
{
    static const char *const words[] = {"", "observe", "mark", "enforce"};
    bool said = stance && (size_t)stance < sizeof(words) / sizeof(words[0]);
    return said ? value_text(words[stance]) : value_absent();
}
