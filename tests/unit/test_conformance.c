/* One suite of frames in, frames out, for both data paths: the marking programs, run by the kernel
 * on frames in memory, and dataplane/marking.c give the same bytes and the same queue. Frames go in
 * from a pcap file that the test writes, and what comes out of either is a pcap file, too; the last
 * byte of a frame's destination address says through whose hands it goes.
 *
 * Where both may differ:
 *   who opened a connection that is older than its entry
 *                    the kernel is asked for the socket; here there is none, so it is unmarked till
 *                    the agent sets its levels
 *   levels by cgroup a task's own sockets have one; here connections do
 *   evicted flows    LRU of the whole table there, the oldest of sixteen places here
 *   an RST or FIN of a mark that nobody set, nudges (MARK_NUDGE), forwarded frames
 *                    are the kernel's own affair: it alone sends some */
#include "tests/unit/frames.h"
#include "tests/unit/test.h"

/* libpcap has its own of the same names. */
#define bpf_insn    pcap_bpf_insn
#define bpf_program pcap_bpf_program
#include <pcap/pcap.h>
#undef bpf_insn
#undef bpf_program

#include "dataplane/marking.h"
#include "hostagent/marks/mark_abi.h"

#include "hostagent/marks/mark.skel.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

enum { THROUGH_MARK, THROUGH_FOLLOW, THROUGH_CLASSIFY, THROUGHS };

#define CONTROL_PORT 7600
#define CLASS(kind)  (0x100u + (unsigned)(kind))
#define DEAD_NS      (FLOW_SILENT_NS + 1000000000u)
#define AGAIN        64 /* frames, and then the flows are as before, in the other mode */

/* What the frames go through, and what the flows are like before. */
struct world {
    const char *name;
    bool everybody; /* is a member; else 10.0.0.0/8 and fd00::/16 */
    bool lease;
    uint32_t mode;
};

static const struct world worlds[] = {
    {"marked by Coflow", false, true, 0},
    {"marked by Macroflow", false, true, 1},
    {"everybody a member", true, true, 0},
    {"without a lease", false, false, 0},
};

/* Flows that are there before the first frame, and again later, of v4 and v6: 10.0.0.1:P to
 * 10.0.0.2:80. */
static const struct {
    uint16_t port;
    uint64_t owner;
    uint8_t coflow, macroflow;
    bool dead;
} before[] = {
    {4000, 1, 1, 0, false},
    {4001, 1, 0, FLOW_UNMARKED, false},
    {4002, 0, 0, 0, false}, /* its levels were taken away */
    {4003, 1, 3, 3, true},
};

static struct mark_bpf *skel;
static int loading = 0; /* −errno */

static uint64_t boot_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- the kernel's --------------------------------------------------------------------------- */

static void kernel_settle(struct mark_settings *settings)
{
    memset(settings, 0, sizeof(*settings));
    memset(settings->level_of_dscp, MARK_UNMARKED, sizeof(settings->level_of_dscp));
    for (uint8_t level = 0; level < MARK_LEVELS; level++) {
        settings->dscp_of_level[level] = (uint8_t)(4 * level + 3);
        settings->level_of_dscp[4 * level + 3] = level;
        settings->class_of_level[level] = CLASS(TRAFFIC_LEVEL0 + level);
    }
    settings->class_control = CLASS(TRAFFIC_CONTROL);
    settings->class_unmanaged = CLASS(TRAFFIC_UNMANAGED);
    settings->control_dscp = PORT_DSCP_CONTROL;
    settings->control_port = htons(CONTROL_PORT);
}

static void kernel_open(const struct world *world)
{
    mark_bpf__destroy(skel);
    skel = mark_bpf__open();
    if (!skel) {
        loading = -errno;
        return;
    }
    struct mark_settings *settings = (void *)(uintptr_t)&skel->rodata->settings;
    kernel_settle(settings);
    settings->any_member = world->everybody;
    loading = mark_bpf__load(skel);
}

static void kernel_set(uint32_t which, uint64_t value)
{
    int fd = bpf_map__fd(skel->maps.control);
    assert_int_equal(bpf_map_update_elem(fd, &which, &value, BPF_ANY), 0);
}

static void kernel_members(void)
{
    const struct mark_member_key keys[] = {
        {.prefix_bits = 104, .address = {[10] = 0xff, [11] = 0xff, [12] = 10}},
        {.prefix_bits = 16, .address = {0xfd}},
    };
    const uint8_t one = 1;
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            bpf_map_update_elem(bpf_map__fd(skel->maps.members), &keys[i], &one, BPF_ANY), 0);
}

