/* duopoly-fastpath: ports of a data plane in user space, by its control socket. Queues from its own
 * configuration are replaced and come back by themselves; what another agent has set is recorded.
 * It knows the agents that set ports by name only, and forgets them all when it ends. It reports no
 * changes by others: a change of our ports by another agent with --replace is seen at the next
 * check. */
#include "hostagent/fastpath_link.h"
#include "hostagent/switches/switch.h"
#include "lib/bit_rate.h"
#include "lib/port/port_message.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIX "unix:"

struct switch_state {
    struct switch_config config;
    struct fastpath_link *link;
};

struct fastpath_plan {
    struct switch_plan plan;       /* first: the others know this part */
    duopoly_DataplanePorts there;  /* as they were */
    duopoly_SetDataplanePorts set; /* what is to be */
    bool takes_others;             /* other owners' must make room */
};

static int fastpath_check(const struct switch_settings *settings, struct err *err)
{
    if (settings->bridge[0] || settings->openflow[0] || settings->table || settings->ca[0] ||
        settings->certificate[0] || settings->private_key[0])
        return err_set(err, EINVAL, "the driver fastpath has at and ports, and nothing else");
    if (settings->at[0] && strncmp(settings->at, UNIX "/", strlen(UNIX "/")) != 0)
        return err_set(err, EINVAL,
                       "'%s' is no place of a data plane: unix:/PATH of its control socket",
                       settings->at);
    return 0;
}

static void fastpath_close(struct switch_state *sw)
{
    if (!sw)
        return;
    fastpath_link_close(sw->link);
    free(sw);
}

static int fastpath_open(const struct switch_config *config, struct switch_state **ret_switch,
                         struct err *err)
{
    const char *at = config->settings->at;
    struct switch_state *sw = calloc(1, sizeof(*sw));
    if (!sw)
        return err_sys(err, ENOMEM, "the switch");
    sw->config = *config;
    int r = fastpath_link_open(at[0] ? at + strlen(UNIX) : FASTPATH_LINK_SOCKET, SWITCH_WAIT_MS,
                               &sw->link, err);
    if (r < 0)
        fastpath_close(sw);
    else
        *ret_switch = sw;
    return r;
}

/* Those that are selected, in order of their names. */
static int compare_ports(const void *a, const void *b)
{
    return strcmp(((const duopoly_DataplanePort *)a)->port,
                  ((const duopoly_DataplanePort *)b)->port);
}

static int read_ports(struct switch_state *sw, duopoly_DataplanePorts *ret_ports, struct err *err)
{
    const duopoly_Envelope *answer;
    fastpath_link_request(sw->link, duopoly_Envelope_get_dataplane_ports_tag);
    int r = fastpath_link_call(sw->link, duopoly_Envelope_dataplane_ports_tag, &answer, err);
    if (r < 0)
        return r;
    *ret_ports = answer->body.dataplane_ports;
    pb_size_t n = 0;
    for (pb_size_t i = 0; i < ret_ports->ports_count; i++)
        if (switch_selects(sw->config.settings, ret_ports->ports[i].port))
            ret_ports->ports[n++] = ret_ports->ports[i];
    ret_ports->ports_count = n;
    qsort(ret_ports->ports, n, sizeof(ret_ports->ports[0]), compare_ports);
    return 0;
}

static void facts_of(const duopoly_DataplanePort *port, struct port_facts *ret_facts)
{
    *ret_facts = (struct port_facts){.link_bps = port->device_bps,
                                     .mtu_bytes = port->mtu_bytes,
                                     .queues_n = PORT_TRAFFIC,
                                     .abilities = port_message_abilities};
    snprintf(ret_facts->name, sizeof(ret_facts->name), "%s", port->port);
}

