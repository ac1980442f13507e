#include "testbed/sim/cluster/cluster_file.h"

#include "lib/conf.h"
#include "lib/disk_rate.h"
#include "lib/join.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct file {
    struct cluster_class classes[CLUSTER_CLASSES_MAX];
    uint32_t n;
};

/* As agents' names and labels: printable, without the characters of lists and constraints. */
static int word_check(const char *text, struct err *err)
{
    for (const char *c = text; *c; c++)
        if (*c <= ' ' || *c > '~' || strchr("/\"'\\,&|!()", *c))
            return err_set(err, EINVAL,
                           "'%s' cannot be a name: it has a blank, or one of / \" ' \\ , "
                           "& | ! ( )",
                           text);
    return 0;
}

#define AT(s, member) .name = #member, .offset = offsetof(struct s, member)
#define COUNT(member)                                                                              \
    {                                                                                              \
        AT(cluster_unit, member), .type = CONF_INT, .max = INT64_C(1000000000000), .preset = "0"   \
    }
#define SIZE(member)                                                                               \
    {                                                                                              \
        AT(cluster_unit, member), .type = CONF_BYTES, .preset = "0 B"                              \
    }
static const struct conf_field unit_fields[] = {{AT(cluster_unit, name), .type = CONF_STRING,
                                                 .size = sizeof(((struct cluster_unit *)0)->name),
                                                 .preset = "", .check = word_check},
                                                COUNT(slots),
                                                COUNT(cpu_milli),
                                                SIZE(mem_bytes),
                                                COUNT(gpu_milli),
                                                SIZE(gpu_mem_bytes),
                                                SIZE(io_bytes_s),
                                                UNIT_DEVICES_FIELD(cluster_unit),
                                                {0}};

static int unit_check(const void *structure, struct err *err)
{
    const struct cluster_unit *unit = structure;
    return unit->slots || unit->cpu_milli || unit->mem_bytes || unit->gpu_milli ||
                   unit->gpu_mem_bytes || unit->io_bytes_s || unit->devices.n
               ? unit_devices_check(&unit->devices, unit->gpu_milli, unit->gpu_mem_bytes, err)
               : err_set(err, EINVAL,
                         "a unit has something: slots, cpu_milli, mem_bytes, gpu_milli, "
                         "gpu_mem_bytes or io_bytes_s");
}

static const struct conf_section unit_section = {unit_fields, sizeof(struct cluster_unit),
                                                 unit_check};
static const struct conf_field unit_item = {.type = CONF_SECTION, .section = &unit_section};
static const struct conf_field name_item = {
    .type = CONF_STRING, .size = sizeof(struct cluster_word), .check = word_check};
static const struct conf_field label_item = {
    .type = CONF_STRING, .size = sizeof(struct cluster_label), .check = word_check};

#define WORD(member)                                                                               \
    {                                                                                              \
        AT(cluster_class, member), .type = CONF_STRING,                                            \
                                   .size = sizeof(((struct cluster_class *)0)->member),            \
                                   .preset = "", .check = word_check                               \
    }
#define LIST(s, member, count, item_, most)                                                        \
    {                                                                                              \
        AT(s, member), .type = CONF_LIST, .size = sizeof(((struct s *)0)->member[0]),              \
                       .max = (most), .item = &(item_), .count_offset = offsetof(struct s, count)  \
    }
#define RATE(key, member_)                                                                         \
    {                                                                                              \
        .name = (key), .offset = offsetof(struct cluster_class, member_), .type = CONF_RATE,       \
        .max = INT64_C(8000000000000000), .preset = "0 bps"                                        \
    }
/* Beside those before it in its class. */
static int unit_beside(const void *items, uint32_t i, struct err *err)
{
    const struct cluster_unit *units = items;
    for (uint32_t j = 0; j < i; j++) {
        const char *both = unit_devices_common(&units[i].devices, &units[j].devices);
        if (*units[i].name && strcmp(units[i].name, units[j].name) == 0)
            return err_set(err, EINVAL, "two units are called %s", units[i].name);
        if (both)
            return err_set(err, EINVAL, "the device %s is in two units", both);
    }
    return 0;
}

/* Beside those before it in its class. */
static int name_beside(const void *items, uint32_t i, struct err *err)
{
    const struct cluster_word *names = items;
    for (uint32_t j = 0; j < i; j++)
        if (strcmp(names[i].text, names[j].text) == 0)
            return err_set(err, EINVAL, "two hosts are called %s", names[i].text);
    return 0;
}

