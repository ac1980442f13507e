#include "hostagent/routes/routes.h"

#include "hostagent/files.h"
#include "hostagent/nl.h"
#include "lib/address.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALGORITHM "dctcp"
#define V4_BITS   96 /* of v4-mapped addresses */

/* Identifies a route of the main table; the record is a file of these. */
struct route_key {
    uint8_t dst[16];
    uint32_t bits; /* of the 128 */
    uint32_t priority;
    uint32_t family;
};

struct route {
    struct route_key key;
    struct nl_msg *told; /* as the kernel tells it */
    bool dctcp, free;    /* names it; names no congestion control */
};

struct route_list {
    const struct routes_config *config; /* routes within its members, or */
    const struct route_key *keys;       /* these */
    uint32_t keys_n, n;
    struct route items[ROUTES_MOST];
    int error;
};

static bool same_key(const struct route_key *a, const struct route_key *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static bool has_key(const struct route_key *keys, uint32_t n, const struct route_key *key)
{
    for (uint32_t i = 0; i < n; i++)
        if (same_key(&keys[i], key))
            return true;
    return false;
}

static bool is_wanted(const struct route_list *list, const struct route_key *key)
{
    const struct routes_config *config = list->config;
    for (uint32_t i = 0; config && i < config->members_n; i++)
        if (address_is_v4(config->members[i].address) == (key->family == AF_INET) &&
            mark_prefix_has(&config->members[i], key->dst, key->bits))
            return true;
    return has_key(list->keys, list->keys_n, key);
}

static bool runs_out(const struct rtmsg *rt, struct nlattr **attrs)
{
    struct rta_cacheinfo info = {0};
    if (attrs[RTA_CACHEINFO])
        nla_memcpy(&info, attrs[RTA_CACHEINFO], sizeof(info));
    return rt->rtm_protocol == RTPROT_RA || info.rta_expires != 0;
}

static bool is_plain(const struct rtmsg *rt, struct nlattr **attrs)
{
    uint32_t table = attrs[RTA_TABLE] ? nla_get_u32(attrs[RTA_TABLE]) : rt->rtm_table;
    return table == RT_TABLE_MAIN && rt->rtm_type == RTN_UNICAST && !rt->rtm_src_len &&
           !rt->rtm_tos && !(rt->rtm_flags & RTM_F_CLONED) && !attrs[RTA_NH_ID] &&
           (rt->rtm_family == AF_INET || rt->rtm_family == AF_INET6) && !runs_out(rt, attrs);
}

static struct route_key key_of(const struct rtmsg *rt, struct nlattr **attrs)
{
    struct route_key key = {.family = rt->rtm_family, .bits = rt->rtm_dst_len};
    uint8_t *dst = key.dst;
    if (rt->rtm_family == AF_INET) {
        key.dst[10] = key.dst[11] = 0xff;
        key.bits += V4_BITS;
        dst += ADDRESS_V4_AT;
    }
    if (attrs[RTA_DST])
        nla_memcpy(dst, attrs[RTA_DST], rt->rtm_family == AF_INET ? 4 : 16);
    if (attrs[RTA_PRIORITY])
        key.priority = nla_get_u32(attrs[RTA_PRIORITY]);
    return key;
}

static void read_algorithm(struct nlattr *metrics, struct route *route)
{
    struct nlattr *attrs[RTAX_MAX + 1] = {0};
    if (metrics)
        nla_parse_nested(attrs, RTAX_MAX, metrics, NULL);
    route->free = !attrs[RTAX_CC_ALGO];
    route->dctcp = attrs[RTAX_CC_ALGO] && nla_strcmp(attrs[RTAX_CC_ALGO], ALGORITHM) == 0;
}

static int keep_route(struct nl_msg *msg, void *arg)
{
    struct route_list *list = arg;
    struct nlmsghdr *header = nlmsg_hdr(msg);
    const struct rtmsg *rt = nlmsg_data(header);
    struct nlattr *attrs[RTA_MAX + 1];
    if (header->nlmsg_type != RTM_NEWROUTE ||
        nlmsg_parse(header, sizeof(*rt), attrs, RTA_MAX, NULL) < 0 || !is_plain(rt, attrs))
        return NL_OK;
    struct route route = {.key = key_of(rt, attrs)};
    if (!is_wanted(list, &route.key))
        return NL_OK;
    if (list->n == ROUTES_MOST) {
        list->error = -E2BIG;
        return NL_STOP;
    }
    read_algorithm(attrs[RTA_METRICS], &route);
    route.told = nlmsg_convert(header);
    list->error = route.told ? list->error : -ENOMEM;
    if (route.told)
        list->items[list->n++] = route;
    return NL_OK;
}

static void free_list(struct route_list *list)
{
    for (uint32_t i = 0; list && i < list->n; i++)
        nlmsg_free(list->items[i].told);
    free(list);
}

static int read_routes(struct nl_sock *sock, struct route_list *list, struct err *err)
{
    struct rtmsg request = {.rtm_family = AF_UNSPEC};
    int r = netlink_dump(sock, RTM_GETROUTE, &request, sizeof(request), keep_route, list);
    if (list->error == -E2BIG)
        return err_set(err, E2BIG, "there are more than %d routes to members", ROUTES_MOST);
    if (list->error < 0)
        return err_sys(err, -list->error, "routes");
    return r < 0 ? netlink_err(err, r, "reading the routes") : 0;
}

/* Takes `keys`, `config` as they are; the caller frees both. */
static int open_list(const struct routes_config *config, const struct route_key *keys,
                     uint32_t keys_n, struct nl_sock **ret_sock, struct route_list **ret_list,
                     struct err *err)
{
    struct route_list *list = calloc(1, sizeof(*list));
    struct nl_sock *sock = NULL;
    if (!list)
        return err_sys(err, ENOMEM, "routes");
    list->config = config;
    list->keys = keys;
    list->keys_n = keys_n;
    int r = netlink_open(&sock, err);
    if (r >= 0)
        r = read_routes(sock, list, err);
    if (r < 0) {
        nl_socket_free(sock);
        free_list(list);
        return r;
    }
    *ret_sock = sock;
    *ret_list = list;
    return 0;
}

static int put_metrics(struct nl_msg *msg, struct nlattr *old, const char *algorithm)
{
    struct nlattr *metric, *metrics = nla_nest_start(msg, RTA_METRICS);
    int left, r = metrics ? 0 : -NLE_NOMEM;
    if (old && r >= 0)
        nla_for_each_nested(metric, old, left) if (r >= 0 && nla_type(metric) != RTAX_CC_ALGO) r =
            nla_put(msg, nla_type(metric), nla_len(metric), nla_data(metric));
    if (r >= 0 && algorithm)
        r = nla_put_string(msg, RTAX_CC_ALGO, algorithm);
    if (r >= 0)
        nla_nest_end(msg, metrics);
    return r;
}

/* The same route with this congestion control, NULL: none. */
static int fill(struct nl_msg *msg, const struct route *route, const char *algorithm)
{
    struct nlmsghdr *told = nlmsg_hdr(route->told);
    struct rtmsg rt = *(struct rtmsg *)nlmsg_data(told);
    struct nlattr *attr, *metrics = nlmsg_find_attr(told, sizeof(rt), RTA_METRICS);
    int left, r;
    rt.rtm_flags &= RTNH_F_ONLINK;
    r = nlmsg_append(msg, &rt, sizeof(rt), NLMSG_ALIGNTO);
    nlmsg_for_each_attr(attr, told, sizeof(rt), left) if (r >= 0 && nla_type(attr) != RTA_METRICS &&
                                                          nla_type(attr) != RTA_CACHEINFO) r =
        nla_put(msg, nla_type(attr), nla_len(attr), nla_data(attr));
    return r < 0 ? r : put_metrics(msg, metrics, algorithm);
}

/* Replaces it, and does not bring back one that has gone in between. */
static int set_route(struct nl_sock *sock, const struct route *route, const char *algorithm)
{
    struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWROUTE, NLM_F_REPLACE);
    int r = msg ? fill(msg, route, algorithm) : -NLE_NOMEM;
    if (r >= 0)
        r = nl_send_auto(sock, msg);
    if (r >= 0)
        r = nl_wait_for_ack(sock);
    nlmsg_free(msg);
    return r == -NLE_OBJ_NOTFOUND ? 0 : r;
}