static struct mark_flow_key kernel_key(const struct flow_key *key)
{
    struct mark_flow_key same = {.local_port = key->local_port, .peer_port = key->peer_port};
    memcpy(same.local, key->local, 16);
    memcpy(same.peer, key->peer, 16);
    return same;
}

/* ---- both ------------------------------------------------------------------------------------ */

static struct flow_key key_before(size_t i, bool v6)
{
    struct flow_key key = {.local_port = htons(before[i].port), .peer_port = htons(80)};
    uint8_t *ends[] = {key.local, key.peer};
    for (uint8_t end = 0; end < 2; end++) {
        if (v6) {
            shape_address6(ends[end], (uint8_t)(1 + end));
            continue;
        }
        ends[end][10] = ends[end][11] = 0xff;
        shape_address4(ends[end] + 12, (uint8_t)(1 + end));
    }
    return key;
}

/* As the agent sets them: what is known of a flow otherwise stays. */
static void put_before(struct marking *marking, size_t i, bool v6, uint64_t now_ns)
{
    const struct flow_key key = key_before(i, v6);
    const struct mark_flow_key theirs = kernel_key(&key);
    const int fd = bpf_map__fd(skel->maps.flows);
    const uint8_t levels[] = {before[i].coflow, before[i].macroflow};
    struct mark_flow flow;
    if (bpf_map_lookup_elem(fd, &theirs, &flow) < 0)
        flow = (struct mark_flow){.role = MARK_ROLE_OPENER, .followed = MARK_UNMARKED};
    flow.seen_ns = before[i].dead ? now_ns - DEAD_NS : now_ns;
    flow.owner = before[i].owner;
    flow.word = mark_word(levels[0], levels[1]);
    struct flow *ours = flows_find(marking->flows, &key, flows_hash(&key));
    if (ours)
        ours->seen_ns = now_ns; /* or it is made anew */
    marking_set(marking, &key, flows_hash(&key), 1, levels, now_ns);
    marking_set(marking, &key, flows_hash(&key), before[i].owner, levels, now_ns);
    flows_find(marking->flows, &key, flows_hash(&key))->seen_ns = flow.seen_ns;
    assert_int_equal(bpf_map_update_elem(fd, &theirs, &flow, BPF_ANY), 0);
}

static void begin(const struct world *world, struct marking *marking, struct flows **ret_flows)
{
    struct marking_settings settings = {.members_n = world->everybody ? 0 : 2,
                                        .control_port = CONTROL_PORT};
    settings.members[0] =
        (struct mark_prefix){.bits = 104, .address = {[10] = 0xff, [11] = 0xff, [12] = 10}};
    settings.members[1] = (struct mark_prefix){.bits = 16, .address = {0xfd}};
    for (uint8_t level = 0; level < PORT_LEVELS; level++)
        settings.dscp_of_level[level] = (uint8_t)(4 * level + 3);
    assert_int_equal(flows_create(1024, ret_flows, NULL), 0);
    marking_init(marking, &settings, *ret_flows);
    marking->expiry_ns = world->lease ? UINT64_MAX : 0;
    kernel_members();
    kernel_set(MARK_CONTROL_EXPIRY, marking->expiry_ns);
    kernel_set(MARK_CONTROL_CLASSES, 1);
}

/* In the middle of whatever goes on. */
static void put_flows(struct marking *marking, uint32_t mode)
{
    kernel_set(MARK_CONTROL_MODE, mode);
    marking->mode = mode;
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        put_before(marking, i, false, boot_ns());
        put_before(marking, i, true, boot_ns());
    }
}

/* What came of one frame. */
struct outcome {
    uint8_t frame[FRAME_BYTES];
    uint32_t length;
    int kind; /* MARKING_DROP; −1: none, of what comes in */
};

/* false: the kernel takes no such frame (shorter than it wants them). */
static bool kernel_run(const uint8_t *frame, uint32_t length, struct outcome *out)
{
    const struct bpf_program *programs[] = {skel->progs.mark, skel->progs.follow,
                                            skel->progs.classify};
    const int through = frame[5] % THROUGHS;
    struct __sk_buff after = {0};
    LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = length,
                .data_out = out->frame, .data_size_out = sizeof(out->frame), .ctx_out = &after,
                .ctx_size_out = sizeof(after));
    if (bpf_prog_test_run_opts(bpf_program__fd(programs[through]), &opts) < 0)
        return false;
    out->length = opts.data_size_out;
    if (opts.retval == TC_ACT_SHOT)
        out->kind = MARKING_DROP;
    else
        out->kind = through == THROUGH_FOLLOW ? -1 : (int)(after.priority - CLASS(0));
    return true;
}

