/* Fuzz target of the agent's side of the session (hostagent/uplink): a scripted controller in the
 * place of ZeroMQ, scripted tasks behind. All that the agent says must be a message. */
#include "hostagent/files.h"
#include "hostagent/uplink/uplink_zmq.h"
#include "lib/log.h"
#include "lib/wire_zmq.h"
#include "tests/fuzz/said.h"
#include "tests/fuzz/script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { STEP_DOWN = 1, STEP_UP, STEP_FULL, STEP_REPORTS };

struct wire_zmq {
    struct wire_zmq_handler handler;
    struct wire_zmq_counters counters;
    bool full;
};

static sd_event *loop;
static struct marks *marks;
static struct uplink *uplink;
static struct wire_zmq scripted;

int wire_zmq_connect(sd_event *event, const char *address, const struct key_file *keys,
                     const struct wire_zmq_handler *handler, struct wire_zmq **ret_endpoint,
                     struct err *err)
{
    (void)event, (void)address, (void)keys, (void)err;
    scripted = (struct wire_zmq){.handler = *handler};
    *ret_endpoint = &scripted;
    return 0;
}

int wire_zmq_send(struct wire_zmq *endpoint, uint64_t peer, enum wire_class class,
                  const duopoly_Envelope *envelope)
{
    static uint8_t bytes[WIRE_MAX_BYTES];
    size_t length;
    if (peer || wire_encode(envelope, bytes, sizeof(bytes), &length, NULL) < 0)
        abort();
    said_add(bytes, length);
    return endpoint->full && class == WIRE_RESULT ? -ENOBUFS : 0;
}

void wire_zmq_reconnect(struct wire_zmq *endpoint)
{
    (void)endpoint;
}

const struct reach_address *wire_zmq_reached(const struct wire_zmq *endpoint)
{
    (void)endpoint;
    return NULL;
}

void wire_zmq_set_keys(struct wire_zmq *endpoint, const struct key_file *keys)
{
    (void)endpoint, (void)keys;
}

const struct wire_zmq_counters *wire_zmq_counters(const struct wire_zmq *endpoint)
{
    return &endpoint->counters;
}

void wire_zmq_close(struct wire_zmq *endpoint)
{
    (void)endpoint;
}

/* An attempt's phase follows from its number: answers of every kind. */
static void tell(uint64_t attempt, duopoly_AttemptPhase phase)
{
    const duopoly_AttemptState state = {.attempt = attempt, .phase = phase};
    uplink_tell_state(uplink, &state);
}

void tasks_start(struct tasks *tasks, const duopoly_Start *start)
{
    (void)tasks;
    tell(start->attempt, start->attempt % (_duopoly_AttemptPhase_MAX + 1));
}

void tasks_add_inputs(struct tasks *tasks, const duopoly_StartInputs *part)
{
    (void)tasks;
    if (part->inputs_count > sizeof(part->inputs) / sizeof(part->inputs[0]))
        abort();
    tell(part->attempt, duopoly_AttemptPhase_PHASE_STARTED);
}

void tasks_stop(struct tasks *tasks, uint64_t attempt, uint32_t grace_ms)
{
    (void)tasks, (void)grace_ms;
    tell(attempt, duopoly_AttemptPhase_PHASE_KILLED);
}

void tasks_ask(struct tasks *tasks, uint64_t attempt)
{
    (void)tasks;
    tell(attempt, duopoly_AttemptPhase_PHASE_LOST);
}

int tasks_set_levels(struct tasks *tasks, const duopoly_Levels *levels, struct err *err)
{
    (void)tasks;
    return levels->levels_count % 7 == 6 ? err_set(err, EIO, "no map") : 0;
}

const char *tasks_no_room(const struct tasks *tasks)
{
    (void)tasks;
    return "the folder is full";
}

void tasks_acknowledge(struct tasks *tasks, uint64_t attempt)
{
    (void)tasks, (void)attempt;
}

int tasks_forget_job(struct tasks *tasks, uint64_t job, struct err *err)
{
    (void)tasks;
    return job % 7 == 6 ? err_set(err, EIO, "no disk") : 0;
}

