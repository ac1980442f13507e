#include "controller/metrics/scrape.h"

#include "controller/clients/counters.h"
#include "controller/metrics/exposition.h"
#include "lib/program.h"

#include <stdio.h>
#include <string.h>

#define OTHERS     "*" /* no name has this character */
#define SUMS_MAX   64  /* different samples of a host: there are fewer */
#define LABELS_MAX 3

/* Of all hosts without series of their own. */
struct sum {
    struct metric metric;
    char name[64];
    const char *label;
    char part[12];
    uint64_t value;
};

struct scraping {
    struct exposition *exposition;
    const struct conductor_parts *parts;
    const char *host; /* NULL: its numbers are summed */
    struct sum sums[SUMS_MAX];
    unsigned n_sums, next_sum; /* the one after the last that grew */
};

static void gauge(struct scraping *scraping, const char *name, const char *what, uint64_t value)
{
    const struct metric metric = {name, what, METRIC_GAUGE};
    exposition_add(scraping->exposition, &metric, NULL, 0, value);
}

static void on_counter(void *user, const struct counter *counter)
{
    struct scraping *scraping = user;
    const struct metric metric = {counter->name, counter->what,
                                  counter->now ? METRIC_GAUGE : METRIC_COUNTER};
    struct label labels[LABELS_MAX];
    unsigned n = 0;
    if (counter->rare && !counter->value)
        return;
    if (counter->label)
        labels[n++] = (struct label){counter->label, counter->part};
    if (counter->whose)
        labels[n++] = (struct label){"from", counter->whose};
    exposition_add(scraping->exposition, &metric, labels, n, counter->value);
}

static bool sum_is_of(const struct sum *sum, const struct metric *metric, const char *part)
{
    return strcmp(sum->name, metric->name) == 0 && strcmp(sum->part, part ? part : "") == 0;
}

/* NULL: there is no more room. */
static struct sum *sum_of(struct scraping *scraping, const struct metric *metric, const char *label,
                          const char *part)
{
    for (unsigned i = 0, first = scraping->next_sum; i < scraping->n_sums; i++) {
        unsigned at = (first + i) % scraping->n_sums;
        scraping->next_sum = at + 1;
        if (sum_is_of(&scraping->sums[at], metric, part))
            return &scraping->sums[at];
    }
    if (scraping->n_sums == SUMS_MAX)
        return NULL;
    struct sum *sum = &scraping->sums[scraping->n_sums++];
    *sum = (struct sum){.metric = *metric, .label = label};
    snprintf(sum->name, sizeof(sum->name), "%s", metric->name);
    snprintf(sum->part, sizeof(sum->part), "%s", part ? part : "");
    sum->metric.name = sum->name;
    return sum;
}

static void host_add(struct scraping *scraping, const char *host, const struct metric *metric,
                     const char *label, const char *part, uint64_t value)
{
    const struct label labels[LABELS_MAX] = {{"host", host}, {label, part}};
    exposition_add(scraping->exposition, metric, labels, label ? 2 : 1, value);
}

/* A number of the host. */
static void host_number(struct scraping *scraping, const struct metric *metric, const char *label,
                        const char *part, uint64_t value)
{
    struct sum *sum = scraping->host ? NULL : sum_of(scraping, metric, label, part);
    if (scraping->host)
        host_add(scraping, scraping->host, metric, label, part, value);
    else if (sum)
        sum->value += value;
}

static void on_host_counter(void *user, const struct counter *counter)
{
    char name[64];
    const struct metric metric = {name, counter->what,
                                  counter->now ? METRIC_GAUGE : METRIC_COUNTER};
    snprintf(name, sizeof(name), "host_%s", counter->name);
    host_number(user, &metric, counter->label, counter->part, counter->value);
}

static void host_gauge(struct scraping *scraping, const char *name, const char *what,
                       uint64_t value)
{
    const struct metric metric = {name, what, METRIC_GAUGE};
    host_number(scraping, &metric, NULL, NULL, value);
}

static void host_state(struct scraping *scraping, const struct host_view *host)
{
    const bool up = host->joined && !host->silent && !host->lost;
    host_gauge(scraping, "host_up", "1 while the host is heard and can get tasks", up);
    host_gauge(scraping, "host_draining", "1 while the host gets no new tasks by a drain",
               host->draining);
    host_gauge(scraping, "host_suspect", "1 while the host gets no new tasks for its faults",
               host->suspect);
    host_gauge(scraping, "host_slots", "Slots of the host",
               (uint64_t)host->total.amount[RES_SLOTS]);
    host_gauge(scraping, "host_slots_free", "Free slots of the host",
               (uint64_t)host->free.amount[RES_SLOTS]);
    host_gauge(scraping, "host_attempts", "Attempts that run on the host", host->running);
    if (!scraping->host)
        return; /* shares have no sum */
    host_gauge(scraping, "host_uplink_permille", "How full the host's uplink was",
               host->uplink_permille);
    host_gauge(scraping, "host_downlink_permille", "How full the host's downlink was",
               host->downlink_permille);
}

