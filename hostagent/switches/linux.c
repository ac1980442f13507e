/* The switch that this machine is: the ports of a bridge, or any of its interfaces, with the
 * queues of queues.h, which keeps a record for each port. The kernel reports others' changes to
 * guard.h. */
#include "hostagent/queues/queues.h"
#include "hostagent/switches/switch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct switch_state {
    struct switch_config config;
    struct queues *queues;
};

struct linux_plan {
    struct switch_plan plan; /* first: the others know this part */
    struct queues_plans *plans;
};

static int linux_check(const struct switch_settings *settings, struct err *err)
{
    if (settings->at[0] || settings->openflow[0] || settings->bridge[0] || settings->ca[0] ||
        settings->certificate[0] || settings->private_key[0] || settings->ports_n)
        return err_set(err, EINVAL,
                       "the driver linux is this machine: its ports are named in section link");
    return 0;
}

static bool is_left(const void *user, const char *port, struct err *why)
{
    const struct switch_state *sw = user;
    return switch_is_yielded(&sw->config, port, why);
}

static int linux_open(const struct switch_config *config, struct switch_state **ret_switch,
                      struct err *err)
{
    struct switch_state *sw = calloc(1, sizeof(*sw));
    if (!sw)
        return err_sys(err, ENOMEM, "the switch");
    sw->config = *config;
    const struct queues_config queues = {.driver = config->queues,
                                         .state_dir = config->state_dir,
                                         .wish = config->wish,
                                         .nudge = config->nudge,
                                         .replace = config->replace,
                                         .is_left = is_left,
                                         .user = sw};
    int r = queues_open(&queues, config->interfaces, config->interfaces_n, &sw->queues, err);
    if (r < 0) {
        free(sw);
        return r;
    }
    *ret_switch = sw;
    return 0;
}

static void linux_close(struct switch_state *sw)
{
    if (!sw)
        return;
    queues_close(sw->queues);
    free(sw);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct switch_port *)a)->name, ((const struct switch_port *)b)->name);
}

static int linux_ports(struct switch_state *sw, struct switch_ports **ret_ports, struct err *err)
{
    uint32_t n = queues_count(sw->queues);
    struct switch_ports *ports = calloc(1, sizeof(*ports) + n * sizeof(ports->ports[0]));
    int r = ports ? 0 : err_sys(err, ENOMEM, "%u ports", n);
    for (uint32_t i = 0; r >= 0 && i < n; i++) {
        struct switch_port *port = &ports->ports[ports->n++];
        snprintf(port->name, sizeof(port->name), "%s", queues_port(sw->queues, i));
        queues_facts(sw->queues, i, &port->facts, NULL);
    }
    if (r < 0)
        return r;
    qsort(ports->ports, ports->n, sizeof(ports->ports[0]), by_name);
    *ret_ports = ports;
    return 0;
}

static void linux_why(struct switch_state *sw, const char *port, char *text, size_t size)
{
    queues_why(sw->queues, port, text, size);
}

/* A port's name, then a line for each qdisc of its record, indented. */
static void say_record(FILE *out, const char *port, const char *text)
{
    fprintf(out, "%s\n", port);
    while (*text) {
        int n = (int)strcspn(text, "\n");
        fprintf(out, "  %.*s\n", n, text);
        text += n + (text[n] == '\n');
    }
}

static int linux_record(struct switch_state *sw, char **ret_text, struct err *err)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int r = out ? queues_look(sw->queues, err) : err_sys(err, errno, "the record of the ports");
    for (uint32_t i = 0; r >= 0 && i < queues_count(sw->queues); i++) {
        char *record = NULL;
        r = queues_record(sw->queues, i, &record, err);
        if (r >= 0)
            say_record(out, queues_port(sw->queues, i), record);
        free(record);
    }
    queues_look_away(sw->queues);
    if (out && fclose(out) != 0 && r >= 0)
        r = err_sys(err, ENOMEM, "the record of the ports");
    if (r < 0)
        free(text);
    else
        *ret_text = text;
    return r;
}

static void linux_free_plan(struct switch_plan *plan)
{
    if (!plan)
        return;
    queues_free_plans(((struct linux_plan *)plan)->plans);
    switch_plan_done(plan);
    free(plan);
}

static int say_plan(struct switch_state *sw, uint32_t i, struct linux_plan *plan, struct err *err)
{
    const struct qdisc_driver *driver = sw->config.queues;
    const struct qdisc_plan *steps = plan->plans->ports[i];
    char text[SWITCH_STEP_TEXT];
    int r = 0;
    for (uint32_t step = 0; r >= 0 && steps && step < steps->steps; step++) {
        snprintf(text, sizeof(text), "%s: step %u of %u", driver->name, step + 1, steps->steps);
        if (driver->say)
            driver->say(steps, step, text, sizeof(text));
        r = switch_step_add(&plan->plan, steps->root == QDISC_OURS ? SWITCH_CHANGE : SWITCH_ADD,
                            queues_port(sw->queues, i), err, "%s", text);
    }
    return r;
}

