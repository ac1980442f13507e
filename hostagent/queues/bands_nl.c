#include "hostagent/queues/bands_nl.h"

#include "hostagent/nl.h"
#include "lib/bit_rate.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ETHERNET_BYTES  14
#define BURST_MS        2
#define BURST_MOST      (1u << 26)
#define BURST_TOLERANCE 50 /* the kernel keeps bursts as times: equal within 1/50 */
#define TICK_NS         64
#define SECOND_NS       1000000000.0

struct bands_plan {
    struct qdisc_plan plan; /* first: the others know this part */
    const struct bands_kind *kind;
    bool rebuild, hold, bands;
    uint32_t leaves; /* bit i: of queue i */
    struct port want;
};

static uint8_t rest_of(const struct port *want)
{
    return (uint8_t)want->queues[want->queue_of[TRAFFIC_UNMANAGED]].first;
}

static uint32_t burst_of(const struct port *want)
{
    uint64_t bytes = want->link_bps / 8 * BURST_MS / 1000;
    uint64_t least = 2ull * (want->mtu_bytes + ETHERNET_BYTES);
    bytes = bytes < least ? least : bytes;
    return (uint32_t)(bytes < BURST_MOST ? bytes : BURST_MOST);
}

static uint32_t class_of(const struct port *want, uint32_t queue)
{
    return (uint32_t)QDISC_MAJOR << 16 | QDISC_MINOR(want->queues[queue].first);
}

int bands_put_hold(struct qdisc *qdisc, const struct kernel_place *place, uint64_t rate,
                   uint32_t burst_bytes)
{
    const struct tc_tbf_qopt options = {
        .rate = {.linklayer = TC_LINKLAYER_ETHERNET,
                 .rate = rate < UINT32_MAX ? (uint32_t)rate : UINT32_MAX},
        .limit = burst_bytes};
    struct nl_msg *attrs = nlmsg_alloc();
    if (!attrs)
        return -NLE_NOMEM;
    int r = nla_put(attrs, TCA_TBF_PARMS, sizeof(options), &options);
    if (r >= 0)
        r = nla_put_u32(attrs, TCA_TBF_BURST, burst_bytes);
    if (r >= 0 && rate >= UINT32_MAX)
        r = nla_put_u64(attrs, TCA_TBF_RATE64, rate);
    if (r >= 0)
        r = kernel_put_attrs(qdisc, place, "tbf", attrs);
    nlmsg_free(attrs);
    return r;
}

static bool holds(const struct raw_qdisc *raw, const struct port *want)
{
    struct nlattr *attrs[TCA_TBF_MAX + 1], *head = (struct nlattr *)(uintptr_t)raw->options;
    struct tc_tbf_qopt options;
    if (nla_parse(attrs, TCA_TBF_MAX, head, (int)raw->options_bytes, NULL) < 0 ||
        !attrs[TCA_TBF_PARMS] ||
        nla_memcpy(&options, attrs[TCA_TBF_PARMS], sizeof(options)) < (int)sizeof(options))
        return false;
    uint64_t rate = options.rate.rate;
    if (attrs[TCA_TBF_RATE64] && nla_len(attrs[TCA_TBF_RATE64]) >= (int)sizeof(rate))
        rate = nla_get_u64(attrs[TCA_TBF_RATE64]);
    double burst = (double)rate * options.buffer * TICK_NS / SECOND_NS, wanted = burst_of(want);
    return rate == want->link_bps / 8 && burst > wanted - wanted / BURST_TOLERANCE &&
           burst < wanted + wanted / BURST_TOLERANCE;
}

static const struct raw_qdisc *with_handle(const struct raw_list *list, uint32_t major)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (list->items[i].handle == major << 16)
            return &list->items[i];
    return NULL;
}

/* What differs from what is wanted; everything if other queues are there. */
static void compare(const struct bands_kind *kind, const struct raw_list *list,
                    struct bands_plan *plan)
{
    const struct port *want = &plan->want;
    const struct raw_qdisc *root = raw_root(list), *bands = with_handle(list, QDISC_MAJOR);
    bool held = root && strcmp(root->kind, "tbf") == 0;
    plan->rebuild = plan->plan.root != QDISC_OURS || held != want->held || !bands ||
                    strcmp(bands->kind, kind->name) != 0;
    plan->hold = want->held && (plan->rebuild || !holds(root, want));
    plan->bands = plan->rebuild || !kind->right(bands, rest_of(want));
    for (uint32_t i = 0; i < want->queues_n; i++) {
        struct leaf leaf = leaf_of(want, &want->queues[i]);
        struct leaf have = kernel_leaf_below(list, class_of(want, i));
        plan->leaves |= (uint32_t)(plan->rebuild || !leaf_equal(&leaf, &have)) << i;
    }
    plan->plan.steps = plan->hold + plan->bands + (uint32_t)__builtin_popcount(plan->leaves);
}

