/* The queue driver for HTB, over rtnetlink: reads and writes what htb.h computes, class by class.
 * kernel_nl.h has what all drivers of the kernel's queues share. */
#include "hostagent/nl.h"
#include "hostagent/queues/htb.h"
#include "hostagent/queues/kernel_nl.h"
#include "lib/bit_rate.h"

#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/cache.h>
#include <netlink/netlink.h>
#include <netlink/route/class.h>
#include <netlink/route/qdisc.h>
#include <netlink/route/qdisc/htb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct htb_plan {
    struct qdisc_plan plan; /* first: the others know this part */
    struct htb_step steps[HTB_STEPS];
};

static uint32_t default_minor(const struct raw_qdisc *root)
{
    struct nlattr *attrs[TCA_HTB_MAX + 1];
    struct nlattr *head = (struct nlattr *)(uintptr_t)root->options;
    if (nla_parse(attrs, TCA_HTB_MAX, head, (int)root->options_bytes, NULL) < 0 ||
        !attrs[TCA_HTB_INIT])
        return 0;
    struct tc_htb_glob glob;
    nla_memcpy(&glob, attrs[TCA_HTB_INIT], sizeof(glob));
    return glob.defcls;
}

static struct htb_class read_class(struct rtnl_class *class, const struct raw_list *list)
{
    uint32_t handle = rtnl_tc_get_handle(TC_CAST(class));
    struct htb_class found = {.minor = (uint16_t)TC_H_MIN(handle),
                              .prio = (uint8_t)rtnl_htb_get_prio(class),
                              .burst_bytes = rtnl_htb_get_rbuffer(class),
                              .cburst_bytes = rtnl_htb_get_cbuffer(class),
                              .quantum_bytes = rtnl_htb_get_quantum(class),
                              .leaf = kernel_leaf_below(list, handle)};
    rtnl_htb_get_rate64(class, &found.rate_bytes_s);
    rtnl_htb_get_ceil64(class, &found.ceil_bytes_s);
    return found;
}

/* Others may have classes with a handle like ours. */
static bool is_class_of_ours(struct rtnl_class *class)
{
    const char *kind = rtnl_tc_get_kind(TC_CAST(class));
    return kind && strcmp(kind, "htb") == 0 &&
           TC_H_MAJ(rtnl_tc_get_handle(TC_CAST(class))) == (uint32_t)QDISC_MAJOR << 16;
}

/* The classes of our HTB, root class first; any beyond HTB_CLASSES are somebody else's. */
static int read_classes(struct qdisc *qdisc, const struct raw_list *list, struct htb_tree *tree,
                        struct err *err)
{
    struct nl_cache *cache;
    int r = rtnl_class_alloc_cache(qdisc->raw.sock, list->ifindex, &cache);
    if (r < 0)
        return netlink_err(err, r, "reading the classes of interface %d", list->ifindex);
    for (struct nl_object *o = nl_cache_get_first(cache); o; o = nl_cache_get_next(o)) {
        struct rtnl_class *class = (struct rtnl_class *)o;
        if (!is_class_of_ours(class) || tree->classes_n == HTB_CLASSES)
            continue;
        tree->classes[tree->classes_n++] = read_class(class, list);
    }
    nl_cache_free(cache);
    return 0;
}

/* What is on the port; fills `tree` when it is an HTB of ours. */
static int look(struct qdisc *qdisc, const char *port, struct qdisc_plan *ret_plan, bool *ret_htb,
                struct htb_tree *tree, struct err *err)
{
    struct raw_list list;
    int r = raw_read(&qdisc->raw, port, &list, err);
    if (r < 0)
        return r;
    const struct raw_qdisc *root = raw_root(&list);
    if (!root)
        return 0;
    snprintf(ret_plan->kind, sizeof(ret_plan->kind), "%s", root->kind);
    ret_plan->root = kernel_is_ours(root) ? QDISC_OURS : QDISC_FOREIGN;
    if (ret_plan->root != QDISC_OURS || strcmp(root->kind, "htb") != 0)
        return 0;
    *ret_htb = true;
    tree->default_minor = default_minor(root);
    return read_classes(qdisc, &list, tree, err);
}

static int htb_plan(struct qdisc *qdisc, const char *port, const struct port *want,
                    struct qdisc_plan **ret_plan, struct err *err)
{
    struct htb_tree have = {0}, tree;
    struct htb_plan *plan = calloc(1, sizeof(*plan));
    if (!plan)
        return err_sys(err, ENOMEM, "queues");
    bool is_htb = false;
    int r = look(qdisc, port, &plan->plan, &is_htb, &have, err);
    if (r < 0) {
        free(plan);
        return r;
    }
    htb_tree_of(want, &tree);
    plan->plan.steps = htb_steps(&tree, is_htb ? &have : NULL, plan->steps);
    *ret_plan = &plan->plan;
    return 0;
}

static uint32_t classid(uint16_t minor)
{
    return (uint32_t)QDISC_MAJOR << 16 | minor;
}

int htb_put_root(struct qdisc *qdisc, int ifindex, uint32_t minor)
{
    struct rtnl_qdisc *root = rtnl_qdisc_alloc();
    if (!root)
        return -NLE_NOMEM;
    rtnl_tc_set_ifindex(TC_CAST(root), ifindex);
    rtnl_tc_set_parent(TC_CAST(root), TC_H_ROOT);
    rtnl_tc_set_handle(TC_CAST(root), classid(0));
    int r = rtnl_tc_set_kind(TC_CAST(root), "htb");
    if (r >= 0)
        r = rtnl_htb_set_defcls(root, minor);
    if (r >= 0)
        r = rtnl_qdisc_add(qdisc->raw.sock, root, NLM_F_CREATE | NLM_F_REPLACE);
    rtnl_qdisc_put(root);
    return r;
}