static void ours_run(struct marking *marking, const uint8_t *frame, uint32_t length,
                     struct outcome *out)
{
    uint8_t *exact = malloc(length); /* so that sanitizers see who reads beyond it */
    struct frame_bytes bytes = {exact, length, length};
    struct frame parsed;
    memcpy(exact, frame, length);
    frame_parse(&bytes, &parsed);
    switch (frame[5] % THROUGHS) {
    case THROUGH_MARK:
        out->kind = marking_mark(marking, &bytes, &parsed, boot_ns());
        break;
    case THROUGH_FOLLOW:
        out->kind = marking_follow(marking, &bytes, &parsed, boot_ns());
        out->kind = out->kind == MARKING_DROP ? MARKING_DROP : -1;
        break;
    default:
        out->kind = marking_classify(marking, &bytes, &parsed);
    }
    memcpy(out->frame, exact, length);
    out->length = length;
    free(exact);
}

/* ---- files ----------------------------------------------------------------------------------- */

static char folder[] = "/tmp/duopoly-conformance-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s.pcap", folder, name);
    return path;
}

static pcap_dumper_t *dump_open(const char *name)
{
    pcap_t *dead = pcap_open_dead(DLT_EN10MB, FRAME_BYTES);
    pcap_dumper_t *dump = pcap_dump_open(dead, path_of(name));
    assert_non_null(dump);
    pcap_close(dead);
    return dump;
}

static void dump_put(pcap_dumper_t *dump, const uint8_t *frame, uint32_t length, int kind)
{
    const struct pcap_pkthdr head = {.caplen = length, .len = length, .ts.tv_sec = kind + 1};
    pcap_dump((u_char *)dump, &head, frame);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static uint32_t written;

static void put(pcap_dumper_t *dump, const struct shape *shape, uint32_t cut, int through)
{
    uint8_t frame[FRAME_BYTES];
    uint32_t length = shape_build(shape, frame);
    frame[5] = (uint8_t)through;
    dump_put(dump, frame, cut < length ? cut : length, -1);
    written++;
}

static void put_everywhere(pcap_dumper_t *dump, const struct shape *shape)
{
    for (int through = 0; through < THROUGHS; through++)
        put(dump, shape, UINT32_MAX, through);
}

static struct shape plain(bool v6)
{
    return (struct shape){.type = v6 ? ETH_P_IPV6 : ETH_P_IP,
                          .protocol = IPPROTO_TCP,
                          .traffic_class = 15 << 2 | 1,
                          .flags = FRAME_ACK,
                          .payload = 30,
                          .from = 1,
                          .to = 2,
                          .from_port = 4000,
                          .to_port = 80};
}

static void put_headers(pcap_dumper_t *dump, struct shape shape)
{
    static const uint8_t extras[] = {IPPROTO_HOPOPTS,  IPPROTO_ROUTING, IPPROTO_DSTOPTS,
                                     IPPROTO_FRAGMENT, IPPROTO_AH,      IPPROTO_NONE};
    for (shape.tags = 0; shape.tags <= 3; shape.tags++)
        put_everywhere(dump, &shape);
    shape.tags = 0;
    for (shape.words = 0; shape.words <= 10; shape.words++)
        put_everywhere(dump, &shape);
    shape.words = 0;
    for (shape.header_words = -5; shape.header_words <= 10; shape.header_words++)
        put_everywhere(dump, &shape);
    shape.header_words = 0;
    for (size_t kind = 0; kind < sizeof(extras); kind++)
        for (shape.extras_n = 1; shape.extras_n <= SHAPE_EXTRAS; shape.extras_n++) {
            shape.extras[shape.extras_n - 1] = extras[kind];
            put_everywhere(dump, &shape);
        }
    shape.extras_n = 2;
    for (shape.extra_length = 0; shape.extra_length < 256; shape.extra_length += 5)
        put_everywhere(dump, &shape);
}

static void put_values(pcap_dumper_t *dump, struct shape shape)
{
    static const uint16_t fragments[] = {0, 0x2000, 0x4000, 1, 0x20ff, 8, 9, 0xfff8};
    static const uint16_t types[] = {ETH_P_ARP, ETH_P_PAE, 0, 0xffff, 5, ETH_P_MPLS_UC};
    struct shape other = shape;
    for (int class = 0; class < 256; class ++) {
        shape.traffic_class = (uint8_t) class;
        put_everywhere(dump, &shape);
    }
    for (int flags = 0; flags < 64; flags++) {
        shape = plain(shape.type == ETH_P_IPV6);
        shape.flags = (uint8_t)flags;
        shape.payload = flags & 32 ? 10 : 0;
        put_everywhere(dump, &shape);
    }
    shape = other;
    for (int protocol = 0; protocol < 256; protocol++) {
        shape.protocol = (uint8_t)protocol;
        shape.flags = (uint8_t)(130 + protocol % 10);
        put_everywhere(dump, &shape);
    }
    shape = other;
    shape.extras[0] = IPPROTO_FRAGMENT;
    shape.extras_n = 1;
    for (size_t i = 0; i < sizeof(fragments) / sizeof(fragments[0]); i++) {
        shape.fragment = fragments[i];
        put_everywhere(dump, &shape);
    }
    shape = other;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        shape.type = types[i];
        put_everywhere(dump, &shape);
    }
}