static void hosts_add(struct scraping *scraping, uint32_t most)
{
    struct agent_view agent;
    struct host_view host;
    uint32_t n = 0;
    for (uint32_t i = 0; agents_at(scraping->parts->agents, i, &agent) == 0; i++) {
        if (agent.state == AGENT_UNMARKED)
            continue;
        scraping->host = n++ < most ? agent.name : NULL;
        if (engine_host(scraping->parts->engine, agent.host, &host) == 0)
            host_state(scraping, &host);
        counters_of_agent(&agent, on_host_counter, scraping);
    }
    for (unsigned i = 0; i < scraping->n_sums; i++) {
        const struct sum *sum = &scraping->sums[i];
        host_add(scraping, OTHERS, &sum->metric, sum->label, sum->part, sum->value);
    }
}

static void agents_add(struct scraping *scraping)
{
    static const char *const names[] = {
        [AGENT_JOINING] = "joining", [AGENT_UP] = "up",     [AGENT_FULL] = "full",
        [AGENT_SILENT] = "silent",   [AGENT_LOST] = "lost", [AGENT_UNMARKED] = "unmarked"};
    const struct metric metric = {"agents", "Hosts and switches, by the state of their agent",
                                  METRIC_GAUGE};
    uint64_t counts[sizeof(names) / sizeof(names[0])] = {0};
    struct agent_view agent;
    for (uint32_t i = 0; agents_at(scraping->parts->agents, i, &agent) == 0; i++)
        counts[agent.state]++;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct label label = {"state", names[i]};
        exposition_add(scraping->exposition, &metric, &label, 1, counts[i]);
    }
}

static void cluster_add(struct scraping *scraping)
{
    struct engine_status s;
    engine_status(scraping->parts->engine, &s);
    gauge(scraping, "hosts", "Hosts that are known", s.hosts);
    gauge(scraping, "hosts_up", "Hosts that can get tasks", s.hosts_up);
    gauge(scraping, "hosts_suspect", "Hosts that get no new tasks for their faults",
          s.hosts_suspect);
    gauge(scraping, "slots", "Slots of hosts that are up", (uint64_t)s.slots);
    gauge(scraping, "slots_free", "Free slots of hosts that are up", (uint64_t)s.slots_free);
    gauge(scraping, "jobs_active", "Jobs that are not over", s.jobs_active);
    gauge(scraping, "tasks_ready", "Tasks that wait for a slot", s.tasks_ready);
    gauge(scraping, "attempts", "Attempts that run", s.attempts);
    gauge(scraping, "stages_held", "Stages that wait for a better slot", s.held_stages);
    gauge(scraping, "mode_starved", "1 in the slot-starved mode", s.mode == MODE_SLOT_STARVED);
    gauge(scraping, "congested", "1 while the network is congested", s.congested);
    gauge(scraping, "uplinks_full", "Uplinks above `cleared` of the configuration", s.hot_uplinks);
}

static void controller_add(struct scraping *scraping)
{
    const struct conductor_parts *parts = scraping->parts;
    const struct metric build = {"build_info", "1, with the version of the controller",
                                 METRIC_GAUGE};
    const struct label version = {"version", DUOPOLY_VERSION};
    exposition_add(scraping->exposition, &build, &version, 1, 1);
    gauge(scraping, "ready", "1 while the controller takes work", !scrape_unready(parts));
    gauge(scraping, "epoch", "The controller's epoch: it grows with each start",
          epoch_number(parts->epoch));
    gauge(scraping, "uptime_ns", "Time since the controller started",
          (uint64_t)(clock_now_ns(parts->clock) - parts->started_ns));
}

static void times_add(struct scraping *scraping)
{
    const struct conductor_parts *parts = scraping->parts;
    const struct agents_times *times = agents_times(parts->agents);
    struct store_writer_counters store;
    struct exposition *exposition = scraping->exposition;
    store_counters(parts->store, &store);
    exposition_histogram(exposition, "decision", "Time of a step of the engine", &parts->steps);
    exposition_histogram(exposition, "start",
                         "Time from a start that is sent until its host answers", &times->starts);
    exposition_histogram(exposition, "mode_change",
                         "Time from a change of the mode until all hosts have it",
                         &times->mode_changes);
    exposition_histogram(exposition, "commit", "Time of a commit until it is on the disk",
                         &store.times);
}

char *scrape(const struct listing_sources *sources, uint32_t hosts_most, size_t *ret_size)
{
    struct scraping scraping = {.exposition = exposition_begin(), .parts = sources->parts};
    if (!scraping.exposition)
        return NULL;
    controller_add(&scraping);
    cluster_add(&scraping);
    agents_add(&scraping);
    times_add(&scraping);
    counters_of_controller(sources, on_counter, &scraping);
    hosts_add(&scraping, hosts_most);
    return exposition_end(scraping.exposition, ret_size);
}

const char *scrape_unready(const struct conductor_parts *parts)
{
    if (store_refusal(parts->store, NULL) < 0)
        return "the store cannot be written";
    if (agents_resyncing(parts->agents))
        return "hosts that were known before the restart have not said what runs there";
    return NULL;
}
