/* Fuzz target of clients' requests (controller/clients): four clients on the Unix socket and three
 * with keys, each of another role, before a whole controller (engine, agents' sessions, keyring) of
 * which only the edges are scripted: sockets, clock, disk and the child that writes the state.
 *
 * Each request is answered once, by a message; who may only look changes nothing, nor does a dry
 * run that has no part of a job; what is said to be durable is on the disk; what is written of
 * peers is printable; and nobody ends the controller. A controller serves as many inputs as leave
 * it as it was. */
#include "controller/clients/control.h"
#include "controller/clients/remote.h"
#include "controller/clock.h"
#include "controller/keyring.h"
#include "controller/state_dump.h"
#include "lib/log.h"
#include "lib/wire_unix.h"
#include "tests/fuzz/kept.h"
#include "tests/fuzz/said.h"
#include "tests/fuzz/script.h"
#include "tests/stand_ins/no_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define SECOND INT64_C(1000000000)

enum {
    HOSTS = 2,
    LOCAL = 4, /* clients on the Unix socket: stranger, reader, member, root */
    CLIENTS = 7,
    FIRST_PEER = 100, /* of clients with keys: connections below are agents' */
    STEP_TIME = 16,
    STEP_DISK,
    STEP_FULL,
    STEP_GONE,
    STEP_AGENT
};

struct agents_zmq {
    struct keyring *keyring;
};
struct wire_unix {
    struct wire_unix_handler handler;
    struct wire_unix_counters counters;
};
struct epoch {
    uint64_t jobs;
};
struct clock {
    int64_t now_ns, due_ns;
    void (*on_due)(void *user, int64_t now_ns);
    void *user;
};

struct state_dump {
    void (*ready)(void *user, uint64_t taker);
    void *user;
    uint64_t taker, taken;
    bool awaited, there; /* its next bytes are, which the disk's step brings */
};

/* One that asks. */
struct asker {
    uint64_t id; /* on the Unix socket */
    bool held, cut;
    uint32_t asked, answered;
    uint64_t ticket; /* what it waits for is on the disk when this is; NOW: all is */
};
#define NOW UINT64_MAX

static struct {
    sd_event *loop;
    struct settings settings;
    struct agents_zmq door;
    struct wire_unix server;
    struct epoch epoch;
    struct store *store;
    struct clock clock;
    struct state_dump state_dump;
    struct control *control;
    struct conductor *conductor;
    struct asker askers[CLIENTS];
    uint64_t generation;
    bool changed; /* beyond what a version tells */
    bool looks;   /* who asks now may only look */
} world;

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* ---- the sockets ---- */

/* Counters go on in a controller that serves the next input. */
static bool counts(const duopoly_Envelope *envelope)
{
    return envelope->which_body == duopoly_Envelope_page_tag && envelope->body.page.counters_count;
}

static void answer_check(struct asker *asker, const duopoly_Envelope *envelope)
{
    static uint8_t bytes[WIRE_MAX_BYTES];
    size_t length;
    must(wire_encode(envelope, bytes, sizeof(bytes), &length, NULL) == 0);
    if (!counts(envelope))
        said_add(bytes, length);
    if (envelope->which_body == duopoly_Envelope_job_event_tag)
        return;
    asker->answered++;
    must(asker->answered <= asker->asked);
    if (envelope->which_body == duopoly_Envelope_accepted_tag && envelope->body.accepted.durable)
        must(store_settled(world.store,
                           asker->ticket == NOW ? no_store_handed(world.store) : asker->ticket));
}

static struct asker *asker_of(uint64_t client)
{
    for (struct asker *asker = world.askers; asker < world.askers + LOCAL; asker++)
        if (asker->id == client)
            return asker;
    return NULL;
}

int wire_unix_listen(sd_event *loop, const char *path, const struct wire_unix_groups *groups,
                     uint64_t idle_ns, const struct wire_unix_handler *handler,
                     struct wire_unix **ret_server, struct err *err)
{
    (void)loop, (void)path, (void)groups, (void)idle_ns, (void)err;
    world.server.handler = *handler;
    *ret_server = &world.server;
    return 0;
}

void wire_unix_take_idle(struct wire_unix *server, uint64_t idle_ns)
{
    (void)server, (void)idle_ns;
}