static const struct conf_field class_fields[] = {
    WORD(name),
    {AT(cluster_class, hosts), .type = CONF_INT, .max = CLUSTER_HOSTS_MAX, .preset = "0"},
    {AT(cluster_class, names), .type = CONF_LIST, .size = sizeof(struct cluster_word),
     .max = CLUSTER_NAMES_MAX, .item = &name_item, .beside = name_beside,
     .count_offset = offsetof(struct cluster_class, n_names)},
    WORD(rack),
    LIST(cluster_class, labels, n_labels, label_item, CLUSTER_LABELS_MAX),
    {AT(cluster_class, units), .type = CONF_LIST, .size = sizeof(struct cluster_unit),
     .max = CLUSTER_UNITS_MAX, .item = &unit_item, .beside = unit_beside,
     .count_offset = offsetof(struct cluster_class, n_units)},
    RATE("link", link_bps),
    RATE("uplink", uplink_bps),
    RATE("downlink", downlink_bps),
    {.name = "disk",
     .offset = offsetof(struct cluster_class, disk_bytes_s),
     .type = CONF_PARSED,
     .parse = disk_rate_parse,
     .preset = "none"},
    {AT(cluster_class, disk_loss), .type = CONF_SHARE, .max = 1000, .preset = "0 %"},
    {0}};

static int class_check(const void *structure, struct err *err)
{
    const struct cluster_class *class = structure;
    if (!class->hosts == !class->n_names)
        return err_set(err, EINVAL,
                       "a class says either how many hosts it has (hosts: 3, from 1) or "
                       "which (names: [a, b])");
    return class->n_names && *class->name
               ? err_set(err, EINVAL, "the hosts of a class have its name, or names of their own")
               : 0;
}

static const struct conf_section class_section = {class_fields, sizeof(struct cluster_class),
                                                  class_check};
static const struct conf_field class_item = {.type = CONF_SECTION, .section = &class_section};

static uint64_t count_hosts(const struct cluster_class *class)
{
    return class->n_names ? class->n_names : (uint64_t) class->hosts;
}

/* A class without a name counts on through the file: h0 is the first host of all. */
static void name_host(const struct cluster_class *class, uint32_t number, uint32_t host, char *name,
                      size_t size)
{
    if (class->n_names)
        snprintf(name, size, "%s", class->names[number].text);
    else if (*class->name)
        snprintf(name, size, "%s%u", class->name, number + 1);
    else
        snprintf(name, size, "h%u", host);
}

/* The number that a name has behind those characters, as name_host writes it; UINT64_MAX: none. */
static uint64_t number_behind(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    const char *digits = name + length;
    if (strncmp(name, prefix, length) != 0 || !*digits || strlen(digits) > 9 ||
        digits[strspn(digits, "0123456789")] || (*digits == '0' && digits[1]))
        return UINT64_MAX;
    return strtoull(digits, NULL, 10);
}

/* Whether a host of the class, whose first one has that number in the file, has the name. */
static bool has_host(const struct cluster_class *class, uint64_t first, const char *name)
{
    for (uint32_t i = 0; i < class->n_names; i++)
        if (strcmp(class->names[i].text, name) == 0)
            return true;
    uint64_t number = number_behind(name, *class->name ? class->name : "h");
    uint64_t from = *class->name ? 1 : first;
    return !class->n_names && number >= from && number - from < count_hosts(class);
}

/* Beside those before it in the file. O(hosts of it × classes). */
static int class_beside(const void *items, uint32_t c, struct err *err)
{
    const struct cluster_class *classes = items;
    char name[sizeof(((struct cluster_host *)0)->name)];
    uint64_t first = 0;
    for (uint32_t b = 0; b < c; b++)
        first += count_hosts(&classes[b]);
    /* WHY: file_check refuses so many. */
    if (first + count_hosts(&classes[c]) > CLUSTER_HOSTS_MAX)
        return 0;
    for (uint32_t i = 0; i < count_hosts(&classes[c]); i++) {
        uint64_t of_class = 0;
        name_host(&classes[c], i, (uint32_t)(first + i), name, sizeof(name));
        for (uint32_t b = 0; b < c; of_class += count_hosts(&classes[b++]))
            if (has_host(&classes[b], of_class, name))
                return err_set(err, EINVAL,
                               "two hosts are called %s: one of this class and one "
                               "of class %u",
                               name, b + 1);
    }
    return 0;
}

static const struct conf_field file_fields[] = {{.name = "classes",
                                                 .type = CONF_LIST,
                                                 .offset = offsetof(struct file, classes),
                                                 .size = sizeof(struct cluster_class),
                                                 .min = 1,
                                                 .max = CLUSTER_CLASSES_MAX,
                                                 .item = &class_item,
                                                 .beside = class_beside,
                                                 .count_offset = offsetof(struct file, n)},
                                                {0}};

