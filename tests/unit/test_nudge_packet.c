/* Nudges as the peer's kernel reads them: lengths, checksums, and what the error message quotes.
 * That a kernel acts on them is shown in tests/net/test_nudge.py. */
#include "tests/unit/test.h"

#include "hostagent/marks/nudge_packet.h"

#include <arpa/inet.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>

/* Written differently from the code under test: bytes are added in memory order, as RFC 1071
 * allows; what is right adds up to all ones. */
static uint16_t ones_complement_sum(const void *bytes, size_t n, uint32_t before)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < n; i++)
        before += i % 2 ? (uint32_t)at[i] : (uint32_t)at[i] << 8;
    while (before > 0xffff)
        before = (before & 0xffff) + (before >> 16);
    return (uint16_t)before;
}

static struct receiver some_receiver(bool v4, uint64_t *stream)
{
    struct receiver receiver = {.local_port = htons(40000),
                                .peer_port = htons(7070),
                                .receive_next = (uint32_t)test_random(stream),
                                .send_next = (uint32_t)test_random(stream),
                                .window = (uint16_t)test_random(stream)};
    for (int i = 0; i < 16; i++) {
        receiver.local[i] = (uint8_t)test_random(stream);
        receiver.peer[i] = (uint8_t)test_random(stream);
    }
    if (v4) {
        static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
        memcpy(receiver.local, mapped, 12);
        memcpy(receiver.peer, mapped, 12);
    }
    return receiver;
}

static void check_tcp(const struct receiver *receiver, const void *segment)
{
    struct tcphdr tcp;
    memcpy(&tcp, segment, sizeof(tcp));
    assert_int_equal(tcp.source, receiver->local_port);
    assert_int_equal(tcp.dest, receiver->peer_port);
    assert_int_equal(ntohl(tcp.seq), receiver->send_next);
    assert_int_equal(ntohl(tcp.ack_seq), receiver->receive_next);
    assert_int_equal(tcp.doff, 5);
    assert_int_equal(tcp.th_flags, TH_ACK);
    assert_int_equal(ntohs(tcp.window), receiver->window);
    assert_int_equal(tcp.urg_ptr, 0);
}

/* The sender's segment that begins with what we have not received. */
static void check_quoted(const struct receiver *receiver, const void *segment)
{
    uint16_t ports[2];
    uint32_t sequence;
    memcpy(ports, segment, sizeof(ports));
    memcpy(&sequence, (const uint8_t *)segment + sizeof(ports), sizeof(sequence));
    assert_int_equal(ports[0], receiver->peer_port);
    assert_int_equal(ports[1], receiver->local_port);
    assert_int_equal(ntohl(sequence), receiver->receive_next);
}

static void check_ip(const struct ip *ip, const uint8_t *from, const uint8_t *to, uint8_t dscp)
{
    assert_int_equal(ip->ip_v, 4);
    assert_int_equal(ip->ip_hl, 5);
    assert_int_equal(ip->ip_tos, dscp << 2);
    assert_int_equal(ip->ip_off, 0);
    assert_true(ip->ip_ttl > 1);
    assert_memory_equal(&ip->ip_src, from + 12, 4);
    assert_memory_equal(&ip->ip_dst, to + 12, 4);
    assert_int_equal(ones_complement_sum(ip, sizeof(*ip), 0), 0xffff);
}

static void check_ip6(const struct ip6_hdr *ip, const uint8_t *from, const uint8_t *to,
                      uint8_t dscp)
{
    assert_int_equal(ntohl(ip->ip6_flow), 6u << 28 | (uint32_t)dscp << 22);
    assert_true(ip->ip6_hlim > 1);
    assert_memory_equal(&ip->ip6_src, from, 16);
    assert_memory_equal(&ip->ip6_dst, to, 16);
}

static void test_ipv4(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int i = 0; i < 2000; i++) {
        uint8_t packet[NUDGE_PACKET_BYTES], dscp = (uint8_t)(test_random(&stream) % 64);
        struct receiver r = some_receiver(true, &stream);
        struct ip ip;
        assert_int_equal(nudge_packet_acknowledge(&r, dscp, packet), 40);
        memcpy(&ip, packet, sizeof(ip));
        check_ip(&ip, r.local, r.peer, dscp);
        assert_int_equal(ip.ip_p, IPPROTO_TCP);
        assert_int_equal(ntohs(ip.ip_len), 40);
        check_tcp(&r, packet + 20);
        uint32_t pseudo = ones_complement_sum(packet + 12, 8, IPPROTO_TCP + 20);
        assert_int_equal(ones_complement_sum(packet + 20, 20, pseudo), 0xffff);

        assert_int_equal(nudge_packet_unreachable(&r, dscp, packet), 56);
        memcpy(&ip, packet, sizeof(ip));
        check_ip(&ip, r.local, r.peer, dscp);
        assert_int_equal(ip.ip_p, IPPROTO_ICMP);
        assert_int_equal(ntohs(ip.ip_len), 56);
        assert_int_equal(packet[20], ICMP_DEST_UNREACH);
        assert_int_equal(packet[21], ICMP_NET_UNREACH);
        assert_int_equal(ones_complement_sum(packet + 20, 36, 0), 0xffff);
        memcpy(&ip, packet + 28, sizeof(ip));
        check_ip(&ip, r.peer, r.local, dscp);
        assert_int_equal(ip.ip_p, IPPROTO_TCP);
        check_quoted(&r, packet + 48);
    }
}

static void test_ipv6(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int i = 0; i < 2000; i++) {
        uint8_t packet[NUDGE_PACKET_BYTES], dscp = (uint8_t)(test_random(&stream) % 64);
        struct receiver r = some_receiver(false, &stream);
        struct ip6_hdr ip;
        assert_int_equal(nudge_packet_acknowledge(&r, dscp, packet), 60);
        memcpy(&ip, packet, sizeof(ip));
        check_ip6(&ip, r.local, r.peer, dscp);
        assert_int_equal(ip.ip6_nxt, IPPROTO_TCP);
        assert_int_equal(ntohs(ip.ip6_plen), 20);
        check_tcp(&r, packet + 40);
        uint32_t pseudo = ones_complement_sum(packet + 8, 32, IPPROTO_TCP + 20);
        assert_int_equal(ones_complement_sum(packet + 40, 20, pseudo), 0xffff);

        assert_int_equal(nudge_packet_unreachable(&r, dscp, packet), 96);
        memcpy(&ip, packet, sizeof(ip));
        check_ip6(&ip, r.local, r.peer, dscp);
        assert_int_equal(ip.ip6_nxt, IPPROTO_ICMPV6);
        assert_int_equal(ntohs(ip.ip6_plen), 56);
        assert_int_equal(packet[40], ICMP6_DST_UNREACH);
        assert_int_equal(packet[41], ICMP6_DST_UNREACH_NOROUTE);
        pseudo = ones_complement_sum(packet + 8, 32, IPPROTO_ICMPV6 + 56);
        assert_int_equal(ones_complement_sum(packet + 40, 56, pseudo), 0xffff);
        memcpy(&ip, packet + 48, sizeof(ip));
        check_ip6(&ip, r.peer, r.local, dscp);
        assert_int_equal(ip.ip6_nxt, IPPROTO_TCP);
        check_quoted(&r, packet + 88);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ipv4), cmocka_unit_test(test_ipv6)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