static void put_wrong(pcap_dumper_t *dump, struct shape shape)
{
    static const int lengths[] = {-70, -60, -50, -49, -43, -42, -40,  -31,
                                  -30, -21, -20, -1,  1,   40,  1000, 60000};
    const struct shape right = shape;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        shape.length = lengths[i];
        put_everywhere(dump, &shape);
        shape.extras[0] = IPPROTO_HOPOPTS;
        shape.extras_n = shape.type == ETH_P_IPV6;
        shape.length -= 8;
        put_everywhere(dump, &shape);
        shape.extras_n = 0;
    }
    shape = right;
    for (uint32_t sum = 0; sum < 65536; sum += 97) {
        shape.sum = (uint16_t)sum;
        put_everywhere(dump, &shape);
    }
    shape = right;
    shape.tags = 2;
    shape.extras[0] = IPPROTO_DSTOPTS;
    shape.extras_n = shape.words = 1;
    for (uint32_t cut = ETH_HLEN; cut < 120; cut++)
        for (int through = 0; through < THROUGHS; through++)
            put(dump, &shape, cut, through);
}

/* Any of these frames one after another: connections begin, carry what they like, and end. */
static void put_conversations(pcap_dumper_t *dump, uint64_t *stream)
{
    static const uint8_t flags[] = {FRAME_SYN, FRAME_SYN | FRAME_ACK, FRAME_ACK, FRAME_ACK,
                                    FRAME_ACK, FRAME_ACK | FRAME_FIN, FRAME_RST};
    static const uint8_t dscps[] = {0, 3, 7, 15, 31, PORT_DSCP_CONTROL, 46, 11};
    static const uint16_t ports[] = {80, 80, CONTROL_PORT};
    for (int i = 0; i < 30000; i++) {
        const uint64_t draw = test_random(stream);
        struct shape shape = plain(draw & 1);
        const int through = (int)(draw >> 1 & 3) % THROUGHS;
        shape.flags = flags[(draw >> 3) % sizeof(flags)];
        shape.traffic_class = (uint8_t)((unsigned)dscps[draw >> 8 & 7] << 2 | (draw >> 12 & 3));
        shape.payload = draw >> 14 & 1 ? 100 : 0;
        shape.from_port = (uint16_t)(4000 + (draw >> 16 & 7));
        shape.to_port = ports[(draw >> 20 & 15) % 3];
        shape.to = draw >> 24 & 7 ? 2 : 202;
        shape.from = draw >> 27 & 7 ? 1 : 201;
        shape.timestamps = draw >> 30 & 1;
        shape.tsval = (uint32_t)(draw >> 32 & 7);
        if (through == THROUGH_FOLLOW) {
            const uint8_t from = shape.from;
            const uint16_t port = shape.from_port;
            shape.from = shape.to;
            shape.to = from;
            shape.from_port = shape.to_port;
            shape.to_port = port;
        }
        put(dump, &shape, UINT32_MAX, through);
    }
}

/* One connection, whose levels change every so often, and what comes on it under old and new
 * ones. */
static void put_promotions(pcap_dumper_t *dump, struct shape shape, uint64_t *stream)
{
    struct shape back = shape;
    back.from = shape.to;
    back.to = shape.from;
    back.from_port = shape.to_port;
    back.to_port = shape.from_port;
    back.timestamps = true;
    for (int i = 0; i < 2000; i++) {
        const uint64_t draw = test_random(stream);
        back.traffic_class = (uint8_t)((4 * (draw & 3) + 3) << 2);
        back.tsval = (uint32_t)(draw >> 4 & 3) - 2;
        back.payload = draw >> 8 & 3 ? 60 : 0;
        if (draw >> 12 & 3)
            put(dump, &back, UINT32_MAX, THROUGH_FOLLOW);
        else
            put(dump, &shape, UINT32_MAX, THROUGH_MARK);
    }
}