static int file_check(const void *structure, struct err *err)
{
    const struct file *file = structure;
    uint64_t hosts = 0;
    for (uint32_t c = 0; c < file->n; c++)
        hosts += count_hosts(&file->classes[c]);
    if (!file->n)
        return err_set(err, EINVAL, "a cluster has at least one class of hosts");
    return hosts <= CLUSTER_HOSTS_MAX ? 0
                                      : err_set(err, EINVAL, "%llu hosts, at most %d are taken",
                                                (unsigned long long)hosts, CLUSTER_HOSTS_MAX);
}

static const struct conf_section file_section = {file_fields, sizeof(struct file), file_check};

static void list_hosts(struct cluster *cluster)
{
    uint32_t h = 0;
    for (uint32_t c = 0; c < cluster->n_classes; c++)
        for (uint32_t i = 0; i < count_hosts(&cluster->classes[c]); i++, h++) {
            cluster->hosts[h].class = &cluster->classes[c];
            name_host(&cluster->classes[c], i, h, cluster->hosts[h].name,
                      sizeof(cluster->hosts[h].name));
        }
}

static void complete_units(struct cluster_class *class)
{
    for (uint32_t u = 0; u < class->n_units; u++) {
        struct cluster_unit *unit = &class->units[u];
        unit->gpu_milli = unit_devices_milli(&unit->devices, unit->gpu_milli);
    }
}

static int take_classes(const struct file *file, struct cluster *cluster)
{
    uint64_t hosts = 0;
    for (uint32_t c = 0; c < file->n; c++)
        hosts += count_hosts(&file->classes[c]);
    cluster->n_classes = file->n;
    cluster->n_hosts = (uint32_t)hosts;
    cluster->classes = calloc(file->n, sizeof(*cluster->classes));
    cluster->hosts = calloc(hosts, sizeof(*cluster->hosts));
    if (!cluster->classes || !cluster->hosts)
        return -ENOMEM;
    memcpy(cluster->classes, file->classes, file->n * sizeof(*cluster->classes));
    for (uint32_t c = 0; c < file->n; c++)
        complete_units(&cluster->classes[c]);
    list_hosts(cluster);
    return 0;
}

int cluster_file_read(const char *path, struct cluster *ret_cluster, struct err *err)
{
    struct cluster cluster = {0};
    struct file *file = calloc(1, sizeof(*file));
    int r = file ? conf_read(path, &file_section, file, err) : err_sys(err, ENOMEM, "%s", path);
    if (r == 0 && take_classes(file, &cluster) < 0)
        r = err_sys(err, ENOMEM, "%s", path);
    free(file);
    if (r < 0)
        cluster_file_done(&cluster);
    else
        *ret_cluster = cluster;
    return r;
}

void cluster_file_done(struct cluster *cluster)
{
    free(cluster->classes);
    free(cluster->hosts);
    *cluster = (struct cluster){0};
}

uint64_t cluster_slots(const struct cluster_class *class, uint32_t slots)
{
    uint64_t sum = class->n_units ? 0 : slots;
    for (uint32_t u = 0; u < class->n_units; u++)
        sum += (uint64_t) class->units[u].slots;
    return sum;
}

void cluster_labels(const struct cluster_class *class, char *ret_labels, size_t size)
{
    *ret_labels = '\0';
    for (uint32_t i = 0; i < class->n_labels; i++)
        join_word(ret_labels, size, ",", class->labels[i].text);
}

void cluster_unit_names(const struct cluster_class *class, char *ret_names, size_t size)
{
    bool any = false;
    *ret_names = '\0';
    for (uint32_t u = 0; u < class->n_units; u++)
        any |= *class->units[u].name != '\0';
    for (uint32_t u = 0; any && u < class->n_units; u++) {
        size_t used = strlen(ret_names);
        snprintf(ret_names + used, size - used, "%s%s", u ? "," : "", class->units[u].name);
    }
}

uint64_t cluster_uplink_bps(const struct cluster_class *class)
{
    return (uint64_t)(class->uplink_bps ? class->uplink_bps : class->link_bps);
}

uint64_t cluster_downlink_bps(const struct cluster_class *class)
{
    return (uint64_t)(class->downlink_bps ? class->downlink_bps : class->link_bps);
}

uint64_t cluster_every_link_bps(const struct cluster *cluster)
{
    uint64_t first = cluster_uplink_bps(&cluster->classes[0]);
    for (uint32_t c = 0; c < cluster->n_classes; c++)
        if (cluster_uplink_bps(&cluster->classes[c]) != first ||
            cluster_downlink_bps(&cluster->classes[c]) != first)
            return 0;
    return first;
}
