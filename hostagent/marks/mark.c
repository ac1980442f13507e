#include "hostagent/marks/mark_driver.h"

#include <arpa/inet.h>
#include <string.h>

#define CS6 48

const struct mark_driver *const mark_all[] = {&mark_ebpf, &mark_nftables, &mark_recorder, NULL};

const struct mark_driver *mark_find(const char *name)
{
    for (size_t i = 0; mark_all[i]; i++)
        if (strcmp(mark_all[i]->name, name) == 0)
            return mark_all[i];
    return NULL;
}

void mark_settings_of(const struct mark_config *config, struct mark_settings *ret_settings)
{
    struct mark_settings settings = {.control_dscp = CS6,
                                     .any_member = config->members_n == 0,
                                     .control_port = htons(config->control_port),
                                     .class_control = config->class_of[TRAFFIC_CONTROL],
                                     .class_unmanaged = config->class_of[TRAFFIC_UNMANAGED]};
    memset(settings.level_of_dscp, MARK_UNMARKED, sizeof(settings.level_of_dscp));
    for (uint8_t level = 0; level < MARK_LEVELS; level++) {
        settings.dscp_of_level[level] = config->dscp_of_level[level];
        settings.level_of_dscp[config->dscp_of_level[level] % MARK_DSCPS] = level;
        settings.class_of_level[level] = config->class_of[TRAFFIC_LEVEL0 + level];
    }
    *ret_settings = settings;
}
