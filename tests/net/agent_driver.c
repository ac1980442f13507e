/* Puts the agent's queues and marks into the hands of a test: opens them in the network namespace
 * it runs in, then does what the lines on its standard input say, and answers each with one line,
 * "ok …" or "error …".
 *
 *   agent-driver STATE_DIR host|switch PORT,… LINK_BPS LEVELS PREFIX,…|- CGROUP|- \
 *                FLOWS CONTROL_PORT
 *
 * LEVELS 0: no queues, marks only. STATE_DIR/bpf takes the pinned maps. From the environment:
 * REPLACE=1 takes the place of a foreign qdisc, LEAF_PACKETS (100), FLOOR_PERMILLE (10), NUDGE=1
 * nudges what is promoted, QUEUES (htb) names the queue driver, ECN=1 has its queues mark, MARKS
 * names the mark driver (ebpf), TUNNELS tunnels that go over the ports. */
#include "hostagent/files.h"
#include "hostagent/marks/marks.h"
#include "hostagent/queues/queues.h"
#include "lib/number.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>
#include <unistd.h>

static struct queues *queues;
static struct marks *marks;
static struct mark_config config;
static char ports[QUEUES_PORTS][PORT_NAME];
static char tunnels[8][PORT_NAME]; /* that go over these ports */
static char bpffs[FILES_PATH];

static uint32_t split(char *list, int (*take)(const char *item, uint32_t i))
{
    uint32_t n = 0;
    for (char *item = strtok(list, ","); item && take(item, n) == 0; item = strtok(NULL, ","))
        n++;
    return n;
}

static int take_port(const char *item, uint32_t i)
{
    if (i == QUEUES_PORTS)
        return -E2BIG;
    snprintf(ports[i], PORT_NAME, "%s", item);
    return 0;
}

static int take_tunnel(const char *item, uint32_t i)
{
    if (i == sizeof(tunnels) / sizeof(tunnels[0]))
        return -E2BIG;
    snprintf(tunnels[i], PORT_NAME, "%s", item);
    return 0;
}

static int take_member(const char *item, uint32_t i)
{
    return i == MARK_MEMBERS ? -E2BIG : mark_prefix_parse(item, &config.members[i], NULL);
}

static int do_stats(struct err *err)
{
    struct mark_stats s;
    struct nudge_counters nudges;
    struct qdisc_stats sum = {0};
    int r = marks_stats(marks, &s, err);
    if (r >= 0 && queues)
        r = queues_stats(queues, &sum, err);
    if (r < 0)
        return r;
    marks_count_nudges(marks, &nudges);
    printf("ok {\"nudged\": %llu, \"acknowledgements\": %llu, \"unreachables\": %llu, "
           "\"nudge_failures\": %llu, ",
           (unsigned long long)nudges.connections, (unsigned long long)nudges.acknowledgements,
           (unsigned long long)nudges.unreachables, (unsigned long long)nudges.failures);
    printf("\"marked\": [");
    for (int i = 0; i < MARK_LEVELS; i++)
        printf("%s%llu", i ? ", " : "", (unsigned long long)s.marked_bytes[i]);
    printf("], \"unmarked\": %llu, \"control\": %llu, \"bleached\": %llu, \"overtaken\": %llu, "
           "\"flows\": %llu, "
           "\"followed\": %llu, "
           "\"evictions\": %llu, \"shared\": %llu, \"expiries\": %llu, \"senders\": %u, "
           "\"receivers\": %u, "
           "\"drops\": [",
           (unsigned long long)s.unmarked_bytes, (unsigned long long)s.control_bytes,
           (unsigned long long)s.bleached_packets, (unsigned long long)s.overtaken_packets,
           (unsigned long long)s.flows, (unsigned long long)s.followed_flows,
           (unsigned long long)s.evictions, (unsigned long long)s.shared_connections,
           (unsigned long long)s.lease_expiries, s.senders, s.receivers);
    for (int i = 0; i < PORT_TRAFFIC; i++)
        printf("%s%llu", i ? ", " : "", (unsigned long long)sum.queues[i].drops);
    printf("]}\n");
    return 1;
}

