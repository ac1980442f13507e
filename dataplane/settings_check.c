#include "dataplane/settings.h"
#include "lib/conf_check.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Things of this host that a device's arguments name. */
static const struct {
    const char *key;
    int (*check)(const char *text, struct err *err);
} named[] = {{",iface=", conf_check_interface}, {",remote=", conf_check_interface}};

static int device_check(const struct fastpath_side *side, struct err *err)
{
    char word[sizeof(side->device)];
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(named) / sizeof(named[0]); i++) {
        const char *at = strstr(side->device, named[i].key);
        if (!at)
            continue;
        at += strlen(named[i].key);
        snprintf(word, sizeof(word), "%.*s", (int)strcspn(at, ","), at);
        r = named[i].check(word, err);
    }
    return r < 0 ? err_prefix(err, "device %s", side->device) : 0;
}

/* The groups that packages make need not exist: then only root may ask. */
static int group_check(const char *group, const char *usual, struct err *err)
{
    return strcmp(group, usual) == 0 || getgrnam(group)
               ? 0
               : err_set(err, EINVAL, "there is no group '%s' on this host", group);
}

static int cpus_check(const struct fastpath_settings *settings, struct err *err)
{
    const long there = sysconf(_SC_NPROCESSORS_CONF);
    for (uint32_t i = 0; i < settings->cpus_n; i++)
        if (settings->cpus[i] >= there)
            return err_set(err, EINVAL, "cpus: this host has %ld processors, and no number %lld",
                           there, (long long)settings->cpus[i]);
    return 0;
}

int fastpath_settings_check(const struct fastpath_settings *settings, struct err *err)
{
    int r = group_check(settings->group, FASTPATH_GROUP, err);
    if (r == 0)
        r = group_check(settings->readers, FASTPATH_READERS, err);
    if (r == 0)
        r = cpus_check(settings, err);
    for (uint32_t i = 0; r == 0 && i < fastpath_ports(settings); i++)
        r = device_check(fastpath_side(settings, i), err);
    return r;
}
