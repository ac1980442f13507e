/* One scenario, one plan: the daemon under virtual time with made-up agents starts every task
 * where and when the simulator does. */
#include "tests/unit/test.h"

#include "lib/client_submit.h"
#include "lib/wire_zmq.h"
#include "testbed/sim/cluster/run.h"
#include "testbed/sim/network/fluid.h"
#include "testbed/sim/network/topology.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* One workload, two ways: the simulator calls the engine; and the real duopolyd, its time scripted,
 * is served over its real sockets by agents that answer when the same fluid network says so. Both
 * must come to one plan: every job ends at the same nanosecond.
 *
 * The simulator takes what happens at one instant in one step, the daemon message by message. So
 * the workload has no ties (sizes and times are random), and uplinks never count as congested,
 * since a report of use would come with the transfer's end in one and after it in the other. */

extern char **environ;

enum { HOSTS = 5, SLOTS = 2, JOBS = 14, TASKS = 9, MAX_ATTEMPTS = 4096 };
#define LINK_BPS UINT64_C(100000000)

static struct workload_job jobs[JOBS];

static uint64_t between(uint64_t *stream, uint64_t low, uint64_t high)
{
    return low + test_random(stream) % (high - low + 1);
}

static void stage_make(struct workload_stage *stage, uint32_t tasks, const char *command,
                       uint64_t *stream)
{
    stage->tasks = tasks;
    strcpy(stage->command, command);
    stage->demand.slots = 1;
    stage->compute_ns = calloc(tasks, sizeof(*stage->compute_ns));
    for (uint32_t i = 0; i < tasks; i++)
        stage->compute_ns[i] = between(stream, 1000000, 900000000);
}

static void maps_make(struct workload_stage *stage, uint64_t *stream)
{
    stage_make(stage, (uint32_t)between(stream, 1, TASKS), "map", stream);
    stage->input_bytes = calloc(stage->tasks, sizeof(*stage->input_bytes));
    stage->replicas = calloc(stage->tasks, sizeof(*stage->replicas));
    for (uint32_t i = 0; i < stage->tasks; i++) {
        stage->input_bytes[i] = between(stream, 1000, 5000000);
        stage->replicas[i].n = 2;
        stage->replicas[i].hosts[0] = (uint32_t)between(stream, 0, HOSTS - 1);
        stage->replicas[i].hosts[1] = (stage->replicas[i].hosts[0] + 1) % HOSTS;
    }
}

static void reduces_make(struct workload_stage *stage, uint64_t *stream)
{
    stage_make(stage, (uint32_t)between(stream, 1, TASKS), "reduce", stream);
    stage->n_parents = 1;
    stage->parents = calloc(1, sizeof(*stage->parents));
    stage->parents[0].sums = calloc(stage->tasks, sizeof(uint64_t));
    for (uint32_t i = 0; i < stage->tasks; i++)
        stage->parents[0].sums[i] = between(stream, 1000, UINT64_C(1) << between(stream, 12, 25));
}

static void jobs_make(uint64_t seed)
{
    uint64_t stream = seed, arrival_ns = 0;
    for (uint32_t i = 0; i < JOBS; i++) {
        jobs[i] = (struct workload_job){
            .id = i + 1, .arrival_ns = arrival_ns, .estimate_bytes = -1, .n_stages = 2};
        snprintf(jobs[i].name, sizeof(jobs[i].name), "job-%u", i + 1);
        jobs[i].stages = calloc(2, sizeof(*jobs[i].stages));
        maps_make(&jobs[i].stages[0], &stream);
        reduces_make(&jobs[i].stages[1], &stream);
        arrival_ns += between(&stream, 1, 1500000000);
    }
}

static void jobs_done(void)
{
    for (uint32_t i = 0; i < JOBS; i++)
        workload_job_done(&jobs[i]);
}

struct plan_attempt {
    uint64_t number, compute_ns;
    uint32_t host, levels[2], inputs, got, macroflow;
    struct fluid_source sources[HOSTS];
    uint32_t n_sources;
    bool whole, receiving, computing;
    int64_t end_ns;
};