static void say_key(const struct route_key *key, char text[64])
{
    char address[INET6_ADDRSTRLEN];
    address_print(key->dst, address);
    snprintf(text, 64, "%s/%u", address, key->family == AF_INET ? key->bits - V4_BITS : key->bits);
}

static uint32_t free_n(const struct route_list *list)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->n; i++)
        n += list->items[i].free;
    return n;
}

static int read_record(const char *state_dir, struct route_key **ret_keys, uint32_t *ret_n,
                       struct err *err)
{
    const size_t most = ROUTES_MOST * sizeof(struct route_key);
    struct route_key *keys = malloc(most + 1);
    char path[FILES_PATH];
    size_t bytes = 0;
    files_path(path, ROUTES_RECORD, state_dir);
    int r = !keys                    ? err_sys(err, ENOMEM, "routes")
            : access(path, F_OK) < 0 ? 0
                                     : files_read(path, (char *)keys, most + 1, &bytes, err);
    if (r >= 0 && bytes % sizeof(*keys))
        r = err_set(err, EINVAL, "%s: is no record of routes", path);
    if (r < 0) {
        free(keys);
        return r;
    }
    *ret_keys = keys;
    *ret_n = (uint32_t)(bytes / sizeof(*keys));
    return 0;
}

/* Recorded routes that are gone make room. */
static int write_record(const struct routes_config *config, const struct route_list *list,
                        const struct route_key *known, uint32_t known_n, struct err *err)
{
    struct route_key *keys = calloc(ROUTES_MOST, sizeof(*keys));
    char path[FILES_PATH];
    uint32_t n = 0;
    if (!keys)
        return err_sys(err, ENOMEM, "routes");
    for (uint32_t i = 0; i < list->n; i++)
        if (list->items[i].free || has_key(known, known_n, &list->items[i].key))
            keys[n++] = list->items[i].key;
    files_path(path, ROUTES_RECORD, config->state_dir);
    int r = files_write(path, keys, n * sizeof(*keys), 0600, err);
    free(keys);
    return r;
}

