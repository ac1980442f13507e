#include "hostagent/queues/foreign.h"

#include "lib/grow.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SETTABLE (TCA_CLS_FLAGS_SKIP_HW | TCA_CLS_FLAGS_SKIP_SW) /* the others are the kernel's */
#define CODEL_NS 1024                                            /* the unit of CoDel's clock */

/* What is known of a kind. Attributes are numbers of its own options; 0: it has none such. */
struct kind {
    const char *name;
    bool nested;          /* its options are attributes */
    bool classes;         /* of a qdisc: others configured them, each may have filters */
    uint16_t counters;    /* left out */
    uint16_t actions[2];  /* with one it cannot be put back */
    uint16_t flags;       /* of a filter: those of the kernel are left out */
    uint16_t codel_us[3]; /* times */
};

static const struct kind qdiscs[] = {
    {.name = "pfifo"},
    {.name = "bfifo"},
    {.name = "pfifo_head_drop"},
    {.name = "pfifo_fast"},
    {.name = "prio"},
    {.name = "multiq"},
    {.name = "sfq"},
    {.name = "netem"},
    {.name = "mq"},
    {.name = "tbf", .nested = true},
    {.name = "ets", .nested = true},
    {.name = "fq", .nested = true},
    {.name = "htb", .nested = true, .classes = true},
    {.name = "hfsc", .classes = true},
    {.name = "drr", .classes = true},
    {.name = "qfq", .classes = true},
    {.name = "codel",
     .nested = true,
     .codel_us = {TCA_CODEL_TARGET, TCA_CODEL_INTERVAL, TCA_CODEL_CE_THRESHOLD}},
    {.name = "fq_codel",
     .nested = true,
     .codel_us = {TCA_FQ_CODEL_TARGET, TCA_FQ_CODEL_INTERVAL, TCA_FQ_CODEL_CE_THRESHOLD}},
    {0},
};

static const struct kind filters[] = {
    {.name = "u32",
     .nested = true,
     .counters = TCA_U32_PCNT,
     .actions = {TCA_U32_ACT, TCA_U32_POLICE},
     .flags = TCA_U32_FLAGS},
    {.name = "basic",
     .nested = true,
     .counters = TCA_BASIC_PCNT,
     .actions = {TCA_BASIC_ACT, TCA_BASIC_POLICE}},
    {.name = "flower",
     .nested = true,
     .counters = TCA_FLOWER_IN_HW_COUNT,
     .actions = {TCA_FLOWER_ACT},
     .flags = TCA_FLOWER_FLAGS},
    {.name = "matchall",
     .nested = true,
     .counters = TCA_MATCHALL_PCNT,
     .actions = {TCA_MATCHALL_ACT},
     .flags = TCA_MATCHALL_FLAGS},
    {.name = "fw", .nested = true, .actions = {TCA_FW_ACT, TCA_FW_POLICE}},
    {0},
};

static const struct kind *find(const struct kind *kinds, const char *name)
{
    for (; kinds->name; kinds++)
        if (strcmp(kinds->name, name) == 0)
            return kinds;
    return NULL;
}

static const struct kind *kind_of(const struct foreign_part *part)
{
    return find(part->what == FOREIGN_FILTER ? filters : qdiscs, part->kind);
}

bool foreign_has_attributes(const struct foreign_part *part)
{
    const struct kind *kind = kind_of(part);
    return part->what == FOREIGN_QDISC && kind && kind->nested;
}

bool foreign_has_classes(const char *kind)
{
    const struct kind *found = find(qdiscs, kind);
    return found && found->classes;
}

void foreign_done(struct foreign *foreign)
{
    for (uint32_t i = 0; i < foreign->n; i++)
        free(foreign->parts[i].options);
    free(foreign->parts);
    *foreign = (struct foreign){0};
}

static const char *word_of(const struct foreign_part *part)
{
    static const char *const words[] = {"qdisc", "class", "filter"};
    return words[part->what];
}

static int refuse(const struct foreign_part *part, const char *why, struct err *err)
{
    return err_set(err, EOPNOTSUPP, "the %s %s %x:%x cannot be put back exactly%s", part->kind,
                   word_of(part), part->handle >> 16, part->handle & 0xffff, why);
}

