#include "testbed/replay/task.h"

#include "lib/number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "testbed/replay/blocks.h"
#include "testbed/replay/device.h"
#include "testbed/replay/fetch.h"
#include "testbed/replay/input.h"
#include "testbed/replay/ports.h"

enum {
    MESSAGE_MAX = 512,
    TURNS = 8 /* of one that reads while it computes: the simulator's, so that both compare */
};

struct replay_task {
    const struct task_options *options;
    struct input input;
    sd_event *event;
    sd_event_source *compute;
    struct fetch *fetch;
    struct blocks *blocks; /* NULL: it reads none */
    uint32_t turns, turns_done;
    int socket, ports, uses, reads;
    int devices[INPUT_DEVICES_MAX]; /* while it computes on them; −1: not held */
    struct device_use used[INPUT_DEVICES_MAX];
    struct err err; /* the first failure: it ends the loop */
};

static void task_fail(struct replay_task *task, const struct err *err)
{
    if (task->err.code == 0)
        task->err = *err;
    sd_event_exit(task->event, 0);
}

__attribute__((format(printf, 2, 3))) static void task_say(struct replay_task *task,
                                                           const char *format, ...)
{
    char text[MESSAGE_MAX];
    struct err err;
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    if (send(task->socket, text, (size_t)n, MSG_NOSIGNAL) < 0) {
        err_sys(&err, errno, "cannot tell the scheduler");
        task_fail(task, &err);
    }
}

static void task_write_down(struct replay_task *task, const char *what,
                            const struct ports_connection *connection)
{
    struct err err;
    if (task->ports >= 0 && ports_write(task->ports, what, connection, &err) < 0)
        task_fail(task, &err);
}

static int write_use(const struct replay_task *task, uint32_t d, const char *what, struct err *err)
{
    return task->uses < 0
               ? 0
               : device_uses_write(task->uses, what, &task->input.devices[d], &task->used[d], err);
}

/* WHY the line before the lock goes: whoever takes the device next may write first. */
static void give_devices(struct replay_task *task)
{
    struct err err;
    for (uint32_t d = 0; d < task->input.n_devices; d++) {
        if (task->devices[d] < 0)
            continue;
        if (write_use(task, d, "gave", &err) < 0)
            task_fail(task, &err);
        close(task->devices[d]);
        task->devices[d] = -1;
    }
}

static int take_devices(struct replay_task *task, struct err *err)
{
    const char *folder = task->options->devices;
    int r = 0;
    if (folder && !task->input.n_devices)
        return err_set(err, EINVAL,
                       "it computes on a device and was given none: its stage demands no "
                       "gpu_milli, or its unit has no devices");
    for (uint32_t d = 0; folder && r >= 0 && d < task->input.n_devices; d++) {
        r = task->devices[d] = device_take(folder, &task->input, d, &task->used[d], err);
        if (r >= 0)
            r = write_use(task, d, "took", err);
    }
    return r < 0 ? r : 0;
}

/* Its part of the task's computing, without what a lone one reads meanwhile. WHY by the task's own
 * time: the profile's is the mean of its stage. */
static uint64_t turn_ns(const struct replay_task *task)
{
    const struct profile *profile = &task->input.profile;
    uint64_t reads_ns = task->turns > 1 ? profile_read_ns(profile) : 0;
    uint64_t all_ns = task->input.compute_ns > reads_ns ? task->input.compute_ns - reads_ns : 0;
    return all_ns / task->turns + (task->turns_done < all_ns % task->turns);
}

static int read_turn(struct replay_task *task, struct err *err)
{
    __extension__ typedef unsigned __int128 wide;
    wide until = (wide)task->input.profile.read_bytes * (task->turns_done + 1) / task->turns;
    return task->turns > 1 ? blocks_read(task->blocks, (uint64_t)until, err) : 0;
}

static int on_computed(sd_event_source *s, uint64_t usec, void *context);

static void take_turn(struct replay_task *task)
{
    struct err err;
    int r = read_turn(task, &err);
    sd_event_source_disable_unref(task->compute);
    task->compute = NULL;
    if (r == 0 && (r = sd_event_add_time_relative(task->event, &task->compute, CLOCK_MONOTONIC,
                                                  turn_ns(task) / 1000, 1, on_computed, task)) < 0)
        err_sys(&err, -r, "cannot set the timer of computing");
    if (r < 0)
        task_fail(task, &err);
}

static int on_computed(sd_event_source *s, uint64_t usec, void *context)
{
    struct replay_task *task = context;
    (void)s;
    (void)usec;
    if (++task->turns_done < task->turns) {
        take_turn(task);
        return 0;
    }
    give_devices(task);
    return sd_event_exit(task->event, 0);
}

static void task_compute(struct replay_task *task)
{
    struct err err;
    task_say(task, "received");
    if (take_devices(task, &err) < 0) {
        task_fail(task, &err);
        return;
    }
    task->turns = task->blocks && !task->input.profile.before ? TURNS : 1;
    take_turn(task);
}

static void on_connecting(void *context, const struct ports_connection *c)
{
    task_write_down(context, "connect", c);
}

static void on_opened(void *context, const struct ports_connection *c)
{
    struct replay_task *task = context;
    task_write_down(task, "open", c);
    task_say(task, "connection %s %u %s %u", c->local, c->local_port, c->peer, c->peer_port);
}

