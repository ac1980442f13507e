/* A controller that does what a test says: real ROUTER, codec and session, no decisions of its own.
 *
 *   controller-driver ADDRESS [EPOCH]
 *
 * Says WELCOME to every HELLO, renews leases every 200 ms unless told not to, acknowledges all
 * unless told not to, and prints one JSON object a line for every message. Lines on its standard
 * input, each answered by "ok" or "error …" first: start ATTEMPT JOB STAGE TASK COMMAND [SLOTS
 * [COFLOW MACROFLOW [QUEUE [COMPUTE_NS [ADDRESS BYTES]]]]] stop ATTEMPT GRACE_MS · ask ATTEMPT ·
 * place UNIT GPU_MILLI GPU_MEM_BYTES, profile READ_BYTES READ_BYTES_S BEFORE COMPUTE_NS (of the
 * starts that follow; 0 0 0 0: none) ·
 * forget JOB · levels ATTEMPT COFLOW MACROFLOW · mode MODE SEQUENCE · stance STANCE · lease MS ·
 * leases 0|1 · acknowledge 0|1 · epoch N · raw_epoch N (of the next message only) · drop (the
 * session) · rivals N (ends the session as if another agent of that name had it, and refuses the
 * next N HELLOs) */
#include "lib/wire_zmq.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct wire_zmq *endpoint;
static struct wire_session session;
static uint64_t peer;
static bool open_, leases = true, acknowledge = true;
static unsigned long long rivals; /* how many HELLOs are refused, as if another had the name */
static uint32_t epoch = 1, next_epoch;
static uint32_t lease_ms = 10000;
static unsigned unit; /* of starts, and what they take of its devices: */
static long long gpu_milli, gpu_mem_bytes;
static duopoly_Profile profile;
static duopoly_Envelope out;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static int send_out(bool changes_state)
{
    if (!open_)
        return -ENOTCONN;
    int r = wire_session_stamp(&session, &out, changes_state);
    if (next_epoch) {
        out.epoch = next_epoch;
        if (changes_state)
            session.sent--;
        next_epoch = 0;
    }
    return r < 0 ? r : wire_zmq_send(endpoint, peer, WIRE_RESULT, &out);
}

