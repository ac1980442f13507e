#include "dataplane/marking.h"

#include <arpa/inet.h>
#include <string.h>

void marking_init(struct marking *marking, const struct marking_settings *settings,
                  struct flows *flows)
{
    *marking = (struct marking){.flows = flows};
    marking_change(marking, settings);
}

void marking_add(struct marking_counters *sum, const struct marking_counters *more)
{
    for (int level = 0; level < PORT_LEVELS; level++)
        sum->marked_bytes[level] += more->marked_bytes[level];
    sum->unmarked_bytes += more->unmarked_bytes;
    sum->control_bytes += more->control_bytes;
    sum->bleached_packets += more->bleached_packets;
    sum->overtaken_packets += more->overtaken_packets;
}

void marking_change(struct marking *marking, const struct marking_settings *settings)
{
    marking->settings = *settings;
    memset(marking->level_of_dscp, FLOW_UNMARKED, sizeof(marking->level_of_dscp));
    for (uint8_t level = 0; level < PORT_LEVELS; level++)
        marking->level_of_dscp[settings->dscp_of_level[level] % PORT_CODE_POINTS] = level;
}

static bool in_prefix(const struct mark_prefix *prefix, const uint8_t address[16])
{
    const uint32_t whole = prefix->bits / 8, rest = prefix->bits % 8;
    if (memcmp(prefix->address, address, whole) != 0)
        return false;
    return rest == 0 || (prefix->address[whole] ^ address[whole]) >> (8 - rest) == 0;
}

static bool is_member(const struct marking *marking, const uint8_t address[16])
{
    for (uint32_t i = 0; i < marking->settings.members_n; i++)
        if (in_prefix(&marking->settings.members[i], address))
            return true;
    return marking->settings.members_n == 0;
}

/* CS6 to or from the controllers' port: an application's own CS6 is unmanaged. */
static bool is_control(const struct marking *marking, const struct frame *frame)
{
    const uint16_t port = htons(marking->settings.control_port);
    if (frame->neighbour)
        return true;
    return frame->traffic_class >> 2 == PORT_DSCP_CONTROL && frame->has_ports && port &&
           (frame->key.local_port == port || frame->key.peer_port == port);
}

static uint8_t level_of(const struct marking *marking, const struct frame *frame)
{
    return frame->version ? marking->level_of_dscp[frame->traffic_class >> 2] : FLOW_UNMARKED;
}

static int send_control(struct marking *marking, const struct frame_bytes *bytes)
{
    marking->counters.control_bytes += bytes->length;
    return TRAFFIC_CONTROL;
}

static int send_plain(struct marking *marking, const struct frame_bytes *bytes)
{
    marking->counters.unmarked_bytes += bytes->length;
    return TRAFFIC_UNMANAGED;
}

static int send_bleached(struct marking *marking, const struct frame_bytes *bytes,
                         struct frame *frame)
{
    if (level_of(marking, frame) != FLOW_UNMARKED) {
        frame_write_dscp(bytes, frame, 0);
        marking->counters.bleached_packets++;
    }
    return send_plain(marking, bytes);
}

/* A TCP segment that carries no content and does not end anything: those stay behind content. */
static bool is_bare(const struct frame *frame)
{
    return frame->has_ports && frame->payload == 0 && !(frame->flags & (FRAME_FIN | FRAME_RST));
}

static int send_level(struct marking *marking, const struct frame_bytes *bytes,
                      const struct frame *frame, uint8_t level)
{
    marking->counters.marked_bytes[level] += bytes->length;
    return TRAFFIC_LEVEL0 + (is_bare(frame) ? 0 : level);
}

static int send_marked(struct marking *marking, const struct frame_bytes *bytes,
                       struct frame *frame, uint8_t level)
{
    level = frame->flags & FRAME_SYN ? 0 : level;
    frame_write_dscp(bytes, frame, marking->settings.dscp_of_level[level]);
    return send_level(marking, bytes, frame, level);
}

/* The flow of a frame whose key is as our end sees it; NULL when it has none: the peer is no
 * member, or its beginning was not seen. `syn_role` is what a SYN in this direction makes of our
 * end. */
static struct flow *flow_of(struct marking *marking, struct frame *frame, uint8_t syn_role,
                            uint64_t now_ns)
{
    const uint64_t hash = frame_hash(frame);
    struct flow *flow = flows_find(marking->flows, &frame->key, hash);
    const bool opens = (frame->flags & (FRAME_SYN | FRAME_ACK)) == FRAME_SYN;
    const bool recent = flow && flow_is_recent(flow, now_ns);
    if (recent && !opens) {
        flow->seen_ns = now_ns;
        return flow;
    }
    if (recent && flow->role == syn_role && !flow->fins)
        return flow; /* its SYN once more, or levels that were set before it */
    if (!opens || !is_member(marking, frame->key.peer))
        return NULL;
    flow = flows_make(marking->flows, &frame->key, hash, now_ns);
    flow->role = syn_role;
    return flow;
}