void tasks_each(struct tasks *tasks, void (*each)(void *user, const duopoly_AttemptState *state),
                void *user)
{
    (void)tasks;
    for (uint64_t i = 0; i < 40; i++)
        each(user, &(duopoly_AttemptState){.attempt = i,
                                           .phase = i % 2 ? duopoly_AttemptPhase_PHASE_DONE
                                                          : duopoly_AttemptPhase_PHASE_STARTED});
}

int tasks_each_output(struct tasks *tasks,
                      void (*each)(void *user, const duopoly_OutputHeld *output), void *user,
                      struct err *err)
{
    (void)tasks, (void)err;
    each(user, &(duopoly_OutputHeld){.job = 1});
    return 0;
}

void tasks_tell_again(struct tasks *tasks)
{
    (void)tasks;
    uplink_tell_output_lost(uplink, &(duopoly_OutputLost){.job = 2});
}

static void message_try(const struct script_step *step)
{
    static duopoly_Envelope envelope;
    struct err err;
    if (wire_decode(step->bytes, step->length, &envelope, &err) < 0)
        scripted.handler.on_malformed(scripted.handler.user, 0, &err);
    else
        scripted.handler.on_message(scripted.handler.user, 0, NULL, &envelope);
}

static void step_do(const struct script_step *step)
{
    switch (step->what) {
    case STEP_DOWN:
        scripted.handler.on_down(scripted.handler.user);
        break;
    case STEP_UP:
        scripted.handler.on_up(scripted.handler.user);
        break;
    case STEP_FULL:
        scripted.full = !scripted.full;
        break;
    case STEP_REPORTS:
        for (size_t i = 0; i < step->length; i++)
            uplink_report_bytes(uplink, i, i);
        uplink_flush(uplink);
        break;
    default:
        message_try(step);
    }
}

static void take_trial(void *user, duopoly_Stance stance, uint32_t confirm_s)
{
    (void)user, (void)stance, (void)confirm_s;
}

static void take_stance(void *user, duopoly_Stance stance)
{
    (void)user, (void)stance;
}

/* ---- the time stands ---- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now)
{
    (void)clock;
    *ret_now = (struct timespec){.tv_sec = 1000};
    return 0;
}

/* ---- the disk: an agent that cannot keep the controller's epoch has no session ---- */

static char epoch[32];

int __wrap_files_read(const char *path, char *buffer, size_t size, size_t *ret_n, struct err *err);
int __wrap_files_overwrite(const char *path, const void *bytes, size_t n, mode_t mode,
                           struct err *err);

int __wrap_files_read(const char *path, char *buffer, size_t size, size_t *ret_n, struct err *err)
{
    bool of_epoch = strcmp(path, "disk/epoch") == 0;
    const char *text = of_epoch ? epoch : "boot";
    if (of_epoch && !*epoch)
        return err_sys(err, ENOENT, "reading %s", path);
    if (strlen(text) >= size || ret_n)
        abort();
    strcpy(buffer, text);
    return 0;
}

int __wrap_files_overwrite(const char *path, const void *bytes, size_t n, mode_t mode,
                           struct err *err)
{
    (void)mode, (void)err;
    if (strcmp(path, "disk/epoch") != 0 || n >= sizeof(epoch))
        abort();
    memcpy(epoch, bytes, n);
    epoch[n] = '\0';
    return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const struct mark_config config = {.driver = "recorder"};
    (void)argc, (void)argv;
    log_open("fuzz", LOG_LEVEL_ERROR);
    return sd_event_new(&loop) < 0 || marks_open(&config, NULL, &marks, NULL) < 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct uplink_config config = {.controller = "tcp://127.0.0.1:1",
                                         .key_path = "",
                                         .state_dir = "disk",
                                         .on_stance = take_stance,
                                         .on_greeting = take_stance,
                                         .on_trial = take_trial,
                                         .hello = {.name = "h1"},
                                         .marks = marks,
                                         .mark_lease_ns = 1};
    struct script script = {data, size};
    struct script_step step;
    said_begin();
    *epoch = '\0';
    if (uplink_open(&config, loop, &uplink, NULL) < 0)
        return 0;
    if (size % 8)
        uplink_set_tasks(uplink, (struct tasks *)&scripted); /* else a switch's agent */
    scripted.handler.on_up(scripted.handler.user);
    while (script_next(&script, &step))
        step_do(&step);
    uplink_close(uplink);
    return 0;
}
