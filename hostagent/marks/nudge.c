#include "hostagent/marks/nudge.h"

#include "hostagent/marks/nudge_packet.h"
#include "hostagent/marks/promote.h"
#include "hostagent/marks/receivers_bpf.h"
#include "lib/address.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_US      1000
#define LINK_PART    4  /* of the link, for nudges */
#define PACKET_BYTES 80 /* on the wire, about */
#define LEAST_BURST  4
#define ROUNDS       (1 + NUDGE_UNREACHABLES)

struct nudge {
    const struct mark_config *marks;
    struct promote *promote;
    struct receivers *receivers;
    int v4, v6; /* raw sockets; v6 may be −1 */
    uint32_t burst;
    sd_event_source *begin, *tick;
    struct nudge_counters counters;
    bool paused;
    uint32_t promoted_n;
    struct promote_task promoted[MARK_TASKS]; /* the same one twice: the later level counts */
    /* The pass under way: round by round, so that every sender soon has its first packets. */
    uint32_t connections_n, round, next;
    struct receiver connections[NUDGE_CONNECTIONS];
};

static void send_packet(struct nudge *nudge, const struct receiver *to, const uint8_t *packet,
                        uint32_t bytes)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    memcpy(&v4.sin_addr, to->peer + ADDRESS_V4_AT, 4);
    memcpy(&v6.sin6_addr, to->peer, 16);
    ssize_t sent = address_is_v4(to->peer)
                       ? sendto(nudge->v4, packet, bytes, MSG_DONTWAIT | MSG_NOSIGNAL,
                                (const struct sockaddr *)&v4, sizeof(v4))
                       : sendto(nudge->v6, packet, bytes, MSG_DONTWAIT | MSG_NOSIGNAL,
                                (const struct sockaddr *)&v6, sizeof(v6));
    nudge->counters.failures += sent < 0;
}

static void send_next(struct nudge *nudge)
{
    const struct receiver *to = &nudge->connections[nudge->next];
    uint8_t packet[NUDGE_PACKET_BYTES], dscp = nudge->marks->dscp_of_level[to->level];
    bool first = nudge->round == 0;
    uint32_t bytes = first ? nudge_packet_acknowledge(to, dscp, packet)
                           : nudge_packet_unreachable(to, dscp, packet);
    send_packet(nudge, to, packet, bytes);
    nudge->counters.acknowledgements += first;
    nudge->counters.unreachables += !first;
    if (++nudge->next < nudge->connections_n)
        return;
    nudge->next = 0;
    if (++nudge->round == ROUNDS)
        nudge->connections_n = 0;
}

static int on_tick(sd_event_source *source, uint64_t usec, void *arg)
{
    struct nudge *nudge = arg;
    uint64_t now = usec;
    for (uint32_t i = 0; i < nudge->burst && nudge->connections_n; i++)
        send_next(nudge);
    if (!nudge->connections_n)
        return nudge->promoted_n ? sd_event_source_set_enabled(nudge->begin, SD_EVENT_ONESHOT) : 0;
    sd_event_now(sd_event_source_get_event(source), CLOCK_MONOTONIC, &now);
    sd_event_source_set_time(source, now + TICK_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_begin(sd_event_source *source, uint64_t usec, void *arg)
{
    struct nudge *nudge = arg;
    uint32_t more = 0;
    (void)source;
    (void)usec;
    if (nudge->connections_n)
        return 0; /* on_tick calls us again */
    int r = receivers_find(nudge->receivers, nudge->promoted, nudge->promoted_n, nudge->connections,
                           NUDGE_CONNECTIONS, &nudge->connections_n, &more, NULL);
    nudge->promoted_n = 0;
    nudge->round = nudge->next = 0;
    nudge->counters.failures += r < 0;
    nudge->counters.connections += nudge->connections_n;
    nudge->counters.left_out += more;
    return nudge->connections_n ? on_tick(nudge->tick, 0, nudge) : 0;
}

static void note_promoted(void *user, const struct promote_task *task)
{
    struct nudge *nudge = user;
    if (nudge->paused)
        return;
    if (nudge->promoted_n == MARK_TASKS) {
        nudge->counters.left_out++;
        return;
    }
    nudge->promoted[nudge->promoted_n++] = *task;
    if (nudge->promoted_n == 1) {
        sd_event_source_set_time_relative(nudge->begin, NUDGE_DELAY_US);
        sd_event_source_set_enabled(nudge->begin, SD_EVENT_ONESHOT);
    }
}

void nudge_levels(struct nudge *nudge, const struct mark_task_levels *levels)
{
    struct promote_task task;
    if (nudge && promote_set(nudge->promote, levels, &task))
        note_promoted(nudge, &task);
}

void nudge_mode(struct nudge *nudge, uint32_t mode)
{
    if (nudge)
        promote_set_mode(nudge->promote, mode, note_promoted, nudge);
}

void nudge_forget(struct nudge *nudge, uint64_t cgroup)
{
    if (nudge)
        promote_forget(nudge->promote, cgroup);
}

void nudge_pause(struct nudge *nudge, bool paused)
{
    if (nudge)
        nudge->paused = paused;
}

void nudge_count(const struct nudge *nudge, struct nudge_counters *ret_counters)
{
    *ret_counters = nudge ? nudge->counters : (struct nudge_counters){0};
}

static int open_raw(int family)
{
    const int priority = MARK_NUDGE;
    int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority)) < 0) {
        int code = errno;
        close(fd);
        errno = code;
        fd = -1;
    }
    return fd;
}