static int fastpath_ports(struct switch_state *sw, struct switch_ports **ret_ports, struct err *err)
{
    duopoly_DataplanePorts there;
    int r = read_ports(sw, &there, err);
    if (r < 0)
        return r;
    struct switch_ports *ports =
        calloc(1, sizeof(*ports) + there.ports_count * sizeof(ports->ports[0]));
    if (!ports)
        return err_sys(err, ENOMEM, "%u ports", there.ports_count);
    for (pb_size_t i = 0; i < there.ports_count; i++) {
        struct switch_port *port = &ports->ports[ports->n++];
        snprintf(port->name, sizeof(port->name), "%s", there.ports[i].port);
        facts_of(&there.ports[i], &port->facts);
    }
    *ret_ports = ports;
    return 0;
}

static bool is_ours(const struct switch_state *sw, const duopoly_DataplanePort *port)
{
    return strcmp(port->owner, sw->config.owner) == 0;
}

static bool is_others(const struct switch_state *sw, const duopoly_DataplanePort *port)
{
    return port->owner[0] && !is_ours(sw, port);
}

static json_t *port_json(const duopoly_DataplanePort *port)
{
    json_t *queues = json_array();
    for (pb_size_t q = 0; q < port->queues_count; q++) {
        const duopoly_DataplaneQueue *queue = &port->queues[q];
        json_array_append_new(
            queues, json_pack("[I,I,I,I,I]", (json_int_t)queue->serves,
                              (json_int_t)queue->floor_bps, (json_int_t)queue->packets,
                              (json_int_t)queue->ecn_packets, (json_int_t)queue->red_packets));
    }
    return json_pack("{s:s,s:I,s:o}", "owner", port->owner, "rate_bps", (json_int_t)port->rate_bps,
                     "queues", queues);
}

static int port_of_json(const char *name, json_t *json, duopoly_DataplanePort *ret_port,
                        const char **ret_owner)
{
    json_t *queues, *queue;
    json_int_t rate_bps, serves, floor_bps, packets, ecn_packets;
    size_t q;
    *ret_port = (duopoly_DataplanePort){0};
    if (json_unpack(json, "{s:s,s:I,s:o}", "owner", ret_owner, "rate_bps", &rate_bps, "queues",
                    &queues) < 0)
        return -EBADMSG;
    wire_copy(ret_port->port, sizeof(ret_port->port), name);
    ret_port->rate_bps = (uint64_t)rate_bps;
    json_array_foreach(queues, q, queue)
    {
        if (q == PORT_TRAFFIC ||
            json_unpack(queue, "[I,I,I,I]", &serves, &floor_bps, &packets, &ecn_packets) < 0)
            return -EBADMSG;
        ret_port->queues[ret_port->queues_count++] = (duopoly_DataplaneQueue){
            .serves = (uint32_t)serves,
            .floor_bps = (uint64_t)floor_bps,
            .packets = (uint32_t)packets,
            .ecn_packets = (uint32_t)ecn_packets,
            .red_packets = (uint32_t)json_integer_value(json_array_get(queue, 4))};
    }
    return 0;
}

/* An object of ports by their names; empty where nothing is kept. */
static int load_kept(const struct switch_state *sw, json_t **ret_kept, struct err *err)
{
    char *text;
    json_error_t why;
    int r = switch_kept(sw->config.state_dir, &text, err);
    if (r < 0)
        return r;
    *ret_kept = text ? json_loads(text, 0, &why) : json_object();
    free(text);
    if (json_is_object(*ret_kept))
        return 0;
    json_decref(*ret_kept);
    return err_set(err, EBADMSG, SWITCH_KEPT_FILE ": not what was written there",
                   sw->config.state_dir);
}

static int save_kept(const struct switch_state *sw, json_t *kept, struct err *err)
{
    char *text = json_dumps(kept, JSON_SORT_KEYS);
    int r = text ? switch_keep(sw->config.state_dir, text, err) : err_sys(err, ENOMEM, "a record");
    free(text);
    return r;
}

static bool is_set(const struct fastpath_plan *plan, const char *port)
{
    for (pb_size_t i = 0; i < plan->set.ports_count; i++)
        if (strcmp(plan->set.ports[i].port, port) == 0)
            return true;
    return false;
}

