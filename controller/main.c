/* duopolyd: the controller. conductor.h describes its work, agents_zmq.h and control.h its
 * peers. */
#include "controller/agents_zmq.h"
#include "controller/clients/control.h"
#include "controller/conductor.h"
#include "controller/confinement.h"
#include "controller/descriptors.h"
#include "controller/engine/policy/presets.h"
#include "controller/epoch.h"
#include "controller/epoch_claims.h"
#include "controller/metrics/metrics.h"
#include "controller/parameters.h"
#include "controller/settings.h"
#include "controller/store/restore.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/printable.h"
#include "lib/program.h"

#include <argp.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

const char *argp_program_version = "duopolyd " DUOPOLY_VERSION;

enum {
    EXIT_ARGUMENTS = 2,
    KEY_CHECK = 256,
    KEY_CLOCK,
    KEY_DEBUG,
    KEY_KEYS,
    KEY_PRESETS,
    KEY_RESTORE
};
#define RESTORE_NOTHING "nothing"

struct arguments {
    const char *config, *clock;
    const char *restore; /* NULL: nothing is to be restored */
    bool check, keys, presets, debug;
};

/* Everything that is open; closed in the opposite order. */
struct controller {
    struct configuration *configuration; /* stays open when it begins again */
    sd_event *loop;
    struct epoch *epoch;
    struct store *store;
    struct agents_zmq *door;
    struct control *control;
    struct metrics *metrics; /* NULL: none are wanted */
    struct conductor *conductor;
    struct descriptors descriptors;
    struct epoch_claims claims; /* once it is restored */
    bool restored;              /* agents may have seen later epochs than the state folder knows */
    bool confined;              /* for good, also when it begins again */
    bool again;                 /* it ends to begin again above one of these */
    uint32_t connections;       /* of agents, at most */
};

static const struct argp_option options[] = {
    {"config", 'c', "FILE", 0,
     "configuration (schemas/duopolyd.yaml explains it); without it, the defaults", 0},
    {"check", KEY_CHECK, NULL, 0,
     "only read the configuration and report its first error; with --restore FILE also what that "
     "backup would revive",
     0},
    {"keys", KEY_KEYS, NULL, 0,
     "with --check: also list what the configuration says, a key a line: its name, where it says "
     "so "
     "(0: by default), whether a reload changes it, its value",
     0},
    {"presets", KEY_PRESETS, NULL, 0, "list the presets for policy.preset, and what they mean", 0},
    {"restore", KEY_RESTORE, "FILE", 0,
     "start from this backup of the store, or, without one, with '" RESTORE_NOTHING
     "' but the rest of the state folder; in an epoch above all that agents have seen",
     0},
    {"clock", KEY_CLOCK, "SOCKET", 0, "for tests: this socket sets the time (controller/clock.h)",
     0},
    {"debug", KEY_DEBUG, NULL, 0, "say more on standard error", 0},
    {0},
};

