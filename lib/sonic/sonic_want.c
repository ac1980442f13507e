#include "lib/sonic/sonic_want.h"

#include "lib/fnv1a.h"
#include "lib/number.h"
#include "lib/sonic/sonic_lay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX       "duopoly-"
#define PREFIX_BYTES (sizeof(PREFIX) - 1)
#define DIGEST_BYTES 6 /* of the owner, in hexadecimal */

/* The same for all ports of a call. */
struct builder {
    const json_t *site;
    const struct sonic_wish *wish;
    bool brackets;
    json_t *db; /* grows */
};

static void owner_digest(const char *owner, char digest[DIGEST_BYTES + 1])
{
    uint64_t hash = fnv1a(FNV1A_NOTHING, owner, strlen(owner));
    snprintf(digest, DIGEST_BYTES + 1, "%06x", (unsigned)((hash ^ hash >> 32) & 0xffffff));
}

enum sonic_owner sonic_owner(const char *name, const char *owner)
{
    char digest[DIGEST_BYTES + 1];
    if (strncmp(name, PREFIX, PREFIX_BYTES) != 0)
        return SONIC_SITES;
    owner_digest(owner, digest);
    return strncmp(name + PREFIX_BYTES, digest, DIGEST_BYTES) == 0 ? SONIC_OURS : SONIC_ANOTHERS;
}

int sonic_check(const json_t *db, struct err *err)
{
    const json_t *localhost = sonic_row(db, "DEVICE_METADATA", "localhost");
    const char *kind = json_string_value(json_object_get(localhost, "switch_type"));
    if (!localhost || json_object_size(json_object_get(db, "PORT")) == 0)
        return err_set(err, EPROTO,
                       "this is no SONiC's CONFIG_DB: it has no %s; name its Redis (database 4)",
                       localhost ? "PORT" : "DEVICE_METADATA|localhost");
    if (kind && strcmp(kind, "voq") == 0)
        return err_set(err, EPROTO,
                       "a SONiC chassis (switch_type voq) schedules at its ingress: not supported");
    return 0;
}

/* A priority's queue: by the port's map, else of the same number. */
static uint32_t queue_of_pfc(const json_t *db, const char *map, uint64_t priority)
{
    char field[24], name[SONIC_NAME];
    uint64_t queue;
    snprintf(field, sizeof(field), "%" PRIu64, priority);
    sonic_referred(map ? map : "", name);
    const char *value = sonic_field(db, "MAP_PFC_PRIORITY_TO_QUEUE", name, field);
    if (value && number_read(value, 0, SONIC_QUEUES - 1, &queue) >= 0)
        return (uint32_t)queue;
    return (uint32_t)priority;
}

static int lossless_of(const json_t *db, const json_t *row, const char *port, uint8_t *ret_lossless,
                       struct err *err)
{
    const char *at = json_string_value(json_object_get(row, "pfc_enable"));
    const char *map = json_string_value(json_object_get(row, "pfc_to_queue_map"));
    *ret_lossless = 0;
    while (at && *at) {
        uint64_t priority;
        at = number_take(at, SONIC_QUEUES - 1, &priority);
        if (!at || (*at && *at != ','))
            return err_set(err, EINVAL, "PORT_QOS_MAP|%s: pfc_enable is no list of 0 to %d", port,
                           SONIC_QUEUES - 1);
        *ret_lossless |= (uint8_t)(1u << queue_of_pfc(db, map, priority));
        at += *at == ',';
    }
    return 0;
}

static int number_of(const json_t *row, const char *port, const char *field, uint64_t absent,
                     uint64_t most, uint64_t *ret_number, struct err *err)
{
    const char *value = json_string_value(json_object_get(row, field));
    *ret_number = absent;
    if (value && number_read(value, 1, most, ret_number) < 0)
        return err_set(err, EINVAL, "PORT|%s: its %s is no number from 1 to %" PRIu64, port, field,
                       most);
    return 0;
}

int sonic_facts(const json_t *db, const char *port, struct sonic_facts *ret_facts, struct err *err)
{
    const json_t *row = sonic_row(db, "PORT", port);
    uint64_t mbps, mtu;
    struct sonic_facts facts = {0};
    if (!row)
        return err_set(err, ENODEV, "PORT|%s: there is no such port", port);
    int r = number_of(row, port, "speed", 0, 100000000, &mbps, err);
    if (r >= 0)
        r = number_of(row, port, "mtu", 9100, 65535, &mtu, err);
    if (r >= 0)
        r = lossless_of(db, sonic_port_maps(db, port, NULL), port, &facts.lossless, err);
    if (r < 0)
        return r;
    facts.link_bps = mbps * 1000000;
    facts.mtu_bytes = (uint32_t)mtu;
    *ret_facts = facts;
    return 0;
}