/* Those that are to make room, beside what is kept of them already. */
static int keep_others(const struct switch_state *sw, const struct fastpath_plan *plan,
                       struct err *err)
{
    json_t *kept;
    int r = load_kept(sw, &kept, err);
    if (r < 0)
        return r;
    for (pb_size_t i = 0; i < plan->there.ports_count; i++)
        if (is_others(sw, &plan->there.ports[i]) && is_set(plan, plan->there.ports[i].port))
            json_object_set_new(kept, plan->there.ports[i].port, port_json(&plan->there.ports[i]));
    r = save_kept(sw, kept, err);
    json_decref(kept);
    return r;
}

static int fastpath_record(struct switch_state *sw, char **ret_text, struct err *err)
{
    duopoly_DataplanePorts there;
    json_t *kept, *all;
    int r = read_ports(sw, &there, err);
    if (r >= 0)
        r = load_kept(sw, &kept, err);
    if (r < 0)
        return r;
    all = json_object();
    for (pb_size_t i = 0; i < there.ports_count; i++) {
        const duopoly_DataplanePort *port = &there.ports[i];
        json_t *before = is_ours(sw, port) ? json_object_get(kept, port->port) : NULL;
        json_object_set_new(all, port->port,
                            before                ? json_incref(before)
                            : is_others(sw, port) ? port_json(port)
                                                  : json_null());
    }
    *ret_text = json_dumps(all, JSON_SORT_KEYS);
    json_decref(kept);
    json_decref(all);
    return *ret_text ? 0 : err_sys(err, ENOMEM, "a record");
}

static void fastpath_free_plan(struct switch_plan *plan)
{
    if (plan)
        switch_plan_done(plan);
    free(plan);
}

static int check_dscp(const struct switch_state *sw, const duopoly_DataplanePorts *there,
                      struct err *err)
{
    if (memcmp(there->dscp_of_level, sw->config.dscp_of_level, PORT_LEVELS) == 0)
        return 0;
    return err_set(err, EINVAL,
                   "the data plane tells levels by other code points than this agent: marks.dscp "
                   "is to be the same in both configurations");
}

static bool may_replace(const struct switch_state *sw, const char *port, bool again)
{
    return sw->config.replace ||
           (again && (!sw->config.had || sw->config.had(sw->config.user, port)));
}

static int plan_port(const struct switch_state *sw, struct fastpath_plan *plan,
                     const duopoly_DataplanePort *there, bool again, struct err *err)
{
    duopoly_DataplanePort *want = &plan->set.ports[plan->set.ports_count];
    struct err why = {0};
    struct port_facts facts;
    struct port port;
    if (switch_is_yielded(&sw->config, there->port, &why))
        return switch_trouble_add(&plan->plan, there->port, &why, true, err);
    facts_of(there, &facts);
    int r = switch_want(&sw->config.wish, there->port, &facts, &plan->plan, &port, err);
    if (r <= 0)
        return r;
    *want = (duopoly_DataplanePort){0};
    wire_copy(want->port, sizeof(want->port), there->port);
    port_message_write(&port, want);
    if (is_ours(sw, there) && port_message_equal(want, there))
        return 0;
    if (is_others(sw, there) && !may_replace(sw, there->port, again)) {
        err_set(&why, EBUSY, "%s has set its queues; --replace lets them make room until we leave",
                there->owner);
        return switch_trouble_add(&plan->plan, there->port, &why, true, err);
    }
    plan->takes_others |= is_others(sw, there);
    plan->set.ports_count++;
    char rate[BIT_RATE_WORDS];
    return switch_step_add(&plan->plan, is_ours(sw, there) ? SWITCH_CHANGE : SWITCH_ADD,
                           there->port, err, "%u queues at %s", want->queues_count,
                           bit_rate_words(port.link_bps, rate));
}