static int open_sockets(struct nudge *nudge, struct err *err)
{
    nudge->v4 = open_raw(AF_INET);
    if (nudge->v4 < 0)
        return err_sys(err, errno, "a raw socket for nudges");
    nudge->v6 = open_raw(AF_INET6);
    return 0;
}

static int add_sources(struct nudge *nudge, sd_event *event)
{
    int r = sd_event_add_time(event, &nudge->begin, CLOCK_MONOTONIC, 0, 1, on_begin, nudge);
    if (r >= 0)
        r = sd_event_source_set_enabled(nudge->begin, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_time(event, &nudge->tick, CLOCK_MONOTONIC, 0, 1, on_tick, nudge);
    if (r >= 0)
        r = sd_event_source_set_enabled(nudge->tick, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_source_set_priority(nudge->begin, SD_EVENT_PRIORITY_IDLE);
    return r < 0 ? r : sd_event_source_set_priority(nudge->tick, SD_EVENT_PRIORITY_IDLE);
}

static uint32_t burst_of(uint64_t link_bps)
{
    uint64_t packets = link_bps / LINK_PART / 8 * TICK_US / 1000000 / PACKET_BYTES;
    packets = packets < LEAST_BURST ? LEAST_BURST : packets;
    return packets > NUDGE_BURST ? NUDGE_BURST : (uint32_t)packets;
}

int nudge_open(const struct mark_config *marks, uint64_t link_bps, uint32_t mode, sd_event *event,
               struct nudge **ret_nudge, struct err *err)
{
    struct nudge *nudge = calloc(1, sizeof(*nudge));
    if (!nudge)
        return err_sys(err, ENOMEM, "nudges");
    nudge->marks = marks;
    nudge->burst = burst_of(link_bps);
    nudge->v4 = nudge->v6 = -1;
    int r = promote_create(mode, &nudge->promote);
    if (r < 0)
        err_sys(err, -r, "nudges");
    if (r >= 0)
        r = receivers_open(marks->bpffs, &nudge->receivers, err);
    if (r >= 0)
        r = open_sockets(nudge, err);
    if (r >= 0 && (r = add_sources(nudge, event)) < 0)
        err_sys(err, -r, "the event loop");
    if (r < 0) {
        nudge_close(nudge);
        return r;
    }
    *ret_nudge = nudge;
    return 0;
}

void nudge_close(struct nudge *nudge)
{
    if (!nudge)
        return;
    sd_event_source_disable_unref(nudge->begin);
    sd_event_source_disable_unref(nudge->tick);
    receivers_close(nudge->receivers);
    promote_destroy(nudge->promote);
    if (nudge->v4 >= 0)
        close(nudge->v4);
    if (nudge->v6 >= 0)
        close(nudge->v6);
    free(nudge);
}