int wire_unix_peer(const struct wire_unix *server, uint64_t client, struct wire_unix_peer *ret_peer)
{
    const struct asker *asker = asker_of(client);
    (void)server;
    if (!asker)
        return -EHOSTUNREACH;
    uint32_t place = (uint32_t)(asker - world.askers);
    *ret_peer = (struct wire_unix_peer){LOCAL - 1 - place, 7, (enum wire_unix_standing)place};
    return 0;
}

void wire_unix_watch(struct wire_unix *server, uint64_t client)
{
    (void)server, (void)client;
}

bool wire_unix_has_room(const struct wire_unix *server, uint64_t client)
{
    (void)server;
    return asker_of(client);
}

int wire_unix_send(struct wire_unix *server, uint64_t client, const duopoly_Envelope *envelope)
{
    struct asker *asker = asker_of(client);
    (void)server;
    if (!asker)
        return -EHOSTUNREACH;
    answer_check(asker, envelope);
    return 0;
}

void wire_unix_hold(struct wire_unix *server, uint64_t client, bool hold)
{
    (void)server;
    if (asker_of(client))
        asker_of(client)->held = hold;
}

void wire_unix_take(struct wire_unix *server, uint64_t client)
{
    (void)server, (void)client;
}

const struct wire_unix_counters *wire_unix_counters(const struct wire_unix *server)
{
    return &server->counters;
}

void wire_unix_close(struct wire_unix *server)
{
    (void)server;
}

int agents_zmq_send(void *user, uint64_t peer, const duopoly_Envelope *envelope)
{
    static uint8_t bytes[WIRE_MAX_BYTES];
    size_t length;
    (void)user;
    if (peer >= FIRST_PEER) {
        answer_check(&world.askers[LOCAL + peer - FIRST_PEER], envelope);
        return 0;
    }
    must(wire_encode(envelope, bytes, sizeof(bytes), &length, NULL) == 0);
    world.changed = true; /* its session remembers what an agent was told */
    return 0;
}

void agents_zmq_cut(void *user, uint64_t peer)
{
    (void)user;
    if (peer >= FIRST_PEER)
        world.askers[LOCAL + peer - FIRST_PEER].cut = true;
}

uint32_t agents_zmq_most(const struct agents_zmq *door)
{
    (void)door;
    return 1000;
}

struct keyring *agents_zmq_keyring(const struct agents_zmq *door)
{
    return door->keyring;
}

void agents_zmq_keys_changed(struct agents_zmq *door)
{
    (void)door;
    world.changed = true;
}

int agents_zmq_rotate(struct agents_zmq *door, int64_t overlap_s, struct err *err)
{
    (void)door;
    world.changed = true;
    return overlap_s % 2 ? err_set(err, EBUSY, "a key is on its way") : 0;
}

void agents_zmq_own_keys(const struct agents_zmq *door, duopoly_ControllerKeys *ret_keys)
{
    (void)door;
    *ret_keys = (duopoly_ControllerKeys)duopoly_ControllerKeys_init_zero;
}

const struct wire_zmq_counters *agents_zmq_counters(const struct agents_zmq *door)
{
    static const struct wire_zmq_counters none;
    (void)door;
    return &none;
}

const struct wire_zmq_door_counters *agents_zmq_connections(const struct agents_zmq *door)
{
    static const struct wire_zmq_door_counters none;
    (void)door;
    return &none;
}

const struct agents_zmq_refusals *agents_zmq_refusals(const struct agents_zmq *door)
{
    static const struct agents_zmq_refusals none;
    (void)door;
    return &none;
}

/* ---- the clock, and what nobody may bring about ---- */

int clock_open(sd_event *loop, const char *path, void (*on_due)(void *user, int64_t now_ns),
               void *user, struct clock **ret_clock, struct err *err)
{
    (void)loop, (void)path, (void)err;
    world.clock = (struct clock){SECOND, INT64_MAX, on_due, user};
    *ret_clock = &world.clock;
    return 0;
}

int64_t clock_now_ns(const struct clock *clock)
{
    return clock->now_ns;
}

int clock_arm(struct clock *clock, int64_t due_ns)
{
    clock->due_ns = due_ns;
    return 0;
}

void clock_close(struct clock *clock)
{
    (void)clock;
}

/* ---- the child that writes the state: two pieces, of which each is to be waited for ---- */