/* A port's classes: what the site has, and what they become. */
struct classes {
    uint8_t lossless;
    uint8_t number[PORT_TRAFFIC]; /* of the queues */
    uint8_t site_tc[SONIC_DSCPS];
    uint8_t site_queue[SONIC_TCS];
    uint8_t tc_of_queue[PORT_TRAFFIC]; /* by index in struct port */
    uint8_t tc[SONIC_DSCPS];
    uint8_t queue[SONIC_TCS];
};

/* Fields "0" to "n − 1" of a map, `absent` where it has none. */
static void read_map(const json_t *db, const char *table, const char *map, uint32_t n,
                     uint32_t most, bool identity, uint8_t *ret)
{
    char field[12], name[SONIC_NAME];
    sonic_referred(map ? map : "", name);
    const json_t *row = sonic_row(db, table, name);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t number;
        snprintf(field, sizeof(field), "%u", i);
        const char *value = json_string_value(json_object_get(row, field));
        ret[i] = value && number_read(value, 0, most, &number) >= 0 ? (uint8_t)number
                 : identity                                         ? (uint8_t)i
                                                                    : 0;
    }
}

static bool is_lossless(const struct classes *classes, uint32_t tc)
{
    return classes->lossless >> classes->site_queue[tc] & 1;
}

/* The class that most of the site's code points have that need not be lossless. */
static uint32_t commonest(const struct classes *classes)
{
    uint32_t count[SONIC_TCS] = {0}, best = SONIC_TCS;
    for (uint32_t dscp = 0; dscp < SONIC_DSCPS; dscp++)
        count[classes->site_tc[dscp]]++;
    for (uint32_t tc = 0; tc < SONIC_TCS; tc++)
        if (!is_lossless(classes, tc) && (best == SONIC_TCS || count[tc] > count[best]))
            best = tc;
    return best;
}

/* Each queue a class that leads to no lossless queue: its own number, else what is free. */
static int share_classes(struct classes *classes, const struct port *want, const char *port,
                         struct err *err)
{
    uint32_t unmanaged = want->queue_of[TRAFFIC_UNMANAGED], taken = 0;
    bool done[PORT_TRAFFIC] = {0};
    for (uint32_t tc = 0; tc < SONIC_TCS; tc++)
        taken |= (uint32_t)is_lossless(classes, tc) << tc;
    if (SONIC_TCS - (uint32_t)__builtin_popcount(taken) < want->queues_n)
        return err_set(err, E2BIG,
                       "%s: %u queues are wanted and %u traffic classes are not lossless", port,
                       want->queues_n, SONIC_TCS - (uint32_t)__builtin_popcount(taken));
    classes->tc_of_queue[unmanaged] = (uint8_t)commonest(classes);
    taken |= 1u << classes->tc_of_queue[unmanaged];
    done[unmanaged] = true;
    for (uint32_t i = 0; i < want->queues_n; i++)
        if (!done[i] && !(taken >> classes->number[i] & 1)) {
            classes->tc_of_queue[i] = classes->number[i];
            taken |= 1u << classes->number[i];
            done[i] = true;
        }
    for (uint32_t i = 0; i < want->queues_n; i++)
        if (!done[i]) {
            classes->tc_of_queue[i] = (uint8_t)__builtin_ctz(~taken);
            taken |= taken + 1;
        }
    return 0;
}

static void fill_maps(struct classes *classes, const struct port *want,
                      const uint8_t *dscp_of_level)
{
    uint8_t unmanaged = classes->tc_of_queue[want->queue_of[TRAFFIC_UNMANAGED]];
    for (uint32_t dscp = 0; dscp < SONIC_DSCPS; dscp++)
        classes->tc[dscp] =
            is_lossless(classes, classes->site_tc[dscp]) ? classes->site_tc[dscp] : unmanaged;
    for (uint32_t level = 0; level < PORT_LEVELS; level++)
        classes->tc[dscp_of_level[level]] =
            classes->tc_of_queue[want->queue_of[TRAFFIC_LEVEL0 + level]];
    classes->tc[PORT_DSCP_CONTROL] = classes->tc_of_queue[want->queue_of[TRAFFIC_CONTROL]];
    for (uint32_t tc = 0; tc < SONIC_TCS; tc++)
        classes->queue[tc] = is_lossless(classes, tc)
                                 ? classes->site_queue[tc]
                                 : classes->number[want->queue_of[TRAFFIC_UNMANAGED]];
    for (uint32_t i = 0; i < want->queues_n; i++)
        classes->queue[classes->tc_of_queue[i]] = classes->number[i];
}

