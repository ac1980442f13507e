/* duopoly-verify: captures the replay's transfers at switches until SIGTERM or SIGINT, then holds
 * each packet's mark against the controller's recording and the tasks' own words, and follows it
 * from port to port. Of a framework's tasks, others write these words (schemas/ports.md). Exit
 * status 0: all right; 1: wrong, unattributed or unexplained packets, or none at all; 2: it could
 * not be done. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/loop.h"
#include "lib/number.h"
#include "lib/port/port.h"
#include "lib/program.h"
#include "testbed/verify/capture_pcap.h"
#include "testbed/verify/counters_fastpath.h"
#include "testbed/verify/counters_nl.h"
#include "testbed/verify/hops.h"
#include "testbed/verify/judge.h"

enum { LOGS_MAX = 64, INTERFACES_MAX = 1024, SETTLE_TRIES = 50, FASTPATHS_MAX = 64 };

struct arguments {
    char *interfaces[INTERFACES_MAX], *hops[HOPS_PORTS], *logs[LOGS_MAX], *fastpaths[FASTPATHS_MAX];
    unsigned n_interfaces, n_hops, n_logs, n_fastpaths;
    const char *ports, *json;
    struct capture_range range;
    struct judge_windows windows; /* begin_ns −1: as after a change */
};

const char *argp_program_version = "duopoly-verify " DUOPOLY_VERSION;

static const struct argp_option option_table[] = {
    {"log", 'l', "FILE", 0, "the controller's recording: its folder, or files, oldest first", 0},
    {"ports", 'P', "DIR", 0, "where the tasks recorded their connections", 0},
    {"hop", 'H', "INTERFACE[@NETNS_FILE]", 0,
     "a port whose outgoing packets and queue counters are checked too (may be repeated)", 0},
    {"dataplane", 'L', "SOCKET[@NETNS_FILE]", 0,
     "a duopoly-fastpath whose ports, named like their interfaces, are the hops there (may be "
     "repeated)",
     0},
    {"port", 'p', "N[-N]", 0, "the servers' port, or the first and the last of them", 0},
    {"window", 'w', "MS", 0, "how long after a change the old mark is accepted (2000)", 0},
    {"begin", 'b', "MS", 0,
     "how long after a framework's task began older marks are accepted (as after a change)", 0},
    {"json", 'j', "FILE", 0, "write the result there too", 0},
    {0},
};

static unsigned long read_number(struct argp_state *state, const char *value, unsigned long max)
{
    uint64_t number = 0;
    if (number_read(value, 0, max, &number) < 0)
        argp_failure(state, 2, 0, "\"%s\" is not a number up to %lu", value, max);
    return number;
}

/* N or N-N. */
static struct capture_range read_range(struct argp_state *state, const char *value)
{
    uint64_t first = 0, last = 0;
    const char *rest = number_take(value, UINT16_MAX, &first);
    bool fits = rest && first;
    last = first;
    if (fits && *rest == '-')
        fits = number_read(rest + 1, first, UINT16_MAX, &last) == 0;
    else
        fits = fits && !*rest;
    if (!fits)
        argp_failure(state, 2, 0, "\"%s\" is no port, and no range of ports as 7000-7015", value);
    return (struct capture_range){(uint16_t)first, (uint16_t)last};
}

