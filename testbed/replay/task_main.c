/* replay-map, replay-reduce and replay-gpu: one program under the names of the kinds of task, so
 * that `ps` tells them apart. replay-gpu is one that computes on devices. */
#include <argp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "lib/program.h"
#include "testbed/replay/options.h"
#include "testbed/replay/task.h"

const char *argp_program_version = "replay-map, replay-reduce, replay-gpu " DUOPOLY_VERSION;

static const struct argp_option option_table[] = {
    {"port", 'p', "N", 0, "port of every host's replay server", 0},
    {"ports", 'P', "DIR", 0, "write connections down there (schemas/ports.md)", 0},
    {"devices", 'd', "DIR", 0, "compute on the devices there (schemas/devices.md)", 0},
    {"uses", 'u', "DIR", 0, "write the use of devices down there (schemas/devices.md)", 0},
    {"blocks", 'b', "FILE", 0, "read from it what the task's profile says (schemas/devices.md)", 0},
    {"meter", 'm', "FILE", 0, "read no faster than all tasks that share it may together", 0},
    {"reads", 'r', "DIR", 0, "write down there what was read", 0},
    {0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct task_options *options = state->input;
    switch (key) {
    case 'p':
        options->port = option_port(state, value);
        return 0;
    case 'P':
        options->ports = value;
        return 0;
    case 'd':
        options->devices = value;
        return 0;
    case 'u':
        options->uses = value;
        return 0;
    case 'b':
        options->blocks = value;
        return 0;
    case 'm':
        options->meter = value;
        return 0;
    case 'r':
        options->reads = value;
        return 0;
    case ARGP_KEY_END:
        if (!options->port)
            argp_failure(state, 2, 0, "--port is needed");
        if (!options->devices && strcmp(program_invocation_short_name, "replay-gpu") == 0)
            argp_failure(state, 2, 0, "--devices is needed");
        if ((options->meter || options->reads) && !options->blocks)
            argp_failure(state, 2, 0,
                         "--meter and --reads are of use with --blocks: give that, too");
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
        .doc = "Fetches what its input file names, computes on a timer, leaves its output to the "
               "replay server. "
               "Started by duopoly-task (schemas/task.md).",
    };
    struct task_options options = {0};
    struct err err = {0};
    program_begin();
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    /* Timers 50 us late by default would add up over waves of short tasks. */
    prctl(PR_SET_TIMERSLACK, 1);
    if (replay_task_run(&options, &err) < 0) {
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, err.text);
        return 1;
    }
    return 0;
}
