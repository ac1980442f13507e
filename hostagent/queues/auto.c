/* The queue driver that chooses another one for each port: the best that this kernel supports. */
#include "hostagent/queues/auto.h"

#include "hostagent/queues/link_speed.h"

#include <errno.h>
#include <stdio.h>

/* The scheduler of bands that can serve such a port; NULL: none. */
static const struct qdisc_driver *bands_for(const struct auto_facts *facts)
{
    if (!facts->nudge || (facts->held && !(facts->can & KERNEL_TBF)))
        return NULL;
    return facts->can & KERNEL_ETS ? &qdisc_ets : facts->can & KERNEL_PRIO ? &qdisc_prio : NULL;
}

static const struct qdisc_driver *choose(const struct auto_facts *facts, const char **ret_why)
{
    const struct qdisc_driver *bands = bands_for(facts);
    bool fast = facts->rate_bps > AUTO_FAST_BPS, htb = facts->can & KERNEL_HTB;
    if (fast && bands) {
        *ret_why = "the port is faster than 10 Gb/s, and what is starved is nudged";
        return bands;
    }
    if (htb) {
        *ret_why = !fast          ? "it has floors"
                   : facts->nudge ? "this kernel takes neither ets nor prio"
                                  : "it has floors, and starved senders are not nudged";
        return &qdisc_htb;
    }
    *ret_why =
        bands ? "this kernel does not take htb; what is starved is nudged"
        : facts->can & (KERNEL_ETS | KERNEL_PRIO) && !facts->nudge
            ? "this kernel does not take htb, and without floors what is starved would wait: "
              "starved senders are not nudged (marks.nudge, BTF)"
            : "this kernel takes neither htb (module sch_htb), nor ets or prio (sch_ets, "
              "sch_prio)";
    return bands;
}

const struct qdisc_driver *auto_choose(const struct auto_facts *facts, char why[AUTO_WHY])
{
    const char *words;
    const struct qdisc_driver *driver = choose(facts, &words);
    snprintf(why, AUTO_WHY, "%s", words);
    return driver;
}

static int choose_for(struct qdisc *qdisc, const char *port, const struct qdisc_driver **ret_driver,
                      char why[AUTO_WHY], struct err *err)
{
    const struct qdisc_site *site = &qdisc->site;
    struct auto_facts facts = {.rate_bps = site->wish ? port_rate(site->wish, port) : 0,
                               .nudge = site->nudge};
    uint64_t speed = link_speed_bps(nl_socket_get_fd(qdisc->raw.sock), port);
    int r = kernel_can(qdisc, &facts.can, err);
    if (r < 0)
        return r;
    facts.held = facts.rate_bps && facts.rate_bps != speed;
    facts.rate_bps = facts.rate_bps ? facts.rate_bps : speed;
    *ret_driver = auto_choose(&facts, why);
    return *ret_driver ? 0 : err_set(err, ENOSYS, "%s gets no queues: %s", port, why);
}

static int auto_facts(struct qdisc *qdisc, const char *port, struct port_facts *ret_facts,
                      struct err *err)
{
    const struct qdisc_driver *driver;
    char why[AUTO_WHY];
    int r = choose_for(qdisc, port, &driver, why, err);
    return r < 0 ? r : driver->facts(qdisc, port, ret_facts, err);
}

static int auto_plan(struct qdisc *qdisc, const char *port, const struct port *want,
                     struct qdisc_plan **ret_plan, struct err *err)
{
    const struct qdisc_driver *driver;
    char why[AUTO_WHY];
    int r = choose_for(qdisc, port, &driver, why, err);
    if (r >= 0)
        r = driver->plan(qdisc, port, want, ret_plan, err);
    if (r >= 0)
        (*ret_plan)->by = driver;
    return r;
}

static void auto_say(const struct qdisc_plan *plan, uint32_t step, char *text, size_t size)
{
    plan->by->say(plan, step, text, size);
}

static int auto_apply(struct qdisc *qdisc, const char *port, const struct qdisc_plan *plan,
                      struct err *err)
{
    return plan->by->apply(qdisc, port, plan, err);
}

static void auto_why(struct qdisc *qdisc, const char *port, char *text, size_t size)
{
    const struct qdisc_driver *driver;
    char why[AUTO_WHY];
    struct err err = {0};
    if (choose_for(qdisc, port, &driver, why, &err) < 0)
        snprintf(text, size, "none: %s", err.text);
    else
        snprintf(text, size, "%s: %s", driver->name, why);
}

const struct qdisc_driver qdisc_auto = {
    .name = "auto",
    .abilities = {.strict = true, .floors = true, .ecn = true},
    KERNEL_DRIVER,
    .tell = kernel_tell,
    .why = auto_why,
    .facts = auto_facts,
    .record = kernel_record,
    .plan = auto_plan,
    .say = auto_say,
    .apply = auto_apply,
    .restore = kernel_restore,
    .stats = kernel_stats,
    .marks = kernel_marks,
};