enum { PIECES = 2, PIECE = 100 };

int state_dump_open(sd_event *loop, const struct engine *engine, const struct clock *clock,
                    void (*ready)(void *user, uint64_t taker), void *user,
                    struct state_dump **ret_dump, struct err *err)
{
    (void)loop, (void)engine, (void)clock, (void)err;
    world.state_dump = (struct state_dump){.ready = ready, .user = user};
    *ret_dump = &world.state_dump;
    return 0;
}

int state_dump_begin(struct state_dump *dump, uint64_t taker, struct err *err)
{
    if (dump->taker && dump->taker != taker)
        return err_set(err, EBUSY, "somebody else takes it");
    dump->taker = taker;
    dump->taken = 0;
    dump->awaited = dump->there = false;
    return 0;
}

bool state_dump_goes_on(const struct state_dump *dump, uint64_t taker, uint64_t taken)
{
    return dump->taker == taker && dump->taken == taken;
}

ssize_t state_dump_take(struct state_dump *dump, uint8_t *buffer, size_t size, struct err *err)
{
    must(dump->taker && size >= PIECE);
    dump->awaited = !dump->there;
    if (dump->awaited)
        return -EAGAIN;
    dump->there = false;
    if (dump->taken == PIECES * PIECE) {
        bool whole = dump->taker % 2;
        dump->taker = 0;
        return whole ? 0 : err_set(err, EIO, "it is not whole");
    }
    memset(buffer, 'x', PIECE);
    dump->taken += PIECE;
    return PIECE;
}

void state_dump_leave(struct state_dump *dump, uint64_t taker)
{
    if (dump->taker == taker)
        dump->taker = 0;
}

void state_dump_close(struct state_dump *dump)
{
    (void)dump;
}

static void state_dump_move(void)
{
    struct state_dump *dump = &world.state_dump;
    if (!dump->taker || !dump->awaited)
        return;
    dump->there = true;
    dump->ready(dump->user, dump->taker);
}

/* Of keys: the wall clock stands. */
time_t __wrap_time(time_t *at);

time_t __wrap_time(time_t *at)
{
    (void)at;
    return 1000000000;
}

/* Each change is a line of the log. */
const char *const log_levels[] = {"note", NULL};

void log_everything(bool everything)
{
    (void)everything;
}

bool log_reopen(enum log_level least_urgent)
{
    (void)least_urgent;
    return true;
}

bool log_level_is_chosen(void)
{
    return false;
}

enum log_level log_level_get(void)
{
    return (enum log_level)0; /* the only word above */
}

void log_level_set(enum log_level least_urgent)
{
    (void)least_urgent;
}

void log_line(enum log_level level, enum log_fault fault, const char *format, ...)
{
    (void)level, (void)fault, (void)format;
}

void log_of(const char *peer, enum log_level level, enum log_fault fault, const char *format, ...)
{
    (void)peer, (void)level, (void)fault, (void)format;
}

void log_change(const char *format, ...)
{
    (void)format;
}

bool log_is_wanted(enum log_level level)
{
    (void)level;
    return true;
}

int sd_event_exit(sd_event *event, int code)
{
    (void)event, (void)code;
    abort();
}

/* ---- the disk ---- */

uint32_t epoch_number(const struct epoch *epoch)
{
    (void)epoch;
    return 3;
}

int epoch_job_number(struct epoch *epoch, uint64_t *ret_job, struct err *err)
{
    (void)err;
    *ret_job = ++epoch->jobs;
    return 0;
}

int epoch_keep(struct epoch *epoch, struct err *err)
{
    (void)epoch, (void)err;
    return 0;
}

uint64_t epoch_newest_job(const struct epoch *epoch)
{
    return epoch->jobs;
}

static void on_change(void *user)
{
    (void)user;
    must(!world.looks);
    world.changed = true;
}

/* ---- a controller with two hosts ---- */

static void keep_key(void *user, const char *identity, const char *value)
{
    (void)user, (void)identity, (void)value;
    world.changed = true;
}

static void cut_key(void *user, const char *identity)
{
    (void)user, (void)identity;
}

static void agent_message(uint64_t peer, const duopoly_Envelope *envelope)
{
    agents_message(conductor_parts(world.conductor)->agents, world.clock.now_ns, peer, NULL,
                   envelope);
    conductor_commit(world.conductor);
}

