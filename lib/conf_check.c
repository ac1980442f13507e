#include "lib/conf_check.h"
#include "lib/number.h"
#include "lib/reach.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct address {
    char host[256]; /* without brackets */
    bool in_brackets;
    const char *port;
};

static bool port_is_right(const char *port)
{
    uint64_t number;
    return number_read(port, 1, 65535, &number) == 0;
}

static int address_split(const char *text, struct address *ret_address, struct err *err)
{
    const char *host = text + 6, *colon = strrchr(text, ':');
    size_t length = colon > host ? (size_t)(colon - host) : 0;
    bool brackets = length > 2 && host[0] == '[' && host[length - 1] == ']';
    if (strncmp(text, "tcp://", 6) != 0 || !length || length >= sizeof(ret_address->host))
        return err_set(err, EINVAL, "'%s' is no address such as tcp://10.0.0.1:7600", text);
    snprintf(ret_address->host, sizeof(ret_address->host), "%.*s",
             (int)(brackets ? length - 2 : length), host + brackets);
    ret_address->in_brackets = brackets;
    ret_address->port = colon + 1;
    return 0;
}

/* A number that is not an address is not a name either: "10.0.0.300". */
static bool is_number_like(const char *host)
{
    return host[strspn(host, "0123456789.")] == '\0';
}