static void add_word(struct argp_state *state, char **words, unsigned *n, unsigned max, char *word)
{
    if (*n == max)
        argp_failure(state, 2, 0, "more than %u are not taken", max);
    words[(*n)++] = word;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'l':
        add_word(state, arguments->logs, &arguments->n_logs, LOGS_MAX, value);
        return 0;
    case 'H':
        add_word(state, arguments->hops, &arguments->n_hops, HOPS_PORTS, value);
        return 0;
    case 'L':
        add_word(state, arguments->fastpaths, &arguments->n_fastpaths, FASTPATHS_MAX, value);
        return 0;
    case 'P':
        arguments->ports = value;
        return 0;
    case 'p':
        arguments->range = read_range(state, value);
        return 0;
    case 'w':
        arguments->windows.change_ns = (int64_t)read_number(state, value, 1000000) * 1000000;
        return 0;
    case 'b':
        arguments->windows.begin_ns = (int64_t)read_number(state, value, 1000000) * 1000000;
        return 0;
    case 'j':
        arguments->json = value;
        return 0;
    case ARGP_KEY_ARG:
        add_word(state, arguments->interfaces, &arguments->n_interfaces, INTERFACES_MAX, value);
        return 0;
    case ARGP_KEY_END:
        if (!arguments->n_interfaces || !arguments->n_logs || !arguments->ports ||
            !arguments->range.first)
            argp_failure(state, 2, 0, "interfaces, --log, --ports and --port are needed");
        if (arguments->windows.begin_ns < 0)
            arguments->windows.begin_ns = arguments->windows.change_ns;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The number of a port among the hops; where a host is behind it, that is one of both lists. */
static bool find_hop(const struct arguments *arguments, const char *where, unsigned *ret_hop)
{
    for (unsigned i = 0; i < arguments->n_hops; i++)
        if (strcmp(arguments->hops[i], where) == 0) {
            *ret_hop = i;
            return true;
        }
    return false;
}

static int list_ports(const struct arguments *arguments, struct hops *hops,
                      struct capture_port *ports, struct err *err)
{
    unsigned n = arguments->n_interfaces, number;
    for (unsigned i = 0; i < arguments->n_hops; i++) {
        int r = hops_add_port(hops, arguments->hops[i], &number, err);
        if (r < 0)
            return r;
        ports[n++] = (struct capture_port){arguments->hops[i], true, number};
    }
    for (unsigned i = 0; i < arguments->n_interfaces; i++) {
        ports[i] = (struct capture_port){.where = arguments->interfaces[i]};
        if (!arguments->n_hops)
            continue;
        if (!find_hop(arguments, ports[i].where, &ports[i].hop))
            return err_set(err, EINVAL, "%s is no --hop, as every port must be where one is given",
                           ports[i].where);
        hops->ports[ports[i].hop].edge = true;
    }
    return 0;
}

/* The part behind the first @, "" where there is none. */
static const char *space_of(const char *where)
{
    const char *at = strchr(where, '@');
    return at ? at + 1 : "";
}

static int read_counters(const struct arguments *arguments, const char *where,
                         struct hops_counters *ret_counters, struct err *err)
{
    char socket[108], port[PORT_LONG_NAME];
    for (unsigned i = 0; i < arguments->n_fastpaths; i++) {
        const char *fastpath = arguments->fastpaths[i];
        if (strcmp(space_of(fastpath), space_of(where)) != 0)
            continue;
        snprintf(socket, sizeof(socket), "%.*s", (int)strcspn(fastpath, "@"), fastpath);
        snprintf(port, sizeof(port), "%.*s", (int)strcspn(where, "@"), where);
        return counters_fastpath_read(socket, port, ret_counters, err);
    }
    return counters_read(where, ret_counters, err);
}

static int read_before(const struct arguments *arguments, struct hops *hops, struct err *err)
{
    int r = 0;
    for (unsigned i = 0; r == 0 && i < hops->n_ports; i++)
        r = read_counters(arguments, hops->ports[i].name, &hops->ports[i].before, err);
    return r;
}

static int read_after(const struct arguments *arguments, struct hops *hops, bool *ret_moved,
                      struct err *err)
{
    int r = 0;
    *ret_moved = false;
    for (unsigned i = 0; r == 0 && i < hops->n_ports; i++) {
        struct hops_counters now, *after = &hops->ports[i].after;
        r = read_counters(arguments, hops->ports[i].name, &now, err);
        *ret_moved = *ret_moved || memcmp(&now, after, sizeof(now)) != 0;
        *after = now;
    }
    return r;
}

/* The last packets may still be under way: captures and counters show one state if nothing has left
 * meanwhile. */
static int settle(const struct arguments *arguments, struct capture *capture, struct hops *hops,
                  uint64_t *ret_dropped, struct err *err)
{
    bool moved;
    int r = read_after(arguments, hops, &moved, err);
    for (unsigned try = 0; r == 0 && try < SETTLE_TRIES && (try == 0 || moved); try++) {
        *ret_dropped = capture_drain(capture);
        r = read_after(arguments, hops, &moved, err);
    }
    return r;
}

static int capture_loop(sd_event *event, const struct capture_port *ports, unsigned n,
                        const struct arguments *arguments, struct packets *packets,
                        struct hops *hops, struct err *err)
{
    struct capture *capture = NULL;
    uint64_t dropped = 0;
    int r = capture_open(event, ports, n, arguments->range, packets, hops->n_ports ? hops : NULL,
                         &capture, err);
    if (r < 0)
        return r;
    r = read_before(arguments, hops, err);
    if (r == 0) {
        printf("capturing on %u ports\n", arguments->n_interfaces);
        fflush(stdout);
        r = sd_event_loop(event);
        r = r < 0 ? err_sys(err, -r, "the event loop ended") : 0;
    }
    if (r == 0)
        r = settle(arguments, capture, hops, &dropped, err);
    packets->lost += dropped;
    capture_close(capture);
    return r;
}

static int capture_until_told(const struct arguments *arguments, struct packets *packets,
                              struct hops *hops, struct err *err)
{
    static struct capture_port ports[INTERFACES_MAX + HOPS_PORTS];
    sd_event *event = NULL;
    int r = list_ports(arguments, hops, ports, err);
    if (r == 0)
        r = loop_open(&event, err);
    if (r >= 0)
        r = capture_loop(event, ports, arguments->n_interfaces + arguments->n_hops, arguments,
                         packets, hops, err);
    sd_event_unref(event);
    return r;
}

static int load_truth(const struct arguments *arguments, struct truth *truth, struct err *err)
{
    int r = truth_load_ports(truth, arguments->ports, err);
    for (unsigned i = 0; r == 0 && i < arguments->n_logs; i++)
        r = truth_load_recording(truth, arguments->logs[i], err);
    truth_finish(truth);
    return r;
}

static int write_json(const char *path, const struct verdict *verdict, struct err *err)
{
    FILE *out = fopen(path, "we");
    if (!out)
        return err_sys(err, errno, "cannot write %s", path);
    verdict_print_json(verdict, out);
    return fclose(out) != 0 ? err_sys(err, errno, "cannot write %s", path) : 0;
}

/* Without all sightings nothing can be said. Returns whether everything is explained. */
static int follow(struct hops *hops, const struct verdict *verdict, struct err *err)
{
    struct hops_report report;
    if (verdict->lost) {
        printf("hop by hop: not judged, %" PRIu64 " frames were lost by the capture\n",
               verdict->lost);
        return 0;
    }
    int r = hops_judge(hops, verdict, &report, err);
    if (r == 0) {
        hops_print(hops, &report, stdout);
        r = hops_unexplained(&report) ? 1 : 0;
    }
    hops_report_done(&report);
    return r;
}

static int run(const struct arguments *arguments, struct err *err)
{
    static struct hops hops;
    struct packets packets;
    struct truth truth;
    struct verdict verdict = {0};
    int unexplained = 0;
    packets_init(&packets);
    truth_init(&truth);
    int r = capture_until_told(arguments, &packets, &hops, err);
    if (r >= 0)
        r = load_truth(arguments, &truth, err);
    if (r == 0)
        r = judge(&truth, &packets, &arguments->windows, &verdict, err);
    verdict.lost += hops.lost;
    if (r == 0)
        verdict_print(&verdict, &arguments->windows, stdout);
    if (r == 0 && hops.n_ports)
        unexplained = follow(&hops, &verdict, err);
    r = unexplained < 0 ? unexplained : r;
    if (r == 0 && arguments->json)
        r = write_json(arguments->json, &verdict, err);
    if (r == 0)
        r = verdict_is_good(&verdict) && !unexplained ? 0 : 1;
    verdict_done(&verdict);
    truth_done(&truth);
    packets_done(&packets);
    hops_done(&hops);
    return r;
}

int main(int argc, char **argv)
{
    const struct argp argp = {
        .options = option_table,
        .parser = parse_option,
        .args_doc = "INTERFACE[@NETNS_FILE]...",
        .doc = "Captures the replay's transfers on switches' ports until SIGTERM or SIGINT, then "
               "checks each payload "
               "packet's mark against what the controller decided and the tasks wrote down.",
    };
    static struct arguments arguments = {.windows = {.change_ns = 2000000000, .begin_ns = -1}};
    struct err err = {0};
    program_begin();
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    int r = run(&arguments, &err);
    if (r < 0)
        fprintf(stderr, "duopoly-verify: %s\n", err.text);
    return r < 0 ? 2 : r;
}