int routes_plan(const struct routes_config *config, struct changes *changes, struct err *err)
{
    struct nl_sock *sock;
    struct route_list *list;
    char path[FILES_PATH], where[64];
    int r = open_list(config, NULL, 0, &sock, &list, err);
    if (r < 0)
        return r;
    files_path(path, ROUTES_RECORD, config->state_dir);
    if (free_n(list))
        r = changes_path(changes, "file", path, "routes that bear a congestion control of ours",
                         err);
    for (uint32_t i = 0; r >= 0 && i < list->n; i++) {
        if (!list->items[i].free)
            continue;
        say_key(&list->items[i].key, where);
        r = changes_tell(changes, CHANGE_CHANGE, "route", where, err,
                         "its connections use " ALGORITHM);
    }
    nl_socket_free(sock);
    free_list(list);
    return r;
}

static int set_free(struct nl_sock *sock, const struct route_list *list, uint32_t *ret_n,
                    struct err *err)
{
    char where[64];
    *ret_n = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        const struct route *route = &list->items[i];
        int r = route->free ? set_route(sock, route, ALGORITHM) : 0;
        say_key(&route->key, where);
        if (r == -NLE_INVAL)
            return err_set(err, EINVAL,
                           "this kernel does not take " ALGORITHM " for the route "
                           "to %s: load its module tcp_dctcp",
                           where);
        if (r < 0)
            return netlink_err(err, r, "the route to %s", where);
        *ret_n += route->free || route->dctcp;
    }
    return 0;
}

int routes_apply(const struct routes_config *config, uint32_t *ret_n, struct err *err)
{
    struct nl_sock *sock = NULL;
    struct route_list *list = NULL;
    struct route_key *known = NULL;
    uint32_t known_n = 0;
    int r = read_record(config->state_dir, &known, &known_n, err);
    if (r >= 0)
        r = open_list(config, NULL, 0, &sock, &list, err);
    if (r >= 0 && free_n(list))
        r = write_record(config, list, known, known_n, err);
    if (r >= 0)
        r = set_free(sock, list, ret_n, err);
    nl_socket_free(sock);
    free_list(list);
    free(known);
    return r;
}

static int unset(struct nl_sock *sock, const struct route_list *list, struct err *err)
{
    char where[64];
    for (uint32_t i = 0; i < list->n; i++) {
        int r = list->items[i].dctcp ? set_route(sock, &list->items[i], NULL) : 0;
        say_key(&list->items[i].key, where);
        if (r < 0)
            return netlink_err(err, r, "the route to %s", where);
    }
    return 0;
}

int routes_restore(const char *state_dir, struct err *err)
{
    struct nl_sock *sock = NULL;
    struct route_list *list = NULL;
    struct route_key *known = NULL;
    char path[FILES_PATH];
    uint32_t known_n = 0;
    int r = read_record(state_dir, &known, &known_n, err);
    if (r >= 0 && known_n) {
        r = open_list(NULL, known, known_n, &sock, &list, err);
        if (r >= 0)
            r = unset(sock, list, err);
        nl_socket_free(sock);
        free_list(list);
    }
    files_path(path, ROUTES_RECORD, state_dir);
    if (r >= 0)
        unlink(path);
    free(known);
    return r;
}
