#include "testbed/verify/capture_pcap.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <pcap/pcap.h>

#include "testbed/verify/netns.h"

/* Headers of a TCP packet with all options; buffers that all taps share, of at most half a second
 * of a gigabit link's full packets each. */
enum {
    SNAP_BYTES = 14 + 60 + 60,
    BUFFER_BYTES = 16 << 20,
    BUFFERS_BYTES = 256 << 20,
    BATCH_MS = 50
};
/* Of an Ethernet frame of IPv4. */
enum { TOS_AT = 14 + 1 };

struct tap {
    struct capture *capture;
    pcap_t *pcap;
    sd_event_source *io;
    bool out;
    unsigned hop;
};

struct capture {
    struct packets *packets;
    struct hops *hops;      /* NULL: only marks are judged */
    int buffer_bytes;       /* of each tap */
    int64_t to_boottime_ns; /* add this to the kernel's wall-clock stamps */
    unsigned n;
    struct tap *taps;
};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void see(struct tap *tap, int64_t time_ns, const struct packet_frame *frame)
{
    uint32_t flow;
    struct capture *capture = tap->capture;
    if (packets_flow(capture->packets, &frame->key, &flow) < 0)
        capture->hops->lost++;
    else
        hops_add(capture->hops, tap->hop, tap->out, time_ns, flow, frame);
}

static void on_leaving(struct tap *tap, int64_t time_ns, const unsigned char *bytes,
                       uint32_t captured)
{
    struct packet_frame frame;
    struct hops *hops = tap->capture->hops;
    if (!packet_decode(bytes, captured, &frame)) {
        if (captured > TOS_AT)
            hops_count(hops, tap->hop, bytes[TOS_AT] >> 2, false);
        return;
    }
    bool bare = frame.payload_bytes == 0 && !(frame.flags & (TH_FIN | TH_RST));
    hops_count(hops, tap->hop, frame.dscp, bare);
    if (frame.payload_bytes)
        see(tap, time_ns, &frame);
}

static void on_entry(struct tap *tap, int64_t time_ns, const unsigned char *bytes,
                     uint32_t captured)
{
    struct packet_frame frame;
    if (!packet_decode(bytes, captured, &frame))
        return;
    packets_add(tap->capture->packets, time_ns, &frame);
    if (tap->capture->hops && frame.payload_bytes)
        see(tap, time_ns, &frame);
}

static void on_packet(unsigned char *context, const struct pcap_pkthdr *header,
                      const unsigned char *bytes)
{
    struct tap *tap = (void *)context;
    /* With nanosecond precision tv_usec holds nanoseconds. */
    int64_t wall_ns = (int64_t)header->ts.tv_sec * 1000000000 + header->ts.tv_usec;
    int64_t time_ns = wall_ns + tap->capture->to_boottime_ns;
    if (tap->out)
        on_leaving(tap, time_ns, bytes, header->caplen);
    else
        on_entry(tap, time_ns, bytes, header->caplen);
}

static int tap_read(struct tap *tap)
{
    /* The wall clock may be adjusted under way; a batch is young. */
    tap->capture->to_boottime_ns = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_REALTIME);
    return pcap_dispatch(tap->pcap, -1, on_packet, (unsigned char *)tap);
}

static int on_ready(sd_event_source *s, int fd, uint32_t events, void *context)
{
    (void)s;
    (void)fd;
    (void)events;
    tap_read(context);
    return 0;
}

static int tap_fail(struct tap *tap, const char *interface, struct err *err)
{
    return err_set(err, EIO, "cannot capture on %s: %s", interface, pcap_geterr(tap->pcap));
}

static int tap_configure(struct tap *tap, const char *interface, struct err *err)
{
    pcap_t *pcap = tap->pcap;
    pcap_set_snaplen(pcap, SNAP_BYTES);
    pcap_set_promisc(pcap, 1);
    pcap_set_timeout(pcap, BATCH_MS);
    int share = tap->capture->buffer_bytes;
    pcap_set_buffer_size(pcap, share < BUFFER_BYTES ? share : BUFFER_BYTES);
    if (pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO) != 0)
        return err_set(err, ENOTSUP, "%s has no nanosecond stamps", interface);
    int r = pcap_activate(pcap);
    if (r < 0)
        return err_set(err, r == PCAP_ERROR_NO_SUCH_DEVICE ? ENODEV : EPERM,
                       "cannot capture on %s: %s", interface, pcap_statustostr(r));
    if (pcap_datalink(pcap) != DLT_EN10MB)
        return err_set(err, ENOTSUP, "%s is no Ethernet interface", interface);
    return pcap_setdirection(pcap, tap->out ? PCAP_D_OUT : PCAP_D_IN) < 0
               ? tap_fail(tap, interface, err)
               : 0;
}