struct plan_agent {
    struct wire_zmq *endpoint;
    struct wire_session session;
    uint32_t host;
    bool joined;
};

static struct {
    char folder[64], socket[96], clock[96], config[96], errors[96];
    pid_t daemon;
    int clock_fd;
    sd_event *loop;
    struct client *client, *watcher;
    struct plan_agent agents[HOSTS];
    struct plan_attempt attempts[MAX_ATTEMPTS]; /* by the lower half of their numbers, from 1 */
    uint32_t n_attempts;                        /* the largest of those */
    struct topology topology;
    struct fluid *fluid;
    uint32_t mode, marked; /* in force; that the transfers have */
    int64_t now_ns, due_ns;
    duopoly_Envelope out;
} live;

static void agent_send(struct plan_agent *agent, bool numbered)
{
    assert_int_equal(wire_session_stamp(&agent->session, &live.out, numbered), 0);
    assert_int_equal(wire_zmq_send(agent->endpoint, 0, WIRE_RESULT, &live.out), 0);
}

static void state_send(const struct plan_attempt *a, duopoly_AttemptPhase phase)
{
    duopoly_AttemptState *s =
        &wire_begin(&live.out, duopoly_Envelope_attempt_state_tag)->body.attempt_state;
    s->attempt = a->number;
    s->phase = phase;
    for (uint32_t i = 0; i < a->n_sources; i++)
        s->received_bytes +=
            phase > duopoly_AttemptPhase_PHASE_STARTED ? (uint64_t)a->sources[i].bytes : 0;
    agent_send(&live.agents[a->host], true);
}

static struct plan_attempt *attempt_find(uint64_t number)
{
    uint32_t at = (uint32_t)number;
    assert_true(at >= 1 && at < MAX_ATTEMPTS);
    return &live.attempts[at];
}

static void attempt_compute(struct plan_attempt *a)
{
    a->computing = true;
    a->end_ns = live.now_ns + (int64_t)a->compute_ns;
}

static void attempt_begin(struct plan_attempt *a)
{
    state_send(a, duopoly_AttemptPhase_PHASE_STARTED);
    if (!a->n_sources) {
        attempt_compute(a);
        return;
    }
    a->receiving = true;
    assert_int_equal(fluid_start(live.fluid, a->host, a->levels[live.mode], a->sources,
                                 a->n_sources, a->number, &a->macroflow),
                     0);
}

static void take_start(struct plan_agent *agent, const duopoly_Start *start)
{
    struct plan_attempt *a = attempt_find(start->attempt);
    *a = (struct plan_attempt){.number = start->attempt,
                               .compute_ns = start->compute_ns,
                               .host = agent->host,
                               .levels = {start->coflow_level, start->macroflow_level},
                               .inputs = start->inputs,
                               .whole = !start->inputs};
    if ((uint32_t)a->number > live.n_attempts)
        live.n_attempts = (uint32_t)a->number;
}

/* What lies on the attempt's own host is free, as in the simulation. */
static void take_inputs(const duopoly_StartInputs *inputs)
{
    struct plan_attempt *a = attempt_find(inputs->attempt);
    for (pb_size_t i = 0; i < inputs->inputs_count; i++, a->got++) {
        uint32_t host = inputs->inputs[i].address[15], at = 0;
        if (host == a->host)
            continue;
        while (at < a->n_sources && a->sources[at].host != host)
            at++;
        if (at == a->n_sources)
            a->sources[a->n_sources++].host = host;
        a->sources[at].bytes += (int64_t)inputs->inputs[i].bytes;
    }
    a->whole = a->got == a->inputs;
}

