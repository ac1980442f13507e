#include "testbed/verify/capture_pcap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <pcap/pcap.h>

/* Headers of a TCP packet with all options; a buffer for half a second of a gigabit link's full
 * packets. */
enum { SNAP_BYTES = 14 + 60 + 60, BUFFER_BYTES = 16 << 20, BATCH_MS = 50 };

struct tap {
    struct capture *capture;
    pcap_t *pcap;
    sd_event_source *io;
};

struct capture {
    struct packets *packets;
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

static void on_packet(unsigned char *context, const struct pcap_pkthdr *header,
                      const unsigned char *bytes)
{
    struct capture *capture = (void *)context;
    struct packet_frame frame;
    /* With nanosecond precision tv_usec holds nanoseconds. */
    int64_t wall_ns = (int64_t)header->ts.tv_sec * 1000000000 + header->ts.tv_usec;
    if (packet_decode(bytes, header->caplen, &frame))
        packets_add(capture->packets, wall_ns + capture->to_boottime_ns, &frame);
}

static int tap_read(struct tap *tap)
{
    /* The wall clock may be adjusted under way; a batch is young. */
    tap->capture->to_boottime_ns = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_REALTIME);
    return pcap_dispatch(tap->pcap, -1, on_packet, (unsigned char *)tap->capture);
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
    pcap_set_buffer_size(pcap, BUFFER_BYTES);
    if (pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO) != 0)
        return err_set(err, ENOTSUP, "%s has no nanosecond stamps", interface);
    int r = pcap_activate(pcap);
    if (r < 0)
        return err_set(err, r == PCAP_ERROR_NO_SUCH_DEVICE ? ENODEV : EPERM,
                       "cannot capture on %s: %s", interface, pcap_statustostr(r));
    if (pcap_datalink(pcap) != DLT_EN10MB)
        return err_set(err, ENOTSUP, "%s is no Ethernet interface", interface);
    return pcap_setdirection(pcap, PCAP_D_IN) < 0 ? tap_fail(tap, interface, err) : 0;
}

static int tap_filter(struct tap *tap, const char *interface, uint16_t port, struct err *err)
{
    char text[64], words[PCAP_ERRBUF_SIZE];
    struct bpf_program program;
    snprintf(text, sizeof(text), "tcp port %u", port);
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

static int tap_open_here(sd_event *event, struct tap *tap, const char *interface, uint16_t port,
                         struct err *err)
{
    char words[PCAP_ERRBUF_SIZE];
    tap->pcap = pcap_create(interface, words);
    if (!tap->pcap)
        return err_set(err, EIO, "cannot capture on %s: %s", interface, words);
    int r = tap_configure(tap, interface, err);
    if (r == 0)
        r = tap_filter(tap, interface, port, err);
    if (r < 0)
        return r;
    r = sd_event_add_io(event, &tap->io, pcap_get_selectable_fd(tap->pcap), EPOLLIN, on_ready, tap);
    return r < 0 ? err_sys(err, -r, "cannot wait for %s", interface) : 0;
}

static int enter(int space, const char *name, struct err *err)
{
    return setns(space, CLONE_NEWNET) < 0
               ? err_sys(err, errno, "cannot enter the network namespace %s", name)
               : 0;
}

/* A socket stays in the namespace that it was made in. */
static int tap_open_in(sd_event *event, struct tap *tap, const char *interface, const char *path,
                       uint16_t port, struct err *err)
{
    int r, home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC),
           space = open(path, O_RDONLY | O_CLOEXEC);
    if (home < 0 || space < 0)
        r = err_sys(err, errno, "cannot open the network namespace %s", path);
    else
        r = enter(space, path, err);
    if (r == 0) {
        int opened = tap_open_here(event, tap, interface, port, err);
        r = enter(home, "of our own", opened < 0 ? NULL : err);
        r = opened < 0 ? opened : r;
    }
    if (home >= 0)
        close(home);
    if (space >= 0)
        close(space);
    return r;
}

static int tap_open(sd_event *event, struct tap *tap, const char *where, uint16_t port,
                    struct err *err)
{
    const char *at = strchr(where, '@');
    if (!at)
        return tap_open_here(event, tap, where, port, err);
    char *interface = strndup(where, (size_t)(at - where));
    if (!interface)
        return err_sys(err, ENOMEM, "cannot capture");
    int r = tap_open_in(event, tap, interface, at + 1, port, err);
    free(interface);
    return r;
}

int capture_open(sd_event *event, char *const *interfaces, unsigned n, uint16_t port,
                 struct packets *packets, struct capture **ret_capture, struct err *err)
{
    int r = 0;
    struct capture *capture = calloc(1, sizeof(*capture));
    if (!capture)
        return err_sys(err, ENOMEM, "cannot capture");
    capture->packets = packets;
    capture->taps = calloc(n + 1, sizeof(*capture->taps));
    if (!capture->taps)
        r = err_sys(err, ENOMEM, "cannot capture");
    for (; r == 0 && capture->n < n; capture->n++) {
        capture->taps[capture->n].capture = capture;
        r = tap_open(event, &capture->taps[capture->n], interfaces[capture->n], port, err);
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