static int tap_filter(struct tap *tap, const char *interface, struct capture_range range,
                      struct err *err)
{
    char text[96], words[PCAP_ERRBUF_SIZE];
    struct bpf_program program;
    /* What wakes starved senders (nudge.h) has marks, too. The direction is pcap_setdirection's
     * alone: libpcap filters a ring's first block again in user space, where "outbound" is never
     * true (libpcap 1.10.3, blocks_to_filter_in_userland). */
    snprintf(text, sizeof(text),
             tap->out ? "tcp portrange %u-%u or (icmp and ip[1] & 0xfc != 0)"
                      : "tcp portrange %u-%u",
             range.first, range.last);
    if (pcap_compile(tap->pcap, &program, text, 1, PCAP_NETMASK_UNKNOWN) < 0)
        return tap_fail(tap, interface, err);
    int r = pcap_setfilter(tap->pcap, &program);
    pcap_freecode(&program);
    if (r < 0)
        return tap_fail(tap, interface, err);
    if (pcap_setnonblock(tap->pcap, 1, words) < 0)
        return err_set(err, EIO, "cannot capture on %s: %s", interface, words);
    return 0;
}

static int tap_open(sd_event *event, struct tap *tap, const char *interface,
                    struct capture_range range, struct err *err)
{
    char words[PCAP_ERRBUF_SIZE];
    tap->pcap = pcap_create(interface, words);
    if (!tap->pcap)
        return err_set(err, EIO, "cannot capture on %s: %s", interface, words);
    int r = tap_configure(tap, interface, err);
    if (r == 0)
        r = tap_filter(tap, interface, range, err);
    if (r < 0)
        return r;
    r = sd_event_add_io(event, &tap->io, pcap_get_selectable_fd(tap->pcap), EPOLLIN, on_ready, tap);
    return r < 0 ? err_sys(err, -r, "cannot wait for %s", interface) : 0;
}

struct opening {
    sd_event *event;
    struct tap *tap;
    struct capture_range range;
};

static int tap_open_here(const char *interface, void *context, struct err *err)
{
    const struct opening *o = context;
    return tap_open(o->event, o->tap, interface, o->range, err);
}

int capture_open(sd_event *event, const struct capture_port *ports, unsigned n,
                 struct capture_range range, struct packets *packets, struct hops *hops,
                 struct capture **ret_capture, struct err *err)
{
    int r = 0;
    struct capture *capture = calloc(1, sizeof(*capture));
    if (!capture)
        return err_sys(err, ENOMEM, "cannot capture");
    capture->packets = packets;
    capture->hops = hops;
    capture->buffer_bytes = BUFFERS_BYTES / (int)(n ? n : 1);
    capture->taps = calloc(n + 1, sizeof(*capture->taps));
    if (!capture->taps)
        r = err_sys(err, ENOMEM, "cannot capture");
    for (; r == 0 && capture->n < n; capture->n++) {
        struct tap *tap = &capture->taps[capture->n];
        *tap = (struct tap){
            .capture = capture, .out = ports[capture->n].out, .hop = ports[capture->n].hop};
        r = netns_do(ports[capture->n].where, tap_open_here, &(struct opening){event, tap, range},
                     err);
    }
    if (r < 0) {
        capture_close(capture);
        return r;
    }
    *ret_capture = capture;
    return 0;
}

/* The kernel hands over a batch when it is full or BATCH_MS old; so what it has by now is here
 * within that time. */
static void wait_for_batches(struct capture *capture)
{
    int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + 2 * BATCH_MS * INT64_C(1000000), left_ns;
    for (unsigned i = 0; i < capture->n; i++) {
        struct pollfd wait = {pcap_get_selectable_fd(capture->taps[i].pcap), POLLIN, 0};
        while ((left_ns = end_ns - clock_ns(CLOCK_MONOTONIC)) > 0 &&
               poll(&wait, 1, (int)(left_ns / 1000000) + 1) > 0)
            tap_read(&capture->taps[i]);
    }
}

uint64_t capture_drain(struct capture *capture)
{
    uint64_t dropped = 0;
    wait_for_batches(capture);
    for (unsigned i = 0; i < capture->n; i++) {
        struct pcap_stat stat;
        while (tap_read(&capture->taps[i]) > 0)
            ;
        if (pcap_stats(capture->taps[i].pcap, &stat) == 0)
            dropped += stat.ps_drop;
    }
    return dropped;
}

void capture_close(struct capture *capture)
{
    if (!capture)
        return;
    for (unsigned i = 0; capture->taps && i < capture->n; i++) {
        sd_event_source_disable_unref(capture->taps[i].io);
        if (capture->taps[i].pcap)
            pcap_close(capture->taps[i].pcap);
    }
    free(capture->taps);
    free(capture);
}
