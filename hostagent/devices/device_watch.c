#include "hostagent/devices/device_watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct device_watch {
    struct device_watch_config config;
    struct device_look looks[DEVICES_MAX];
    pid_t pid; /* 0: nobody looks */
    int socket;
    sd_event_source *source, *silence;
};

static bool is_looked_at(const struct device *device)
{
    return device->driver && device->driver->look;
}

static bool any_is_looked_at(const struct device_watch_config *config)
{
    for (uint32_t d = 0; d < config->devices_n; d++)
        if (is_looked_at(&config->devices[d]))
            return true;
    return false;
}

static void not_known(struct device_look *look, const char *why)
{
    *look = (struct device_look){.presence = DEVICE_UNKNOWN};
    snprintf(look->why, sizeof(look->why), "%.191s", why);
}

/* ---- in the process of its own ---- */

/* By one driver; returns whether it is to be opened anew. */
static bool look_by(const struct device_watch_config *config, const struct device_driver *driver,
                    void *opened, const struct err *why_not, struct device_look *looks)
{
    bool anew = false;
    for (uint32_t d = 0; d < config->devices_n; d++) {
        if (config->devices[d].driver != driver)
            continue;
        if (opened)
            driver->look(opened, config->devices[d].at, &looks[d]);
        else
            not_known(&looks[d], why_not->text);
        anew |= looks[d].presence != DEVICE_THERE;
    }
    return anew;
}

static void look_at_all(const struct device_watch_config *config, void **opened,
                        struct device_look *looks)
{
    for (size_t i = 0; device_driver_all[i]; i++) {
        const struct device_driver *driver = device_driver_all[i];
        struct err err = {0};
        bool wanted = false;
        for (uint32_t d = 0; driver->look && d < config->devices_n; d++)
            wanted |= config->devices[d].driver == driver;
        if (!wanted)
            continue;
        if (!opened[i])
            opened[i] = driver->open(&err);
        if (look_by(config, driver, opened[i], &err, looks) && opened[i]) {
            driver->close(opened[i]);
            opened[i] = NULL;
        }
    }
}

/* Ends when its agent has. */
_Noreturn static void look_on(const struct device_watch_config *config, int socket)
{
    void *opened[8] = {NULL};
    struct device_look looks[DEVICES_MAX] = {0};
    struct pollfd end = {.fd = socket, .events = POLLIN};
    do {
        look_at_all(config, opened, looks);
        if (send(socket, looks, sizeof(looks), MSG_NOSIGNAL) < 0)
            break;
    } while (poll(&end, 1, DEVICE_WATCH_MS) == 0);
    _exit(EXIT_SUCCESS);
}

_Noreturn static void become_looker(const struct device_watch_config *config, int socket)
{
    sigset_t none;
    sigemptyset(&none);
    for (int number = SIGHUP; number <= SIGTERM; number++)
        signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "duopoly-devices");
    close_range(3, (unsigned)socket - 1, 0);
    close_range((unsigned)socket + 1, ~0u, 0);
    look_on(config, socket);
}

/* ---- in the agent ---- */