static void fill_class(struct rtnl_class *class, const struct htb_class *want)
{
    rtnl_htb_set_rate64(class, want->rate_bytes_s);
    rtnl_htb_set_ceil64(class, want->ceil_bytes_s);
    rtnl_htb_set_rbuffer(class, want->burst_bytes);
    rtnl_htb_set_cbuffer(class, want->cburst_bytes);
    rtnl_htb_set_quantum(class, want->quantum_bytes);
    if (want->minor != HTB_ROOT)
        rtnl_htb_set_prio(class, want->prio);
}

static int put_class(struct qdisc *qdisc, int ifindex, const struct htb_class *want)
{
    struct rtnl_class *class = rtnl_class_alloc();
    if (!class)
        return -NLE_NOMEM;
    rtnl_tc_set_ifindex(TC_CAST(class), ifindex);
    rtnl_tc_set_parent(TC_CAST(class), classid(want->minor == HTB_ROOT ? 0 : HTB_ROOT));
    rtnl_tc_set_handle(TC_CAST(class), classid(want->minor));
    int r = rtnl_tc_set_kind(TC_CAST(class), "htb");
    if (r >= 0) {
        fill_class(class, want);
        r = rtnl_class_add(qdisc->raw.sock, class, NLM_F_CREATE);
    }
    rtnl_class_put(class);
    return r;
}

static int delete_class(struct qdisc *qdisc, int ifindex, uint16_t minor)
{
    struct rtnl_class *class = rtnl_class_alloc();
    if (!class)
        return -NLE_NOMEM;
    rtnl_tc_set_ifindex(TC_CAST(class), ifindex);
    rtnl_tc_set_handle(TC_CAST(class), classid(minor));
    int r = rtnl_class_delete(qdisc->raw.sock, class);
    rtnl_class_put(class);
    return r;
}

static int apply_step(struct qdisc *qdisc, int ifindex, const struct htb_step *step, bool ours)
{
    switch (step->kind) {
    case HTB_STEP_ROOT:
        if (ours)
            kernel_delete_root(qdisc, ifindex);
        return htb_put_root(qdisc, ifindex, step->default_minor);
    case HTB_STEP_CLASS:
        return put_class(qdisc, ifindex, &step->class);
    case HTB_STEP_LEAF:
        return kernel_put_leaf(qdisc, ifindex, classid(step->class.minor), &step->class.leaf);
    case HTB_STEP_CLASS_DELETE:
        return delete_class(qdisc, ifindex, step->class.minor);
    }
    return -NLE_INVAL;
}

static void htb_say(const struct qdisc_plan *plan, uint32_t i, char *text, size_t size)
{
    const struct htb_step *step = &((const struct htb_plan *)plan)->steps[i];
    const struct htb_class *class = &step->class;
    char leaf[64], rate[BIT_RATE_WORDS], ceiling[BIT_RATE_WORDS];
    switch (step->kind) {
    case HTB_STEP_ROOT:
        snprintf(text, size, "qdisc htb %x:, default class %x:%x%s%s", QDISC_MAJOR, QDISC_MAJOR,
                 step->default_minor, plan->kind[0] ? ", in the place of " : "", plan->kind);
        return;
    case HTB_STEP_CLASS:
        snprintf(text, size, "class %x:%x, prio %u, rate %s, ceil %s", QDISC_MAJOR, class->minor,
                 class->prio, bit_rate_words(8 * class->rate_bytes_s, rate),
                 bit_rate_words(8 * class->ceil_bytes_s, ceiling));
        return;
    case HTB_STEP_LEAF:
        leaf_say(&class->leaf, leaf, sizeof(leaf));
        snprintf(text, size, "qdisc of class %x:%x, a %s", QDISC_MAJOR, class->minor, leaf);
        return;
    case HTB_STEP_CLASS_DELETE:
        snprintf(text, size, "class %x:%x goes", QDISC_MAJOR, class->minor);
        return;
    }
}

static int htb_apply(struct qdisc *qdisc, const char *port, const struct qdisc_plan *plan,
                     struct err *err)
{
    const struct htb_step *steps = ((const struct htb_plan *)plan)->steps;
    static const char *const words[] = {"the root qdisc", "class", "the queue of class",
                                        "the end of class"};
    int ifindex = raw_port_index(&qdisc->raw, port, err);
    if (ifindex < 0)
        return ifindex;
    for (uint32_t i = 0; i < plan->steps; i++) {
        int r = apply_step(qdisc, ifindex, &steps[i], plan->root == QDISC_OURS);
        if (r < 0)
            return netlink_err(err, r, "setting %s %x:%x on %s", words[steps[i].kind], QDISC_MAJOR,
                               steps[i].class.minor, port);
    }
    return 0;
}

static int htb_facts(struct qdisc *qdisc, const char *port, struct port_facts *ret_facts,
                     struct err *err)
{
    int r = kernel_needs(qdisc, KERNEL_HTB, err);
    if (r >= 0)
        r = kernel_facts(qdisc, port, ret_facts, err);
    if (r >= 0)
        ret_facts->abilities.floors = true;
    return r;
}

const struct qdisc_driver qdisc_htb = {
    .name = "htb",
    .abilities = {.strict = true, .floors = true, .ecn = true},
    KERNEL_DRIVER,
    .facts = htb_facts,
    .record = kernel_record,
    .plan = htb_plan,
    .say = htb_say,
    .apply = htb_apply,
    .restore = kernel_restore,
    .stats = kernel_stats,
    .marks = kernel_marks,
};
