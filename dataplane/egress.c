#include "dataplane/egress.h"

#include "lib/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

bool egress_differs(const struct egress *egress, const struct egress *others, uint32_t i)
{
    duopoly_DataplanePort is = duopoly_DataplanePort_init_zero,
                          other = duopoly_DataplanePort_init_zero;
    port_message_write(&egress->ports[i].now, &is);
    port_message_write(&others->ports[i].now, &other);
    return !port_message_equal(&is, &other);
}

void egress_write(const struct egress *egress, duopoly_DataplanePorts *message)
{
    message->packets_most = egress->packets_most;
    message->ports_count = (pb_size_t)egress->n;
    for (uint32_t i = 0; i < egress->n; i++) {
        const struct egress_port *entry = &egress->ports[i];
        duopoly_DataplanePort *port = &message->ports[i];
        wire_copy(port->port, sizeof(port->port), entry->facts.name);
        wire_copy(port->owner, sizeof(port->owner), entry->owner);
        port->device_bps = entry->facts.link_bps;
        port->mtu_bytes = entry->facts.mtu_bytes;
        port_message_write(&entry->now, port);
    }
}

static struct egress_port *entry_of(struct egress *egress, const char *name)
{
    for (uint32_t i = 0; i < egress->n; i++)
        if (strcmp(egress->ports[i].facts.name, name) == 0)
            return &egress->ports[i];
    return NULL;
}

static int check_room(const struct egress *egress, const struct egress_port *entry, struct err *err)
{
    uint32_t packets = 0;
    for (uint32_t q = 0; q < entry->now.queues_n; q++)
        packets += entry->now.queues[q].packets;
    if (packets <= egress->packets_most)
        return 0;
    return err_set(err, E2BIG,
                   "%s: queues of %" PRIu32 " packets together; this data plane has memory for "
                   "%" PRIu32 " a port (ten times queues.leaf_packets of its configuration)",
                   entry->facts.name, packets, egress->packets_most);
}

static int read_port(struct egress *egress, const duopoly_SetDataplanePorts *message,
                     const duopoly_DataplanePort *port, struct err *err)
{
    struct egress_port *entry = entry_of(egress, port->port);
    if (!entry)
        return err_set(err, ENODEV, "%s: this data plane has no such port", port->port);
    if (entry->owner[0] && strcmp(entry->owner, message->owner) != 0 && !message->replace)
        return err_set(err, EBUSY, "%s: %s has set its queues", port->port, entry->owner);
    if (port->queues_count == 0) {
        entry->now = entry->configured;
        entry->owner[0] = '\0';
        return 0;
    }
    int r = port_message_read(port, &entry->facts, &entry->now, err);
    if (r < 0)
        return r;
    wire_copy(entry->owner, sizeof(entry->owner), message->owner);
    return check_room(egress, entry, err);
}

static int check_names(const duopoly_SetDataplanePorts *message, struct err *err)
{
    if (!message->owner[0])
        return err_set(err, EINVAL, "SetDataplanePorts needs a name (owner)");
    for (pb_size_t i = 1; i < message->ports_count; i++)
        for (pb_size_t j = 0; j < i; j++)
            if (strcmp(message->ports[i].port, message->ports[j].port) == 0)
                return err_set(err, EINVAL, "%s is set twice", message->ports[i].port);
    return 0;
}

int egress_read(const struct egress *egress, const duopoly_SetDataplanePorts *message,
                struct egress *ret_egress, struct err *err)
{
    struct egress next = *egress;
    int r = check_names(message, err);
    for (pb_size_t i = 0; r == 0 && i < message->ports_count; i++)
        r = read_port(&next, message, &message->ports[i], err);
    if (r == 0)
        *ret_egress = next;
    return r;
}
