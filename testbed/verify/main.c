/* duopoly-verify: captures the replay's transfers at the switch until SIGTERM or SIGINT, then holds
 * each packet's mark against the controller's recording and the tasks' own words. Exit status 0:
 * all right; 1: wrong or unattributed packets, or none at all; 2: it could not be done. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/loop.h"
#include "lib/number.h"
#include "lib/program.h"
#include "testbed/verify/capture_pcap.h"
#include "testbed/verify/judge.h"

enum { LOGS_MAX = 64, INTERFACES_MAX = 1024 };

struct arguments {
    char *interfaces[INTERFACES_MAX], *logs[LOGS_MAX];
    unsigned n_interfaces, n_logs;
    const char *ports, *json;
    uint16_t port;
    int64_t window_ns;
};

const char *argp_program_version = "duopoly-verify " DUOPOLY_VERSION;

static const struct argp_option option_table[] = {
    {"log", 'l', "FILE", 0, "the controller's recording: its folder, or files, oldest first", 0},
    {"ports", 'P', "DIR", 0, "where the tasks wrote their connections down", 0},
    {"port", 'p', "N", 0, "the replay servers' port", 0},
    {"window", 'w', "MS", 0, "how long after a change the old mark is let pass (2000)", 0},
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
    case 'P':
        arguments->ports = value;
        return 0;
    case 'p':
        arguments->port = (uint16_t)read_number(state, value, UINT16_MAX);
        return 0;
    case 'w':
        arguments->window_ns = (int64_t)read_number(state, value, 1000000) * 1000000;
        return 0;
    case 'j':
        arguments->json = value;
        return 0;
    case ARGP_KEY_ARG:
        add_word(state, arguments->interfaces, &arguments->n_interfaces, INTERFACES_MAX, value);
        return 0;
    case ARGP_KEY_END:
        if (!arguments->n_interfaces || !arguments->n_logs || !arguments->ports || !arguments->port)
            argp_failure(state, 2, 0, "interfaces, --log, --ports and --port are needed");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int capture_until_told(const struct arguments *arguments, struct packets *packets,
                              struct err *err)
{
    struct capture *capture = NULL;
    sd_event *event = NULL;
    int r = loop_open(&event, err);
    if (r < 0)
        goto fail;
    r = capture_open(event, arguments->interfaces, arguments->n_interfaces, arguments->port,
                     packets, &capture, err);
    if (r < 0)
        goto fail;
    printf("capturing on %u ports\n", arguments->n_interfaces);
    fflush(stdout);
    if ((r = sd_event_loop(event)) < 0)
        err_sys(err, -r, "the event loop ended");
    packets->lost += capture_drain(capture);
fail:
    capture_close(capture);
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

static int run(const struct arguments *arguments, struct err *err)
{
    struct packets packets;
    struct truth truth;
    struct verdict verdict = {0};
    packets_init(&packets);
    truth_init(&truth);
    int r = capture_until_told(arguments, &packets, err);
    if (r >= 0)
        r = load_truth(arguments, &truth, err);
    if (r == 0)
        r = judge(&truth, &packets, arguments->window_ns, &verdict, err);
    if (r == 0)
        verdict_print(&verdict, arguments->window_ns, stdout);
    if (r == 0 && arguments->json)
        r = write_json(arguments->json, &verdict, err);
    if (r == 0)
        r = verdict_is_good(&verdict) ? 0 : 1;
    verdict_done(&verdict);
    truth_done(&truth);
    packets_done(&packets);
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
    static struct arguments arguments = {.window_ns = 2000000000};
    struct err err = {0};
    program_begin();
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    int r = run(&arguments, &err);
    if (r < 0)
        fprintf(stderr, "duopoly-verify: %s\n", err.text);
    return r < 0 ? 2 : r;
}