static void hosts_join(void)
{
    static duopoly_Envelope envelope;
    for (uint64_t host = 0; host < HOSTS; host++) {
        duopoly_Hello *hello = &wire_begin(&envelope, duopoly_Envelope_hello_tag)->body.hello;
        hello->version_min = hello->version_max = 1;
        wire_copy(hello->name, sizeof(hello->name), host ? "h2" : "h1");
        hello->boot = hello->hello_sequence = 1;
        hello->units_count = 1;
        hello->units[0].slots = 2;
        memcpy(&hello->address[12], (uint8_t[]){10, 0, 0, (uint8_t)(host + 1)}, 4);
        hello->uplink_bps = hello->downlink_bps = 1000000000;
        agent_message(host + 1, &envelope);
        wire_begin(&envelope, duopoly_Envelope_inventory_end_tag);
        envelope.version = 1;
        envelope.epoch = 3;
        envelope.sequence = 1;
        agent_message(host + 1, &envelope);
    }
}

static bool on_epoch_seen(void *user, const char *name, uint32_t epoch)
{
    (void)user, (void)name, (void)epoch;
    return false;
}

static void world_end(void)
{
    control_close(world.control);
    conductor_close(world.conductor);
    store_close(world.store, NULL);
    keyring_destroy(world.door.keyring);
    world.control = NULL;
    world.conductor = NULL;
    world.door.keyring = NULL;
}

static void world_begin(void)
{
    const struct keyring_hooks keys = {keep_key, cut_key, NULL};
    const struct no_store_script script = {.on_change = on_change, .audits = 100};
    world.epoch = (struct epoch){0};
    must(store_open("", NULL, NULL, &world.store, NULL) == 0);
    no_store_begin_script(world.store, &script);
    must(control_open(world.loop, &world.settings, &world.control, NULL) == 0);
    const struct conductor_hooks hooks = {
        .peers = {.send = agents_zmq_send,
                  .cut = agents_zmq_cut,
                  .epoch_seen = on_epoch_seen,
                  .send_user = &world.door},
        .clients = {control_job_over, control_stepped, control_stored, control_asked,
                    control_charged, world.control},
    };
    must(conductor_open(world.loop, &world.settings, &world.epoch, world.store, NULL, &hooks,
                        &world.conductor, NULL) == 0);
    must(keyring_create(&keys, &world.door.keyring) == 0);
    must(control_attach(world.control, world.conductor, &world.door) == 0);
    hosts_join();
    no_store_move(world.store, false);
    world.changed = false;
}

/* ---- what an input does ---- */

static void client_gone(uint32_t place)
{
    struct asker *asker = &world.askers[place];
    if (place < LOCAL)
        world.server.handler.on_close(world.server.handler.user, asker->id);
    else
        control_remote_gone(world.control, FIRST_PEER + place - LOCAL);
    /* The place in the controller's table is the number modulo UNIX_CLIENTS. */
    *asker = (struct asker){.id = place < LOCAL ? ++world.generation * UNIX_CLIENTS + place : 0};
}

static bool is_only_judged(const duopoly_Envelope *envelope)
{
    const pb_size_t kind = envelope->which_body;
    bool submits =
        (kind >= duopoly_Envelope_submit_begin_tag && kind <= duopoly_Envelope_submit_end_tag) ||
        kind == duopoly_Envelope_submit_prepare_tag || kind == duopoly_Envelope_submit_commit_tag;
    return envelope->dry_run && !submits;
}

static void client_message(uint32_t place, const duopoly_Envelope *envelope)
{
    static const struct key_holder holders[] = {
        {"s1", ROLE_SCHEDULER}, {"r1", ROLE_READER}, {"a1", ROLE_ADMIN}};
    struct asker *asker = &world.askers[place];
    world.looks = place < 2 || (place >= LOCAL && holders[place - LOCAL].role == ROLE_READER) ||
                  is_only_judged(envelope);
    uint64_t version = conductor_parts(world.conductor)->version;
    if (place < LOCAL)
        world.server.handler.on_message(world.server.handler.user, asker->id, envelope);
    else
        control_remote_message(world.control, FIRST_PEER + place - LOCAL, &holders[place - LOCAL],
                               envelope);
    world.looks = false;
    must(!is_only_judged(envelope) || conductor_parts(world.conductor)->version == version);
}

