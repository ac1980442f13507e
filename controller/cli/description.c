#include "controller/cli/description.h"

#include "lib/conf.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* WHY: no character may end a command or begin another. */
int description_name_check(const char *text, struct err *err)
{
    for (const char *c = text; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:", *c))
            return err_set(err, EINVAL, "'%s' is no name: letters, digits and - _ . / :", text);
    return 0;
}

#define NUMBER(member, key, kind, default, least, most)                                            \
    {                                                                                              \
        .name = key, .type = kind, .offset = offsetof(struct description, member),                 \
        .preset = default, .min = least, .max = most                                               \
    }
#define NUMBERS(member, key, one, least)                                                           \
    {                                                                                              \
        .name = key, .type = CONF_LIST, .offset = offsetof(struct description, member),            \
        .size = sizeof(((struct description *)NULL)->member[0]), .min = least,                     \
        .max = sizeof(((struct description *)NULL)->member) /                                      \
               sizeof(((struct description *)NULL)->member[0]),                                    \
        .item = one, .count_offset = offsetof(struct description, member##_n)                      \
    }
static const struct conf_field port_item = {
    .type = CONF_STRING, .size = DESCRIPTION_NAME, .check = description_name_check};
static const struct conf_field queue_item = {.type = CONF_INT, .min = 0, .max = 7};
static const struct conf_field level_item = {.type = CONF_INT, .min = 1, .max = 63};
static const struct conf_field dscp_item = {.type = CONF_INT, .min = 0, .max = 63};
static const struct conf_field fields[] = {
    NUMBERS(ports, "ports", &port_item, 1),
    NUMBER(rate_bps, "rate", CONF_RATE, NULL, 1000000, INT64_C(1) << 50),
    NUMBER(mtu, "mtu", CONF_INT, "1500", 64, 65535),
    NUMBER(queues, "queues", CONF_INT, "8", 2, 8),
    NUMBERS(lossless, "lossless", &queue_item, 0),
    NUMBER(levels, "levels", CONF_INT, "8", 1, PORT_LEVELS),
    NUMBER(leaf_packets, "leaf_packets", CONF_INT, "100", 2, 1000000),
    NUMBER(floor, "floor", CONF_SHARE, "1 %", 0, 1000),
    NUMBER(unmanaged, "unmanaged", CONF_SHARE, "10 %", 0, 1000),
    NUMBER(control, "control", CONF_SHARE, "1 %", 0, 1000),
    NUMBER(unmanaged_joins, "unmanaged_joins", CONF_INT, "7", 0, PORT_LEVELS - 1),
    {.name = "ecn",
     .type = CONF_BOOL,
     .offset = offsetof(struct description, ecn),
     .preset = "yes"},
    NUMBER(ecn_packets, "ecn_packets", CONF_INT, "0", 0, 1000000),
    NUMBERS(dscp, "dscp", &level_item, 0),
    NUMBERS(keep, "keep", &dscp_item, 0),
    {.name = "site",
     .type = CONF_STRING,
     .offset = offsetof(struct description, site),
     .size = sizeof(((struct description *)NULL)->site),
     .preset = ""},
    {.name = NULL},
};

static bool twice(const struct description *description, uint32_t i)
{
    for (uint32_t j = 0; j < i; j++)
        if (strcmp(description->ports[i].name, description->ports[j].name) == 0)
            return true;
    return false;
}

static int whole_check(const void *structure, struct err *err)
{
    const struct description *description = structure;
    for (uint32_t i = 0; i < description->ports_n; i++)
        if (twice(description, i))
            return err_set(err, EINVAL, "port %s stands there twice", description->ports[i].name);
    for (uint32_t i = 0; i < description->lossless_n; i++)
        if (description->lossless[i] >= description->queues)
            return err_set(err, EINVAL, "queue %d is lossless, and a port has %d",
                           (int)description->lossless[i], (int)description->queues);
    if (description->dscp_n != 0 && description->dscp_n != PORT_LEVELS)
        return err_set(err, EINVAL, "dscp has one number for each of the %d levels", PORT_LEVELS);
    return 0;
}

static const struct conf_section section = {fields, sizeof(struct description), whole_check};

int description_read(const char *path, struct description **ret_description, struct err *err)
{
    struct description *description = calloc(1, sizeof(*description));
    int r = description ? conf_read(path, &section, description, err)
                        : err_sys(err, ENOMEM, "%s", path);
    if (r < 0) {
        free(description);
        return r;
    }
    *ret_description = description;
    return 0;
}

static bool is_levels(const struct port_wish *wish, int64_t dscp)
{
    for (uint32_t level = 0; level < PORT_LEVELS; level++)
        if (wish->dscp_of_level[level] == dscp)
            return true;
    return dscp == PORT_DSCP_CONTROL;
}

int description_wish(const struct description *description, struct port_wish *ret_wish,
                     struct err *err)
{
    struct port_wish wish = port_wish_preset;
    wish.levels = (uint32_t)description->levels;
    wish.queue_packets = (uint32_t)description->leaf_packets;
    wish.floor_permille = (uint32_t)description->floor;
    wish.unmanaged_permille = (uint32_t)description->unmanaged;
    wish.control_permille = (uint32_t)description->control;
    wish.unmanaged_joins = (uint32_t)description->unmanaged_joins;
    wish.ecn = description->ecn;
    wish.ecn_packets = (uint32_t)description->ecn_packets;
    for (uint32_t level = 0; level < description->dscp_n; level++)
        wish.dscp_of_level[level] = (uint8_t)description->dscp[level];
    for (uint32_t i = 0; i < description->keep_n; i++)
        if (is_levels(&wish, description->keep[i]))
            return err_set(err, EINVAL, "code point %d cannot be kept: it is ours",
                           (int)description->keep[i]);
    *ret_wish = wish;
    return 0;
}