/* flow LOCAL LOCAL_PORT PEER PEER_PORT OWNER COFLOW MACROFLOW */
static int do_flow(const char *line, struct err *err)
{
    char local[64], peer[64];
    unsigned local_port, peer_port, coflow, macroflow;
    unsigned long long owner;
    struct mark_prefix a, b;
    if (sscanf(line, "flow %63s %u %63s %u %llu %u %u", local, &local_port, peer, &peer_port,
               &owner, &coflow, &macroflow) != 7 ||
        mark_prefix_parse(local, &a, err) < 0 || mark_prefix_parse(peer, &b, err) < 0)
        return -EINVAL;
    struct mark_flow_levels levels = {
        .owner = owner, .coflow = (uint8_t)coflow, .macroflow = (uint8_t)macroflow};
    memcpy(levels.key.local, a.address, 16);
    memcpy(levels.key.peer, b.address, 16);
    levels.key.local_port = __builtin_bswap16((uint16_t)local_port);
    levels.key.peer_port = __builtin_bswap16((uint16_t)peer_port);
    return marks_set_flows(marks, &levels, 1, err);
}

static int do_line(const char *line, struct err *err)
{
    unsigned long long a = 0, b = 0, c = 0;
    char word[32] = "";
    sscanf(line, "%31s %llu %llu %llu", word, &a, &b, &c);
    if (strcmp(word, "levels") == 0) {
        struct mark_task_levels levels = {
            .cgroup = a, .coflow = (uint8_t)b, .macroflow = (uint8_t)c};
        return marks_set_levels(marks, &levels, 1, err);
    }
    if (strcmp(word, "flow") == 0)
        return do_flow(line, err);
    if (strcmp(word, "end") == 0)
        return marks_end_task(marks, a, err);
    if (strcmp(word, "forget") == 0)
        return marks_forget_task(marks, a, err);
    if (strcmp(word, "mode") == 0)
        return marks_set_mode(marks, (uint32_t)a, err);
    if (strcmp(word, "lease_ms") == 0)
        return marks_renew(marks, a * 1000000, err);
    if (strcmp(word, "says") == 0) {
        printf("ok %s\n", marks_says(marks));
        return 1;
    }
    if (strcmp(word, "reach") == 0)
        return marks_reach(marks, (enum mark_reach)a, err);
    if (strcmp(word, "compare") == 0) {
        char what[200] = "";
        int r = 0;
        for (uint32_t i = 0; r == 0 && i < config.ports_n; i++)
            r = marks_compare(marks, config.ports[i], what, sizeof(what), err);
        if (r >= 0)
            printf("ok %s\n", what);
        return r < 0 ? r : 1;
    }
    if (strcmp(word, "stats") == 0)
        return do_stats(err);
    if (strcmp(word, "received") == 0) {
        uint64_t bytes;
        int r = marks_received(marks, a, &bytes, err);
        if (r >= 0)
            printf("ok %llu\n", (unsigned long long)bytes);
        return r < 0 ? r : 1;
    }
    if (strcmp(word, "restore") == 0) {
        marks_close(marks);
        marks = NULL;
        int r = queues ? queues_restore(queues, err) : 0;
        int other = marks_remove(&config, r < 0 ? NULL : err);
        return r < 0 ? r : other;
    }
    return err_set(err, EINVAL, "unknown command: %s", word);
}

static uint64_t number(const char *text)
{
    uint64_t value;
    if (number_read(text, 0, UINT64_MAX, &value) < 0) {
        fprintf(stderr, "agent-driver: \"%s\" is not a number\n", text);
        exit(2);
    }
    return value;
}

/* A number from the environment, or else `preset`. */
static uint32_t from_environment(const char *name, uint32_t preset)
{
    const char *given = getenv(name);
    return given ? (uint32_t)number(given) : preset;
}

