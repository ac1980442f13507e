#include "lib/conf_check.h"
#include "lib/number.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
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

/* Numbers that are no address are no name either: "10.0.0.300". */
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

/* AF_INET, AF_INET6, or 0 for a name; −EINVAL for none of them. */
static int host_family(const struct address *address, void *ret_number, struct err *err)
{
    if (address->in_brackets) {
        if (inet_pton(AF_INET6, address->host, ret_number) == 1)
            return AF_INET6;
    } else if (is_number_like(address->host)) {
        if (inet_pton(AF_INET, address->host, ret_number) == 1)
            return AF_INET;
    } else if (is_name_like(address->host)) {
        return 0;
    }
    return err_set(err, EINVAL, "'%s' is neither an address nor a name", address->host);
}

/* Whether this host may listen there: only the kernel knows all its addresses. */
static bool address_is_ours(int family, const void *number)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at = {0};
    at.any.sa_family = (sa_family_t)family;
    if (family == AF_INET)
        memcpy(&at.v4.sin_addr, number, sizeof(at.v4.sin_addr));
    else
        memcpy(&at.v6.sin6_addr, number, sizeof(at.v6.sin6_addr));
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool ours = fd >= 0 && (bind(fd, &at.any, sizeof(at)) == 0 || errno != EADDRNOTAVAIL);
    if (fd >= 0)
        close(fd);
    return ours;
}

static int check_address(const char *text, bool listen, struct err *err)
{
    struct address address;
    unsigned char number[16];
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
    r = host_family(&address, number, err);
    if (r < 0 || !listen)
        return r < 0 ? r : 0;
    if (r ? !address_is_ours(r, number) : !if_nametoindex(address.host))
        return err_set(err, EINVAL, "this host has no %s %s to listen on",
                       r ? "address" : "interface", address.host);
    return 0;
}

bool conf_address_is_loopback(const char *text)
{
    struct address address;
    unsigned char number[16];
    if (address_split(text, &address, NULL) < 0)
        return false;
    if (strcmp(address.host, "lo") == 0)
        return true;
    int family = strcmp(address.host, "*") == 0 ? 0 : host_family(&address, number, NULL);
    return family == AF_INET    ? number[0] == 127
           : family == AF_INET6 ? memcmp(number, &in6addr_loopback, sizeof(number)) == 0
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
        return err_set(err, EINVAL, "there is no interface %s in this network namespace", text);
    return 0;
}
