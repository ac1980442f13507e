#include "hostagent/queues/htb.h"

#include <stddef.h>

#define ETHERNET_BYTES  14
#define CONTROL_QUANTUM 60000
#define PRIO_LAST       7
#define BURST_MS        2  /* at the link's rate: what a late timer may catch up with */
#define BURST_TOLERANCE 50 /* the kernel keeps bursts as times: equal within 1/50 */

static uint32_t burst(uint64_t bytes_s, uint32_t packet_bytes)
{
    uint64_t bytes = bytes_s * BURST_MS / 1000;
    uint64_t least = 2ull * packet_bytes, most = 1u << 26;
    bytes = bytes < least ? least : bytes;
    return (uint32_t)(bytes > most ? most : bytes);
}

static uint8_t prio_of(const struct port_queue *queue)
{
    if (queue->first == TRAFFIC_UNMANAGED)
        return PRIO_LAST;
    return queue->first == TRAFFIC_CONTROL ? 0 : (uint8_t)(queue->first - TRAFFIC_LEVEL0);
}

static uint64_t rate_of(const struct port_queue *queue)
{
    uint64_t bytes_s = queue->floor_bps / 8;
    return bytes_s ? bytes_s : 1;
}

static bool takes_the_rest(const struct port_queue *queue)
{
    return queue->first == TRAFFIC_LEVEL0;
}

/* What the other queues leave of the link. */
static uint64_t rest_of(const struct port *want)
{
    uint64_t rest = want->link_bps / 8;
    for (uint32_t i = 0; i < want->queues_n; i++)
        if (!takes_the_rest(&want->queues[i]))
            rest -= rate_of(&want->queues[i]);
    return rest;
}

static void add_leaf(struct htb_tree *tree, const struct port *want, const struct port_queue *queue)
{
    uint32_t packet = want->mtu_bytes + ETHERNET_BYTES;
    uint64_t link = want->link_bps / 8;
    uint64_t rate = takes_the_rest(queue) ? rest_of(want) : rate_of(queue);
    tree->classes[tree->classes_n++] = (struct htb_class){
        .minor = QDISC_MINOR(queue->first),
        .prio = prio_of(queue),
        .rate_bytes_s = rate,
        .ceil_bytes_s = link,
        .burst_bytes = burst(rate, packet),
        .cburst_bytes = burst(link, packet),
        .quantum_bytes = queue->first == TRAFFIC_CONTROL ? CONTROL_QUANTUM : 2 * packet,
        .leaf = leaf_of(want, queue),
    };
}

void htb_tree_of(const struct port *want, struct htb_tree *ret_tree)
{
    uint32_t packet = want->mtu_bytes + ETHERNET_BYTES;
    uint64_t link = want->link_bps / 8;
    const struct port_queue *unmanaged = &want->queues[want->queue_of[TRAFFIC_UNMANAGED]];
    *ret_tree = (struct htb_tree){.default_minor = QDISC_MINOR(unmanaged->first),
                                  .classes_n = 1,
                                  .classes = {{.minor = HTB_ROOT,
                                               .rate_bytes_s = link,
                                               .ceil_bytes_s = link,
                                               .burst_bytes = burst(link, packet),
                                               .cburst_bytes = burst(link, packet),
                                               .quantum_bytes = 2 * packet}}};
    for (uint32_t i = 0; i < want->queues_n; i++)
        add_leaf(ret_tree, want, &want->queues[i]);
}

static const struct htb_class *find(const struct htb_tree *tree, uint16_t minor)
{
    for (uint32_t i = 0; i < tree->classes_n; i++)
        if (tree->classes[i].minor == minor)
            return &tree->classes[i];
    return NULL;
}

static bool near(uint32_t a, uint32_t b)
{
    uint32_t gap = a > b ? a - b : b - a;
    return gap <= (a > b ? a : b) / BURST_TOLERANCE;
}

static bool same_class(const struct htb_class *want, const struct htb_class *have)
{
    bool leaf = want->minor != HTB_ROOT;
    return want->rate_bytes_s == have->rate_bytes_s && want->ceil_bytes_s == have->ceil_bytes_s &&
           near(want->burst_bytes, have->burst_bytes) &&
           near(want->cburst_bytes, have->cburst_bytes) &&
           (!leaf || (want->prio == have->prio && want->quantum_bytes == have->quantum_bytes));
}

static uint32_t change_classes(const struct htb_tree *want, const struct htb_tree *have,
                               struct htb_step *steps)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < want->classes_n; i++) {
        const struct htb_class *class = &want->classes[i], *old = find(have, class->minor);
        if (!old || !same_class(class, old))
            steps[n++] = (struct htb_step){.kind = HTB_STEP_CLASS, .class = *class};
        if (class->leaf.limit && (!old || !leaf_equal(&old->leaf, &class->leaf)))
            steps[n++] = (struct htb_step){.kind = HTB_STEP_LEAF, .class = *class};
    }
    for (uint32_t i = 0; i < have->classes_n; i++)
        if (!find(want, have->classes[i].minor))
            steps[n++] =
                (struct htb_step){.kind = HTB_STEP_CLASS_DELETE, .class = have->classes[i]};
    return n;
}

uint32_t htb_steps(const struct htb_tree *want, const struct htb_tree *have, struct htb_step *steps)
{
    static const struct htb_tree nothing;
    if (have && have->default_minor == want->default_minor)
        return change_classes(want, have, steps);
    steps[0] = (struct htb_step){.kind = HTB_STEP_ROOT, .default_minor = want->default_minor};
    return 1 + change_classes(want, &nothing, steps + 1);
}
