/* replay-serve: serves the outputs of the maps that ran on this host, until SIGTERM or SIGINT. */
#include <argp.h>
#include <stdio.h>
#include <sys/resource.h>

#include <systemd/sd-daemon.h>

#include "lib/loop.h"
#include "lib/program.h"
#include "testbed/replay/options.h"
#include "testbed/replay/serve.h"

struct arguments {
    uint16_t port;
    const char *registry;
};

const char *argp_program_version = "replay-serve " DUOPOLY_VERSION;

static const struct argp_option option_table[] = {
    {"port", 'p', "N", 0, "port to listen on", 0},
    {"registry", 'r', "DIR", 0, "directory of this host's outputs: the agent's STATE/outputs", 0},
    {0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'p':
        arguments->port = option_port(state, value);
        return 0;
    case 'r':
        arguments->registry = value;
        return 0;
    case ARGP_KEY_END:
        if (!arguments->port || !arguments->registry)
            argp_failure(state, 2, 0, "--port and --registry are needed");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* A connection is an open file: as many as the hard limit allows. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int run(const struct arguments *arguments, struct err *err)
{
    struct serve *serve = NULL;
    sd_event *event = NULL;
    int r = loop_open(&event, err);
    if (r < 0)
        goto fail;
    if ((r = serve_create(event, arguments->port, arguments->registry, &serve, err)) < 0)
        goto fail;
    sd_notify(0, "READY=1");
    if ((r = sd_event_loop(event)) < 0)
        err_sys(err, -r, "the event loop ended");
fail:
    serve_destroy(serve);
    sd_event_unref(event);
    return r;
}

int main(int argc, char **argv)
{
    const struct argp argp = {
        .options = option_table,
        .parser = parse_option,
        .doc = "Serves the outputs of the maps that ran on this host to the replay's tasks.",
    };
    struct arguments arguments = {0};
    struct err err = {0};
    program_begin();
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    raise_file_limit();
    if (run(&arguments, &err) < 0) {
        fprintf(stderr, "replay-serve: %s\n", err.text);
        return 1;
    }
    return 0;
}
