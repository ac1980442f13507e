#include "dataplane/settings.h"

#include <errno.h>
#include <string.h>

static int check_ports(const struct fastpath_settings *now, const struct fastpath_settings *next,
                       struct err *err)
{
    if (now->role != next->role || fastpath_ports(now) != fastpath_ports(next))
        return err_set(err, EINVAL, "role and number of ports stay as they are until a restart");
    for (uint32_t i = 0; i < fastpath_ports(now); i++) {
        const struct fastpath_side *port = fastpath_side(now, i), *wanted = fastpath_side(next, i);
        if (strcmp(port->name, wanted->name) != 0 || strcmp(port->device, wanted->device) != 0)
            return err_set(err, EINVAL, "port %s: name and device stay as they are until a restart",
                           port->name);
    }
    return 0;
}

int fastpath_may_change(const struct fastpath_settings *now, const struct fastpath_settings *next,
                        struct err *err)
{
    const struct {
        const char *key;
        bool stays;
    } keys[] = {
        {"socket", strcmp(now->socket, next->socket) == 0},
        {"group", strcmp(now->group, next->group) == 0},
        {"readers", strcmp(now->readers, next->readers) == 0},
        {"cpus",
         now->cpus_n == next->cpus_n && memcmp(now->cpus, next->cpus, sizeof(now->cpus)) == 0},
        {"mtu", now->mtu_bytes == next->mtu_bytes},
        {"marks.by", now->marks.by == next->marks.by},
        {"marks.flows", now->marks.flows == next->marks.flows},
        {"forwarding.macs", now->forwarding.macs == next->forwarding.macs},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (!keys[i].stays)
            return err_set(err, EINVAL, "%s stays as it is until a restart", keys[i].key);
    return check_ports(now, next, err);
}
