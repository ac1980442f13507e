#include "hostagent/marks/mark_driver.h"

#include "hostagent/address.h"
#include "lib/number.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
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

int mark_prefix_parse(const char *text, struct mark_prefix *ret_prefix, struct err *err)
{
    char address[INET6_ADDRSTRLEN + 1];
    struct mark_prefix prefix = {0};
    size_t length = strcspn(text, "/");
    uint32_t most = strchr(text, ':') ? 128 : 32;
    if (length < sizeof(address)) {
        memcpy(address, text, length);
        address[length] = 0;
    }
    if (length >= sizeof(address) || address_parse(address, prefix.address) < 0)
        return err_set(err, EINVAL, "\"%s\" is not an address or prefix such as 10.0.0.0/8", text);
    prefix.bits = most;
    if (text[length]) {
        uint64_t bits;
        if (number_read(text + length + 1, 0, most, &bits) < 0)
            return err_set(err, EINVAL, "\"%s\": a prefix has 0 to %u bits", text, most);
        prefix.bits = (uint32_t)bits;
    }
    prefix.bits += 128 - most;
    for (uint32_t bit = prefix.bits; bit < 128; bit++)
        prefix.address[bit / 8] &= (uint8_t) ~(0x80u >> bit % 8);
    *ret_prefix = prefix;
    return 0;
}