/* FIN in both directions, or RST, ends a flow: after our own FIN alone, data that got lost are sent
 * again. */
static void end_flow(struct marking *marking, struct flow *flow, const struct frame *frame,
                     uint8_t fin)
{
    if (frame->flags & FRAME_FIN)
        flow->fins |= fin;
    if ((frame->flags & FRAME_RST) || flow->fins == (FLOW_FIN_SENT | FLOW_FIN_CAME))
        flows_remove(marking->flows, flow);
}

static uint8_t level_out(struct marking *marking, struct flow *flow)
{
    if (flow->role == FLOW_ACCEPTER)
        return flow->followed;
    const uint8_t level = flow->owner ? flow->levels[marking->mode] : FLOW_UNMARKED;
    if (level != flow->followed) {
        flow->answered = false;
        flow->followed = level;
    }
    return level;
}

int marking_mark(struct marking *marking, const struct frame_bytes *bytes, struct frame *frame,
                 uint64_t now_ns)
{
    uint8_t level = FLOW_UNMARKED;
    if (is_control(marking, frame))
        return send_control(marking, bytes);
    if (!frame->version || now_ns >= marking->expiry_ns)
        return send_plain(marking, bytes);
    struct flow *flow = frame->has_ports ? flow_of(marking, frame, FLOW_OPENER, now_ns) : NULL;
    if (flow) {
        level = level_out(marking, flow);
        end_flow(marking, flow, frame, FLOW_FIN_SENT);
    }
    return level < PORT_LEVELS ? send_marked(marking, bytes, frame, level)
                               : send_bleached(marking, bytes, frame);
}

/* Content of ours that a promotion's new mark has overtaken on its way: mark.bpf.c says why. */
static bool is_overtaken(const struct marking *marking, const struct frame_bytes *bytes,
                         const struct frame *frame, struct flow *flow)
{
    const uint8_t level = level_of(marking, frame);
    uint32_t tsval;
    if (level == flow->followed && !flow->answered && frame_timestamp(bytes, frame, &tsval)) {
        flow->answered_tsval = tsval;
        flow->answered = true;
    }
    return level != FLOW_UNMARKED && level > flow->followed && flow->answered &&
           frame_timestamp(bytes, frame, &tsval) && (int32_t)(tsval - flow->answered_tsval) < 0;
}

static bool take(struct marking *marking, const struct frame_bytes *bytes, struct frame *frame,
                 uint64_t now_ns)
{
    struct flow *flow = flow_of(marking, frame, FLOW_ACCEPTER, now_ns);
    if (!flow)
        return true;
    if (flow->role == FLOW_ACCEPTER)
        flow->followed = level_of(marking, frame);
    else if (frame->payload && is_overtaken(marking, bytes, frame, flow)) {
        marking->counters.overtaken_packets++;
        return false;
    }
    end_flow(marking, flow, frame, FLOW_FIN_CAME);
    return true;
}

/* Frames to the host are also queued by their mark, for a host that is slower than the network. */
static int queue_of(const struct marking *marking, const struct frame *frame)
{
    const uint8_t level = level_of(marking, frame);
    if (is_control(marking, frame))
        return TRAFFIC_CONTROL;
    if (level == FLOW_UNMARKED)
        return TRAFFIC_UNMANAGED;
    return TRAFFIC_LEVEL0 + (is_bare(frame) ? 0 : level);
}

int marking_follow(struct marking *marking, const struct frame_bytes *bytes, struct frame *frame,
                   uint64_t now_ns)
{
    if (frame->has_ports) {
        bool taken;
        frame_turn(&frame->key);
        taken = take(marking, bytes, frame, now_ns);
        frame_turn(&frame->key);
        if (!taken)
            return MARKING_DROP;
    }
    return queue_of(marking, frame);
}

int marking_classify(struct marking *marking, const struct frame_bytes *bytes, struct frame *frame)
{
    const uint8_t level = level_of(marking, frame);
    if (is_control(marking, frame))
        return send_control(marking, bytes);
    if (level == FLOW_UNMARKED)
        return send_plain(marking, bytes);
    if (!is_member(marking, frame->key.peer))
        return send_bleached(marking, bytes, frame);
    return is_member(marking, frame->key.local) ? send_level(marking, bytes, frame, level)
                                                : send_plain(marking, bytes);
}

void marking_set(struct marking *marking, const struct flow_key *key, uint64_t hash, uint64_t owner,
                 const uint8_t levels[2], uint64_t now_ns)
{
    struct flow *flow = flows_find(marking->flows, key, hash);
    const bool live = flow && flow_is_recent(flow, now_ns);
    if (!live && !owner)
        return;
    if (!live) {
        flow = flows_make(marking->flows, key, hash, now_ns);
        flow->role = FLOW_OPENER;
    }
    flow->owner = owner;
    memcpy(flow->levels, levels, sizeof(flow->levels));
}
