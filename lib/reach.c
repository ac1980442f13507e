#include "lib/reach.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SCHEME "tcp://"

struct words {
    char host[REACH_ENDPOINT];
    const char *port;
};

static int endpoint_split(const char *endpoint, struct words *ret_words, struct err *err)
{
    size_t scheme = strlen(SCHEME);
    const char *host = endpoint + scheme, *colon = strrchr(endpoint, ':');
    if (strlen(endpoint) >= REACH_ENDPOINT || strncmp(endpoint, SCHEME, scheme) != 0 ||
        colon <= host || !colon[1])
        return err_set(err, EINVAL, "'%s' is no address such as tcp://10.0.0.1:7600", endpoint);
    bool brackets = host[0] == '[' && colon[-1] == ']' && colon - host > 2;
    snprintf(ret_words->host, sizeof(ret_words->host), "%.*s", (int)(colon - host - 2 * brackets),
             host + brackets);
    ret_words->port = colon + 1;
    return 0;
}

static void addresses_take(const struct addrinfo *all, struct reach_found *ret_found)
{
    *ret_found = (struct reach_found){0};
    for (const struct addrinfo *each = all; each && ret_found->n < REACH_MAX;
         each = each->ai_next) {
        struct reach_address *address = &ret_found->addresses[ret_found->n];
        if (each->ai_addrlen > sizeof(address->at))
            continue;
        memcpy(&address->at, each->ai_addr, each->ai_addrlen);
        address->length = each->ai_addrlen;
        ret_found->n++;
    }
}

/* `flags` of getaddrinfo; its EAI_… code, or −errno with a sentence. */
static int look_up(const char *endpoint, int flags, struct words *ret_words,
                   struct reach_found *ret_found, struct err *err)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    struct addrinfo *all = NULL;
    int r = endpoint_split(endpoint, ret_words, err);
    if (r < 0)
        return r;
    r = getaddrinfo(ret_words->host, ret_words->port, &hints, &all);
    if (r)
        return r;
    addresses_take(all, ret_found);
    freeaddrinfo(all);
    return ret_found->n ? 0 : EAI_NODATA;
}

/* The codes of getaddrinfo are negative as well: only a sentence tells them from ours. */
int reach_read(const char *endpoint, struct reach_found *ret_found, struct err *err)
{
    struct words words;
    struct err why = {0};
    int r = look_up(endpoint, AI_NUMERICHOST, &words, ret_found, &why);
    if (!why.code)
        return r ? -EAGAIN : 0;
    return err_set(err, why.code, "%s", why.text);
}

int reach_find(const char *endpoint, struct reach_found *ret_found, struct err *err)
{
    struct words words;
    struct err why = {0};
    int r = look_up(endpoint, 0, &words, ret_found, &why);
    if (why.code)
        return err_set(err, why.code, "%s", why.text);
    if (!r)
        return 0;
    return err_set(err, EADDRNOTAVAIL, "%s has no address that is known here: %s", words.host,
                   r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r));
}

bool reach_is_v6(const struct reach_address *address)
{
    return address->at.any.sa_family == AF_INET6;
}

void reach_print(const struct reach_address *address, char ret_text[REACH_TEXT])
{
    char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
    bool v6 = reach_is_v6(address);
    getnameinfo(&address->at.any, address->length, host, sizeof(host), port, sizeof(port),
                NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(ret_text, REACH_TEXT, SCHEME "%s%.70s%s:%.6s", v6 ? "[" : "", host, v6 ? "]" : "",
             port);
}

int reach_try(const struct reach_address *address)
{
    int fd = socket(address->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, &address->at.any, address->length) == 0 || errno == EINPROGRESS)
        return fd;
    int code = errno;
    close(fd);
    return -code;
}

int reach_outcome(int fd)
{
    int code = 0;
    socklen_t size = sizeof(code);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0)
        code = errno;
    close(fd);
    return -code;
}

int reach_wait(const struct reach_address *address, int timeout_ms)
{
    struct pollfd poller = {.fd = reach_try(address), .events = POLLOUT};
    if (poller.fd < 0)
        return poller.fd;
    int n = poll(&poller, 1, timeout_ms), r = reach_outcome(poller.fd);
    return n == 0 ? -ETIMEDOUT : r;
}

void reach_say(const struct reach_address *address, int code, char *text, size_t size)
{
    char where[REACH_TEXT];
    size_t length = strlen(text);
    reach_print(address, where);
    snprintf(text + length, size - length, "%s%s: %s (errno %d)", length ? "; " : "", where,
             strerror(code), code);
}
