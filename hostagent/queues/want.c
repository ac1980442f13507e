#include "hostagent/queues/want.h"

#include <errno.h>
#include <string.h>

#define ETHERNET_BYTES  14
#define CONTROL_QUANTUM 60000
#define BURST_MS        2  /* at the link's rate: what a late timer may catch up with */
#define BURST_TOLERANCE 50 /* the kernel keeps bursts as times: equal within 1/50 */

static uint64_t share(uint64_t bytes_s, uint32_t permille)
{
    uint64_t part = bytes_s / 1000 * permille + bytes_s % 1000 * permille / 1000;
    return part ? part : 1;
}

static uint32_t burst(uint64_t bytes_s, uint32_t packet_bytes)
{
    uint64_t bytes = bytes_s * BURST_MS / 1000;
    uint64_t least = 2ull * packet_bytes, most = 1u << 26;
    bytes = bytes < least ? least : bytes;
    return (uint32_t)(bytes > most ? most : bytes);
}

static void add_class(struct port_tree *tree, const struct port_plan *plan, uint16_t minor,
                      uint8_t prio, uint64_t rate_bytes_s)
{
    uint32_t packet = plan->mtu_bytes + ETHERNET_BYTES;
    uint64_t link = plan->link_bps / 8;
    tree->classes[tree->classes_n++] = (struct port_class){
        .minor = minor,
        .prio = prio,
        .rate_bytes_s = rate_bytes_s,
        .ceil_bytes_s = link,
        .burst_bytes = minor == WANT_ROOT ? burst(link, packet) : burst(rate_bytes_s, packet),
        .cburst_bytes = burst(link, packet),
        .quantum_bytes = minor == WANT_CONTROL ? CONTROL_QUANTUM : 2 * packet,
        .limit_packets = minor == WANT_ROOT ? 0 : plan->leaf_packets,
    };
}

static int check_plan(const struct port_plan *plan, struct err *err)
{
    if (plan->link_bps < 8000)
        return err_set(err, EINVAL, "a link of %llu bit/s is too slow to be divided",
                       (unsigned long long)plan->link_bps);
    if (plan->levels < 1 || plan->levels > WANT_LEVELS)
        return err_set(err, EINVAL, "%u levels: 1 to %d are possible", plan->levels, WANT_LEVELS);
    if (!plan->leaf_packets || !plan->mtu_bytes)
        return err_set(err, EINVAL, "a queue of no packets, or packets of no bytes");
    uint64_t taken = (uint64_t)plan->control_permille + plan->unmanaged_permille +
                     (uint64_t)plan->floor_permille * (plan->levels - 1);
    if (taken + plan->floor_permille > 1000 || taken >= 1000)
        return err_set(err, EINVAL,
                       "control, unmanaged share and floors take %llu per mille of the link: "
                       "nothing is left to level 0",
                       (unsigned long long)taken);
    return 0;
}

int want_tree(const struct port_plan *plan, struct port_tree *ret_want, struct err *err)
{
    int r = check_plan(plan, err);
    if (r < 0)
        return r;
    uint64_t link = plan->link_bps / 8;
    uint64_t control = share(link, plan->control_permille);
    uint64_t unmanaged = share(link, plan->unmanaged_permille);
    uint64_t floor = share(link, plan->floor_permille);
    struct port_tree tree = {.root = PORT_OURS, .kind = "htb", .default_minor = WANT_UNMANAGED};

    add_class(&tree, plan, WANT_ROOT, 0, link);
    add_class(&tree, plan, WANT_CONTROL, 0, control);
    add_class(&tree, plan, WANT_LEVEL(0), 0,
              link - control - unmanaged - floor * (plan->levels - 1));
    for (uint8_t level = 1; level < plan->levels; level++)
        add_class(&tree, plan, (uint16_t)WANT_LEVEL(level), level, floor);
    add_class(&tree, plan, WANT_UNMANAGED, WANT_LEVELS - 1, unmanaged);
    if (plan->levels == 1)
        tree.classes[2].limit_packets *= WANT_LEVELS;
    *ret_want = tree;
    return 0;
}

uint16_t want_minor(enum want_queue queue, uint32_t levels)
{
    if (queue == QUEUE_CONTROL)
        return WANT_CONTROL;
    if (queue == QUEUE_UNMANAGED)
        return WANT_UNMANAGED;
    uint32_t level = (uint32_t)queue - QUEUE_LEVEL0;
    return (uint16_t)WANT_LEVEL(level < levels ? level : levels - 1);
}

static const struct port_class *find(const struct port_tree *tree, uint16_t minor)
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

static bool same_class(const struct port_class *want, const struct port_class *have)
{
    bool leaf = want->minor != WANT_ROOT;
    return want->rate_bytes_s == have->rate_bytes_s && want->ceil_bytes_s == have->ceil_bytes_s &&
           near(want->burst_bytes, have->burst_bytes) &&
           near(want->cburst_bytes, have->cburst_bytes) &&
           (!leaf || (want->prio == have->prio && want->quantum_bytes == have->quantum_bytes));
}

static void change_classes(const struct port_tree *want, const struct port_tree *have,
                           struct port_step *steps, uint32_t *n)
{
    for (uint32_t i = 0; i < want->classes_n; i++) {
        const struct port_class *class = &want->classes[i], *old = find(have, class->minor);
        if (!old || !same_class(class, old))
            steps[(*n)++] = (struct port_step){.kind = STEP_CLASS, .class = *class};
        if (class->limit_packets && (!old || old->limit_packets != class->limit_packets))
            steps[(*n)++] = (struct port_step){.kind = STEP_LEAF, .class = *class};
    }
    for (uint32_t i = 0; i < have->classes_n; i++)
        if (!find(want, have->classes[i].minor))
            steps[(*n)++] =
                (struct port_step){.kind = STEP_CLASS_DELETE, .class = have->classes[i]};
}

int want_steps(const char *port, const struct port_tree *want, const struct port_tree *have,
               bool replace, struct port_step *steps, uint32_t *ret_n, struct err *err)
{
    static const struct port_tree nothing;
    uint32_t n = 0;
    bool ours = have->root == PORT_OURS && have->default_minor == want->default_minor;
    if (have->root == PORT_FOREIGN && !replace)
        return err_set(
            err, EBUSY,
            "%s already has a root qdisc of its own (%s): run with --replace to put ours in its "
            "place until we leave, or name another port",
            port, have->kind);
    if (!ours)
        steps[n++] = (struct port_step){.kind = STEP_ROOT, .default_minor = want->default_minor};
    change_classes(want, ours ? have : &nothing, steps, &n);
    *ret_n = n;
    return 0;
}
