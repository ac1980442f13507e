#include "hostagent/marks/probe.h"

#include "hostagent/marks/echo.h"
#include "hostagent/marks/probe_judge.h"
#include "lib/log.h"
#include "lib/plural.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUND_US    (PROBE_S * UINT64_C(1000000))
#define SEARCH      5 /* rounds between two looks for neighbours that answer, after as many */
#define SAY_UNKNOWN 8 /* rounds before reporting what cannot be tested */

enum { OUT, IN, WAYS };

struct port_probe {
    int ifindex;
    char name[PORT_NAME];
    struct neighbour to; /* bytes 0: none is known */
    uint32_t unanswered; /* rounds */
    bool quiet;          /* the last one was */
    int sock;            /* of this round's packet; −1: none left */
    struct mark_probe before;
    struct probe_judge judges[WAYS];
};

struct probe {
    struct probe_config config;
    sd_event_source *timer;
    struct port_probe *ports;
    uint32_t ports_n;
    uint64_t rounds;
    bool search; /* in this round: a neighbour may be gone */
    char said[PROBE_TEXT];
};

static void end_round(struct port_probe *port)
{
    if (port->sock >= 0)
        close(port->sock);
    port->sock = -1;
}

static enum probe_round round_of(bool proves, bool counted)
{
    return !proves ? PROBE_NOTHING : counted ? PROBE_COUNTED : PROBE_MISSED;
}

/* A packet that was not counted may not have left, if its neighbour was being resolved: a known one
 * is looked for before the next round. */
static void judge_port(struct probe *probe, struct port_probe *port)
{
    struct mark_probe now;
    bool lost = false;
    if (marks_probed(probe->config.marks, port->ifindex, &now, NULL) < 0)
        memset(port->judges, 0, sizeof(port->judges));
    else if (port->sock >= 0) {
        bool answered = echo_has_come(port->sock, &lost), counted = now.sent > port->before.sent;
        port->quiet = !answered;
        port->unanswered += port->quiet;
        probe_judge(&port->judges[OUT], round_of(!lost, counted));
        probe_judge(&port->judges[IN], round_of(answered, now.arrived > port->before.arrived));
        if (lost || !counted)
            port->to.bytes = 0;
        probe->search = probe->search || !counted;
    }
    end_round(port);
}

static bool passes_by(const struct port_probe *port)
{
    return port->judges[OUT].verdict == PROBE_PASSED_BY ||
           port->judges[IN].verdict == PROBE_PASSED_BY;
}

static void describe(const struct probe *probe, char text[PROBE_TEXT])
{
    const struct port_probe *first = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < probe->ports_n; i++) {
        n += passes_by(&probe->ports[i]);
        if (!first && passes_by(&probe->ports[i]))
            first = &probe->ports[i];
    }
    text[0] = 0;
    if (!first)
        return;
    bool out = first->judges[OUT].verdict == PROBE_PASSED_BY,
         in = first->judges[IN].verdict == PROBE_PASSED_BY;
    int used = snprintf(text, PROBE_TEXT,
                        "%s: what %s passes our program by, as somebody else's takes it before",
                        first->name,
                        out && in ? "is sent and what arrives"
                        : out     ? "is sent"
                                  : "arrives");
    if (n > 1 && used > 0 && used < PROBE_TEXT)
        snprintf(text + used, PROBE_TEXT - (size_t)used, "; so on %u port%s more", n - 1,
                 plural(n - 1));
}

static void say(struct probe *probe)
{
    char text[PROBE_TEXT];
    describe(probe, text);
    if (strcmp(text, probe->said) == 0)
        return;
    if (text[0])
        log_warning(LOG_FAULT_CONFIGURATION, "%s: no mark is sure there (tc filter, bpftool net)",
                    text);
    else
        log_note("packets come by our programs again on all ports");
    memcpy(probe->said, text, sizeof(text));
    probe->config.on_change(probe->config.user, text);
}

static uint32_t count_unknown(const struct probe *probe, int way, const char **ret_name)
{
    uint32_t n = 0;
    for (uint32_t i = probe->ports_n; i-- > 0;)
        if (probe->ports[i].judges[way].verdict == PROBE_UNKNOWN) {
            *ret_name = probe->ports[i].name;
            n++;
        }
    return n;
}

static void say_unknown(const struct probe *probe)
{
    static const char *const words[WAYS] = {"is sent: no neighbour is known there",
                                            "arrives: no neighbour answers there"};
    for (int way = 0; way < WAYS; way++) {
        const char *name = "";
        uint32_t n = count_unknown(probe, way, &name);
        if (n)
            log_note("on %u port%s (%s) our program is not probed with what %s", n, plural(n), name,
                     words[way]);
    }
}

