/* duopoly-fastpath: marks and queues in user space, between a host's side and the network, or a
 * switch of several ports. See schemas/duopoly-fastpath.yaml.
 *
 * Order of things: the configuration is read; the control socket is taken, so that a second
 * instance ends before it opens a device; DPDK, devices and all memory; then frames pass. At the
 * end (SIGTERM, SIGINT) what waits is dropped, and each frame has to be accounted for. SIGHUP has
 * the configuration read again. */
#include "dataplane/control_wire.h"
#include "dataplane/pcapng.h"
#include "dataplane/settings.h"
#include "dataplane/telemetry_dpdk.h"
#include "dataplane/workers_dpdk.h"
#include "lib/await.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/now.h"
#include "lib/program.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

const char *argp_program_version = "duopoly-fastpath " DUOPOLY_VERSION;

static const struct argp_option options[] = {
    {"config", 'c', "FILE", 0, "configuration (default /etc/duopoly/duopoly-fastpath.yaml)", 0},
    {"check", 'k', NULL, 0, "read the configuration, say whether it is right, and open nothing", 0},
    {0},
};

struct arguments {
    const char *config;
    bool check;
};

static error_t parse(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'c':
        arguments->config = value;
        return 0;
    case 'k':
        arguments->check = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is not an option", value);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

struct dataplane {
    const char *config;
    struct workers *workers;
    struct fastpath_control *control;
    uint64_t shuts_told[FASTPATH_PORTS];
    bool began;
};

static void say_totals(struct workers *workers)
{
    struct workers_stats stats;
    if (workers_stats(workers, &stats) < 0)
        return;
    for (uint32_t i = 0; i < stats.ports_n; i++)
        log_note("%s: %" PRIu64 " frames came, %" PRIu64 " went",
                 workers_egress(workers)->ports[i].facts.name, stats.ports[i].came_packets,
                 stats.ports[i].went_packets);
}

static void say_shut(const struct egress *egress, uint32_t place, const struct switching_port *port,
                     uint64_t left_ns)
{
    const uint8_t *mac = port->mac;
    log_warning(
        LOG_FAULT_PEER,
        "%s is shut for %.0f s: %02x:%02x:%02x:%02x:%02x:%02x moves to and fro between it and "
        "%s: is there a loop?",
        egress->ports[place].facts.name, (double)left_ns / 1e9, mac[0], mac[1], mac[2], mac[3],
        mac[4], mac[5], egress->ports[port->other].facts.name);
}

/* A switch's ports that are shut are named. */
static int on_shut(sd_event_source *source, int fd, uint32_t events, void *user)
{
    struct dataplane *dataplane = user;
    const uint64_t now = now_ns(CLOCK_BOOTTIME);
    struct workers_stats stats;
    eventfd_t times;
    (void)source, (void)events;
    if (eventfd_read(fd, &times) < 0 || workers_stats(dataplane->workers, &stats) < 0)
        return 0;
    for (uint32_t i = 0; i < stats.ports_n; i++) {
        const struct switching_port *port = &stats.ports[i].switching;
        if (port->counters.shuts != dataplane->shuts_told[i] && port->shut_until_ns > now)
            say_shut(workers_egress(dataplane->workers), i, port, port->shut_until_ns - now);
        dataplane->shuts_told[i] = port->counters.shuts;
    }
    return 0;
}

static int on_captured(sd_event_source *source, int fd, uint32_t events, void *user)
{
    struct dataplane *dataplane = user;
    uint64_t written, lost;
    (void)source, (void)fd, (void)events;
    if (!pcapng_write(workers_pcapng(dataplane->workers)))
        return 0;
    pcapng_count(workers_pcapng(dataplane->workers), &written, &lost);
    log_note("a capture has ended: %" PRIu64 " frames, %" PRIu64 " lost", written, lost);
    return 0;
}

/* The new configuration is applied whole, or the present one stays in force. */
static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *user)
{
    struct dataplane *dataplane = user;
    struct fastpath_settings settings;
    struct err err;
    (void)source, (void)info;
    if (!dataplane->workers)
        return 0;
    sd_notify(0, "RELOADING=1");
    int r = fastpath_settings_read(dataplane->config, &settings, &err);
    if (r == 0)
        r = workers_reload(dataplane->workers, &settings, &err);
    if (r == 0) {
        fastpath_control_change(dataplane->control, &settings);
        log_note("%s is in force", dataplane->config);
    } else {
        log_error(LOG_FAULT_CONFIGURATION, "not reloaded: %s", err.text);
    }
    sd_notify(0, "READY=1");
    return 0;
}