static void on_up(void *user)
{
    struct plan_agent *agent = user;
    duopoly_Hello *hello = &wire_begin(&live.out, duopoly_Envelope_hello_tag)->body.hello;
    wire_session_init(&agent->session, 1, 0);
    hello->version_min = hello->version_max = 1;
    snprintf(hello->name, sizeof(hello->name), "h%u", agent->host);
    hello->boot = 1;
    hello->hello_sequence = 1;
    hello->units_count = 1;
    hello->units[0].slots = SLOTS;
    hello->address[10] = hello->address[11] = 0xff;
    hello->address[12] = 10;
    hello->address[15] = (uint8_t)agent->host;
    hello->uplink_bps = hello->downlink_bps = LINK_BPS;
    agent_send(agent, false);
}

static void on_down(void *user)
{
    (void)user;
    fail_msg("the daemon went away");
}

static void on_malformed(void *user, uint64_t peer, const struct err *err)
{
    (void)user, (void)peer;
    fail_msg("%s", err->text);
}

static void on_message(void *user, uint64_t peer, const char *identity, const duopoly_Envelope *e)
{
    struct plan_agent *agent = user;
    (void)peer, (void)identity;
    if (e->which_body == duopoly_Envelope_welcome_tag) {
        wire_session_init(&agent->session, 1, e->epoch);
        wire_begin(&live.out, duopoly_Envelope_inventory_end_tag);
        agent_send(agent, true);
        agent->joined = true;
        return;
    }
    assert_int_equal(wire_session_accept(&agent->session, e), WIRE_TAKE);
    wire_session_effected(&agent->session, e->sequence);
    switch (e->which_body) {
    case duopoly_Envelope_start_tag:
        take_start(agent, &e->body.start);
        break;
    case duopoly_Envelope_start_inputs_tag:
        take_inputs(&e->body.start_inputs);
        break;
    case duopoly_Envelope_mode_tag:
        live.mode = e->body.mode.mode;
        break;
    case duopoly_Envelope_lease_tag:
    case duopoly_Envelope_acknowledge_tag:
    case duopoly_Envelope_forget_tag:
        break;
    default:
        fail_msg("'%s' has no place in this workload", wire_kind_name(e->which_body));
    }
}

static uint64_t counter(const char *name)
{
    duopoly_List list = {.of = duopoly_ListOf_LIST_COUNTERS};
    do {
        const duopoly_Envelope *answer;
        client_request(live.client, duopoly_Envelope_list_tag)->body.list = list;
        assert_int_equal(client_call(live.client, duopoly_Envelope_page_tag, &answer, NULL), 0);
        for (pb_size_t i = 0; i < answer->body.page.counters_count; i++)
            if (strcmp(answer->body.page.counters[i].name, name) == 0)
                return answer->body.page.counters[i].value;
        list.cursor = answer->body.page.cursor;
    } while (list.cursor);
    fail_msg("there is no counter %s", name);
    return 0;
}

/* Until everything that was sent has arrived, on both sides. Nothing is sent without a cause, so
 * then nothing moves any more. */
static void messages_settle(void)
{
    for (int i = 0; i < 100000; i++) {
        uint64_t sent = 0, received = 0;
        uint64_t taken = counter("agents.received"), given = counter("agents.sent");
        for (int h = 0; h < HOSTS; h++) {
            sent += wire_zmq_counters(live.agents[h].endpoint)->sent;
            received += wire_zmq_counters(live.agents[h].endpoint)->received;
        }
        if (sent == taken && received == given && counter("agents.received") == taken)
            return;
        assert_true(sd_event_run(live.loop, 1000) >= 0);
    }
    fail_msg("messages keep coming");
}

/* Begins what came whole, and marks all transfers by the mode, in the order of numbers: as the
 * simulator does, for the network adds up in floating point and the last nanosecond hangs on the
 * order. True if something was begun. */
static bool orders_obey(void)
{
    bool begun = false;
    for (uint32_t i = 1; i <= live.n_attempts && live.marked != live.mode; i++)
        if (live.attempts[i].receiving)
            fluid_set_level(live.fluid, live.attempts[i].macroflow,
                            live.attempts[i].levels[live.mode]);
    live.marked = live.mode;
    for (uint32_t i = 1; i <= live.n_attempts; i++) {
        if (!live.attempts[i].whole)
            continue;
        live.attempts[i].whole = false;
        attempt_begin(&live.attempts[i]);
        begun = true;
    }
    return begun;
}

