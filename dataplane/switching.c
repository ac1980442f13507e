#include "dataplane/switching.h"

#include <string.h>

#define NS_PER_S UINT64_C(1000000000)
#define GROUP    1   /* the first byte's bit of an address of a group */
#define BURST_MS 100 /* of the flood limit */

int switching_open(struct switching *switching, const struct switching_settings *settings,
                   struct err *err)
{
    *switching = (struct switching){.settings = *settings};
    return macs_create(settings->macs, settings->age_ns, settings->moves, &switching->macs, err);
}

void switching_change(struct switching *switching, const struct switching_settings *settings)
{
    switching->settings = *settings;
    macs_change(switching->macs, settings->age_ns, settings->moves);
}

void switching_close(struct switching *switching)
{
    macs_destroy(switching->macs);
    switching->macs = NULL;
}

static bool is_shut(const struct switching *switching, uint32_t port, uint64_t now_ns)
{
    return now_ns < switching->ports[port].shut_until_ns;
}

static int filter(struct switching_port *port)
{
    port->counters.filtered_packets++;
    return SWITCHING_DROP;
}

static int drop_shut(struct switching_port *port)
{
    port->counters.shut_packets++;
    return SWITCHING_DROP;
}

static void shut(struct switching *switching, uint32_t from, const uint8_t *mac, uint64_t now_ns)
{
    struct switching_port *port = &switching->ports[from];
    port->shut_until_ns = now_ns + switching->settings.shut_ns;
    port->other = (uint32_t)macs_find(switching->macs, mac, now_ns);
    memcpy(port->mac, mac, MACS_BYTES);
    port->counters.shuts++;
    switching->shuts++;
}

/* Credit is in 10⁻⁹ frames. */
static int flood(struct switching *switching, struct switching_port *port, uint64_t now_ns)
{
    const uint64_t rate = switching->settings.flood_pps,
                   most = rate * BURST_MS * (NS_PER_S / 1000) + NS_PER_S;
    const uint64_t ns = now_ns - port->refilled_ns;
    port->refilled_ns = now_ns;
    port->credit =
        ns >= NS_PER_S || port->credit + ns * rate > most ? most : port->credit + ns * rate;
    if (port->credit < NS_PER_S) {
        port->counters.over_limit_packets++;
        return SWITCHING_DROP;
    }
    port->credit -= NS_PER_S;
    port->counters.flooded_packets++;
    return SWITCHING_FLOOD;
}

static bool is_links_own(const uint8_t *mac)
{
    static const uint8_t prefix[] = {0x01, 0x80, 0xc2, 0x00, 0x00};
    return memcmp(mac, prefix, sizeof(prefix)) == 0 && mac[5] < 0x10;
}

int switching_target(struct switching *switching, uint32_t from, const uint8_t *frame,
                     uint32_t bytes, uint64_t now_ns)
{
    struct switching_port *port = &switching->ports[from];
    const uint8_t *to = frame, *source = frame + MACS_BYTES;
    if (is_shut(switching, from, now_ns))
        return drop_shut(port);
    if (bytes < 2 * MACS_BYTES || source[0] & GROUP || is_links_own(to))
        return filter(port);
    const enum macs_verdict verdict = macs_learn(switching->macs, source, from, now_ns);
    switching->moved += verdict == MACS_MOVED;
    switching->full += verdict == MACS_FULL;
    if (verdict == MACS_FLAPS) {
        shut(switching, from, source, now_ns);
        return drop_shut(port);
    }
    const int target = to[0] & GROUP ? MACS_NONE : macs_find(switching->macs, to, now_ns);
    if (target == MACS_NONE)
        return flood(switching, port, now_ns);
    if ((uint32_t)target == from)
        return filter(port);
    return is_shut(switching, (uint32_t)target, now_ns) ? drop_shut(port) : target;
}

uint32_t switching_open_ports(const struct switching *switching, uint64_t now_ns)
{
    uint32_t open = 0;
    for (uint32_t i = 0; i < switching->settings.ports; i++)
        open |= (uint32_t)!is_shut(switching, i, now_ns) << i;
    return open;
}
