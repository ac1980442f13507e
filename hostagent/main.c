/* duopoly-agent: on every host, and on Linux switches: queues, marks, link usage, attempts. See
 * schemas/duopoly-agent.yaml.
 *
 * Order of things: its interfaces are waited for (lib/await.h); the configuration is read and every
 * port looked at before anything is changed; queues, then marks (whose classes need the queues),
 * then attempts of a former agent, then the session with the controller. At the end (SIGTERM,
 * SIGINT) queues and marks are taken back, or kept for the next agent (on_exit: keep); attempts run
 * on. */
#include "hostagent/agent.h"

#include "hostagent/check.h"
#include "hostagent/plan.h"
#include "lib/await.h"
#include "lib/log.h"
#include "lib/program.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *argp_program_version = "duopoly-agent " DUOPOLY_VERSION;
static const char doc[] =
    "Manages queues, marks and task slots of this host (or the ports of this switch) for duopolyd.";

static const struct argp_option options[] = {
    {"config", 'c', "FILE", 0, "configuration (default /etc/duopoly/duopoly-agent.yaml)", 0},
    {"check", 'k', NULL, 0,
     "check the configuration, its keys, interfaces and commands, and change nothing", 0},
    {"replace", 'r', NULL, 0,
     "replace other root qdiscs on the ports by our queues, until the agent ends", 0},
    {"restore", 'R', NULL, 0, "undo what a former run left: attempts, marks and queues; then exit",
     0},
    {"stance", 's', "STANCE", 0,
     "observe, mark or enforce: limit what the agent changes on this host from now on, whatever "
     "the "
     "controller says; also while the agent does not run",
     0},
    {"plan", 'p', NULL, 0,
     "print what the agent would change on this host if it started now, and change nothing: exit "
     "status 0 nothing, 3 something, 1 something would be refused",
     0},
    {"json", 'j', NULL, 0, "write the plan as JSON", 0},
    {0},
};

enum { EXIT_CHANGES = 3 };
#define PROGRAM "duopoly-agent"

struct arguments {
    const char *config, *stance;
    const struct writer_form *form;
    bool check, replace, restore, plan;
};

static bool begins(const struct arguments *arguments)
{
    return !arguments->check && !arguments->plan && !arguments->restore && !arguments->stance;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'c':
        arguments->config = arg;
        return 0;
    case 'k':
        arguments->check = true;
        return 0;
    case 'r':
        arguments->replace = true;
        return 0;
    case 'p':
        arguments->plan = true;
        return 0;
    case 'j':
        arguments->form = &writer_form_json;
        return 0;
    case 's':
        arguments->stance = arg;
        return 0;
    case 'R':
        arguments->restore = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is not an option", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The exit status, or −errno. */
static int plan(const struct arguments *arguments, const struct agent_settings *settings,
                const struct settings_resolved *resolved, struct err *err)
{
    struct changes changes = {0};
    int r = plan_make(settings, resolved, arguments->replace, &changes, err);
    if (r >= 0)
        r = plan_write(settings, resolved, &changes, arguments->form, stdout, err);
    if (r >= 0)
        r = changes.refusals_n ? EXIT_FAILURE : changes.n ? EXIT_CHANGES : EXIT_SUCCESS;
    changes_free(&changes);
    return r;
}

/* The exit status, or −errno. A port without queues need not be the file's fault, but --check
 * reports it. */
static int check(const struct arguments *arguments, const struct agent_settings *settings,
                 struct settings_resolved *resolved, struct err *err)
{
    const char *file = arguments->config;
    struct changes changes = {0};
    int r = check_agent(settings, err);
    if (r >= 0)
        r = agent_check_devices(settings, resolved, err);
    if (r < 0)
        return r;
    plan_look_at_ports(settings, resolved, arguments->replace, &changes);
    for (uint32_t i = 0; i < changes.notes_n; i++)
        fprintf(stderr, "%s: %s\n", file, changes.notes[i].text);
    for (uint32_t i = 0; i < changes.refusals_n; i++)
        fprintf(stderr, "%s: %s\n", file, changes.refusals[i].text);
    r = changes.refusals_n ? EXIT_FAILURE : EXIT_SUCCESS;
    changes_free(&changes);
    return r;
}

struct site {
    const struct arguments *arguments;
    struct agent_settings settings;
    struct settings_resolved resolved;
};

/* −ENODEV, −ENETDOWN: an interface is missing. −EROFS: the state folder is not writable. */
static int site_read(void *user, struct err *err)
{
    struct site *site = user;
    const struct arguments *arguments = site->arguments;
    struct settings_resolved *resolved = &site->resolved;
    int r = agent_settings_read(arguments->config, &site->settings, err);
    if (r >= 0)
        r = settings_resolve(&site->settings, arguments->config, resolved, err);
    if (r >= 0 && !arguments->restore && !arguments->stance)
        r = settings_find_ports(&site->settings, true, &resolved->ports, &resolved->tunnels, err);
    if (r >= 0 && begins(arguments))
        r = files_check_writable(site->settings.state, err);
    return r;
}

/* The exit status, or −errno. */
static int begin(const struct arguments *arguments, struct site *site, struct err *err)
{
    int r = await(site_read, site, err);
    if (r == -ECANCELED)
        return EXIT_SUCCESS;
    if (r < 0)
        return r;
    log_open(PROGRAM, (enum log_level)site->settings.log_level);
    check_say_commands(&site->settings);
    return agent_run(&site->settings, &site->resolved, arguments->replace, err);
}

/* The exit status, or −errno. */
static int run(const struct arguments *arguments, struct err *err)
{
    static struct site site;
    site.arguments = arguments;
    if (begins(arguments))
        return begin(arguments, &site, err);
    int r = site_read(&site, err);
    if (r < 0)
        return r;
    if (arguments->check)
        return check(arguments, &site.settings, &site.resolved, err);
    if (arguments->plan)
        return plan(arguments, &site.settings, &site.resolved, err);
    if (arguments->stance)
        return agent_take_stance(&site.settings, &site.resolved, arguments->stance, err);
    return agent_restore(&site.settings, &site.resolved, err);
}

int main(int argc, char **argv)
{
    static const struct argp argp = {.options = options, .parser = parse, .doc = doc};
    struct arguments arguments = {.config = "/etc/duopoly/duopoly-agent.yaml",
                                  .form = &writer_form_text};
    struct err err = {0};
    program_begin();
    signal(SIGPIPE, SIG_IGN); /* a switch that goes is an error of the write */
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    log_open(PROGRAM, LOG_LEVEL_NOTE);
    if (begins(&arguments))
        log_with_times();
    int status = run(&arguments, &err);
    if (status < 0) {
        log_error(LOG_FAULT_NONE, "%s", err.text);
        return EXIT_FAILURE;
    }
    if (arguments.check && status == EXIT_SUCCESS)
        printf("%s: right\n", arguments.config);
    return status;
}