static int classes_of(const struct builder *builder, const struct sonic_port *port,
                      struct classes *classes, struct err *err)
{
    const json_t *maps = sonic_port_maps(builder->site, port->name, NULL);
    const char *dscp = json_string_value(json_object_get(maps, "dscp_to_tc_map"));
    const char *queue = json_string_value(json_object_get(maps, "tc_to_queue_map"));
    struct sonic_facts facts;
    int r = sonic_facts(builder->site, port->name, &facts, err);
    if (r < 0)
        return r;
    classes->lossless = facts.lossless;
    for (uint32_t i = 0; i < port->want->queues_n; i++)
        classes->number[i] = (uint8_t)sonic_number(&port->want->queues[i]);
    if (!dscp)
        dscp = sonic_field(builder->site, "PORT_QOS_MAP", "global", "dscp_to_tc_map");
    read_map(builder->site, "DSCP_TO_TC_MAP", dscp, SONIC_DSCPS, SONIC_TCS - 1, false,
             classes->site_tc);
    read_map(builder->site, "TC_TO_QUEUE_MAP", queue, SONIC_TCS, SONIC_QUEUES - 1, true,
             classes->site_queue);
    r = share_classes(classes, port->want, port->name, err);
    if (r >= 0)
        fill_maps(classes, port->want, builder->wish->dscp_of_level);
    return r;
}

static void object_name(const struct builder *builder, char kind, uint64_t of, bool hexadecimal,
                        char name[SONIC_NAME])
{
    char digest[DIGEST_BYTES + 1];
    owner_digest(builder->wish->owner, digest);
    if (hexadecimal)
        snprintf(name, SONIC_NAME, PREFIX "%s-%c%012" PRIx64, digest, kind, of & 0xffffffffffff);
    else
        snprintf(name, SONIC_NAME, PREFIX "%s-%c%" PRIu64, digest, kind, of);
}

/* A map under a name made of what it maps. */
static int put_map(struct builder *builder, const char *table, char kind, const uint8_t *to,
                   uint32_t n, char name[SONIC_NAME])
{
    char field[12], value[12];
    int r = 0;
    object_name(builder, kind, fnv1a(FNV1A_NOTHING, to, n), true, name);
    if (sonic_row(builder->db, table, name))
        return 0;
    for (uint32_t i = 0; r >= 0 && i < n; i++) {
        snprintf(field, sizeof(field), "%u", i);
        snprintf(value, sizeof(value), "%u", to[i]);
        r = sonic_set(builder->db, table, name, field, value);
    }
    return r;
}

static int put_scheduler(struct builder *builder, uint64_t floor_bps, char name[SONIC_NAME])
{
    char value[24];
    uint64_t bytes = (floor_bps + 7) / 8;
    object_name(builder, 's', bytes, false, name);
    snprintf(value, sizeof(value), "%" PRIu64, bytes);
    int r = sonic_set(builder->db, "SCHEDULER", name, "type", "STRICT");
    if (r >= 0 && bytes)
        r = sonic_set(builder->db, "SCHEDULER", name, "meter_type", "bytes");
    if (r >= 0 && bytes)
        r = sonic_set(builder->db, "SCHEDULER", name, "cir", value);
    return r;
}

static int put_wred(struct builder *builder, uint64_t bytes, char name[SONIC_NAME])
{
    static const char *const colors[] = {"green", "yellow", "red"};
    char field[40], value[24];
    object_name(builder, 'w', bytes, false, name);
    snprintf(value, sizeof(value), "%" PRIu64, bytes);
    int r = sonic_set(builder->db, "WRED_PROFILE", name, "ecn", "ecn_all");
    for (uint32_t i = 0; r >= 0 && i < 3; i++) {
        snprintf(field, sizeof(field), "wred_%s_enable", colors[i]);
        r = sonic_set(builder->db, "WRED_PROFILE", name, field, "true");
        snprintf(field, sizeof(field), "%s_min_threshold", colors[i]);
        if (r >= 0)
            r = sonic_set(builder->db, "WRED_PROFILE", name, field, value);
        snprintf(field, sizeof(field), "%s_max_threshold", colors[i]);
        if (r >= 0)
            r = sonic_set(builder->db, "WRED_PROFILE", name, field, value);
        snprintf(field, sizeof(field), "%s_drop_probability", colors[i]);
        if (r >= 0)
            r = sonic_set(builder->db, "WRED_PROFILE", name, field, "100");
    }
    return r;
}

