/* Fuzz target of frameworks' sessions at the controller (controller/frameworks), with the engine
 * behind them: three connections and time. All that goes out must be a message, the engine takes
 * all that becomes a fact, what it allows is for a host that is there, and at the end nothing may
 * be left armed. An engine serves as many inputs as bring it no fact. */
#include "controller/frameworks/frameworks.h"
#include "tests/fuzz/kept.h"
#include "tests/fuzz/said.h"
#include "tests/fuzz/script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECOND INT64_C(1000000000)

enum { PEERS = 3, HOSTS = 2, UNMARKED = 2, STEP_TIME = 16, STEP_GONE, FACTS = 4096 };

static struct world {
    struct engine *engine;
    struct frameworks *frameworks;
    struct timers timers;
    struct decisions decisions;
    struct event facts[FACTS];
    size_t n_facts;
    uint32_t claimed[HOSTS + UNMARKED];
    char unmarked[UNMARKED][64];
    int64_t now_ns;
    bool stepped; /* the engine, since it was made */
} world;

static int on_send(void *user, uint64_t peer, const duopoly_Envelope *envelope)
{
    static uint8_t bytes[WIRE_MAX_BYTES];
    size_t length;
    (void)user;
    if (!peer || peer > PEERS || wire_encode(envelope, bytes, sizeof(bytes), &length, NULL) < 0)
        abort();
    for (pb_size_t i = 0; envelope->which_body == duopoly_Envelope_snapshot_tag &&
                          i < envelope->body.snapshot.allows_count;
         i++)
        if (!*envelope->body.snapshot.allows[i].host)
            abort();
    said_add(bytes, length);
    return length % 251 ? 0 : -ENOBUFS; /* now and then a peer does not read */
}

static void on_cut(void *user, uint64_t peer)
{
    (void)user;
    if (frameworks_knows(world.frameworks, peer))
        abort();
}

static void on_event(void *user, const struct event *event)
{
    (void)user;
    if (world.n_facts < FACTS)
        world.facts[world.n_facts++] = *event;
}

static uint32_t on_host(void *user, const char *name)
{
    (void)user;
    return name[0] == 'h' && name[1] >= '1' && name[1] < '1' + HOSTS && !name[2]
               ? (uint32_t)(name[1] - '1')
               : ENGINE_NONE;
}

static void on_guests(void *user, uint32_t host, const duopoly_GuestAllows *told)
{
    (void)user;
    if (host >= HOSTS + UNMARKED || told->allows_count + told->levels_count != 1 || !*told->name)
        abort();
}

static const char *on_host_name(void *user, uint32_t host)
{
    static const char *const names[HOSTS] = {"h1", "h2"};
    (void)user;
    return host < HOSTS ? names[host] : host < HOSTS + UNMARKED ? world.unmarked[host - HOSTS] : "";
}

static void host_join(uint32_t host, uint64_t slots)
{
    static uint64_t units[HOSTS + UNMARKED][ENGINE_RESOURCES];
    struct event event = {.kind = EVENT_HOST_JOIN};
    units[host][RES_SLOTS] = slots;
    event.host_join.host = host;
    event.host_join.generation = 1;
    event.host_join.name = on_host_name(NULL, host);
    event.host_join.rack = event.host_join.labels = "";
    event.host_join.uplink_bps = event.host_join.downlink_bps = 1000000000;
    event.host_join.units = (struct u64s){units[host], ENGINE_RESOURCES};
    on_event(NULL, &event);
}

static uint32_t on_claim(void *user, const char *name, const uint8_t *address)
{
    uint32_t host = on_host(user, name);
    (void)address;
    for (uint32_t i = 0; host == ENGINE_NONE && i < UNMARKED; i++)
        if (!*world.unmarked[i] || strcmp(world.unmarked[i], name) == 0) {
            strcpy(world.unmarked[i], name);
            host = HOSTS + i;
            host_join(host, 0);
        }
    if (host != ENGINE_NONE)
        world.claimed[host]++;
    return host;
}

