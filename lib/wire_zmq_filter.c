#include "lib/wire_zmq_filter.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

static const struct sock_filter head[] = {
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, offsetof(struct tcphdr, th_flags)),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, TH_SYN | TH_RST, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 12), /* the header's length in its upper half */
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0),
    BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 2),
    BPF_STMT(BPF_MISC | BPF_TAX, 0),
    BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, 0),
};

enum {
    HEAD = sizeof(head) / sizeof(head[0]),
    WORDS = 4,                 /* of an address, at most */
    BLOCK = 3 + 2 * WORDS + 1, /* of an address: IP's version, its words, the end */
};

struct program {
    struct sock_filter code[HEAD + FILTER_ADDRESSES * BLOCK + 1];
    unsigned short n;
};

static void add(struct program *program, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
    program->code[program->n++] = (struct sock_filter)BPF_JUMP(code, k, jt, jf);
}

/* Adds: drop packets from this address; other packets continue behind these instructions. */
static void address_add(struct program *program, const struct in6_addr *address)
{
    const bool is_4 = IN6_IS_ADDR_V4MAPPED(address);
    const int words = is_4 ? 1 : WORDS;
    const uint32_t at = is_4 ? offsetof(struct iphdr, saddr) : offsetof(struct ip6_hdr, ip6_src);
    add(program, BPF_LD | BPF_B | BPF_ABS, 0, 0, (uint32_t)SKF_NET_OFF);
    add(program, BPF_ALU | BPF_RSH | BPF_K, 0, 0, 4);
    add(program, BPF_JMP | BPF_JEQ | BPF_K, 0, (uint8_t)(2 * words + 1), is_4 ? 4 : 6);
    for (int i = 0; i < words; i++) {
        uint32_t word;
        memcpy(&word, &address->s6_addr[is_4 ? 12 : 4 * i], sizeof(word));
        add(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)SKF_NET_OFF + at + 4 * (uint32_t)i);
        add(program, BPF_JMP | BPF_JEQ | BPF_K, 0, (uint8_t)(2 * (words - i - 1) + 1), ntohl(word));
    }
    add(program, BPF_RET | BPF_K, 0, 0, 0);
}

static int attach(int listener, struct program *program)
{
    const struct sock_fprog said = {.len = program->n, .filter = program->code};
    return setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &said, sizeof(said));
}

int filter_drop_silent(int listener, const struct in6_addr *addresses, size_t n)
{
    struct program program = {.n = HEAD};
    memcpy(program.code, head, sizeof(head));
    for (size_t i = 0; i < n && i < FILTER_ADDRESSES; i++)
        address_add(&program, &addresses[i]);
    add(&program, BPF_RET | BPF_K, 0, 0, UINT32_MAX);
    return attach(listener, &program);
}

int filter_drop_all(int listener)
{
    struct program program = {.n = 0};
    add(&program, BPF_RET | BPF_K, 0, 0, 0);
    return attach(listener, &program);
}

void filter_detach(int connection)
{
    const int none = 0;
    setsockopt(connection, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none));
}