static void settle(void)
{
    do
        messages_settle();
    while (orders_obey());
}

/* Asks the clock for its next deadline, at the present time or a later one. */
static void advance(int64_t now_ns)
{
    char text[96];
    int n = snprintf(text, sizeof(text), "advance %" PRId64, now_ns);
    assert_int_equal(send(live.clock_fd, text, (size_t)n, 0), n);
    ssize_t length = recv(live.clock_fd, text, sizeof(text) - 1, 0);
    assert_true(length > 0);
    text[length] = '\0';
    live.now_ns = now_ns;
    live.due_ns = INT64_MAX;
    assert_true(sscanf(text, "now %*d due %" SCNd64, &live.due_ns) == 1 || strstr(text, "never"));
}

static void take_transfers(void)
{
    struct fluid_event e;
    while (fluid_poll(live.fluid, &e)) {
        if (e.kind != FLUID_ENDED)
            continue;
        struct plan_attempt *a = attempt_find(e.subject);
        a->receiving = false;
        attempt_compute(a);
        state_send(a, duopoly_AttemptPhase_PHASE_COMPUTING);
        settle();
    }
}

static void take_computing(void)
{
    for (uint32_t i = 1; i <= live.n_attempts; i++) {
        struct plan_attempt *a = &live.attempts[i];
        if (!a->computing || a->end_ns > live.now_ns)
            continue;
        a->computing = false;
        state_send(a, duopoly_AttemptPhase_PHASE_DONE);
        settle();
    }
}

static int64_t next_instant(uint32_t submitted)
{
    int64_t next_ns = FLUID_NEVER;
    assert_int_equal(fluid_next_ns(live.fluid, &next_ns), 0);
    for (uint32_t i = 1; i <= live.n_attempts; i++)
        if (live.attempts[i].computing && live.attempts[i].end_ns < next_ns)
            next_ns = live.attempts[i].end_ns;
    if (submitted < JOBS && (int64_t)jobs[submitted].arrival_ns < next_ns)
        next_ns = (int64_t)jobs[submitted].arrival_ns;
    advance(live.now_ns);
    return live.due_ns < next_ns ? live.due_ns : next_ns;
}

static uint32_t ends_take(double *jct_s)
{
    duopoly_JobEvent event;
    uint32_t n = 0;
    while (client_event(live.watcher, 0, &event, NULL) == 0) {
        assert_string_equal(event.state, "done");
        assert_true(event.job >= 1 && event.job <= JOBS);
        jct_s[event.job - 1] =
            (double)((int64_t)event.finished_ns - (int64_t)jobs[event.job - 1].arrival_ns) * 1e-9;
        n++;
    }
    return n;
}

static void daemon_run(double *jct_s)
{
    uint32_t submitted = 0, ended = 0;
    struct client_submitted answer;
    while ((ended += ends_take(jct_s)) < JOBS) {
        int64_t next_ns = next_instant(submitted);
        assert_true(next_ns < INT64_MAX && next_ns < INT64_C(600000000000));
        assert_int_equal(fluid_advance(live.fluid, next_ns), 0);
        advance(next_ns);
        settle();
        take_transfers();
        take_computing();
        for (; submitted < JOBS && (int64_t)jobs[submitted].arrival_ns <= live.now_ns;
             submitted++) {
            assert_int_equal(client_submit(live.client, &jobs[submitted], &answer, NULL), 0);
            assert_int_equal(answer.job, submitted + 1);
            settle();
        }
    }
}

static char programs[256]; /* the folder that duopolyd is in */

static void config_write(const struct engine_config *engine)
{
    FILE *out = fopen(live.config, "w");
    assert_non_null(out);
    fprintf(
        out,
        "listen: tcp://127.0.0.1:*\nsocket: %s\nstate: %s/state\n"
        "timers: {heartbeat: 60 s, silent: 600 s, host_lost: 86400 s, lease: 3600 s, "
        "start_timeout: 600 s}\n"
        "policy: {turn: %s, place: %s, network: %s, seed: 5, even_wait: 200 ms, congested: 100 %%, "
        "cleared: 100 %%, mode: "
        "{dwell: 0 s}}\n"
        "levels: {coflow: {first: 1 MB}, macroflow: {first: 100 kB}}\n",
        live.socket, live.folder, engine->turn, engine->place, engine->network);
    fclose(out);
}

