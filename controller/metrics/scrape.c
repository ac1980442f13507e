#include "controller/metrics/scrape.h"

#include "controller/clients/counters.h"
#include "controller/metrics/exposition.h"
#include "lib/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OTHERS        "*" /* no name has this character */
#define SERIES_MAX    64  /* different numbers of a host: there are fewer */
#define LABELS_MAX    3
#define HOSTS_AT_ONCE 16
#define STATES        (AGENT_UNMARKED + 1)

/* One of the numbers that each host has. */
struct series {
    const char *name, *part; /* of the counter */
    struct family *family;
    char more[32];   /* labels behind the host's */
    bool summed;     /* a host without series of its own has it */
    uint64_t others; /* the sum of all those */
};

struct scraping {
    struct exposition *exposition;
    const struct listing_sources *sources;
    const struct conductor_parts *parts;
    unsigned stage;
    uint32_t hosts_most, hosts; /* with series of their own: at most; so far with those without */
    char last[64];              /* the name of the last host that is done; "" */
    bool own;                   /* the present one has series of its own, with this label */
    struct text label;
    struct series series[SERIES_MAX];
    unsigned n_series, next_series; /* the one after the last that was found */
    uint64_t states[STATES];        /* agents in each */
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

static void host_label(struct scraping *scraping, const char *host)
{
    const struct label label = {"host", host};
    scraping->label.used = 0;
    labels_add(&scraping->label, &label, 1);
}

/* NULL: there is no more room. */
static struct series *series_new(struct scraping *scraping, const struct counter *counter)
{
    char name[64];
    const struct metric metric = {name, counter->what,
                                  counter->now ? METRIC_GAUGE : METRIC_COUNTER};
    if (scraping->n_series == SERIES_MAX)
        return NULL;
    struct series *series = &scraping->series[scraping->n_series++];
    snprintf(name, sizeof(name), "host_%s", counter->name);
    *series = (struct series){.name = counter->name,
                              .part = counter->part,
                              .family = exposition_family(scraping->exposition, &metric)};
    if (counter->label)
        snprintf(series->more, sizeof(series->more), ",%s=\"%s\"", counter->label, counter->part);
    return series;
}

/* WHY by the addresses of its texts: a host has some 40 numbers, and a cluster 10 000 hosts. */
static struct series *series_of(struct scraping *scraping, const struct counter *counter)
{
    for (unsigned i = 0, first = scraping->next_series; i < scraping->n_series; i++) {
        const unsigned at = (first + i) % scraping->n_series;
        struct series *series = &scraping->series[at];
        scraping->next_series = at + 1;
        if (series->name == counter->name && series->part == counter->part)
            return series;
    }
    return series_new(scraping, counter);
}

/* A number of the present host. */
static void on_number(void *user, const struct counter *counter)
{
    struct scraping *scraping = user;
    struct series *series = series_of(scraping, counter);
    if (!series)
        return;
    if (scraping->own) {
        family_add(series->family, &scraping->label, series->more, counter->value);
    } else {
        series->others += counter->value;
        series->summed = true;
    }
}

static void host_gauge(struct scraping *scraping, const char *name, const char *what,
                       uint64_t value)
{
    const struct counter counter = {.name = name, .what = what, .now = true, .value = value};
    on_number(scraping, &counter);
}

static void host_state(struct scraping *scraping, const struct host_view *host)
{
    const bool up = host->joined && !host->silent && !host->lost;
    host_gauge(scraping, "up", "1 while the host is heard and can get tasks", up);
    host_gauge(scraping, "draining", "1 while the host gets no new tasks by a drain",
               host->draining);
    host_gauge(scraping, "suspect", "1 while the host gets no new tasks for its faults",
               host->suspect);
    host_gauge(scraping, "slots", "Slots of the host", (uint64_t)host->total.amount[RES_SLOTS]);
    host_gauge(scraping, "slots_free", "Free slots of the host",
               (uint64_t)host->free.amount[RES_SLOTS]);
    host_gauge(scraping, "attempts", "Attempts that run on the host", host->running);
    if (!scraping->own)
        return; /* shares have no sum */
    host_gauge(scraping, "uplink_permille", "How full the host's uplink was",
               host->uplink_permille);
    host_gauge(scraping, "downlink_permille", "How full the host's downlink was",
               host->downlink_permille);
}

static void host_add(struct scraping *scraping, const struct agent_view *agent)
{
    struct host_view host;
    scraping->states[agent->state]++;
    if (agent->state == AGENT_UNMARKED)
        return;
    scraping->own = scraping->hosts++ < scraping->hosts_most;
    if (scraping->own)
        host_label(scraping, agent->name);
    if (engine_host(scraping->parts->engine, agent->host, &host) == 0)
        host_state(scraping, &host);
    counters_of_agent(agent, on_number, scraping);
}

static bool hosts_add(struct scraping *scraping)
{
    const struct agents *agents = scraping->parts->agents;
    uint32_t place = agents_after(agents, scraping->last);
    struct agent_view agent;
    for (int i = 0; i < HOSTS_AT_ONCE; i++) {
        if (agents_at(agents, place++, &agent) < 0)
            return false;
        host_add(scraping, &agent);
    }
    snprintf(scraping->last, sizeof(scraping->last), "%s", agent.name);
    return true;
}

static void sums_add(struct scraping *scraping)
{
    host_label(scraping, OTHERS);
    for (unsigned i = 0; i < scraping->n_series; i++) {
        const struct series *series = &scraping->series[i];
        if (series->summed)
            family_add(series->family, &scraping->label, series->more, series->others);
    }
}

static void agents_add(struct scraping *scraping)
{
    static const char *const names[STATES] = {
        [AGENT_JOINING] = "joining", [AGENT_UP] = "up",     [AGENT_FULL] = "full",
        [AGENT_SILENT] = "silent",   [AGENT_LOST] = "lost", [AGENT_UNMARKED] = "unmarked"};
    const struct metric metric = {"agents", "Hosts and switches, by the state of their agent",
                                  METRIC_GAUGE};
    for (size_t i = 0; i < STATES; i++) {
        const struct label label = {"state", names[i]};
        exposition_add(scraping->exposition, &metric, &label, 1, scraping->states[i]);
    }
}

/* What is known when all hosts are done. */
static bool totals_add(struct scraping *scraping)
{
    sums_add(scraping);
    agents_add(scraping);
    return false;
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

static bool cluster_and_controller_add(struct scraping *scraping)
{
    controller_add(scraping);
    cluster_add(scraping);
    times_add(scraping);
    counters_of_controller(scraping->sources, on_counter, scraping);
    return false;
}

static bool families_join(struct scraping *scraping)
{
    return exposition_join(scraping->exposition);
}

/* Each is called until it returns false. */
static bool (*const stages[])(struct scraping *scraping) = {cluster_and_controller_add, hosts_add,
                                                            totals_add, families_join, NULL};

struct scraping *scrape_begin(const struct listing_sources *sources, uint32_t hosts_most)
{
    struct scraping *scraping = calloc(1, sizeof(*scraping));
    struct exposition *exposition = scraping ? exposition_begin() : NULL;
    if (!exposition) {
        free(scraping);
        return NULL;
    }
    scraping->exposition = exposition;
    scraping->sources = sources;
    scraping->parts = sources->parts;
    scraping->hosts_most = hosts_most;
    return scraping;
}

bool scrape_go_on(struct scraping *scraping)
{
    if (!stages[scraping->stage](scraping))
        scraping->stage++;
    return stages[scraping->stage] != NULL;
}

char *scrape_end(struct scraping *scraping, size_t *ret_size)
{
    char *text = exposition_end(scraping->exposition, ret_size);
    text_done(&scraping->label);
    free(scraping);
    return text;
}

void scrape_drop(struct scraping *scraping)
{
    if (!scraping)
        return;
    exposition_drop(scraping->exposition);
    text_done(&scraping->label);
    free(scraping);
}

const char *scrape_unready(const struct conductor_parts *parts)
{
    if (store_refusal(parts->store, NULL) < 0)
        return "the store cannot be written";
    if (agents_resyncing(parts->agents))
        return "hosts that were known before the restart have not said what runs there";
    return NULL;
}