static void print_state(const duopoly_AttemptState *s)
{
    printf("{\"attempt\": %" PRIu64 ", \"phase\": %d, \"bytes\": %" PRIu64
           ", \"exit\": %d, \"text\": \"",
           s->attempt, (int)s->phase, s->received_bytes, s->exit_status);
    for (const char *c = s->text; *c; c++)
        printf(*c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    printf("\", \"job\": %" PRIu64
           ", \"stage\": %u, \"task\": %u, \"unit\": %u, \"coflow\": %u, \"macroflow\": %u, "
           "\"slots\": %" PRId64,
           s->job, s->stage, s->task, s->unit, s->coflow_level, s->macroflow_level,
           s->resources.slots);
    if (s->has_read)
        printf(", \"read\": [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", s->read.bytes,
               s->read.bytes_s, s->read.reading_ns);
    printf("}");
}

static void print_guests(const duopoly_GuestsPart *part)
{
    printf(", \"refused\": %" PRIu64 ", \"left_out\": %" PRIu64 ", \"applications\": [",
           part->refused, part->left_out);
    for (pb_size_t i = 0; i < part->applications_count; i++) {
        const duopoly_GuestApplication *one = &part->applications[i];
        printf("%s{\"name\": \"%s\", \"user\": %u, \"guests\": %u, \"marked\": %u, \"cores\": %u, "
               "\"bytes\": %" PRIu64
               ", \"rung\": %d, \"level\": %d, \"text\": \"%s\", \"tasks\": %" PRIu64
               ", \"unknown\": %" PRIu64 ", \"shared\": %" PRIu64 "}",
               i ? ", " : "", one->name, one->user, one->guests, one->marked, one->cores,
               one->received_bytes, (int)one->rung, one->level, one->text, one->tasks,
               one->tasks_unknown, one->shared_bytes);
    }
    printf("]");
}

/* [[slots, gpu_milli, gpu_mem_bytes], …] */
static void print_units(const duopoly_Hello *hello)
{
    printf(", \"has\": [");
    for (pb_size_t i = 0; i < hello->units_count; i++)
        printf("%s[%" PRId64 ", %" PRId64 ", %" PRId64 "]", i ? ", " : "", hello->units[i].slots,
               hello->units[i].gpu_milli, hello->units[i].gpu_mem_bytes);
    printf("]");
}

static void print_body(const duopoly_Envelope *in)
{
    printf("{\"kind\": \"%s\", \"acknowledged\": %" PRIu64 ", \"ns\": %" PRIu64,
           wire_kind_name(in->which_body), in->acknowledged, now_ns());
    if (in->which_body == duopoly_Envelope_attempt_state_tag) {
        printf(", \"state\": ");
        print_state(&in->body.attempt_state);
    } else if (in->which_body == duopoly_Envelope_host_state_tag) {
        printf(", \"stance\": %d, \"text\": \"%s\", \"queues\": \"%s\", \"marks\": \"%s\"",
               (int)in->body.host_state.stance, in->body.host_state.text,
               in->body.host_state.queues, in->body.host_state.marks);
        printf(", \"devices\": [");
        for (pb_size_t i = 0; i < in->body.host_state.devices_count; i++)
            printf("%s\"%s\"", i ? ", " : "", in->body.host_state.devices[i]);
        printf("]");
    } else if (in->which_body == duopoly_Envelope_inventory_part_tag) {
        const duopoly_InventoryPart *part = &in->body.inventory_part;
        printf(", \"attempts\": [");
        for (pb_size_t i = 0; i < part->attempts_count; i++) {
            printf(i ? ", " : "");
            print_state(&part->attempts[i]);
        }
        printf("], \"outputs\": [");
        for (pb_size_t i = 0; i < part->outputs_count; i++)
            printf("%s[%" PRIu64 ", %u, %u, %" PRIu64 "]", i ? ", " : "", part->outputs[i].job,
                   part->outputs[i].stage, part->outputs[i].task, part->outputs[i].attempt);
        printf("]");
    } else if (in->which_body == duopoly_Envelope_hello_tag) {
        printf(", \"name\": \"%s\", \"epoch\": %u, \"boot\": \"%" PRIu64 "\", \"hello\": \"%" PRIu64
               "\", \"units\": %u, \"slots\": %" PRId64 ", \"uplink_bps\": %" PRIu64
               ", \"role\": %d",
               in->body.hello.name, in->epoch, in->body.hello.boot, in->body.hello.hello_sequence,
               (unsigned)in->body.hello.units_count, in->body.hello.units[0].slots,
               in->body.hello.uplink_bps, (int)in->body.hello.role);
        print_units(&in->body.hello);
    } else if (in->which_body == duopoly_Envelope_load_tag) {
        printf(", \"up\": %u, \"down\": %u, \"up_users\": %u, \"down_users\": %u",
               in->body.load.uplink_permille, in->body.load.downlink_permille,
               in->body.load.uplink_users, in->body.load.downlink_users);
        if (in->body.load.has_disk_permille)
            printf(", \"disk\": %u, \"disk_readers\": %u, \"disk_hangs\": %d, "
                   "\"disk_reads\": %" PRIu64,
                   in->body.load.disk_permille, in->body.load.disk_readers,
                   in->body.load.disk_hangs, in->body.load.disk_read_bytes_s);
    } else if (in->which_body == duopoly_Envelope_progress_tag) {
        printf(", \"bytes\": {");
        for (pb_size_t i = 0; i < in->body.progress.attempts_count; i++)
            printf("%s\"%" PRIu64 "\": %" PRIu64, i ? ", " : "",
                   in->body.progress.attempts[i].attempt,
                   in->body.progress.attempts[i].received_bytes);
        printf("}");
    } else if (in->which_body == duopoly_Envelope_output_lost_tag) {
        printf(", \"job\": %" PRIu64 ", \"stage\": %u, \"task\": %u, \"attempt\": %" PRIu64,
               in->body.output_lost.job, in->body.output_lost.stage, in->body.output_lost.task,
               in->body.output_lost.attempt);
    } else if (in->which_body == duopoly_Envelope_host_room_tag) {
        printf(", \"text\": \"%s\"", in->body.host_room.text);
    } else if (in->which_body == duopoly_Envelope_guests_part_tag) {
        print_guests(&in->body.guests_part);
    } else if (in->which_body == duopoly_Envelope_agent_counters_tag) {
        printf(", \"followed\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"unmarked\": %" PRIu64
               ", \"expiries\": %" PRIu64,
               in->body.agent_counters.followed_flows, in->body.agent_counters.refused_messages,
               in->body.agent_counters.unmarked_bytes, in->body.agent_counters.lease_expiries);
    }
    printf("}\n");
}

static void welcome(uint64_t from)
{
    peer = from;
    open_ = true;
    wire_session_init(&session, 1, epoch);
    duopoly_Welcome *w = &wire_begin(&out, duopoly_Envelope_welcome_tag)->body.welcome;
    *w = (duopoly_Welcome){.version = 1,
                           .epoch = epoch,
                           .heartbeat_ms = 200,
                           .silent_ms = 2000,
                           .controller_lease_ms = lease_ms,
                           .congested_permille = 900,
                           .cleared_permille = 800};
    send_out(false);
}

/* Another agent of that name has the session. */
static void refuse(uint64_t to)
{
    duopoly_Refused *refused = &wire_begin(&out, duopoly_Envelope_refused_tag)->body.refused;
    refused->reason = duopoly_Reason_REASON_IDENTITY;
    wire_copy(refused->text, sizeof(refused->text), "a newer session of that name exists");
    out.epoch = epoch;
    wire_zmq_send(endpoint, to, WIRE_RESULT, &out);
    open_ = false;
}

static void on_message(void *user, uint64_t from, const char *identity, const duopoly_Envelope *in)
{
    (void)user;
    (void)identity;
    print_body(in);
    if (in->which_body == duopoly_Envelope_hello_tag) {
        if (rivals > 0 && rivals--)
            refuse(from);
        else
            welcome(from);
        return;
    }
    if (from != peer || !open_)
        return;
    enum wire_verdict verdict = wire_session_accept(&session, in);
    if (verdict != WIRE_TAKE)
        printf("{\"kind\": \"verdict\", \"verdict\": %d}\n", (int)verdict);
    if (!acknowledge)
        return;
    wire_session_effected(&session, in->sequence);
    if (wire_session_owes(&session)) {
        wire_begin(&out, duopoly_Envelope_acknowledge_tag);
        send_out(false);
    }
}

static void on_malformed(void *user, uint64_t from, const struct err *err)
{
    (void)user;
    (void)from;
    printf("{\"kind\": \"malformed\", \"text\": \"%s\"}\n", err->text);
}

static int do_start(const char *line)
{
    unsigned long long attempt, job, compute = 0, bytes = 0;
    unsigned stage, task, slots = 1, coflow = 0, macroflow = 0, queue = 0;
    char command[64], address[64];
    int n = sscanf(line, "start %llu %llu %u %u %63s %u %u %u %u %llu %63s %llu", &attempt, &job,
                   &stage, &task, command, &slots, &coflow, &macroflow, &queue, &compute, address,
                   &bytes);
    if (n < 5)
        return -EINVAL;
    duopoly_Start *s = &wire_begin(&out, duopoly_Envelope_start_tag)->body.start;
    *s = (duopoly_Start){
        .attempt = attempt,
        .job = job,
        .stage = stage,
        .task = task,
        .has_resources = true,
        .unit = unit,
        .resources = {.slots = slots, .gpu_milli = gpu_milli, .gpu_mem_bytes = gpu_mem_bytes},
        .coflow_level = coflow,
        .macroflow_level = macroflow,
        .compute_ns = compute,
        .queue = queue == 1,
        .has_profile = profile.read_bytes || profile.compute_ns,
        .profile = profile,
        .inputs = n == 12};
    wire_copy(s->command, sizeof(s->command), command);
    int r = send_out(true);
    if (r < 0 || n < 12)
        return r;
    duopoly_StartInputs *inputs =
        &wire_begin(&out, duopoly_Envelope_start_inputs_tag)->body.start_inputs;
    inputs->attempt = attempt;
    inputs->inputs_count = 1;
    inputs->inputs[0] = (duopoly_Input){.bytes = bytes, .stage = 0, .task = 7, .attempt = 99};
    inputs->inputs[0].address[10] = inputs->inputs[0].address[11] = 0xff;
    inet_pton(AF_INET, address, inputs->inputs[0].address + 12);
    return send_out(true);
}

static int do_profile(const char *line)
{
    unsigned long long bytes, bytes_s, compute_ns;
    unsigned before;
    if (sscanf(line, "profile %llu %llu %u %llu", &bytes, &bytes_s, &before, &compute_ns) != 4)
        return -EINVAL;
    profile = (duopoly_Profile){bytes, bytes_s, before == 1, compute_ns};
    return 0;
}

static int do_guest(const char *line)
{
    duopoly_GuestLevels *levels =
        &wire_begin(&out, duopoly_Envelope_guest_levels_tag)->body.guest_levels;
    levels->levels_count = 1;
    unsigned vouched = 0;
    int n = sscanf(line, "guest %63s %u %u %u", levels->levels[0].name, &levels->levels[0].user,
                   &levels->levels[0].level, &vouched);
    levels->levels[0].vouched = vouched == 1;
    return n >= 3 ? send_out(true) : -EINVAL;
}

static int do_allow(const char *line)
{
    duopoly_GuestAllows *said =
        &wire_begin(&out, duopoly_Envelope_guest_allows_tag)->body.guest_allows;
    duopoly_Allow *allow = &said->allows[0];
    unsigned long long number;
    said->allows_count = 1;
    int n = sscanf(line, "allow %63s %llu %u %u %u %u %u %u", said->name, &number, &allow->job,
                   &allow->stage, &allow->task, &allow->coflow_level, &allow->macroflow_level,
                   &allow->until_ms);
    allow->allow = number;
    return n == 8 ? send_out(false) : -EINVAL;
}

static int do_relabel(const char *line)
{
    duopoly_GuestAllows *said =
        &wire_begin(&out, duopoly_Envelope_guest_allows_tag)->body.guest_allows;
    duopoly_TaskLevels *levels = &said->levels[0];
    said->levels_count = 1;
    return sscanf(line, "relabel %63s %u %u %u", said->name, &levels->attempt,
                  &levels->coflow_level, &levels->macroflow_level) == 4
               ? send_out(false)
               : -EINVAL;
}

static int do_line(const char *line)
{
    unsigned long long a = 0, b = 0, c = 0;
    char word[32] = "";
    sscanf(line, "%31s %llu %llu %llu", word, &a, &b, &c);
    if (strcmp(word, "start") == 0)
        return do_start(line);
    if (strcmp(word, "place") == 0)
        return sscanf(line, "place %u %lld %lld", &unit, &gpu_milli, &gpu_mem_bytes) == 3 ? 0
                                                                                          : -EINVAL;
    if (strcmp(word, "profile") == 0)
        return do_profile(line);
    if (strcmp(word, "guest") == 0)
        return do_guest(line);
    if (strcmp(word, "allow") == 0)
        return do_allow(line);
    if (strcmp(word, "relabel") == 0)
        return do_relabel(line);
    if (strcmp(word, "leases") == 0) {
        leases = a;
    } else if (strcmp(word, "acknowledge") == 0) {
        acknowledge = a;
    } else if (strcmp(word, "epoch") == 0) {
        epoch = (uint32_t)a;
    } else if (strcmp(word, "raw_epoch") == 0) {
        next_epoch = (uint32_t)a;
    } else if (strcmp(word, "drop") == 0) {
        open_ = false;
    } else if (strcmp(word, "rivals") == 0) {
        rivals = a;
        refuse(peer);
    } else if (strcmp(word, "lease") == 0) {
        lease_ms = (uint32_t)a;
    } else if (strcmp(word, "stop") == 0) {
        duopoly_Stop *stop = &wire_begin(&out, duopoly_Envelope_stop_tag)->body.stop;
        stop->attempt = a;
        stop->grace_ms = (uint32_t)b;
        return send_out(true);
    } else if (strcmp(word, "ask") == 0) {
        wire_begin(&out, duopoly_Envelope_ask_attempt_tag)->body.ask_attempt.attempt = a;
        return send_out(true);
    } else if (strcmp(word, "forget") == 0) {
        wire_begin(&out, duopoly_Envelope_forget_tag)->body.forget.job = a;
        return send_out(true);
    } else if (strcmp(word, "mode") == 0) {
        wire_begin(&out, duopoly_Envelope_mode_tag)->body.mode =
            (duopoly_Mode){.mode = (uint32_t)a, .mode_sequence = b};
        return send_out(true);
    } else if (strcmp(word, "stance") == 0) {
        wire_begin(&out, duopoly_Envelope_take_stance_tag)->body.take_stance.stance =
            (duopoly_Stance)a;
        return send_out(true);
    } else if (strcmp(word, "levels") == 0) {
        duopoly_Levels *levels = &wire_begin(&out, duopoly_Envelope_levels_tag)->body.levels;
        levels->levels_count = 1;
        levels->levels[0] = (duopoly_AttemptLevels){a, (uint32_t)b, (uint32_t)c};
        return send_out(true);
    } else {
        return -EINVAL;
    }
    return 0;
}

static int on_input(sd_event_source *source, int fd, uint32_t events, void *user)
{
    static char buffer[4096];
    static size_t used;
    (void)user;
    (void)events;
    ssize_t n = read(fd, buffer + used, sizeof(buffer) - 1 - used);
    if (n <= 0)
        return sd_event_exit(sd_event_source_get_event(source), 0);
    used += (size_t)n;
    buffer[used] = 0;
    for (char *end; (end = strchr(buffer, '\n'));) {
        *end = 0;
        int r = do_line(buffer);
        printf(r < 0 ? "error %s\n" : "ok\n", strerror(-r));
        used -= (size_t)(end + 1 - buffer);
        memmove(buffer, end + 1, used + 1);
    }
    return 0;
}

static int on_lease(sd_event_source *source, uint64_t usec, void *user)
{
    (void)user;
    if (leases && open_) {
        wire_begin(&out, duopoly_Envelope_lease_tag)->body.lease.lease_ms = lease_ms;
        send_out(false);
    }
    sd_event_source_set_time(source, usec + 200000);
    return sd_event_source_set_enabled(source, SD_EVENT_ON);
}

int main(int argc, char **argv)
{
    sd_event *loop = NULL;
    struct err err = {0};
    const struct wire_zmq_handler handler = {.on_message = on_message,
                                             .on_malformed = on_malformed};
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2 || sd_event_new(&loop) < 0)
        return 2;
    if (argc > 2)
        epoch = (uint32_t)atoi(argv[2]);
    int r = wire_zmq_listen(loop, argv[1], NULL, NULL, &handler, &endpoint, &err);
    printf("%s %s\n", r < 0 ? "error" : "ok", err.text);
    if (r < 0)
        return 1;
    sd_event_add_io(loop, NULL, STDIN_FILENO, EPOLLIN, on_input, NULL);
    sd_event_add_time_relative(loop, NULL, CLOCK_MONOTONIC, 200000, 1000, on_lease, NULL);
    r = sd_event_loop(loop);
    wire_zmq_close(endpoint);
    sd_event_unref(loop);
    return r < 0;
}
