/* duopoly-replay: replays a workload against a running duopolyd. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/client.h"
#include "lib/number.h"
#include "lib/program.h"
#include "testbed/replay/driver.h"

struct arguments {
    struct driver_options driver;
    const char *results;
};

const char *argp_program_version = "duopoly-replay " DUOPOLY_VERSION;

static const struct argp_option option_table[] = {
    {"socket", 's', "PATH", 0, "of duopolyd (" CLIENT_SOCKET ")", 0},
    {"results", 'o', "FILE", 0, "write one JSON line a job there", 0},
    {"label", 'l', "WORD", 0, "what to call this run", 0},
    {"set", 'S', "NAME=VALUE", 0,
     "jobs of any workload, and how a trace is converted: jobs, speed, cap, scale, hosts, slots, "
     "link, seed, compute, "
     "map_mb, replicas",
     0},
    {"rounds", 'r', "N", 0, "replay it N times, one after the other; 0: for ever (1)", 0},
    {"patience", 'p', "SECONDS", 0,
     "give up when no job ends for so long after the last arrival; 0: never (120)", 0},
    {0},
};

static uint64_t read_count(struct argp_state *state, const char *name, const char *value)
{
    uint64_t number = 0;
    if (number_read(value, 0, UINT32_MAX, &number) < 0)
        argp_failure(state, 2, 0, "%s is \"%s\", must be a number from 0 to 4294967295", name,
                     value);
    return number;
}

static void set_option(struct argp_state *state, struct workload_convert *convert, char *pair)
{
    struct err err;
    char *value = strchr(pair, '=');
    if (!value)
        argp_failure(state, 2, 0, "--set needs NAME=VALUE");
    *value++ = 0;
    if (workload_convert_set(convert, pair, value, &err) < 0)
        argp_failure(state, 2, 0, "%s", err.text);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct driver_options *driver = &arguments->driver;
    switch (key) {
    case 's':
        driver->socket = value;
        return 0;
    case 'o':
        arguments->results = value;
        return 0;
    case 'l':
        driver->label = value;
        return 0;
    case 'S':
        set_option(state, &driver->convert, value);
        return 0;
    case 'r':
        driver->rounds = read_count(state, "rounds", value);
        return 0;
    case 'p':
        driver->patience_ns = read_count(state, "patience", value) * 1000000000u;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            return ARGP_ERR_UNKNOWN;
        driver->workload = value;
        return 0;
    case ARGP_KEY_END:
        if (!driver->workload)
            argp_failure(state, 2, 0, "which workload?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    const struct argp argp = {
        .options = option_table,
        .parser = parse_option,
        .args_doc = "WORKLOAD",
        .doc = "Submits each job of a workload (schemas/workload.md, or a Facebook Coflow "
               "benchmark trace) to duopolyd "
               "at its arrival and waits for the last to end.",
    };
    struct arguments arguments = {.driver = {.socket = CLIENT_SOCKET,
                                             .label = "replay",
                                             .convert = workload_convert_defaults,
                                             .words = stdout,
                                             .terminal = isatty(STDOUT_FILENO),
                                             .rounds = 1,
                                             .patience_ns = 120000000000u}};
    struct err err = {0};
    program_begin();
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (arguments.results && !(arguments.driver.results = fopen(arguments.results, "we"))) {
        fprintf(stderr, "duopoly-replay: cannot write %s: %s\n", arguments.results,
                strerror(errno));
        return 2;
    }
    int r = driver_run(&arguments.driver, &err);
    if (arguments.driver.results)
        fclose(arguments.driver.results);
    if (r < 0)
        fprintf(stderr, "%sduopoly-replay: %s\n", arguments.driver.terminal ? "\n" : "", err.text);
    return r < 0 ? 2 : r;
}