static int want_queues(struct builder *builder, const struct port *want, const uint8_t *number,
                       struct sonic_queues *queues)
{
    char name[SONIC_NAME];
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < want->queues_n; i++) {
        const struct port_queue *queue = &want->queues[i];
        struct sonic_queue *to = &queues->queue[number[i]];
        to->ours = true;
        r = put_scheduler(builder, queue->floor_bps, name);
        sonic_reference(builder->brackets, "SCHEDULER", name, to->scheduler, sizeof(to->scheduler));
        if (r < 0 || !queue->ecn_packets)
            continue;
        r = put_wred(builder, (uint64_t)queue->ecn_packets * want->mtu_bytes, name);
        sonic_reference(builder->brackets, "WRED_PROFILE", name, to->wred, sizeof(to->wred));
    }
    return r;
}

static int want_maps(struct builder *builder, const struct classes *classes,
                     struct sonic_queues *queues)
{
    char name[SONIC_NAME];
    int r = put_map(builder, "DSCP_TO_TC_MAP", 'd', classes->tc, SONIC_DSCPS, name);
    if (r < 0)
        return r;
    sonic_reference(builder->brackets, "DSCP_TO_TC_MAP", name, queues->dscp_map,
                    sizeof(queues->dscp_map));
    r = put_map(builder, "TC_TO_QUEUE_MAP", 'q', classes->queue, SONIC_TCS, name);
    sonic_reference(builder->brackets, "TC_TO_QUEUE_MAP", name, queues->queue_map,
                    sizeof(queues->queue_map));
    return r;
}

static int want_port(struct builder *builder, const struct sonic_port *port,
                     struct sonic_queues *queues, struct err *err)
{
    struct classes classes;
    int r = classes_of(builder, port, &classes, err);
    if (r < 0)
        return r;
    snprintf(queues->port, sizeof(queues->port), "%s", port->name);
    if (want_queues(builder, port->want, classes.number, queues) < 0 ||
        want_maps(builder, &classes, queues) < 0)
        return err_sys(err, ENOMEM, "the rows of %s", port->name);
    return 0;
}

int sonic_want(const json_t *site, const struct sonic_wish *wish, json_t **ret_want,
               struct err *err)
{
    struct sonic_queues *queues = calloc(wish->ports_n + 1, sizeof(*queues));
    struct builder builder = {
        .site = site, .wish = wish, .brackets = sonic_brackets(site), .db = json_deep_copy(site)};
    int r = queues && builder.db ? 0 : err_sys(err, ENOMEM, "%u ports", wish->ports_n);
    for (uint32_t i = 0; r >= 0 && i < wish->ports_n; i++)
        r = want_port(&builder, &wish->ports[i], &queues[i], err);
    if (r >= 0 && sonic_lay(site, builder.db, queues, wish->ports_n) < 0)
        r = err_sys(err, ENOMEM, "%u ports", wish->ports_n);
    free(queues);
    if (r < 0)
        json_decref(builder.db);
    else
        *ret_want = builder.db;
    return r;
}

/* A field that is in force and would not be any more, another agent's first. */
static enum sonic_owner in_place(const json_t *row, const json_t *now, const json_t *want,
                                 const char *owner, const char **ret_field)
{
    const char *field;
    json_t *value;
    enum sonic_owner found = SONIC_OURS;
    json_object_foreach((json_t *)row, field, value)
    {
        char name[SONIC_NAME];
        if (json_equal(value, json_object_get(want, field)) ||
            !json_equal(value, json_object_get(now, field)))
            continue;
        sonic_referred(json_string_value(value), name);
        found = sonic_owner(name, owner) == SONIC_ANOTHERS ? SONIC_ANOTHERS : SONIC_SITES;
        *ret_field = field;
        if (found == SONIC_ANOTHERS)
            break;
    }
    return found;
}

void sonic_in_place(const json_t *db, const json_t *site, const json_t *want, const char *owner,
                    void (*each)(void *user, const struct sonic_taken *taken), void *user)
{
    static const char *const tables[] = {"QUEUE", "PORT_QOS_MAP"};
    for (uint32_t i = 0; i < 2; i++) {
        struct sonic_taken taken = {.table = tables[i]};
        json_t *row;
        json_object_foreach(json_object_get(site, tables[i]), taken.key, row)
        {
            taken.owner = in_place(row, sonic_row(db, tables[i], taken.key),
                                   sonic_row(want, tables[i], taken.key), owner, &taken.field);
            if (taken.owner != SONIC_OURS)
                each(user, &taken);
        }
    }
}

int sonic_can(const json_t *site, const struct sonic_wish *wish, const struct sonic_port *port,
              struct err *err)
{
    const struct builder builder = {.site = site, .wish = wish};
    struct classes classes;
    return classes_of(&builder, port, &classes, err);
}
