#include "hostagent/guests/tcp_received_nl.h"

#include "hostagent/tcp_list_nl.h"
#include "lib/grow.h"
#include "lib/number.h"

#include <dirent.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Those over which something may still come, or has come (RFC 9293's states, as the kernel numbers
 * them): all but LISTEN, SYN_SENT, SYN_RECV, TIME_WAIT and CLOSE. */
#define STATES (1u << 1 | 1u << 4 | 1u << 5 | 1u << 8 | 1u << 9 | 1u << 11)

static bool is_loopback(const struct inet_diag_msg *found)
{
    const uint32_t *to = found->id.idiag_dst;
    return memcmp(found->id.idiag_src, to, sizeof(found->id.idiag_src)) == 0 ||
           (found->idiag_family == AF_INET && ntohl(to[0]) >> 24 == IN_LOOPBACKNET);
}

static int info_find(const struct nlattr *attribute, void *arg)
{
    const struct nlattr **info = arg;
    if (mnl_attr_get_type(attribute) == INET_DIAG_INFO)
        *info = attribute;
    return MNL_CB_OK;
}

static struct guest_socket_bytes *place_get(struct tcp_received *received)
{
    if (received->n == TCP_RECEIVED_MOST)
        return NULL;
    if (!array_grow(received->all, received->n, received->most, 256))
        return NULL;
    return &received->all[received->n++];
}

static int take(const struct nlmsghdr *message, void *arg)
{
    struct tcp_received *received = arg;
    const struct inet_diag_msg *found = mnl_nlmsg_get_payload(message);
    const struct nlattr *attribute = NULL;
    struct tcp_info info = {0};
    if (mnl_nlmsg_get_payload_len(message) < sizeof(*found) || !found->idiag_inode ||
        is_loopback(found))
        return MNL_CB_OK;
    mnl_attr_parse(message, sizeof(*found), info_find, &attribute);
    if (!attribute)
        return MNL_CB_OK;
    size_t n = mnl_attr_get_payload_len(attribute);
    memcpy(&info, mnl_attr_get_payload(attribute), n < sizeof(info) ? n : sizeof(info));
    struct guest_socket_bytes *place = place_get(received);
    if (place)
        *place = (struct guest_socket_bytes){found->idiag_inode, info.tcpi_bytes_received};
    return MNL_CB_OK;
}

static int compare(const void *a, const void *b)
{
    const struct guest_socket_bytes *one = a, *other = b;
    return one->inode < other->inode ? -1 : one->inode > other->inode;
}

static void sort(struct guest_socket_bytes *all, uint32_t n)
{
    if (n)
        qsort(all, n, sizeof(*all), compare);
}

int tcp_received_read(struct tcp_received *ret_received, struct err *err)
{
    struct tcp_received received = {0};
    int r = tcp_list(STATES, 1u << (INET_DIAG_INFO - 1), take, &received, err);
    if (r < 0) {
        tcp_received_done(&received);
        return r;
    }
    sort(received.all, received.n);
    *ret_received = received;
    return 0;
}

void tcp_received_done(struct tcp_received *received)
{
    free(received->all);
    *received = (struct tcp_received){0};
}

/* The connection that this descriptor of the folder is; NULL: none. */
static const struct guest_socket_bytes *socket_of(const struct tcp_received *received, int folder,
                                                  const char *name)
{
    char target[64];
    struct guest_socket_bytes key = {0};
    ssize_t n = readlinkat(folder, name, target, sizeof(target) - 1);
    target[n > 0 ? n : 0] = 0;
    if (strncmp(target, "socket:[", 8) != 0 || !number_take(target + 8, UINT32_MAX, &key.inode))
        return NULL;
    return received->n ? bsearch(&key, received->all, received->n, sizeof(*received->all), compare)
                       : NULL;
}

int tcp_received_of(const struct tcp_received *received, pid_t pid,
                    struct guest_socket_bytes **ret_sockets, uint32_t *ret_n)
{
    char path[64];
    struct tcp_received its = {0};
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? -ESRCH : -errno;
    struct dirent *entry;
    for (int n = 0; n < TCP_RECEIVED_MOST && (entry = readdir(dir)); n++) {
        const struct guest_socket_bytes *one = socket_of(received, dirfd(dir), entry->d_name);
        struct guest_socket_bytes *place = one ? place_get(&its) : NULL;
        if (place)
            *place = *one;
    }
    closedir(dir);
    sort(its.all, its.n);
    *ret_sockets = its.all;
    *ret_n = its.n;
    return 0;
}
