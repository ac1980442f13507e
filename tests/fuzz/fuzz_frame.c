/* Fuzz target of the data plane's parser and marking: whatever a frame is, nothing beyond its bytes
 * is read or written, only the six DSCP bits of an IP header and the checksum of IPv4 change, and
 * ECN only to say congestion where the frame understands it.
 *
 * An input is: a byte of what the world is like, the number of bytes that are cut off, a frame. */
#include "dataplane/marking.h"

#include <linux/if_ether.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct flows *flows;
static struct marking marking;

static void settle(uint8_t world)
{
    struct marking_settings settings = {.members_n = world & 1, .control_port = 7600};
    settings.members[0] =
        (struct mark_prefix){.bits = 107, .address = {[10] = 0xff, [11] = 0xff, [12] = 10}};
    for (uint8_t level = 0; level < PORT_LEVELS; level++)
        settings.dscp_of_level[level] = (uint8_t)(4 * level + 3);
    flows_destroy(flows);
    flows = NULL;
    if (flows_create(2, &flows, NULL) < 0)
        abort();
    marking_init(&marking, &settings, flows);
    marking.mode = world >> 1 & 1;
    marking.expiry_ns = world & 4 ? 0 : UINT64_MAX;
}

static uint32_t ip_sum(const uint8_t *ip)
{
    uint32_t sum = 0;
    for (int i = 0; i < 20; i += 2)
        sum += (uint32_t)ip[i] << 8 | ip[i + 1];
    return sum % 0xffff;
}

/* `ecn`: it may say congestion, too. */
static void changes_check(const uint8_t *before, const uint8_t *now, uint32_t there,
                          const struct frame *frame, bool ecn)
{
    const uint32_t at = frame->network;
    for (uint32_t i = 0; i < there; i++) {
        uint8_t may = 0;
        if (frame->version == 4 && i == at + 1)
            may = ecn ? 0xff : 0xfc;
        else if (frame->version == 4 && (i == at + 10 || i == at + 11))
            may = 0xff;
        else if (frame->version == 6 && i == at)
            may = 0xff; /* its version is written as 6 */
        else if (frame->version == 6 && i == at + 1)
            may = ecn ? 0xf0 : 0xc0;
        if ((before[i] ^ now[i]) & ~may)
            abort();
    }
    if (frame->version == 4 && ip_sum(before + at) != ip_sum(now + at))
        abort();
}

static void run(const uint8_t *data, uint32_t there, uint32_t length, int through)
{
    static uint64_t now_ns = 1;
    struct frame frame, again;
    uint8_t *bytes = malloc(there ? there : 1);
    if (!bytes)
        abort();
    memcpy(bytes, data, there);
    const struct frame_bytes all = {bytes, there, length};
    frame_parse(&all, &frame);
    if (through == 0)
        marking_mark(&marking, &all, &frame, ++now_ns);
    else if (through == 1)
        marking_follow(&marking, &all, &frame, ++now_ns);
    else if (through == 2)
        marking_classify(&marking, &all, &frame);
    else if (frame_write_ce(&all, &frame) && (frame.traffic_class & 3) != 3)
        abort();
    changes_check(data, bytes, there, &frame, through == 3);
    frame_parse(&all, &again);
    if (memcmp(&again.key, &frame.key, offsetof(struct flow_key, local_port)) != 0 ||
        again.traffic_class != frame.traffic_class)
        abort();
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const uint32_t length = (uint32_t)size - 2, there = data[1] < length ? length - data[1] : 0;
    const uint8_t levels[] = {data[0] >> 3 & 7, FLOW_UNMARKED};
    struct frame frame;
    settle(data[0]);
    frame_parse(&(struct frame_bytes){(uint8_t *)(uintptr_t)data + 2, there, length}, &frame);
    if (data[0] & 0x40)
        marking_set(&marking, &frame.key, flows_hash(&frame.key), 1, levels, 1);
    for (int round = 0; round < 2; round++)
        for (int through = 0; through < 4; through++)
            run(data + 2, there, length, through);
    return 0;
}