static error_t option_take(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'c':
        arguments->config = value;
        return 0;
    case KEY_CHECK:
        arguments->check = true;
        return 0;
    case KEY_KEYS:
        arguments->keys = true;
        return 0;
    case KEY_PRESETS:
        arguments->presets = true;
        return 0;
    case KEY_RESTORE:
        arguments->restore = value;
        return 0;
    case KEY_CLOCK:
        arguments->clock = value;
        return 0;
    case KEY_DEBUG:
        arguments->debug = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_failure(state, EXIT_ARGUMENTS, 0, "'%s' is one argument too many", value);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void preset_values(const struct preset *preset, char *words, size_t size)
{
    char value[40];
    size_t used = 0;
    snprintf(words, size, "-");
    for (int i = 0; i < PRESET_VALUES && preset->values[i].word[0] && used < size; i++) {
        const struct engine_value *said = &preset->values[i];
        const char *text =
            parameter_words(engine_parameter(said->word), said->value, value, sizeof(value));
        used +=
            (size_t)snprintf(words + used, size - used, "%s%s=%s", i ? ", " : "", said->word, text);
    }
}

/* One a line: name, answers, parameters, whether it is for the simulator only, and words. */
static void presets_print(void)
{
    char values[96];
    printf("%-14s %-12s %-10s %-15s %-6s %-27s %s\n", "preset", "turn", "place", "network", "rule",
           "parameters", "what");
    for (const struct preset *p = presets; p->name; p++) {
        preset_values(p, values, sizeof(values));
        printf("%-14s %-12s %-10s %-15s %-6s %-27s %s%s\n", p->name, p->turn, p->place, p->network,
               p->mode, values, p->what, p->levels ? " (simulator only)" : "");
    }
}

static void keys_print(const struct conf_keys *keys)
{
    for (const struct conf_key *key = keys->at; key < keys->at + keys->n; key++) {
        printf("%s %" PRIu32 " %" PRIu32 " %d ", key->path, key->at.line, key->at.column,
               key->live);
        printable_put(key->value, stdout);
        putchar('\n');
    }
}

/* /run is empty after a boot: the socket's folder is made, not its parents. */
static int folder_make(const char *path, struct err *err)
{
    char copy[256];
    snprintf(copy, sizeof(copy), "%s", path);
    const char *folder = dirname(copy);
    if (mkdir(folder, 0755) < 0 && errno != EEXIST)
        return err_sys(err, errno, "%s cannot be made", folder);
    return 0;
}

/* As many as there are descriptors and memory for. */
static uint32_t connections_of(const struct descriptors *descriptors,
                               const struct settings *settings)
{
    int64_t room = settings->bounds.incoming_bytes / WIRE_PEER_BYTES;
    return room < descriptors->agents ? (uint32_t)room : descriptors->agents;
}

/* The socket's folder is empty after a boot. */
static int epoch_open_in(const struct settings *settings, struct epoch **ret_epoch, struct err *err)
{
    char aside[sizeof(settings->socket) + 8];
    snprintf(aside, sizeof(aside), "%s.epoch", settings->socket);
    int r = epoch_open(settings->state, aside, ret_epoch, err);
    if (r == 0 && epoch_unkept(*ret_epoch))
        log_error(LOG_FAULT_US, "%s: what runs goes on, nothing new is taken until it can be",
                  epoch_unkept(*ret_epoch)->text);
    return r;
}

/* Each job has a row before its number is known outside: if numbers were given, there was a
 * store. */
static int absence_judge(const struct settings *settings, const struct epoch *epoch,
                         const char *path, struct err *err)
{
    if (!epoch_newest_job(epoch) || !store_absent(path))
        return 0;
    return err_set(err, EBADMSG,
                   "%s is missing or empty, but job numbers up to %" PRIu64
                   " were given from %s: go on with a backup (duopolyd --restore FILE), or without "
                   "what is lost (duopolyd --restore " RESTORE_NOTHING ")",
                   path, epoch_newest_job(epoch), settings->state);
}

/* `restored`: what the store had is not asked. */
static int store_open_in(const struct settings *settings, const struct epoch *epoch, bool restored,
                         struct store **ret_store, struct err *err)
{
    char path[sizeof(settings->state) + sizeof(STORE_FILE) + 1];
    const struct store_bounds bounds = {
        .keep_ns = settings->store.keep_ns,
        .finished_max = (uint32_t)settings->bounds.finished,
        .bytes_max = (uint64_t)settings->store.max_bytes,
    };
    snprintf(path, sizeof(path), "%s/%s", settings->state, STORE_FILE);
    int r = restored ? store_last_forget(path) : absence_judge(settings, epoch, path, err);
    r = r < 0 ? r : store_open(path, NULL, &bounds, ret_store, err);
    if (r == 0 && !restored && *store_words(*ret_store))
        log_note("%s", store_words(*ret_store));
    return r;
}

static void on_revived(void *user, const char *words)
{
    (void)user;
    log_change("restore: %s", words);
}

/* Call it before the store is opened; the folder is locked, unless it is only read. */
static int backup_take(const struct settings *settings, const char *backup, bool only_look,
                       struct err *err)
{
    static const struct revival_say say = {on_revived, NULL};
    char path[sizeof(settings->state) + sizeof(STORE_FILE) + 1];
    if (strcmp(backup, RESTORE_NOTHING) == 0)
        return 0;
    snprintf(path, sizeof(path), "%s/%s", settings->state, STORE_FILE);
    return only_look ? store_restore_look(backup, path, &say, err)
                     : store_restore(backup, path, &say, err);
}

/* Job numbers given after the backup are not given again. */
static int restoration_end(struct controller *controller, const char *backup, struct err *err)
{
    char what[384], result[128];
    uint64_t newest = conductor_parts(controller->conductor)->newest_stored;
    int r = epoch_jobs_leap(controller->epoch, newest, err);
    if (r < 0)
        return r;
    controller->restored = true;
    controller->claims.base = epoch_number(controller->epoch);
    snprintf(what, sizeof(what), "restore %.300s", backup);
    snprintf(result, sizeof(result), "job numbers go on after %" PRIu64,
             epoch_newest_job(controller->epoch));
    log_note("%s: %s", what, result);
    store_audit(controller->store, "duopolyd --restore", what, result);
    return 0;
}

static bool on_epoch_seen(void *user, const char *name, uint32_t epoch)
{
    struct controller *controller = user;
    struct err err;
    if (!controller->restored)
        return false;
    if (!epoch_claims_take(&controller->claims, name, epoch, &err) ||
        epoch_raise(controller->epoch, epoch, &err) < 0) {
        log_of(name, LOG_LEVEL_ERROR, LOG_FAULT_PEER,
               "agent %s says that it has seen epoch %" PRIu32 ": %s", name, epoch, err.text);
        return false;
    }
    log_note("agent %s has seen epoch %" PRIu32 ": beginning again above it", name, epoch);
    controller->again = true;
    sd_event_exit(controller->loop, EXIT_SUCCESS);
    return true;
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *user)
{
    const struct controller *controller = user;
    (void)source;
    control_hangup(controller->control, info->ssi_pid);
    return 0;
}

static int hangups_hear(struct controller *controller, struct err *err)
{
    int r = sd_event_add_signal(controller->loop, NULL, SIGHUP | SD_EVENT_SIGNAL_PROCMASK,
                                on_hangup, controller);
    return r < 0 ? err_sys(err, -r, "SIGHUP") : 0;
}

static int controller_open(struct controller *controller, const struct settings *settings,
                           const struct arguments *arguments, struct err *err)
{
    const char *backup = controller->restored ? NULL : arguments->restore;
    struct wire_zmq_limits limits = {.idle_ns = (uint64_t)settings->timers.host_lost_ns,
                                     .pressed_ns = (uint64_t)settings->timers.silent_ns,
                                     .per_second = (uint32_t)settings->bounds.agent_messages};
    int r = descriptors_take(metrics_connections(settings), &controller->descriptors, err);
    limits.most = controller->connections = connections_of(&controller->descriptors, settings);
    if (r < 0 || (r = loop_open(&controller->loop, err)) < 0 ||
        (r = hangups_hear(controller, err)) < 0 || (r = folder_make(settings->socket, err)) < 0 ||
        (r = epoch_open_in(settings, &controller->epoch, err)) < 0 ||
        (backup && (r = backup_take(settings, backup, false, err)) < 0) ||
        (r = store_open_in(settings, controller->epoch, backup, &controller->store, err)) < 0 ||
        (!controller->confined &&
         (r = confinement_limit_files(settings, arguments->config, err)) < 0) ||
        (r = control_open(controller->loop, settings, &controller->control, err)) < 0 ||
        (r = metrics_open(controller->loop, settings, &controller->metrics, err)) < 0 ||
        (r = agents_zmq_open(controller->loop, settings, &limits, &controller->door, err)) < 0)
        return r;
    const struct conductor_hooks hooks = {
        .peers = {.send = agents_zmq_send,
                  .cut = agents_zmq_cut,
                  .send_user = controller->door,
                  .epoch_seen = on_epoch_seen,
                  .epoch_user = controller,
                  .where = {agents_zmq_comes_from, controller->door}},
        .clients = {control_job_over, control_stepped, control_stored, control_asked,
                    control_charged, controller->control},
        .configuration = controller->configuration,
    };
    r = conductor_open(controller->loop, settings, controller->epoch, controller->store,
                       arguments->clock, &hooks, &controller->conductor, err);
    if (r == 0 && backup)
        r = restoration_end(controller, backup, err);
    if (r < 0)
        return r;
    const struct agents_zmq_clients clients = {control_remote_message, control_remote_gone,
                                               controller->control};
    if (control_attach(controller->control, controller->conductor, controller->door) < 0)
        return err_sys(err, ENOMEM, "clients");
    struct listing_sources sources;
    control_sources(controller->control, &sources);
    metrics_attach(controller->metrics, &sources);
    agents_zmq_attach(controller->door, controller->conductor, &clients);
    r = controller->confined ? 0 : confinement_limit_calls(err);
    controller->confined = r == 0;
    return r;
}

static void controller_close(struct controller *controller)
{
    struct err err;
    metrics_close(controller->metrics);
    control_close(controller->control);
    conductor_close(controller->conductor);
    agents_zmq_close(controller->door);
    if (store_close(controller->store, &err) < 0)
        log_error(LOG_FAULT_US, "%s", err.text);
    epoch_close(controller->epoch);
    sd_event_unref(controller->loop);
    *controller = (struct controller){.configuration = controller->configuration,
                                      .claims = controller->claims,
                                      .restored = controller->restored,
                                      .confined = controller->confined,
                                      .again = controller->again};
}

static void connections_say(const struct controller *controller, const struct settings *settings)
{
    const struct descriptors *descriptors = &controller->descriptors;
    log_note("%" PRIu64 " files may be open: %" PRIu32 " connections of agents, %" PRIu32
             " of clients",
             descriptors->limit, controller->connections, descriptors->clients);
    if (controller->connections < settings->bounds.hosts)
        log_note("fewer agents can connect than bounds.hosts (%" PRId64
                 ") has room for: allow more %s for more than %" PRIu32,
                 settings->bounds.hosts,
                 controller->connections < descriptors->agents ? "memory (bounds.incoming)"
                                                               : "files (LimitNOFILE=)",
                 controller->connections);
}

static void group_say(const struct settings *settings)
{
    if (!getgrnam(settings->group))
        log_note("there is no group %s: only root may talk to %s", settings->group,
                 settings->socket);
}

static int controller_run(struct controller *controller, const struct settings *settings)
{
    log_note("epoch %" PRIu32 ", agents on %s, clients on %s", epoch_number(controller->epoch),
             agents_zmq_address(controller->door), settings->socket);
    if (controller->metrics)
        log_note("metrics on http://%s/metrics", metrics_address(controller->metrics));
    connections_say(controller, settings);
    group_say(settings);
    sd_notify(0, "READY=1");
    int r = sd_event_loop(controller->loop);
    sd_notify(0, "STOPPING=1");
    log_note(r == 0 ? "stopped" : "ended by a failure");
    return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* What of the settings only this host can say. */
static int judge(const struct settings *settings, struct err *err)
{
    int r = agents_zmq_check(settings, err);
    return r < 0 ? r : metrics_check(settings, err);
}

/* --check: whether it could be started so. */
static int check(const struct arguments *arguments, const struct configured *configured)
{
    struct err err;
    if (arguments->restore &&
        backup_take(&configured->settings, arguments->restore, true, &err) < 0) {
        log_error(LOG_FAULT_CONFIGURATION, "%s", err.text);
        return EXIT_FAILURE;
    }
    if (arguments->keys)
        keys_print(&configured->keys);
    return EXIT_SUCCESS;
}

static int serve(struct controller *controller, const struct arguments *arguments)
{
    const struct settings *settings = &configuration_taken(controller->configuration)->settings;
    struct err err;
    int status;
    do {
        status = EXIT_FAILURE;
        controller->again = false;
        if (controller_open(controller, settings, arguments, &err) < 0)
            log_error(LOG_FAULT_CONFIGURATION, "%s", err.text);
        else
            status = controller_run(controller, settings);
        controller_close(controller);
    } while (controller->again);
    return status;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        options, option_take, NULL, "The controller of a duopoly cluster.", NULL, NULL, NULL};
    struct arguments arguments = {0};
    struct controller controller = {0};
    struct err err;
    program_begin();
    argp_err_exit_status = EXIT_ARGUMENTS;
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
        return EXIT_ARGUMENTS;
    if (arguments.presets) {
        presets_print();
        return EXIT_SUCCESS;
    }
    log_open("duopolyd", LOG_LEVEL_NOTE);
    if (!arguments.check)
        log_with_times();
    if (configuration_open(arguments.config, judge, &controller.configuration, &err) < 0) {
        log_error(LOG_FAULT_CONFIGURATION, "%s", err.text);
        return EXIT_FAILURE;
    }
    const struct configured *configured = configuration_taken(controller.configuration);
    if (!arguments.check)
        log_open("duopolyd", (enum log_level)configured->settings.log_level);
    if (arguments.debug)
        log_level_set(LOG_LEVEL_DEBUG);
    int status = arguments.check ? check(&arguments, configured) : serve(&controller, &arguments);
    epoch_claims_done(&controller.claims);
    configuration_close(controller.configuration);
    return status;
}