static void on_release(void *user, int64_t now_ns, uint32_t host)
{
    (void)user;
    (void)now_ns;
    if (host >= HOSTS + UNMARKED || !world.claimed[host]--)
        abort();
}

static void step(void)
{
    if (!world.n_facts && world.now_ns < engine_deadline_ns(world.engine))
        return;
    world.stepped = true;
    if (engine_step(world.engine, world.now_ns, world.facts, world.n_facts, &world.decisions) < 0)
        abort();
    world.n_facts = 0;
    for (size_t i = 0; i < world.decisions.n; i++)
        frameworks_decision(world.frameworks, world.now_ns, &world.decisions.at[i]);
}

static void on_work(void *user, uint64_t application, void (*work)(void *of, int64_t now_ns),
                    void *of, int64_t now_ns)
{
    (void)user, (void)application;
    work(of, now_ns);
    step();
    frameworks_settle(world.frameworks, world.now_ns);
}

static void hosts_join(void)
{
    for (uint32_t host = 0; host < HOSTS; host++)
        host_join(host, 2);
    if (engine_step(world.engine, 0, world.facts, world.n_facts, &world.decisions) < 0)
        abort();
    world.n_facts = 0;
    world.stepped = false;
}

static void engine_begin(void)
{
    struct engine_config config;
    engine_config_default(&config);
    config.epoch = 1;
    config.framework_jobs_max = config.jobs_max = 16;
    config.tasks_max = 512;
    config.cells_per_job_max = 4096;
    config.step_tasks_max = 2; /* so that reports wait */
    if (engine_create(&config, &world.engine, NULL) < 0)
        abort();
    memset(world.unmarked, 0, sizeof(world.unmarked));
    hosts_join();
}

static void engine_end(void)
{
    engine_destroy(world.engine);
    world.engine = NULL;
}

static void world_begin(void)
{
    const struct frameworks_config config = {.epoch = 1,
                                             .heartbeat_ns = SECOND,
                                             .silent_ns = 3 * SECOND,
                                             .lost_ns = 30 * SECOND,
                                             .forget_ns = 60 * SECOND};
    const struct frameworks_hooks hooks = {on_send,  on_cut,     on_event,  on_host, on_host_name,
                                           on_claim, on_release, on_guests, on_work, NULL};
    said_begin();
    world.now_ns = 0;
    memset(world.claimed, 0, sizeof(world.claimed));
    timers_init(&world.timers);
    if (!world.engine)
        engine_begin();
    if (frameworks_create(&config, &hooks, world.engine, &world.timers, &world.frameworks) < 0)
        abort();
}

static void world_end(void)
{
    frameworks_destroy(world.frameworks);
    world.frameworks = NULL;
    if (timers_next_ns(&world.timers) != INT64_MAX)
        abort();
    if (world.stepped)
        engine_end();
}

static void message_try(const struct script_step *one)
{
    static duopoly_Envelope envelope;
    if (wire_decode(one->bytes, one->length, &envelope, NULL) == 0)
        frameworks_message(world.frameworks, world.now_ns, 1 + one->what % PEERS,
                           one->what & 8 ? "key" : NULL, &envelope);
}

static void step_take(const struct script_step *one)
{
    if (one->what == STEP_TIME) {
        world.now_ns += (int64_t)(one->length ? one->bytes[0] : 1) * SECOND / 4;
        timers_run(&world.timers, world.now_ns);
    } else if (one->what == STEP_GONE) {
        frameworks_gone(world.frameworks, 1 + one->length % PEERS);
    } else {
        message_try(one);
    }
    step();
    frameworks_settle(world.frameworks, world.now_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script script = {data, size};
    struct script_step one;
    world_begin();
    while (script_next(&script, &one))
        step_take(&one);
    world_end();
    return 0;
}