static bool is_name_like(const char *host)
{
    for (const char *c = host; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.@", *c))
            return false;
    return *host != '-';
}

/* [fe80::1%eth0]: without its interface such an address is ambiguous (RFC 4007 §11). */
static int v6_read(const char *host, struct reach_address *ret_at, struct err *err)
{
    struct sockaddr_in6 *v6 = &ret_at->at.v6;
    char number[INET6_ADDRSTRLEN + 1];
    size_t length = strcspn(host, "%");
    if (length >= sizeof(number))
        return -1;
    snprintf(number, sizeof(number), "%.*s", (int)length, host);
    *ret_at = (struct reach_address){.at.v6.sin6_family = AF_INET6, .length = sizeof(*v6)};
    if (inet_pton(AF_INET6, number, &v6->sin6_addr) != 1)
        return -1;
    bool is_local = IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
    v6->sin6_scope_id = host[length] ? if_nametoindex(host + length + 1) : 0;
    if (is_local && !host[length])
        return err_set(err, EINVAL, "'%s' is an address of one link: say which, as in [%s%%eth0]",
                       host, host);
    if (host[length] && !v6->sin6_scope_id)
        return err_set(err, EINVAL, "there is no interface %s in this network namespace",
                       host + length + 1);
    return AF_INET6;
}

static int v4_read(const char *host, struct reach_address *ret_at)
{
    *ret_at = (struct reach_address){.at.v4.sin_family = AF_INET, .length = sizeof(ret_at->at.v4)};
    return inet_pton(AF_INET, host, &ret_at->at.v4.sin_addr) == 1 ? AF_INET : -1;
}

/* AF_INET, AF_INET6, or 0 for a name; −EINVAL for none of them. */
static int host_family(const struct address *address, struct reach_address *ret_at, struct err *err)
{
    bool bare = strchr(address->host, ':') && !address->in_brackets;
    int family = -1;
    if (address->in_brackets)
        family = v6_read(address->host, ret_at, err);
    else if (is_number_like(address->host))
        family = v4_read(address->host, ret_at);
    else if (is_name_like(address->host))
        return 0;
    if (family != -1)
        return family;
    return err_set(err, EINVAL, "'%s' is neither an address nor a name%s", address->host,
                   bare ? ": an IPv6 address is written in brackets, [fd00::1]" : "");
}

/* Whether this host may listen there: only the kernel knows all its addresses. */
static bool address_is_ours(const struct reach_address *at)
{
    int fd = socket(at->at.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool ours = fd >= 0 && (bind(fd, &at->at.any, at->length) == 0 || errno != EADDRNOTAVAIL);
    if (fd >= 0)
        close(fd);
    return ours;
}

static bool is_nowhere(const struct reach_address *at)
{
    const in_addr_t v4 = ntohl(at->at.v4.sin_addr.s_addr);
    const struct in6_addr *v6 = &at->at.v6.sin6_addr;
    return reach_is_v6(at) ? IN6_IS_ADDR_UNSPECIFIED(v6) || IN6_IS_ADDR_MULTICAST(v6)
                           : v4 == INADDR_ANY || v4 == INADDR_BROADCAST || IN_MULTICAST(v4);
}

static int check_address(const char *text, bool listen, struct err *err)
{
    struct address address;
    struct reach_address at;
    if (!*text)
        return 0;
    int r = address_split(text, &address, err);
    if (r < 0)
        return r;
    if (!(listen && strcmp(address.port, "*") == 0) && !port_is_right(address.port))
        return err_set(err, EINVAL, "'%s' is no port: 1 to 65535%s", address.port,
                       listen ? ", or * for a free one" : "");
    if (listen && strcmp(address.host, "*") == 0)
        return 0;
    r = host_family(&address, &at, err);
    if (r < 0)
        return r;
    if (!listen)
        return r && is_nowhere(&at)
                   ? err_set(err, EINVAL,
                             "no host can be reached at %s: it is not a host's address",
                             address.host)
                   : 0;
    if (r ? !address_is_ours(&at) : !if_nametoindex(address.host))
        return err_set(err, EINVAL, "this host has no %s %s to listen on",
                       r ? "address" : "interface", address.host);
    return 0;
}

bool conf_address_is_loopback(const char *text)
{
    struct address address;
    struct reach_address at;
    if (address_split(text, &address, NULL) < 0)
        return false;
    if (strcmp(address.host, "lo") == 0)
        return true;
    int family = strcmp(address.host, "*") == 0 ? 0 : host_family(&address, &at, NULL);
    return family == AF_INET    ? ntohl(at.at.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
           : family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&at.at.v6.sin6_addr)
                                : false;
}

int conf_check_listen(const char *text, struct err *err)
{
    return check_address(text, true, err);
}

int conf_check_connect(const char *text, struct err *err)
{
    return check_address(text, false, err);
}

int conf_check_path(const char *text, struct err *err)
{
    if (*text && *text != '/')
        return err_set(err, EINVAL, "'%s' is no absolute path: it begins with /", text);
    return 0;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The path without its last word; "/" at the top. */
static void parent_of(const char *path, char parent[PATH_MAX])
{
    snprintf(parent, PATH_MAX, "%s", path);
    size_t length = strlen(parent);
    while (length > 1 && parent[length - 1] == '/')
        parent[--length] = '\0';
    char *slash = strrchr(parent, '/');
    slash[slash == parent] = '\0';
}

int conf_check_folder(const char *text, struct err *err)
{
    char parent[PATH_MAX];
    int r = conf_check_path(text, err);
    if (r < 0 || !*text || is_folder(text))
        return r;
    if (access(text, F_OK) == 0)
        return err_set(err, EINVAL, "%s is no folder on this host", text);
    parent_of(text, parent);
    if (!is_folder(parent))
        return err_set(err, EINVAL, "%s is not on this host, nor %s, in which it would be made",
                       text, parent);
    return 0;
}

int conf_check_file(const char *text, struct err *err)
{
    char parent[PATH_MAX];
    int r = conf_check_path(text, err);
    if (r < 0 || !*text)
        return r;
    if (is_folder(text))
        return err_set(err, EINVAL, "%s is a folder on this host; a file is wanted", text);
    parent_of(text, parent);
    return conf_check_folder(parent, err);
}

int conf_check_program(const char *text, struct err *err)
{
    int r = conf_check_path(text, err);
    if (r < 0 || !*text)
        return r;
    if (is_folder(text) || access(text, X_OK) < 0)
        return err_set(err, EINVAL, "%s is no program that this host can run", text);
    return 0;
}

int conf_check_interface(const char *text, struct err *err)
{
    if (*text && !if_nametoindex(text))
        return err_set(err, ENODEV, "there is no interface %s in this network namespace", text);
    return 0;
}
