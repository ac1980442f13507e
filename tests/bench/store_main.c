/* `make bench-store`: what the store costs, on this disk, in one run: ratios decide, for disks
 * differ.
 *
 *   a small job's submission, from its first part to its answer    ≤ 3 × one fdatasync
 *   completions through engine and store, on the disk              ≥ 50 000 a second
 *   a controller's start with 10⁶ tasks, half of them done         ≤ 5 s
 *
 * Each is printed with its bar, and MISS when it is not met; exit 0 also then.
 *
 *   bench-store DUOPOLYD FOLDER    a folder on the disk in question, which is filled and emptied */
#include "controller/store/ledger.h"
#include "controller/store/recovery.h"
#include "lib/client_submit.h"
#include "lib/now.h"
#include "tests/model/script.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ROUNDS = 300,
    HOSTS = 100,
    SLOTS = 500,
    JOBS = 100,
    MAPS = 10000,
    DONE = 500000,
    TOGETHER = 64, /* ends that come in one turn of the loop */
};

static const struct store_bounds bounds = {
    .keep_ns = INT64_MAX, .finished_max = 10000, .bytes_max = UINT64_C(1) << 40};

static const char *folder;

static void die(const char *what, const struct err *err)
{
    fprintf(stderr, "bench-store: %s: %s\n", what, err->text);
    exit(EXIT_FAILURE);
}

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static double now_ms(void)
{
    return (double)now_ns(CLOCK_MONOTONIC) / 1e6;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double part(double *ms, unsigned per_cent)
{
    qsort(ms, ROUNDS, sizeof(*ms), by_size);
    return ms[(ROUNDS - 1) * per_cent / 100];
}

static void say(bool met, const char *text)
{
    printf("%-4s %s\n", met ? "ok" : "MISS", text);
    fflush(stdout);
}

/* ---- one small job ---- */

static int sync_file(void)
{
    int fd = open(path_of("sync"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        exit(EXIT_FAILURE);
    unlink(path_of("sync"));
    return fd;
}

static double sync_ms(int fd)
{
    static const char bytes[200];
    double begin_ms = now_ms();
    if (write(fd, bytes, sizeof(bytes)) != sizeof(bytes) || fdatasync(fd) < 0)
        exit(EXIT_FAILURE);
    return now_ms() - begin_ms;
}

static pid_t daemon_start(const char *program)
{
    char config[512];
    snprintf(config, sizeof(config), "%s", path_of("duopolyd.yaml"));
    FILE *out = fopen(config, "w");
    fprintf(out, "listen: tcp://127.0.0.1:*\nsocket: %s/s\nstate: %s/state\n", folder, folder);
    fclose(out);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDERR_FILENO);
        execl(program, program, "--config", config, (char *)NULL);
        _exit(EXIT_FAILURE);
    }
    return child;
}

static struct client *client_wait(void)
{
    struct client *client;
    struct err err;
    for (int i = 0; i < 10000; i++) {
        if (client_open(path_of("s"), &client, &err) == 0)
            return client;
        poll(NULL, 0, 1);
    }
    die("no controller", &err);
    return NULL;
}

static double job_ms(struct client *client, int number)
{
    const struct workload_header header = {.hosts = 1, .scale = 1};
    struct workload_job job;
    struct client_submitted submitted;
    struct err err;
    char line[128];
    int n = snprintf(line, sizeof(line),
                     "{\"id\":1,\"name\":\"job-%d\",\"stages\":[{\"tasks\":4}]}", number);
    if (workload_job_parse(&header, line, (size_t)n, &job, &err) < 0)
        die(line, &err);
    double begin_ms = now_ms();
    if (client_submit(client, &job, &submitted, &err) < 0)
        die("submit", &err);
    workload_job_done(&job);
    return now_ms() - begin_ms;
}

/* By turns, for a disk has its moods. */
static void submission_bench(const char *program)
{
    static double syncs[ROUNDS], jobs[ROUNDS];
    char text[256];
    pid_t daemon = daemon_start(program);
    struct client *client = client_wait();
    int fd = sync_file();
    for (int i = 0; i < ROUNDS; i++) {
        syncs[i] = sync_ms(fd);
        jobs[i] = job_ms(client, i);
    }
    close(fd);
    client_close(client);
    kill(daemon, SIGTERM);
    waitpid(daemon, NULL, 0);
    double ratio = part(jobs, 50) / part(syncs, 50);
    snprintf(text, sizeof(text),
             "a small job is acknowledged after %.2f fdatasync (bar 3): %.3f ms, p99 %.2f; "
             "fdatasync %.3f ms, p99 %.2f",
             ratio, part(jobs, 50), part(jobs, 99), part(syncs, 50), part(syncs, 99));
    say(ratio <= 3, text);
}

/* ---- many tasks ---- */

static struct {
    struct store *store;
    struct ledger *ledger;
    struct engine *engine;
    struct decisions decisions;
    int64_t now_ns;
    uint64_t *running; /* attempts, a ring */
    size_t first, n, size;
} world;

static struct engine_config config(void)
{
    struct engine_config c = script_config();
    c.hosts_max = HOSTS;
    c.tasks_max = 2 * (uint64_t)JOBS * MAPS;
    c.jobs_max = 2 * JOBS;
    strcpy(c.place, "greedy");
    return c;
}

static struct store *opened(void)
{
    struct store *store;
    struct err err;
    if (store_open(path_of("many.db"), NULL, &bounds, &store, &err) < 0)
        die("store", &err);
    return store;
}

static uint64_t handed_over(void)
{
    uint64_t ticket;
    if (store_commit(world.store, true, &ticket) < 0)
        exit(EXIT_FAILURE);
    return ticket;
}

static void step(const struct event *events, size_t n)
{
    struct audience audience = {.users = {[LISTENER_LEDGER] = world.ledger}};
    struct fact_sources sources = {.engine = world.engine, .words = ""};
    const struct step stepped = {world.now_ns + 1000, events, n, &world.decisions};
    sources.now_ns = world.now_ns += 1000;
    for (size_t i = 0; i < n; i++) {
        sources.before = i ? &events[i - 1] : NULL;
        audience_event(&audience, &sources, &events[i]);
    }
    engine_step(world.engine, world.now_ns, events, n, &world.decisions);
    audience_stepped(&audience, &stepped);
    for (size_t i = 0; i < world.decisions.n; i++)
        if (world.decisions.at[i].kind == DECISION_START)
            world.running[(world.first + world.n++) % world.size] =
                world.decisions.at[i].start.attempt;
}

static void host_put(uint32_t host)
{
    const uint64_t units[ENGINE_RESOURCES] = {SLOTS};
    char name[16];
    snprintf(name, sizeof(name), "h%u", host);
    const struct row_value row[HOSTS_COLUMNS] = {
        [HOSTS_HOST] = ROW_NUMBER(host), [HOSTS_NAME] = row_text(name),
        [HOSTS_RACK] = row_text(""),     [HOSTS_LABELS] = row_text(""),
        [HOSTS_BOOT] = ROW_NUMBER(7),    [HOSTS_UNITS] = ROW_BYTES(units, sizeof(units)),
        [HOSTS_USED] = ROW_NUMBER(1),
    };
    store_put(world.store, STORE_HOSTS, row);
}

static void hosts_join(void)
{
    for (uint32_t host = 0; host < HOSTS; host++) {
        uint64_t vector[ENGINE_RESOURCES] = {SLOTS};
        struct event join = script_join(host, SLOTS, vector);
        join.host_join.generation = 7;
        host_put(host);
        step(&join, 1);
    }
}

static void jobs_submit(void)
{
    uint32_t *replicas = calloc(3 * MAPS, sizeof(*replicas));
    uint64_t *room = calloc(2 * MAPS + 1, sizeof(*room));
    struct event events[8];
    char name[32];
    for (uint32_t i = 0; i < 3 * MAPS; i++)
        replicas[i] = i * 7919 % HOSTS;
    for (uint64_t number = 1; number <= JOBS; number++) {
        const struct script_job job = {.number = number,
                                       .maps = MAPS,
                                       .per = 3,
                                       .replicas = replicas,
                                       .map_input = 128000000,
                                       .map_ns = 10000000000,
                                       .estimate_bytes = -1};
        size_t n = script_job_events(&job, events, room, name, sizeof(name));
        for (size_t i = 0; i < n; i++)
            step(&events[i], 1);
        handed_over();
    }
    free(replicas);
    free(room);
}

static void settled_wait(uint64_t ticket)
{
    while (!store_settled(world.store, ticket))
        poll(NULL, 0, 1);
}

static void completions_bench(void)
{
    struct event events[TOGETHER] = {{0}};
    char text[256];
    settled_wait(handed_over());
    double begin_ms = now_ms();
    for (size_t done = 0; done < DONE; done += TOGETHER) {
        for (size_t i = 0; i < TOGETHER; i++) {
            events[i] = (struct event){.kind = EVENT_ATTEMPT_DONE};
            events[i].attempt.attempt = world.running[world.first++ % world.size];
            world.n--;
        }
        step(events, TOGETHER);
        handed_over();
    }
    settled_wait(handed_over());
    double a_second = DONE / (now_ms() - begin_ms) * 1000;
    snprintf(text, sizeof(text), "completions: %.0f a second on the disk (bar 50000)", a_second);
    say(a_second >= 50000, text);
}

static void recovery_bench(void)
{
    struct recovered recovered;
    struct engine_config c = config();
    struct history *history = history_create(1000);
    struct err err;
    char text[256];
    double begin_ms = now_ms();
    struct store *store = opened();
    if (recovery_run(store, &c, world.now_ns, 0, history, &recovered, &err) < 0)
        die("recovery", &err);
    double ms = now_ms() - begin_ms;
    snprintf(text, sizeof(text),
             "%d tasks, %" PRIu64 " of them done, are ready after %.2f s (bar 5)", JOBS * MAPS,
             recovered.tasks_done, ms / 1000);
    say(ms <= 5000 && recovered.tasks_done > DONE / 2, text);
    engine_destroy(recovered.engine);
    free(recovered.hosts);
    history_destroy(history);
    store_close(store, NULL);
}

static void many_bench(void)
{
    struct engine_config c = config();
    struct err err;
    world.store = opened();
    world.size = 2 * (size_t)HOSTS * SLOTS;
    world.running = calloc(world.size, sizeof(*world.running));
    if (engine_create(&c, &world.engine, &err) < 0 ||
        store_begin(world.store, NULL, NULL, NULL, &err) < 0)
        die("engine", &err);
    ledger_create(world.store, world.engine, 0, &world.ledger);
    hosts_join();
    jobs_submit();
    completions_bench();
    store_close(world.store, NULL);
    ledger_destroy(world.ledger);
    engine_destroy(world.engine);
    decisions_done(&world.decisions);
    free(world.running);
    recovery_bench();
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "bench-store: usage: bench-store DUOPOLYD FOLDER\n");
        return 2;
    }
    folder = argv[2];
    submission_bench(argv[1]);
    many_bench();
    return EXIT_SUCCESS;
}