static int dataplane_open(struct dataplane *dataplane, sd_event *loop,
                          const struct fastpath_settings *settings, struct err *err)
{
    int r = fastpath_control_open(loop, settings, &dataplane->control, err);
    if (r == 0)
        r = workers_open(settings, &dataplane->workers, err);
    if (r == 0)
        r = workers_start(dataplane->workers, err);
    return r == 0 ? telemetry_begin(dataplane->workers, err) : r;
}

/* −ENODEV: an interface that a device names is not there yet. */
static int devices_there(void *user, struct err *err)
{
    const struct fastpath_settings *settings = user;
    int r = fastpath_settings_check(settings, err);
    return r == -ENODEV ? r : 0;
}

/* SIGHUP is blocked before DPDK begins threads. */
static int serve(struct dataplane *dataplane, sd_event *loop,
                 const struct fastpath_settings *settings, struct err *err)
{
    sd_event_source *shut = NULL, *captured = NULL;
    int r =
        sd_event_add_signal(loop, NULL, SIGHUP | SD_EVENT_SIGNAL_PROCMASK, on_reload, dataplane);
    r = r < 0 ? err_sys(err, -r, "the event loop") : dataplane_open(dataplane, loop, settings, err);
    if (r == 0)
        r = sd_event_add_io(loop, &shut, workers_event(dataplane->workers), EPOLLIN, on_shut,
                            dataplane);
    if (r >= 0)
        r = sd_event_add_io(loop, &captured, pcapng_event(workers_pcapng(dataplane->workers)),
                            EPOLLIN, on_captured, dataplane);
    if (r >= 0) {
        dataplane->began = true;
        fastpath_control_begin(dataplane->control, dataplane->workers);
        log_note("passing frames between %" PRIu32 " ports, control on %s",
                 fastpath_ports(settings), settings->socket);
        sd_notify(0, "READY=1");
        r = sd_event_loop(loop);
        sd_notify(0, "STOPPING=1");
        telemetry_end();
        workers_stop(dataplane->workers);
        say_totals(dataplane->workers);
    }
    sd_event_source_disable_unref(shut);
    sd_event_source_disable_unref(captured);
    fastpath_control_close(dataplane->control);
    const uint32_t lost = workers_close(dataplane->workers);
    return lost ? err_set(err, ENOTRECOVERABLE, "%" PRIu32 " frames are nowhere", lost) : r;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        options, parse, NULL, "Marks and queues in user space, for a host.", NULL, NULL, NULL};
    struct arguments arguments = {.config = "/etc/duopoly/duopoly-fastpath.yaml"};
    struct fastpath_settings settings;
    struct dataplane dataplane = {0};
    sd_event *loop = NULL;
    struct err err;
    program_begin();
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
        return EXIT_FAILURE;
    log_open("duopoly-fastpath", LOG_LEVEL_NOTE);
    if (!arguments.check)
        log_with_times();
    dataplane.config = arguments.config;
    int r = fastpath_settings_read(arguments.config, &settings, &err);
    if (r == 0 && arguments.check && (r = fastpath_settings_check(&settings, &err)) == 0)
        return EXIT_SUCCESS;
    if (r == 0)
        r = await(devices_there, &settings, &err);
    if (r == -ECANCELED)
        return EXIT_SUCCESS;
    if (r == 0)
        r = loop_open(&loop, &err);
    if (r == 0)
        r = serve(&dataplane, loop, &settings, &err);
    if (r < 0)
        log_error(LOG_FAULT_CONFIGURATION, "%s", err.text);
    sd_event_unref(loop);
    /* WHY: the service manager restarts a failed one at once, since packets stop without it; one
     * that cannot start should not use a whole processor. */
    if (r < 0 && !dataplane.began && getenv("NOTIFY_SOCKET"))
        sleep(1);
    return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
