#include "hostagent/agent_parts.h"
#include "hostagent/guests/guests.h"
#include "hostagent/link_report.h"
#include "hostagent/stance.h"
#include "hostagent/switch_links.h"
#include "hostagent/uplink/uplink_zmq.h"
#include "lib/log.h"

#include <stdio.h>
#include <string.h>

/* Sampling periods. */
#define REPORT_MS   100
#define COUNTERS_MS 2000
#define SWITCH_MS   500  /* checks all ports: not after each change */
#define TROUBLES_MS 5000 /* checks ports in trouble again: not every change is reported */

static void on_bytes(void *user, uint64_t attempt, uint64_t bytes)
{
    struct agent_parts *agent = user;
    uplink_report_bytes(agent->uplink, attempt, bytes);
}

/* A host's load is sampled often, since decisions depend on it; each link's use rarely. */
static uint32_t sample_ms(const struct agent_parts *agent)
{
    return agent_is_host(agent) ? LINKS_SAMPLE_MS : REPORT_MS;
}

static bool is_due(const struct agent_parts *agent, uint32_t every_ms)
{
    return agent->samples % (every_ms / sample_ms(agent)) == 0;
}

static void report_load(struct agent_parts *agent)
{
    const struct links_sample sample = links_nl_sum(agent->links_nl);
    struct links_use use = links_add(&agent->links, &sample);
    bool due = is_due(agent, REPORT_MS), disk_crossed = agent_look_at_disk(agent, due);
    if (!use.crossed && !disk_crossed && !due)
        return;
    duopoly_Load load = {.uplink_permille = use.up_permille,
                         .downlink_permille = use.down_permille,
                         .uplink_users = agent->stats.senders,
                         .downlink_users = agent->stats.receivers};
    agent_tell_disk(agent, &load);
    uplink_report_load(agent->uplink, &load);
}

static void sample_links(struct agent_parts *agent)
{
    bool all = is_due(agent, REPORT_MS);
    if (all)
        switch_links_sample(agent->switch_links, agent->uplink);
    if (!agent->links_nl || links_nl_read(agent->links_nl, NULL) < 0)
        return;
    if (agent_is_host(agent))
        report_load(agent);
    if (all)
        link_report_add(agent->link_report, links_nl_at_ns(agent->links_nl),
                        links_nl_counters(agent->links_nl), agent->uplink);
}

static void report_counters(struct agent_parts *agent)
{
    struct uplink_counters wire;
    duopoly_AgentCounters counters = duopoly_AgentCounters_init_zero;
    struct nudge_counters nudges;
    struct switch_stats queues = {0};
    struct err err = {0};
    if (marks_stats(agent->marks, &agent->stats, &err) < 0)
        log_error(LOG_FAULT_US, "%s", err.text);
    if (agent->switches)
        switches_stats(agent->switches, &queues, NULL);
    uplink_count(agent->uplink, &wire);
    marks_count_nudges(agent->marks, &nudges);
    counters.marked_bytes_count = MARK_LEVELS;
    memcpy(counters.marked_bytes, agent->stats.marked_bytes, sizeof(agent->stats.marked_bytes));
    counters.queue_drops_count = PORT_TRAFFIC;
    for (int traffic = 0; traffic < PORT_TRAFFIC; traffic++)
        counters.queue_drops[traffic] = queues.traffic[traffic].drops;
    counters.unmarked_bytes = agent->stats.unmarked_bytes;
    counters.followed_flows = agent->stats.followed_flows;
    counters.evictions = agent->stats.evictions;
    counters.shared_connections = agent->stats.shared_connections;
    counters.lease_expiries = agent->stats.lease_expiries;
    counters.refused_messages = wire.refused_messages;
    counters.ignored_messages = wire.ignored_messages;
    counters.dropped_reports = wire.dropped_reports;
    counters.nudged_connections = nudges.connections;
    counters.nudge_acknowledgements = nudges.acknowledgements;
    counters.nudge_unreachables = nudges.unreachables;
    counters.nudge_left_out = nudges.left_out;
    counters.nudge_failures = nudges.failures;
    uplink_report_counters(agent->uplink, &counters);
}

/* When it begins and when it ends. */
static void say_hidden(struct agent_parts *agent)
{
    const char *hidden = guests_hidden(agent->guests);
    if (strcmp(hidden, agent->guests_words) == 0)
        return;
    if (hidden[0])
        log_warning(LOG_FAULT_CONFIGURATION, "%s", hidden);
    else
        log_note("processes of other users are seen again");
    snprintf(agent->guests_words, sizeof(agent->guests_words), "%s", hidden);
    agent_say_host(agent);
}

static void report_guests(struct agent_parts *agent)
{
    static duopoly_GuestsPart part;
    if (agent->guests)
        say_hidden(agent);
    if (agent->guests && guests_tell(agent->guests, &part))
        uplink_report_guests(agent->uplink, &part);
}

void agent_tell_switch(void *user)
{
    struct agent_parts *agent = user;
    agent->looked = false;
    if (agent->uplink && agent->switches && !agent_is_host(agent))
        report_tell(&agent->report, agent->switches, &agent->resolved->wish,
                    stance_trial_s(agent->stance), agent->uplink);
}

static int on_sample(sd_event_source *source, uint64_t usec, void *arg)
{
    struct agent_parts *agent = arg;
    uint64_t now;
    agent->samples++;
    sample_links(agent);
    if (agent->tasks && is_due(agent, REPORT_MS)) {
        tasks_tick(agent->tasks, on_bytes, agent);
        uplink_flush(agent->uplink);
    }
    if (is_due(agent, GUESTS_TELL_MS))
        report_guests(agent);
    if (is_due(agent, COUNTERS_MS))
        report_counters(agent);
    if (agent->switches && is_due(agent, TROUBLES_MS) && switches_have_troubles(agent->switches))
        guard_look(agent->guard);
    if (agent->looked && is_due(agent, SWITCH_MS))
        agent_tell_switch(agent);
    sd_event_now(agent->event, CLOCK_MONOTONIC, &now);
    uint64_t period = sample_ms(agent) * UINT64_C(1000), next = usec + period;
    sd_event_source_set_time(source, next > now ? next : now + period);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int agent_open_sampler(struct agent_parts *agent, struct err *err)
{
    int r = sd_event_add_time_relative(agent->event, &agent->sampler, CLOCK_MONOTONIC,
                                       sample_ms(agent) * UINT64_C(1000), 1000, on_sample, agent);
    return r < 0 ? err_sys(err, -r, "the event loop") : 0;
}