static bool needs_another(const struct port_probe *port)
{
    return !port->to.bytes || port->quiet;
}

static bool search_is_due(const struct probe *probe)
{
    bool due = probe->search || probe->rounds <= SEARCH || probe->rounds % SEARCH == 0;
    for (uint32_t i = 0; due && i < probe->ports_n; i++)
        if (needs_another(&probe->ports[i]))
            return true;
    return false;
}

/* Each in turn. */
static void choose(struct port_probe *port, const struct neighbour *all, uint32_t n)
{
    uint32_t of_port = 0, skip;
    for (uint32_t i = 0; i < n; i++)
        of_port += all[i].ifindex == port->ifindex;
    port->to.bytes = 0;
    skip = of_port ? port->unanswered % of_port : 0;
    for (uint32_t i = 0; i < n; i++)
        if (all[i].ifindex == port->ifindex && skip-- == 0)
            port->to = all[i];
}

static void find_neighbours(struct probe *probe)
{
    struct neighbour *all;
    uint32_t n;
    if (!search_is_due(probe) || neighbours_read(&all, &n, NULL) < 0)
        return;
    for (uint32_t i = 0; i < probe->ports_n; i++)
        if (needs_another(&probe->ports[i]))
            choose(&probe->ports[i], all, n);
    probe->search = false;
    free(all);
}

/* What is known of a port is kept with it. */
static void follow_ports(struct probe *probe)
{
    const struct ports_found *now = probe->config.ports;
    struct port_probe *ports = calloc(now->n ? now->n : 1, sizeof(*ports));
    if (!ports)
        return;
    for (uint32_t i = 0; i < now->n; i++) {
        ports[i] = (struct port_probe){.ifindex = now->ifindexes[i], .sock = -1};
        for (uint32_t j = 0; j < probe->ports_n; j++)
            if (probe->ports[j].ifindex == ports[i].ifindex)
                ports[i] = probe->ports[j];
        memcpy(ports[i].name, now->names[i], PORT_NAME);
    }
    free(probe->ports);
    probe->ports = ports;
    probe->ports_n = now->n;
}

static bool is_same(const struct probe *probe)
{
    const struct ports_found *now = probe->config.ports;
    bool same = now->n == probe->ports_n;
    for (uint32_t i = 0; same && i < now->n; i++)
        same = probe->ports[i].ifindex == now->ifindexes[i] &&
               strcmp(probe->ports[i].name, now->names[i]) == 0;
    return same;
}

static void send_from(struct probe *probe, struct port_probe *port)
{
    if (port->to.bytes &&
        marks_probed(probe->config.marks, port->ifindex, &port->before, NULL) >= 0 &&
        echo_send(port->name, &port->to, &port->sock, NULL) < 0)
        port->to.bytes = 0;
}

static int on_round(sd_event_source *source, uint64_t usec, void *user)
{
    struct probe *probe = user;
    (void)usec;
    for (uint32_t i = 0; i < probe->ports_n; i++)
        judge_port(probe, &probe->ports[i]);
    if (!is_same(probe))
        follow_ports(probe);
    say(probe);
    if (++probe->rounds == SAY_UNKNOWN)
        say_unknown(probe);
    find_neighbours(probe);
    for (uint32_t i = 0; i < probe->ports_n; i++)
        send_from(probe, &probe->ports[i]);
    sd_event_source_set_time_relative(source, ROUND_US);
    sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    return 0;
}

int probe_open(const struct probe_config *config, sd_event *event, struct probe **ret_probe,
               struct err *err)
{
    struct probe *probe = NULL;
    if (!marks_count_probes(config->marks)) {
        *ret_probe = NULL;
        return 0;
    }
    probe = calloc(1, sizeof(*probe));
    if (!probe)
        return err_sys(err, ENOMEM, "probes");
    probe->config = *config;
    int r =
        sd_event_add_time_relative(event, &probe->timer, CLOCK_MONOTONIC, 0, 0, on_round, probe);
    if (r < 0) {
        free(probe);
        return err_sys(err, -r, "the event loop");
    }
    *ret_probe = probe;
    return 0;
}

void probe_close(struct probe *probe)
{
    if (!probe)
        return;
    sd_event_source_disable_unref(probe->timer);
    for (uint32_t i = 0; i < probe->ports_n; i++)
        end_round(&probe->ports[i]);
    free(probe->ports);
    free(probe);
}