int bands_plan(const struct bands_kind *kind, struct qdisc *qdisc, const char *port,
               const struct port *want, struct qdisc_plan **ret_plan, struct err *err)
{
    struct raw_list list;
    int r = kernel_needs(qdisc, kind->needs | (want->held ? KERNEL_TBF : 0u), err);
    if (r >= 0)
        r = raw_read(&qdisc->raw, port, &list, err);
    if (r < 0)
        return r;
    struct bands_plan *plan = calloc(1, sizeof(*plan));
    if (!plan)
        return err_sys(err, ENOMEM, "queues");
    const struct raw_qdisc *root = raw_root(&list);
    plan->want = *want;
    plan->kind = kind;
    if (root) {
        snprintf(plan->plan.kind, sizeof(plan->plan.kind), "%s", root->kind);
        plan->plan.root = kernel_is_ours(root) ? QDISC_OURS : QDISC_FOREIGN;
    }
    compare(kind, &list, plan);
    *ret_plan = &plan->plan;
    return 0;
}

/* In the order of put_all. */
void bands_say(const struct qdisc_plan *all, uint32_t step, char *text, size_t size)
{
    const struct bands_plan *plan = (const struct bands_plan *)all;
    uint32_t leaves = plan->leaves;
    char rate[BIT_RATE_WORDS];
    if (plan->hold && step == 0) {
        snprintf(text, size, "qdisc tbf %x:, rate %s", KERNEL_HOLD,
                 bit_rate_words(plan->want.link_bps, rate));
        return;
    }
    step -= plan->hold;
    if (plan->bands && step == 0) {
        snprintf(text, size, "qdisc %s %x:%s%s", plan->kind->name, QDISC_MAJOR,
                 all->kind[0] ? ", in the place of " : "", all->kind);
        return;
    }
    for (step -= plan->bands; step; step--)
        leaves &= leaves - 1;
    uint32_t queue = (uint32_t)__builtin_ctz(leaves);
    struct leaf leaf = leaf_of(&plan->want, &plan->want.queues[queue]);
    char words[64];
    leaf_say(&leaf, words, sizeof(words));
    snprintf(text, size, "qdisc of class %x:%x, a %s", QDISC_MAJOR,
             class_of(&plan->want, queue) & 0xffff, words);
}

static int put_all(const struct bands_kind *kind, struct qdisc *qdisc, int ifindex,
                   const struct bands_plan *plan)
{
    const struct port *want = &plan->want;
    uint32_t below = want->held ? (uint32_t)KERNEL_HOLD << 16 | 1 : TC_H_ROOT;
    const struct kernel_place hold = {ifindex, TC_H_ROOT, (uint32_t)KERNEL_HOLD << 16};
    const struct kernel_place bands = {ifindex, below, (uint32_t)QDISC_MAJOR << 16};
    int r = 0;
    if (plan->rebuild && plan->plan.root == QDISC_OURS)
        r = kernel_delete_root(qdisc, ifindex);
    if (r >= 0 && plan->hold)
        r = bands_put_hold(qdisc, &hold, want->link_bps / 8, burst_of(want));
    if (r >= 0 && plan->bands)
        r = kind->put(qdisc, &bands, rest_of(want));
    for (uint32_t i = 0; r >= 0 && i < want->queues_n; i++) {
        struct leaf leaf = leaf_of(want, &want->queues[i]);
        if (plan->leaves >> i & 1)
            r = kernel_put_leaf(qdisc, ifindex, class_of(want, i), &leaf);
    }
    return r;
}

int bands_apply(const struct bands_kind *kind, struct qdisc *qdisc, const char *port,
                const struct qdisc_plan *plan, struct err *err)
{
    int ifindex = raw_port_index(&qdisc->raw, port, err);
    if (ifindex < 0 || !plan->steps)
        return ifindex < 0 ? ifindex : 0;
    int r = put_all(kind, qdisc, ifindex, (const struct bands_plan *)plan);
    return r < 0 ? netlink_err(err, r, "setting the bands of %s on %s", kind->name, port) : 0;
}