static int fastpath_plan(struct switch_state *sw, bool again, struct switch_plan **ret_plan,
                         struct err *err)
{
    struct fastpath_plan *plan = calloc(1, sizeof(*plan));
    if (!plan)
        return err_sys(err, ENOMEM, "a plan");
    int r = read_ports(sw, &plan->there, err);
    if (r >= 0)
        r = check_dscp(sw, &plan->there, err);
    for (pb_size_t i = 0; r >= 0 && i < plan->there.ports_count; i++)
        r = plan_port(sw, plan, &plan->there.ports[i], again, err);
    wire_copy(plan->set.owner, sizeof(plan->set.owner), sw->config.owner);
    plan->set.replace = plan->takes_others;
    if (r < 0)
        fastpath_free_plan(&plan->plan);
    else
        *ret_plan = &plan->plan;
    return r;
}

/* −EAGAIN: another agent has set one of them meanwhile. */
static int set_ports(struct switch_state *sw, const duopoly_SetDataplanePorts *set, struct err *err)
{
    const duopoly_Envelope *answer;
    fastpath_link_request(sw->link, duopoly_Envelope_set_dataplane_ports_tag)
        ->body.set_dataplane_ports = *set;
    int r = fastpath_link_call(sw->link, duopoly_Envelope_accepted_tag, &answer, err);
    if (r == -EREMOTEIO && fastpath_link_refusal(sw->link) == duopoly_Reason_REASON_STATE)
        return -EAGAIN;
    return r;
}

/* The data plane accepts all or none: if it refuses one, each is set alone. */
static int set_each(struct switch_state *sw, struct fastpath_plan *plan, struct err *err)
{
    int r = 0;
    for (pb_size_t i = 0; r >= 0 && i < plan->set.ports_count; i++) {
        duopoly_SetDataplanePorts one = {.replace = plan->set.replace, .ports_count = 1};
        struct err why = {0};
        wire_copy(one.owner, sizeof(one.owner), plan->set.owner);
        one.ports[0] = plan->set.ports[i];
        r = set_ports(sw, &one, &why);
        if (r == -EREMOTEIO)
            r = switch_trouble_add(&plan->plan, one.ports[0].port, &why, true, err);
        else if (r < 0 && err)
            *err = why;
    }
    return r;
}

static int fastpath_apply(struct switch_state *sw, struct switch_plan *switch_plan, struct err *err)
{
    struct fastpath_plan *plan = (struct fastpath_plan *)switch_plan;
    int r = 0;
    if (!plan->set.ports_count)
        return 0;
    if (plan->takes_others)
        r = keep_others(sw, plan, err);
    if (r >= 0)
        r = set_ports(sw, &plan->set, err);
    return r == -EREMOTEIO ? set_each(sw, plan, err) : r;
}

/* To another agent's former settings, or to the data plane's configuration. */
static int restore_port(struct switch_state *sw, const char *name, json_t *kept, struct err *err)
{
    const char *owner = sw->config.owner;
    duopoly_SetDataplanePorts set = {.replace = true, .ports_count = 1};
    wire_copy(set.ports[0].port, sizeof(set.ports[0].port), name);
    if (kept && port_of_json(name, kept, &set.ports[0], &owner) < 0)
        return err_set(err, EBADMSG, SWITCH_KEPT_FILE ": %s is not as it was written there",
                       sw->config.state_dir, name);
    wire_copy(set.owner, sizeof(set.owner), owner);
    return set_ports(sw, &set, err);
}

static int fastpath_restore(struct switch_state *sw, struct err *err)
{
    duopoly_DataplanePorts there;
    json_t *kept;
    int r = read_ports(sw, &there, err);
    if (r >= 0)
        r = load_kept(sw, &kept, err);
    if (r < 0)
        return r;
    for (pb_size_t i = 0; i < there.ports_count; i++) {
        if (!is_ours(sw, &there.ports[i]))
            continue;
        int other = restore_port(sw, there.ports[i].port,
                                 json_object_get(kept, there.ports[i].port), r < 0 ? NULL : err);
        r = r < 0 ? r : other;
    }
    json_decref(kept);
    return r < 0 ? r : switch_forget(sw->config.state_dir, err);
}