static void write_frames(void)
{
    uint64_t stream = test_seed();
    pcap_dumper_t *dump = dump_open("in");
    for (int v6 = 0; v6 < 2; v6++) {
        put_headers(dump, plain(v6));
        put_values(dump, plain(v6));
        put_wrong(dump, plain(v6));
        put_promotions(dump, plain(v6), &stream);
    }
    put_conversations(dump, &stream);
    pcap_dump_close(dump);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void describe(const struct world *world, uint64_t n, const struct outcome *theirs,
                     const struct outcome *ours)
{
    fprintf(stderr, "# %s, frame %lu of %s: kernel kind %d, ours %d\n", world->name,
            (unsigned long)n, path_of("in"), theirs->kind, ours->kind);
    for (uint32_t i = 0; i < ours->length; i++)
        if (ours->frame[i] != theirs->frame[i])
            fprintf(stderr, "# byte %u: kernel %02x, ours %02x\n", i, theirs->frame[i],
                    ours->frame[i]);
}

static void run_world(const struct world *world)
{
    char why[PCAP_ERRBUF_SIZE];
    struct marking marking;
    struct flows *flows = NULL;
    struct pcap_pkthdr *head;
    const u_char *frame;
    uint64_t n = 0, taken = 0;
    begin(world, &marking, &flows);
    pcap_t *in = pcap_open_offline(path_of("in"), why);
    assert_non_null(in);
    pcap_dumper_t *kernel = dump_open("kernel"), *fastpath = dump_open("fastpath");
    for (; pcap_next_ex(in, &head, &frame) == 1; n++) {
        struct outcome theirs = {0}, ours = {0};
        if (n % AGAIN == 0)
            put_flows(&marking, (uint32_t)(n / AGAIN + world->mode) % 2);
        if (!kernel_run(frame, head->caplen, &theirs))
            continue;
        ours_run(&marking, frame, head->caplen, &ours);
        dump_put(kernel, theirs.frame, theirs.length, theirs.kind);
        dump_put(fastpath, ours.frame, ours.length, ours.kind);
        taken++;
        if (theirs.kind != ours.kind || theirs.length != ours.length ||
            memcmp(theirs.frame, ours.frame, ours.length) != 0) {
            describe(world, n, &theirs, &ours);
            fail_msg("%s: frame %lu", world->name, (unsigned long)n);
        }
    }
    pcap_dump_close(kernel);
    pcap_dump_close(fastpath);
    pcap_close(in);
    flows_destroy(flows);
    fprintf(stderr, "# %s: %lu of %u frames, %lu of them overtaken\n", world->name,
            (unsigned long)taken, written, (unsigned long)marking.counters.overtaken_packets);
    assert_int_equal(n, written);
    assert_true(taken > written / 10 * 9);
    assert_true(marking.counters.overtaken_packets > 100 || !world->lease);
}

static void same_file(void)
{
    char one[128];
    int byte;
    snprintf(one, sizeof(one), "%s", path_of("kernel"));
    FILE *a = fopen(one, "rb"), *b = fopen(path_of("fastpath"), "rb");
    assert_non_null(a);
    assert_non_null(b);
    do {
        byte = fgetc(a);
        assert_int_equal(byte, fgetc(b));
    } while (byte != EOF);
    fclose(a);
    fclose(b);
}

static void test_both_data_paths_send_the_same(void **state)
{
    const struct world *world = *state;
    kernel_open(world);
    if (loading < 0)
        skip_since("the marking programs do not load here");
    run_world(world);
    same_file();
}

/* In a network namespace without sockets, so that the kernel finds none for our connections. */
static int set_up(void **state)
{
    (void)state;
    if (geteuid() == 0)
        (void)!unshare(CLONE_NEWNET);
    if (!mkdtemp(folder))
        return -1;
    write_frames();
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"in", "kernel", "fastpath"};
    (void)state;
    mark_bpf__destroy(skel);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlink(path_of(names[i]));
    return rmdir(folder);
}

int main(void)
{
    struct CMUnitTest tests[sizeof(worlds) / sizeof(worlds[0])];
    for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++)
        tests[i] = (struct CMUnitTest){worlds[i].name, test_both_data_paths_send_the_same, NULL,
                                       NULL, (void *)(uintptr_t)&worlds[i]};
    return cmocka_run_group_tests_name("conformance", tests, set_up, tear_down);
}
