/* The queue driver for the kernel's prio: strict bands, no floors. */
#include "hostagent/queues/bands_nl.h"

#include <linux/pkt_sched.h>
#include <string.h>

static struct tc_prio_qopt options_of(uint8_t rest)
{
    struct tc_prio_qopt options = {.bands = PORT_TRAFFIC};
    memset(options.priomap, rest, sizeof(options.priomap));
    return options;
}

static int put(struct qdisc *qdisc, const struct kernel_place *place, uint8_t rest)
{
    const struct tc_prio_qopt options = options_of(rest);
    return kernel_put(qdisc, place, "prio", &options, sizeof(options));
}

static bool right(const struct raw_qdisc *raw, uint8_t rest)
{
    const struct tc_prio_qopt options = options_of(rest);
    return raw->options_bytes >= sizeof(options) &&
           memcmp(raw->options, &options, sizeof(options)) == 0;
}

const struct bands_kind bands_prio = {"prio", KERNEL_PRIO, put, right};

static int prio_facts(struct qdisc *qdisc, const char *port, struct port_facts *ret_facts,
                      struct err *err)
{
    int r = kernel_needs(qdisc, KERNEL_PRIO, err);
    return r < 0 ? r : kernel_facts(qdisc, port, ret_facts, err);
}

static int prio_plan(struct qdisc *qdisc, const char *port, const struct port *want,
                     struct qdisc_plan **ret_plan, struct err *err)
{
    return bands_plan(&bands_prio, qdisc, port, want, ret_plan, err);
}

static int prio_apply(struct qdisc *qdisc, const char *port, const struct qdisc_plan *plan,
                      struct err *err)
{
    return bands_apply(&bands_prio, qdisc, port, plan, err);
}

const struct qdisc_driver qdisc_prio = {
    .name = "prio",
    .abilities = {.strict = true, .ecn = true},
    KERNEL_DRIVER,
    .facts = prio_facts,
    .record = kernel_record,
    .plan = prio_plan,
    .say = bands_say,
    .apply = prio_apply,
    .restore = kernel_restore,
    .stats = kernel_stats,
    .marks = kernel_marks,
};