/* Where the daemon has said that agents reach it; other lines may stand before that one. */
static bool address_read(char *ret_address, size_t size)
{
    char line[512];
    FILE *in = fopen(live.errors, "r");
    bool said = false;
    while (in && !said && fgets(line, sizeof(line), in)) {
        const char *at = strstr(line, "agents on ");
        said = at && strchr(line, '\n');
        if (said)
            snprintf(ret_address, size, "%.*s", (int)strcspn(at + 10, ",\n"), at + 10);
    }
    if (in)
        fclose(in);
    return said;
}

/* Where the daemon tells that it is ready (sd_notify). */
static int notices_open(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/notices", live.folder);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", address.sun_path, 1), 0);
    return fd;
}

static bool ready_await(int notices)
{
    struct pollfd notice = {.fd = notices, .events = POLLIN};
    char words[256] = "";
    ssize_t n = 0;
    while (strncmp(words, "READY=1", 7) != 0 && n >= 0 && poll(&notice, 1, 20000) == 1) {
        n = recv(notices, words, sizeof(words) - 1, 0);
        words[n < 0 ? 0 : n] = '\0';
    }
    return strncmp(words, "READY=1", 7) == 0;
}

static void daemon_start(char *ret_address, size_t size)
{
    char program[300];
    posix_spawn_file_actions_t actions;
    snprintf(program, sizeof(program), "%s/duopolyd", programs);
    char *const words[] = {program, "--config", live.config, "--clock", live.clock, NULL};
    int notices = notices_open();
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, live.errors, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(posix_spawn(&live.daemon, program, &actions, NULL, words, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    bool ready = ready_await(notices);
    unsetenv("NOTIFY_SOCKET");
    close(notices);
    if (!ready || !address_read(ret_address, size))
        fail_msg("duopolyd does not say where it listens; its words are in %s", live.errors);
}

static void clock_connect(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", live.clock);
    live.clock_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(live.clock_fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

/* One after the other, so that indexes follow names. */
static void agents_join(const char *address)
{
    for (uint32_t h = 0; h < HOSTS; h++) {
        struct plan_agent *agent = &live.agents[h];
        const struct wire_zmq_handler handler = {.on_message = on_message,
                                                 .on_malformed = on_malformed,
                                                 .on_up = on_up,
                                                 .on_down = on_down,
                                                 .user = agent};
        agent->host = h;
        assert_int_equal(
            wire_zmq_connect(live.loop, address, NULL, &handler, &agent->endpoint, NULL), 0);
        for (int i = 0; i < 10000 && !agent->joined; i++)
            assert_true(sd_event_run(live.loop, 10000) >= 0);
        assert_true(agent->joined);
    }
    settle();
}

static void live_open(const struct engine_config *engine)
{
    char address[128];
    memset(&live, 0, sizeof(live));
    strcpy(live.folder, "/tmp/duopoly-plan-XXXXXX");
    assert_non_null(mkdtemp(live.folder));
    snprintf(live.socket, sizeof(live.socket), "%s/s", live.folder);
    snprintf(live.clock, sizeof(live.clock), "%s/clock", live.folder);
    snprintf(live.config, sizeof(live.config), "%s/config", live.folder);
    snprintf(live.errors, sizeof(live.errors), "%s/errors", live.folder);
    config_write(engine);
    daemon_start(address, sizeof(address));
    clock_connect();
    assert_int_equal(topology_init_switch(&live.topology, HOSTS, (double)LINK_BPS / 8, NULL), 0);
    const struct fluid_config config = {.topology = &live.topology,
                                        .levels = 8,
                                        .local_free = true,
                                        .hot_per_mille = 1000,
                                        .cool_per_mille = 1000};
    assert_int_equal(fluid_create(&config, &live.fluid, NULL), 0);
    assert_true(sd_event_new(&live.loop) >= 0);
    assert_int_equal(client_open(live.socket, &live.client, NULL), 0);
    assert_int_equal(client_open(live.socket, &live.watcher, NULL), 0);
    assert_int_equal(client_watch(live.watcher, 0, NULL), 0);
    agents_join(address);
}

static int live_close(void **state)
{
    char command[128];
    int status = 0;
    (void)state;
    for (int h = 0; h < HOSTS; h++)
        wire_zmq_close(live.agents[h].endpoint);
    client_close(live.client);
    client_close(live.watcher);
    fluid_destroy(live.fluid);
    sd_event_unref(live.loop);
    if (live.clock_fd > 0)
        close(live.clock_fd);
    if (live.daemon > 0) {
        kill(live.daemon, SIGTERM);
        waitpid(live.daemon, &status, 0);
    }
    jobs_done();
    snprintf(command, sizeof(command), "rm -rf %s", live.folder);
    return system(command) || status;
}

static void simulator_run(const struct engine_config *engine, struct run_result *result)
{
    const struct run_config config = {.engine = *engine,
                                      .hosts = HOSTS,
                                      .slots = SLOTS,
                                      .link_bps = LINK_BPS,
                                      .local_free = true};
    struct err err;
    if (run_simulate(&config, jobs, JOBS, result, &err) < 0)
        fail_msg("%s", err.text);
}

static struct engine_config engine_of(const char *turn, const char *place, const char *network)
{
    struct engine_config engine;
    engine_config_default(&engine);
    engine.seed = 5;
    engine.epoch = 1;
    strcpy(engine.turn, turn);
    strcpy(engine.place, place);
    strcpy(engine.network, network);
    engine.mode_dwell_ns = 0;
    engine_config_say(&engine, "even_wait", 200000000, NULL);
    engine.congested_permille = engine.cleared_permille = 1000;
    level_table_exponential(&engine.coflow, 1000000, 8, 8);
    level_table_exponential(&engine.macroflow, 100000, 4, 8);
    return engine;
}

static void compare(const char *turn, const char *place, const char *network)
{
    const struct engine_config engine = engine_of(turn, place, network);
    double simulated_s[JOBS], live_s[JOBS] = {0};
    struct run_result result = {.jct_s = simulated_s};
    jobs_make(test_seed());
    live_open(&engine);
    simulator_run(&engine, &result);
    daemon_run(live_s);
    for (int i = 0; i < JOBS; i++)
        if (simulated_s[i] != live_s[i])
            fail_msg("job %d: %.9f s simulated, %.9f s live", i + 1, simulated_s[i], live_s[i]);
    assert_int_equal(counter("engine.mode_switches"), result.mode_switches);
    assert_int_equal(counter("engine.holds"), result.holds);
    assert_int_equal(counter("engine.starts"), result.tasks);
    print_message("# %s, %s, %s: %d jobs, %d tasks, %d switches, %d holds\n", turn, place, network,
                  JOBS, (int)result.tasks, (int)result.mode_switches, (int)result.holds);
}

static void joint_is_one_plan(void **state)
{
    (void)state;
    compare("srpt", "joint", "rank");
}

static void duopoly_is_one_plan(void **state)
{
    (void)state;
    compare("sjf", "nats", "cans");
}

static void greedy_is_one_plan(void **state)
{
    (void)state;
    compare("sjf", "greedy", "none");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(joint_is_one_plan, live_close),
        cmocka_unit_test_teardown(duopoly_is_one_plan, live_close),
        cmocka_unit_test_teardown(greedy_is_one_plan, live_close),
    };
    (void)argc;
    /* BUILD/tests/test_plan: the programs are one folder up. */
    snprintf(programs, sizeof(programs), "%s", argv[0]);
    for (int i = 0; i < 2; i++)
        if (strrchr(programs, '/'))
            *strrchr(programs, '/') = '\0';
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
