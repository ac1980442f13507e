/* What the marking programs cost a packet, by its frame: the kernel runs each program many times on
 * one packet in memory (BPF_PROG_TEST_RUN) and says how long one run took. Prints nanoseconds, the
 * least of several rounds, since whatever else runs on the machine only adds. Root; touches no
 * interface. */
#include "hostagent/marks/mark_abi.h"

#include "hostagent/marks/mark.skel.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ROUNDS  9
#define REPEATS 100000
#define FRAME   256

struct frame {
    const char *name;
    bool v6;
    int tags;       /* 802.1Q tags in the packet */
    int extensions; /* headers between IPv6 and TCP, of 8 bytes */
};

static const struct frame frames[] = {
    {"IPv4", false, 0, 0},
    {"IPv4, one tag", false, 1, 0},
    {"IPv4, two tags", false, 2, 0},
    {"IPv6", true, 0, 0},
    {"IPv6, two tags", true, 2, 0},
    {"IPv6, one extension header", true, 0, 1},
    {"IPv6, four of them", true, 0, 4},
};

static const uint8_t address4[2][4] = {{10, 0, 0, 1}, {10, 0, 0, 2}};
static const uint8_t address6[2][16] = {{0xfd, [15] = 1}, {0xfd, [15] = 2}};

static size_t put_tags(const struct frame *frame, uint8_t *at, uint16_t type)
{
    size_t n = 0;
    for (int i = 0; i < frame->tags; i++) {
        memcpy(at + n, i + 1 < frame->tags ? "\x88\xa8\0\x05" : "\x81\0\0\x07", 4);
        n += 4;
    }
    at[n] = (uint8_t)(type >> 8);
    at[n + 1] = (uint8_t)type;
    return n + 2;
}

/* 100 bytes of content; from the first address, or to it when `received`. Returns its length. */
static size_t build(const struct frame *frame, bool received, uint8_t bytes[FRAME])
{
    memset(bytes, 0, FRAME);
    memset(bytes, 2, 12);
    const size_t tail = 20 + 100 + 8 * (size_t)frame->extensions;
    uint8_t *ip = bytes + 12 + put_tags(frame, bytes + 12, frame->v6 ? ETH_P_IPV6 : ETH_P_IP),
            *next;
    if (frame->v6) {
        ip[0] = 0x60;
        ip[5] = (uint8_t)tail;
        ip[6] = frame->extensions ? 60 : 6;
        memcpy(ip + 8, address6[received], 16);
        memcpy(ip + 24, address6[!received], 16);
        next = ip + 40;
    } else {
        ip[0] = 0x45;
        ip[3] = (uint8_t)(20 + tail);
        ip[8] = 64;
        ip[9] = 6;
        memcpy(ip + 12, address4[received], 4);
        memcpy(ip + 16, address4[!received], 4);
        next = ip + 20;
    }
    for (int i = 0; i < frame->extensions; i++, next += 8)
        next[0] = i + 1 < frame->extensions ? 60 : 6;
    next[received ? 3 : 1] = 80;
    next[received ? 1 : 3] = 90;
    next[12] = 0x50;
    next[13] = 0x10;
    return (size_t)(next + 20 + 100 - bytes);
}

static int set_up(struct mark_bpf *skel, const struct frame *frame)
{
    struct mark_flow_key key = {.local_port = htons(80), .peer_port = htons(90)};
    struct timespec now;
    uint32_t expiry = MARK_CONTROL_EXPIRY;
    uint64_t never = UINT64_MAX;
    clock_gettime(CLOCK_BOOTTIME, &now);
    const struct mark_flow flow = {.seen_ns = (uint64_t)now.tv_sec * 1000000000u,
                                   .role = MARK_ROLE_OPENER,
                                   .owner = 1,
                                   .word = mark_word(2, 5)};
    for (int i = 0; i < 2; i++) {
        uint8_t *to = i ? key.peer : key.local;
        if (frame->v6)
            memcpy(to, address6[i], 16);
        else {
            to[10] = to[11] = 0xff;
            memcpy(to + 12, address4[i], 4);
        }
    }
    if (bpf_map_update_elem(bpf_map__fd(skel->maps.control), &expiry, &never, BPF_ANY) < 0)
        return -errno;
    return bpf_map_update_elem(bpf_map__fd(skel->maps.flows), &key, &flow, BPF_ANY) < 0 ? -errno
                                                                                        : 0;
}

/* < 0: −errno. */
static int measure(struct mark_bpf *skel, const struct bpf_program *program,
                   const struct frame *frame, bool received)
{
    uint8_t bytes[FRAME];
    int least = -1;
    for (int round = 0; round < ROUNDS; round++) {
        int r = set_up(skel, frame);
        LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = bytes, .repeat = REPEATS);
        opts.data_size_in = (uint32_t)build(frame, received, bytes);
        if (r < 0 || bpf_prog_test_run_opts(bpf_program__fd(program), &opts) < 0)
            return r < 0 ? r : -errno;
        if (least < 0 || (int)opts.duration < least)
            least = (int)opts.duration;
    }
    return least;
}

static void settle(struct mark_bpf *skel)
{
    struct mark_settings *settings = (void *)(uintptr_t)&skel->rodata->settings;
    memset(settings->level_of_dscp, MARK_UNMARKED, sizeof(settings->level_of_dscp));
    for (uint8_t level = 0; level < MARK_LEVELS; level++) {
        settings->dscp_of_level[level] = (uint8_t)(4 * level + 3);
        settings->level_of_dscp[4 * level + 3] = level;
    }
    settings->any_member = 1;
}

int main(void)
{
    struct mark_bpf *skel = mark_bpf__open();
    if (skel)
        settle(skel);
    if (!skel || mark_bpf__load(skel) < 0) {
        fprintf(stderr, "bench-marks: loading the marking programs: %s (it needs root)\n",
                strerror(errno));
        return 1;
    }
    printf("ns a packet                      mark  follow  classify\n");
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        int mark = measure(skel, skel->progs.mark, &frames[i], false),
            follow = measure(skel, skel->progs.follow, &frames[i], true),
            classify = measure(skel, skel->progs.classify, &frames[i], false);
        if (mark < 0 || follow < 0 || classify < 0) {
            fprintf(stderr,
                    "bench-marks: the kernel does not run a program on a packet in memory\n");
            return 1;
        }
        printf("%-30s %6d %7d %9d\n", frames[i].name, mark, follow, classify);
    }
    mark_bpf__destroy(skel);
    return 0;
}
