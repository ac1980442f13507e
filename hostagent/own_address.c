#include "hostagent/own_address.h"

#include "lib/address.h"

#include <errno.h>
#include <ifaddrs.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool address_take(const struct sockaddr *from, uint8_t ret_address[16])
{
    uint8_t address[16] = {[10] = 0xff, [11] = 0xff};
    struct reach_address any = {.length = 0};
    if (!from || (from->sa_family != AF_INET && from->sa_family != AF_INET6))
        return false;
    memcpy(&any.at, from, from->sa_family == AF_INET ? sizeof(any.at.v4) : sizeof(any.at.v6));
    if (reach_is_v6(&any))
        memcpy(address, &any.at.v6.sin6_addr, sizeof(address));
    else
        memcpy(address + ADDRESS_V4_AT, &any.at.v4.sin_addr, 4);
    if (address_useless(address))
        return false;
    memcpy(ret_address, address, sizeof(address));
    return true;
}

/* A connected datagram socket has the route's source address, and sends nothing. */
static bool route_take(const struct reach_address *controller, uint8_t ret_address[16])
{
    struct reach_address own = {.length = sizeof(own.at)};
    int fd = socket(controller->at.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool known = fd >= 0 && connect(fd, &controller->at.any, controller->length) == 0 &&
                 getsockname(fd, &own.at.any, &own.length) == 0 &&
                 address_take(&own.at.any, ret_address);
    if (fd >= 0)
        close(fd);
    return known;
}

static bool is_uplink(const char *name, const char *uplink, const struct ports_found *ports)
{
    if (strcmp(name, uplink) == 0)
        return true;
    for (uint32_t i = 0; i < ports->n; i++)
        if (strcmp(name, ports->names[i]) == 0)
            return true;
    return false;
}

static bool uplink_take(const struct ifaddrs *all, int family, const char *uplink,
                        const struct ports_found *ports, uint8_t ret_address[16])
{
    for (const struct ifaddrs *each = all; each; each = each->ifa_next)
        if (each->ifa_addr && each->ifa_addr->sa_family == family &&
            is_uplink(each->ifa_name, uplink, ports) && address_take(each->ifa_addr, ret_address))
            return true;
    return false;
}

int own_address_find(const struct reach_address *controller, const char *uplink,
                     const struct ports_found *ports, uint8_t ret_address[16])
{
    struct ifaddrs *all;
    if (route_take(controller, ret_address))
        return 0;
    if (getifaddrs(&all) < 0)
        return -errno;
    bool found = uplink_take(all, AF_INET, uplink, ports, ret_address) ||
                 uplink_take(all, AF_INET6, uplink, ports, ret_address);
    freeifaddrs(all);
    return found ? 0 : -EADDRNOTAVAIL;
}