static void part(struct device_watch *devices)
{
    devices->source = sd_event_source_disable_unref(devices->source);
    devices->silence = sd_event_source_disable_unref(devices->silence);
    if (devices->socket >= 0)
        close(devices->socket);
    devices->socket = -1;
    if (!devices->pid)
        return;
    kill(devices->pid, SIGKILL);
    while (waitpid(devices->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    devices->pid = 0;
}

static void nobody_knows(struct device_watch *devices, const char *why)
{
    for (uint32_t d = 0; d < devices->config.devices_n; d++)
        if (is_looked_at(&devices->config.devices[d]))
            not_known(&devices->looks[d], why);
}

static bool same(const struct device_look *one, const struct device_look *other)
{
    return one->presence == other->presence && one->mem_bytes == other->mem_bytes &&
           strcmp(one->why, other->why) == 0;
}

/* 1: something came, and *ret_changed says whether it is another than before; 0: nothing yet; −1:
 * it has ended. */
static int take(struct device_watch *devices, bool *ret_changed)
{
    struct device_look looks[DEVICES_MAX];
    ssize_t n = recv(devices->socket, looks, sizeof(looks), MSG_DONTWAIT);
    *ret_changed = false;
    if (n != (ssize_t)sizeof(looks))
        return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
    for (uint32_t d = 0; d < devices->config.devices_n; d++)
        *ret_changed |= !same(&looks[d], &devices->looks[d]);
    memcpy(devices->looks, looks, sizeof(looks));
    return 1;
}

static int on_silence(sd_event_source *source, uint64_t usec, void *arg)
{
    struct device_watch *devices = arg;
    (void)source;
    (void)usec;
    nobody_knows(devices, "who is asked whether it is there does not answer");
    devices->config.on_change(devices->config.user);
    return 0;
}

static int await_word(struct device_watch *devices, sd_event *event)
{
    devices->silence = sd_event_source_disable_unref(devices->silence);
    return sd_event_add_time_relative(event, &devices->silence, CLOCK_MONOTONIC,
                                      DEVICE_WATCH_SILENT_MS * UINT64_C(1000), 100000, on_silence,
                                      devices);
}

static int on_word(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct device_watch *devices = arg;
    bool changed;
    (void)fd;
    (void)events;
    int r = take(devices, &changed);
    if (r > 0)
        await_word(devices, sd_event_source_get_event(source));
    if (r < 0) {
        changed = true;
        part(devices);
        nobody_knows(devices, "what looked whether it is there has ended: restart the agent");
    }
    if (changed)
        devices->config.on_change(devices->config.user);
    return 0;
}

static int begin(struct device_watch *devices, struct err *err)
{
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return err_sys(err, errno, "a socket for devices");
    devices->socket = sockets[0];
    devices->pid = fork();
    if (devices->pid == 0)
        become_looker(&devices->config, sockets[1]);
    int code = errno;
    close(sockets[1]);
    if (devices->pid < 0) {
        devices->pid = 0;
        return err_sys(err, code, "a process that looks at devices");
    }
    return 0;
}

static void look_first(struct device_watch *devices)
{
    struct pollfd word = {.fd = devices->socket, .events = POLLIN};
    bool changed;
    if (poll(&word, 1, DEVICE_WATCH_FIRST_MS) <= 0 || take(devices, &changed) <= 0)
        nobody_knows(devices, "who is asked whether it is there does not answer");
}

static int watch(struct device_watch *devices, sd_event *event, struct err *err)
{
    int r = sd_event_add_io(event, &devices->source, devices->socket, EPOLLIN, on_word, devices);
    if (r >= 0)
        r = await_word(devices, event);
    return r < 0 ? err_sys(err, -r, "watching devices") : 0;
}

int device_watch_open(const struct device_watch_config *config, sd_event *event,
                      struct device_watch **ret_devices, struct err *err)
{
    struct device_watch *devices = calloc(1, sizeof(*devices));
    if (!devices)
        return err_sys(err, ENOMEM, "devices");
    devices->config = *config;
    devices->socket = -1;
    int r = 0;
    if (any_is_looked_at(config)) {
        r = begin(devices, err);
        if (r >= 0)
            look_first(devices);
        if (r >= 0 && event)
            r = watch(devices, event, err);
    }
    if (r < 0) {
        device_watch_close(devices);
        return r;
    }
    *ret_devices = devices;
    return 0;
}

void device_watch_close(struct device_watch *devices)
{
    if (!devices)
        return;
    part(devices);
    free(devices);
}

const struct device_look *device_watch_looks(const struct device_watch *devices)
{
    return devices->looks;
}

void device_watch_judge(const struct device_watch *devices, struct devices_state *ret_state)
{
    *ret_state = (struct devices_state){0};
    for (uint32_t d = 0; d < devices->config.devices_n; d++) {
        const struct device_look *look = &devices->looks[d];
        if (look->presence == DEVICE_THERE)
            continue;
        ret_state->closed |= 1u << d;
        ret_state->gone |= look->presence == DEVICE_GONE ? 1u << d : 0;
        snprintf(ret_state->why[d], sizeof(ret_state->why[d]), "device %.31s%s: %.128s",
                 devices->config.devices[d].name,
                 look->presence == DEVICE_GONE ? " is gone" : ", nobody knows of it", look->why);
    }
}