static void message_try(const struct script_step *step)
{
    static duopoly_Envelope envelope;
    uint32_t place = step->what % CLIENTS;
    struct asker *asker = &world.askers[place];
    struct err err;
    if (asker->held || wire_decode(step->bytes, step->length, &envelope, &err) < 0)
        return; /* the socket's affair */
    if (envelope.which_body == duopoly_Envelope_await_idle_tag)
        return; /* it may wait for ever: no host ends a task here */
    bool first = asker->asked == asker->answered;
    if (place < LOCAL || envelope.which_body != duopoly_Envelope_acknowledge_tag)
        asker->asked++;
    asker->ticket = first ? NOW : 0; /* one that waits in remote.c has a ticket that nobody sees */
    client_message(place, &envelope);
    if (first)
        asker->ticket = no_store_handed(world.store);
    must(place >= LOCAL || asker->held == (asker->asked > asker->answered));
}

static void agent_try(const struct script_step *step)
{
    static duopoly_Envelope envelope;
    struct err err;
    if (wire_decode(step->bytes, step->length, &envelope, &err) == 0)
        agent_message(1 + step->length % HOSTS, &envelope);
}

static void time_pass(int64_t ns)
{
    int64_t until = world.clock.now_ns + ns;
    world.changed = true;
    for (int i = 0; i < 64 && world.clock.due_ns <= until; i++) {
        if (world.clock.due_ns > world.clock.now_ns)
            world.clock.now_ns = world.clock.due_ns;
        world.clock.due_ns = INT64_MAX;
        world.clock.on_due(world.clock.user, world.clock.now_ns);
    }
    world.clock.now_ns = until;
}

static void step_do(const struct script_step *step)
{
    const struct err sound = {0}, torn = {.code = EIO, .text = "row 5 is damaged"};
    switch (step->what) {
    case STEP_TIME:
        time_pass((int64_t)step->length * SECOND / 4);
        break;
    case STEP_DISK:
        no_store_move(world.store, false);
        no_store_care_end(world.store, step->length % 2 ? &torn : &sound);
        state_dump_move();
        break;
    case STEP_FULL:
        no_store_move(world.store, true);
        break;
    case STEP_GONE:
        client_gone((uint32_t)step->length % CLIENTS);
        break;
    case STEP_AGENT:
        world.changed = true;
        agent_try(step);
        break;
    default:
        message_try(step);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct settings_bounds *bounds = &world.settings.bounds;
    (void)argc, (void)argv;
    if (settings_load(NULL, &world.settings, NULL) < 0 || sd_event_new(&world.loop) < 0)
        return 1;
    world.settings.recording.folder[0] = '\0';
    bounds->client_time_permille = 0; /* WHY: time stands, so nobody's share would come back */
    bounds->hosts = 4;
    bounds->jobs = 8;
    bounds->tasks = 64;
    bounds->cells_per_job = 256;
    bounds->finished = 4;
    return 0;
}

static bool is_awaited(void)
{
    return no_store_is_awaited(world.store) || (world.state_dump.taker && world.state_dump.awaited);
}

/* Everybody has been answered, and goes. */
static void clients_end(void)
{
    const struct err sound = {0};
    /* Each answer lets its client's next request in. */
    for (int i = 0; i <= REMOTE_WAITING && is_awaited(); i++) {
        no_store_move(world.store, false);
        no_store_care_end(world.store, &sound);
        state_dump_move();
    }
    for (uint32_t place = 0; place < CLIENTS; place++) {
        const struct asker *asker = &world.askers[place];
        must(!asker->held && (asker->asked == asker->answered || asker->cut));
        if (asker->asked)
            client_gone(place);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script script = {data, size};
    struct script_step step;
    if (!world.control)
        world_begin();
    uint64_t version = conductor_parts(world.conductor)->version;
    said_begin();
    for (uint32_t place = 0; place < CLIENTS; place++)
        world.askers[place] = (struct asker){.id = ++world.generation * UNIX_CLIENTS + place};
    while (script_next(&script, &step))
        step_do(&step);
    clients_end();
    if (world.changed || conductor_parts(world.conductor)->version != version)
        world_end();
    return 0;
}