static void on_closed(void *context, const struct ports_connection *c)
{
    task_write_down(context, "close", c);
}

static void on_first(void *context, const struct ports_connection *c)
{
    task_write_down(context, "first", c);
}

static void on_missing(void *context, const struct input_part *part)
{
    task_say(context, "missing %u %u %" PRIu64 " %s", part->stage, part->task, part->attempt,
             part->address);
}

static void on_stalled(void *context, const char *address, unsigned others)
{
    task_say(context, "stalled %s %u", address, others);
}

static void on_flows(void *context, const char *address)
{
    task_say(context, "flows %s", address);
}

static void on_fetched(void *context, const struct err *err)
{
    struct replay_task *task = context;
    const struct profile *profile = &task->input.profile;
    struct err failed;
    if (!err && task->blocks && profile->before &&
        blocks_read(task->blocks, profile->read_bytes, &failed) < 0)
        err = &failed;
    if (err)
        task_fail(task, err);
    else
        task_compute(task);
}

/* What a profile reads is the task's block, which may be fetched instead. */
static bool reads_blocks(const struct replay_task *task)
{
    const struct input *input = &task->input;
    for (size_t i = 0; i < input->n_parts; i++)
        if (input->parts[i].block)
            return false;
    return task->options->blocks && input->profile.read_bytes;
}

static int open_blocks(struct replay_task *task, struct err *err)
{
    const struct task_options *options = task->options;
    if (!reads_blocks(task))
        return 0;
    int r = blocks_open(options->blocks, options->meter, task->input.profile.read_bytes_s,
                        task->input.attempt, &task->blocks, err);
    if (r == 0 && options->reads)
        r = task->reads = input_open_notes(options->reads, &task->input, err);
    return r < 0 ? r : 0;
}

static int write_reads(struct replay_task *task, struct err *err)
{
    return task->reads < 0 ? 0 : blocks_write_down(task->reads, task->blocks, err);
}

static int task_prepare(struct replay_task *task, struct err *err)
{
    const char *input = getenv("DUOPOLY_TASK_INPUT"), *number = getenv("DUOPOLY_TASK_SOCKET");
    uint64_t socket;
    if (!input || !number)
        return err_set(err, EINVAL,
                       "DUOPOLY_TASK_INPUT and DUOPOLY_TASK_SOCKET must be set: duopoly-task "
                       "starts this program");
    if (number_read(number, 0, INT32_MAX, &socket) < 0)
        return err_set(err, EINVAL, "DUOPOLY_TASK_SOCKET is \"%s\", no number of an open file",
                       number);
    task->socket = (int)socket;
    int r = input_load(input, &task->input, err);
    if (r < 0)
        return r;
    if (task->options->ports && task->input.n_parts > 0) {
        task->ports = input_open_notes(task->options->ports, &task->input, err);
        if (task->ports < 0)
            return task->ports;
    }
    if (task->options->uses && task->input.n_devices > 0) {
        task->uses = input_open_notes(task->options->uses, &task->input, err);
        if (task->uses < 0)
            return task->uses;
    }
    if ((r = open_blocks(task, err)) < 0)
        return r;
    r = sd_event_new(&task->event);
    return r < 0 ? err_sys(err, -r, "cannot make an event loop") : 0;
}

static int task_loop(struct replay_task *task, struct err *err)
{
    const struct fetch_listener listener = {task,       on_connecting, on_opened,
                                            on_closed,  on_first,      on_missing,
                                            on_stalled, on_flows,      on_fetched};
    int r =
        fetch_create(task->event, &task->input, task->options->port, &listener, &task->fetch, err);
    if (r == 0 && (r = sd_event_loop(task->event)) < 0)
        return err_sys(err, -r, "the event loop ended");
    if (r == 0 && task->err.code) {
        *err = task->err;
        r = -err->code;
    }
    return r;
}

/* Its own folder among the outputs that the host's server looks for (registry.h). */
static int task_leave_output(struct replay_task *task, struct err *err)
{
    const char *path = getenv("DUOPOLY_TASK_OUTPUT");
    if (task->input.output_bytes == 0)
        return 0;
    if (!path || *path != '/')
        return err_set(err, EINVAL,
                       "DUOPOLY_TASK_OUTPUT is no absolute path, but there is output to leave");
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return err_sys(err, errno, "cannot make the output directory %s", path);
    return 0;
}

int replay_task_run(const struct task_options *options, struct err *err)
{
    struct replay_task task = {
        .options = options, .socket = -1, .ports = -1, .uses = -1, .reads = -1};
    memset(task.devices, -1, sizeof(task.devices));
    int r = task_prepare(&task, err);
    if (r == 0)
        r = task_loop(&task, err);
    if (r == 0)
        r = task_leave_output(&task, err);
    if (r == 0)
        r = write_reads(&task, err);
    if (r == 0) {
        task_say(&task, "done");
        r = -task.err.code;
        *err = task.err;
    }
    give_devices(&task);
    blocks_close(task.blocks);
    fetch_destroy(task.fetch);
    sd_event_source_disable_unref(task.compute);
    sd_event_unref(task.event);
    input_done(&task.input);
    if (task.ports >= 0)
        close(task.ports);
    if (task.uses >= 0)
        close(task.uses);
    if (task.reads >= 0)
        close(task.reads);
    return r;
}