/* The next one from *at on; NULL at the end, or where it is cut. */
static struct nlattr *next_attr(uint8_t *options, uint32_t bytes, uint32_t *at)
{
    if (bytes < *at + sizeof(struct nlattr))
        return NULL;
    struct nlattr *attr = (void *)(options + *at);
    if (attr->nla_len < sizeof(*attr) || attr->nla_len > bytes - *at)
        return NULL;
    *at += (uint32_t)NLA_ALIGN(attr->nla_len);
    return attr;
}

static bool is_one(const struct nlattr *attr, const uint16_t *types, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (types[i] && (attr->nla_type & NLA_TYPE_MASK) == types[i])
            return true;
    return false;
}

static uint32_t *number_in(struct nlattr *attr)
{
    return attr->nla_len >= sizeof(*attr) + sizeof(uint32_t) ? (uint32_t *)(attr + 1) : NULL;
}

/* An HTB also counts in its options, and reports its full version but accepts only the major
 * one. */
static void settle_htb(const struct foreign_part *part, struct nlattr *attr)
{
    struct tc_htb_glob *glob = (void *)(attr + 1);
    if (part->what != FOREIGN_QDISC || strcmp(part->kind, "htb") != 0 ||
        attr->nla_type != TCA_HTB_INIT || attr->nla_len < sizeof(*attr) + sizeof(*glob))
        return;
    glob->direct_pkts = 0;
    if (glob->version > UINT16_MAX)
        glob->version >>= 16;
}

/* Leaves out counters, and tells whether all the rest can be restored. */
static int settle_options(const struct kind *kind, struct foreign_part *part, struct err *err)
{
    uint32_t at = 0, kept = 0, from = 0;
    bool classes = part->what == FOREIGN_CLASS;
    for (struct nlattr *attr;
         (kind->nested || classes) && (attr = next_attr(part->options, part->options_bytes, &at));
         from = at) {
        uint32_t bytes = (uint32_t)NLA_ALIGN(attr->nla_len);
        bytes = bytes > part->options_bytes - from ? part->options_bytes - from : bytes;
        if (is_one(attr, kind->actions, 2))
            return refuse(part, ": it has an action", err);
        if (is_one(attr, &kind->counters, 1))
            continue;
        if (is_one(attr, &kind->flags, 1) && number_in(attr))
            *number_in(attr) &= SETTABLE;
        settle_htb(part, attr);
        memmove(part->options + kept, attr, bytes);
        kept += bytes;
    }
    if (kind->nested || classes)
        part->options_bytes = kept;
    return 0;
}

void foreign_options_to_put(struct foreign_part *part)
{
    const struct kind *kind = kind_of(part);
    uint32_t at = 0;
    if (part->what != FOREIGN_QDISC || !kind || !kind->codel_us[0])
        return;
    for (struct nlattr *attr; (attr = next_attr(part->options, part->options_bytes, &at));) {
        if (!is_one(attr, kind->codel_us, 3) || !number_in(attr))
            continue;
        uint64_t ticks = (*number_in(attr) * 1000ull + CODEL_NS - 1) / CODEL_NS;
        *number_in(attr) = (uint32_t)((ticks * CODEL_NS + 999) / 1000);
    }
}

static int take(struct foreign *foreign, const struct foreign_part *part, struct err *err)
{
    if (foreign->n == FOREIGN_PARTS)
        return err_set(err, E2BIG, "more than %d qdiscs, classes and filters", FOREIGN_PARTS);
    if (!array_grow(foreign->parts, foreign->n, foreign->allocated, 16))
        return err_sys(err, ENOMEM, "what stands on a port");
    foreign->parts[foreign->n++] = *part;
    return 0;
}

int foreign_add(struct foreign *foreign, const struct foreign_part *part, struct err *err)
{
    const struct kind *kind = kind_of(part);
    struct foreign_part copy = *part;
    if (part->what == FOREIGN_CLASS &&
        (!foreign_has_classes(part->kind) || !(part->handle & 0xffff)))
        return 0;
    if (!kind)
        return refuse(part, ": this kind cannot be told to be as it was", err);
    if (part->options_bytes > FOREIGN_OPTIONS)
        return refuse(part, ": it is too large", err);
    copy.options = malloc(part->options_bytes + 1);
    if (!copy.options)
        return err_sys(err, ENOMEM, "what stands on a port");
    if (part->options_bytes)
        memcpy(copy.options, part->options, part->options_bytes);
    int r = settle_options(kind, &copy, err);
    if (r >= 0)
        r = take(foreign, &copy, err);
    if (r < 0)
        free(copy.options);
    return r;
}