static int fastpath_stats(struct switch_state *sw, struct switch_stats *ret_stats, struct err *err)
{
    duopoly_DataplanePorts there;
    int r = read_ports(sw, &there, err);
    if (r < 0)
        return r;
    *ret_stats = (struct switch_stats){0};
    for (pb_size_t i = 0; i < there.ports_count; i++)
        for (pb_size_t q = 0; q < there.ports[i].queues_count; q++) {
            const duopoly_DataplaneQueue *queue = &there.ports[i].queues[q];
            struct switch_queue_stats *to = &ret_stats->traffic[__builtin_ctz(queue->serves)];
            to->bytes += queue->out_bytes;
            to->packets += queue->out_packets;
            to->drops += queue->dropped_packets;
        }
    return 0;
}

static void port_count(const duopoly_DataplanePort *port, struct queues_counted *ret)
{
    *ret = (struct queues_counted){.n = 0};
    snprintf(ret->port, sizeof(ret->port), "%s", port->port);
    for (pb_size_t q = 0; q < port->queues_count && ret->n < PORT_TRAFFIC; q++) {
        const duopoly_DataplaneQueue *queue = &port->queues[q];
        ret->queues[ret->n++] =
            (struct queues_count){.traffic = (enum port_traffic)__builtin_ctz(queue->serves),
                                  .bytes = queue->out_bytes,
                                  .packets = queue->out_packets,
                                  .drops = queue->dropped_packets,
                                  .backlog_packets = queue->waiting,
                                  .backlog_bytes = -1,
                                  .marked = (int64_t)queue->marked_packets,
                                  .rate_bps = -1};
    }
}

static int fastpath_queues(struct switch_state *sw, uint32_t first, struct queues_counted *ret,
                           uint32_t most, uint32_t *ret_n, struct err *err)
{
    duopoly_DataplanePorts there;
    int r = read_ports(sw, &there, err);
    if (r < 0)
        return r;
    *ret_n = 0;
    for (; *ret_n < most && first + *ret_n < there.ports_count; ++*ret_n)
        port_count(&there.ports[first + *ret_n], &ret[*ret_n]);
    return 0;
}

static int fastpath_counters(struct switch_state *sw, struct switch_counters **ret_counters,
                             struct err *err)
{
    duopoly_DataplanePorts there;
    int r = read_ports(sw, &there, err);
    if (r < 0)
        return r;
    struct switch_counters *counters =
        calloc(1, sizeof(*counters) + there.ports_count * sizeof(counters->ports[0]));
    if (!counters)
        return err_sys(err, ENOMEM, "%u ports", there.ports_count);
    for (pb_size_t i = 0; i < there.ports_count; i++) {
        const duopoly_DataplanePort *from = &there.ports[i];
        struct switch_port_counters *to = &counters->ports[counters->n++];
        wire_copy(to->name, sizeof(to->name), from->port);
        to->rate_bps = from->rate_bps ? from->rate_bps : from->device_bps;
        to->sent_bytes = from->went_bytes;
        to->received_bytes = from->came_bytes;
        for (pb_size_t q = 0; q < from->queues_count; q++)
            to->dropped += from->queues[q].dropped_packets;
    }
    *ret_counters = counters;
    return 0;
}

static int fastpath_fd(const struct switch_state *sw)
{
    return fastpath_link_fd(sw->link);
}

static int fastpath_notice(struct switch_state *sw, struct err *err)
{
    int r = fastpath_link_notice(sw->link, err);
    return r > 0 ? SWITCH_BACK : r < 0 ? r : SWITCH_QUIET;
}

const struct switch_driver switch_fastpath = {
    .name = "fastpath",
    .check = fastpath_check,
    .open = fastpath_open,
    .close = fastpath_close,
    .ports = fastpath_ports,
    .record = fastpath_record,
    .plan = fastpath_plan,
    .free_plan = fastpath_free_plan,
    .apply = fastpath_apply,
    .restore = fastpath_restore,
    .stats = fastpath_stats,
    .queues = fastpath_queues,
    .counters = fastpath_counters,
    .fd = fastpath_fd,
    .notice = fastpath_notice,
};