/* A test that opens ports wants them all. */
static int find_trouble(struct err *err)
{
    for (uint32_t i = 0; i < config.ports_n; i++) {
        const struct err *trouble = queues_trouble(queues, i);
        if (trouble)
            return err_set(err, trouble->code, "%s", trouble->text);
    }
    return 0;
}

static int open_queues(char **argv, const struct port_wish *wish, struct err *err)
{
    const char *driver = getenv("QUEUES");
    const struct queues_config wanted = {.driver = qdisc_find(driver ? driver : "htb"),
                                         .state_dir = argv[1],
                                         .wish = *wish,
                                         .replace = getenv("REPLACE") != NULL};
    int r = qdisc_classes(wanted.driver, wish, config.class_of, err);
    if (r >= 0)
        r = queues_open(&wanted, (const char(*)[PORT_NAME])ports, config.ports_n, &queues, err);
    if (r >= 0)
        r = queues_apply(queues, err);
    return r < 0 ? r : find_trouble(err);
}

static int open_all(char **argv, sd_event *event, struct err *err)
{
    files_path(bpffs, "%s/bpf", argv[1]);
    config = (struct mark_config){.driver = getenv("MARKS") ? getenv("MARKS") : "ebpf",
                                  .reach = MARK_REACH_QUEUES,
                                  .is_switch = strcmp(argv[2], "switch") == 0,
                                  .bpffs = bpffs,
                                  .state_dir = argv[1],
                                  .cgroup = argv[7],
                                  .ports = (const char(*)[PORT_NAME])ports,
                                  .tunnels = (const char(*)[PORT_NAME])tunnels,
                                  .flows_max = (uint32_t)number(argv[8]),
                                  .control_port = (uint16_t)number(argv[9])};
    memcpy(config.dscp_of_level, port_wish_preset.dscp_of_level, sizeof(config.dscp_of_level));
    config.ports_n = split(argv[3], take_port);
    if (getenv("TUNNELS"))
        config.tunnels_n = split(getenv("TUNNELS"), take_tunnel);
    if (strcmp(argv[6], "-") != 0)
        config.members_n = split(argv[6], take_member);
    struct port_wish wish = port_wish_preset;
    wish.link_bps = number(argv[4]);
    wish.levels = (uint32_t)number(argv[5]);
    wish.ecn = from_environment("ECN", 0);
    wish.floor_permille = from_environment("FLOOR_PERMILLE", wish.floor_permille);
    wish.queue_packets = from_environment("LEAF_PACKETS", wish.queue_packets);
    const struct marks_nudging nudging = {.event = event, .link_bps = wish.link_bps};
    int r = files_make_dirs(argv[1], 0755, err);
    if (r >= 0 && wish.levels)
        r = open_queues(argv, &wish, err);
    return r < 0 ? r
                 : marks_open(&config, from_environment("NUDGE", 0) ? &nudging : NULL, &marks, err);
}

static int on_line(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct err err = {0};
    char line[512];
    (void)fd;
    (void)events;
    (void)arg;
    if (!fgets(line, sizeof(line), stdin))
        return sd_event_exit(sd_event_source_get_event(source), 0);
    int done = do_line(line, &err);
    if (done < 0)
        printf("error %s\n", err.text);
    else if (done == 0)
        printf("ok\n");
    return 0;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    sd_event *event = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    setvbuf(stdin, NULL, _IONBF, 0); /* what is read ahead would wake nobody */
    if (argc != 10 || sd_event_new(&event) < 0)
        return 2;
    int r = open_all(argv, event, &err);
    printf("%s %s\n", r < 0 ? "error" : "ok", err.text);
    if (r >= 0)
        r = sd_event_add_io(event, NULL, STDIN_FILENO, EPOLLIN, on_line, NULL);
    if (r >= 0)
        r = sd_event_loop(event);
    marks_close(marks);
    queues_close(queues);
    sd_event_unref(event);
    return r < 0;
}