/* Ports that are not touched keep their last found troubles. */
static int add_troubles(struct switch_state *sw, struct switch_plan *plan, struct err *err)
{
    int r = 0;
    plan->troubles_n = 0;
    for (uint32_t i = 0; r >= 0 && i < queues_count(sw->queues); i++) {
        const struct err *why = queues_trouble(sw->queues, i);
        if (why)
            r = switch_trouble_add(plan, queues_port(sw->queues, i), why, true, err);
    }
    return r;
}

/* No port of this machine can have any queues, or another agent has them all. */
static int check_any(const struct switch_state *sw, struct err *err)
{
    uint32_t n = queues_count(sw->queues);
    const struct err *first = n ? queues_trouble(sw->queues, 0) : NULL;
    if (!first || (first->code != ENOSYS && first->code != EEXIST))
        return 0;
    for (uint32_t i = 1; i < n; i++) {
        const struct err *why = queues_trouble(sw->queues, i);
        if (!why || why->code != first->code)
            return 0;
    }
    return err_set(err, first->code, "%s", first->text);
}

static int linux_plan(struct switch_state *sw, bool again, struct switch_plan **ret_plan,
                      struct err *err)
{
    struct linux_plan *plan = calloc(1, sizeof(*plan));
    if (!plan)
        return err_sys(err, ENOMEM, "the plan of the ports");
    int r = queues_plan(sw->queues, again, &plan->plans, err);
    if (r >= 0)
        r = check_any(sw, err);
    for (uint32_t i = 0; r >= 0 && i < plan->plans->n; i++)
        r = say_plan(sw, i, plan, err);
    if (r >= 0)
        r = add_troubles(sw, &plan->plan, err);
    if (r < 0) {
        linux_free_plan(&plan->plan);
        return r;
    }
    *ret_plan = &plan->plan;
    return 0;
}

static int linux_apply(struct switch_state *sw, struct switch_plan *plan, struct err *err)
{
    int r = queues_carry_out(sw->queues, ((struct linux_plan *)plan)->plans, err);
    return r < 0 ? r : add_troubles(sw, plan, err);
}

static int linux_restore(struct switch_state *sw, struct err *err)
{
    return queues_restore(sw->queues, err);
}

static int linux_stats(struct switch_state *sw, struct switch_stats *ret_stats, struct err *err)
{
    struct qdisc_stats stats = {0};
    int r = queues_stats(sw->queues, &stats, err);
    if (r < 0)
        return r;
    for (int traffic = 0; traffic < PORT_TRAFFIC; traffic++)
        ret_stats->traffic[traffic] =
            (struct switch_queue_stats){.bytes = stats.queues[traffic].bytes,
                                        .packets = stats.queues[traffic].packets,
                                        .drops = stats.queues[traffic].drops};
    return 0;
}

static int linux_queues(struct switch_state *sw, uint32_t first, struct queues_counted *ret,
                        uint32_t most, uint32_t *ret_n, struct err *err)
{
    return queues_read(sw->queues, first, ret, most, ret_n, err);
}

static int linux_fd(const struct switch_state *sw)
{
    (void)sw;
    return -1;
}

static int linux_notice(struct switch_state *sw, struct err *err)
{
    (void)sw;
    (void)err;
    return 0;
}

static void linux_touch(struct switch_state *sw, const int *ifindexes, uint32_t n)
{
    queues_touch(sw->queues, ifindexes, n);
}

static bool linux_is_own(const struct switch_state *sw, uint32_t port_id)
{
    return queues_is_own(sw->queues, port_id);
}

static void linux_follow(struct switch_state *sw, const struct ports_found *found, bool apply,
                         void (*say)(void *user, const char *text), void *user)
{
    queues_follow(sw->queues, found, apply, say, user);
}

const struct switch_driver switch_linux = {
    .name = "linux",
    .check = linux_check,
    .open = linux_open,
    .close = linux_close,
    .ports = linux_ports,
    .why = linux_why,
    .record = linux_record,
    .plan = linux_plan,
    .free_plan = linux_free_plan,
    .apply = linux_apply,
    .restore = linux_restore,
    .stats = linux_stats,
    .queues = linux_queues,
    .fd = linux_fd,
    .notice = linux_notice,
    .touch = linux_touch,
    .is_own = linux_is_own,
    .follow = linux_follow,
};
