#include "lib/sonic/sonic_lay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct layer {
    json_t *db;
    const struct sonic_queues *queues;
    uint32_t n;
    json_t *index;   /* from a port's name to its place in `queues` */
    uint8_t *laid;   /* of each port, bit q: queue q has its row */
    bool *laid_maps; /* of each port */
};

/* A row of the site's that is being gone through. */
struct site_row {
    const char *table, *key;
    const json_t *row;
    struct sonic_cells cells;
};

static const struct sonic_queues *queues_of(const struct layer *layer, const char *port)
{
    const json_t *place = json_object_get(layer->index, port);
    return place ? &layer->queues[json_integer_value(place)] : NULL;
}

const json_t *sonic_port_maps(const json_t *db, const char *port, const char **ret_key)
{
    const char *key;
    const json_t *row, *rows = json_object_get(db, "PORT_QOS_MAP");
    if ((row = json_object_get(rows, port)) != NULL) {
        if (ret_key)
            *ret_key = port;
        return row;
    }
    json_object_foreach((json_t *)rows, key, row)
    {
        const char *at = key;
        char name[SONIC_NAME];
        while (strchr(key, ',') && sonic_next_name(&at, key + strlen(key), name))
            if (strcmp(name, port) == 0) {
                if (ret_key)
                    *ret_key = key;
                return row;
            }
    }
    return NULL;
}

static void range_key(const char *ports, uint32_t low, uint32_t high, char *key, size_t size)
{
    if (low == high)
        snprintf(key, size, "%s|%u", ports, low);
    else
        snprintf(key, size, "%s|%u-%u", ports, low, high);
}

/* Sets or removes. */
static int lay_field(json_t *db, const char *table, const char *key, const char *field,
                     const char *value)
{
    if (value[0])
        return sonic_set(db, table, key, field, value);
    sonic_unset(db, table, key, field);
    return 0;
}

static int lay_queue(json_t *db, const char *key, const struct sonic_queue *queue)
{
    sonic_unset(db, "QUEUE", key, "NULL");
    int r = lay_field(db, "QUEUE", key, "scheduler", queue->scheduler);
    return r < 0 ? r : lay_field(db, "QUEUE", key, "wred_profile", queue->wred);
}

static int lay_maps(json_t *db, const char *key, const struct sonic_queues *queues)
{
    sonic_unset(db, "PORT_QOS_MAP", key, "NULL");
    int r = lay_field(db, "PORT_QOS_MAP", key, "dscp_to_tc_map", queues->dscp_map);
    return r < 0 ? r : lay_field(db, "PORT_QOS_MAP", key, "tc_to_queue_map", queues->queue_map);
}

static bool same_queue(const struct sonic_queue *a, const struct sonic_queue *b)
{
    return a->ours == b->ours && strcmp(a->scheduler, b->scheduler) == 0 &&
           strcmp(a->wred, b->wred) == 0;
}

/* Of a row's cells none becomes ours, all become ours and alike, or neither. */
enum row_fate { ROW_STAYS, ROW_CHANGES, ROW_SPLITS };

static enum row_fate queue_fate(const struct layer *layer, const struct site_row *site,
                                const struct sonic_queue **ret_queue)
{
    const char *at = site->cells.ports, *end = at + site->cells.ports_bytes;
    char name[SONIC_NAME];
    bool any = false, all = true;
    const struct sonic_queue *first = NULL;
    while (sonic_next_name(&at, end, name)) {
        const struct sonic_queues *queues = queues_of(layer, name);
        for (uint32_t q = site->cells.low; q <= site->cells.high && q <= SONIC_QUEUES; q++) {
            bool ours = queues && q < SONIC_QUEUES && queues->queue[q].ours;
            any = any || ours;
            if (ours && !first)
                first = &queues->queue[q];
            all = all && ours && same_queue(first, &queues->queue[q]);
        }
    }
    *ret_queue = first;
    return all && any ? ROW_CHANGES : any ? ROW_SPLITS : ROW_STAYS;
}

static void mark_laid(struct layer *layer, const struct site_row *site)
{
    const char *at = site->cells.ports, *end = at + site->cells.ports_bytes;
    char name[SONIC_NAME];
    while (sonic_next_name(&at, end, name)) {
        const struct sonic_queues *queues = queues_of(layer, name);
        for (uint32_t q = site->cells.low; queues && q <= site->cells.high && q < SONIC_QUEUES; q++)
            layer->laid[queues - layer->queues] |= (uint8_t)(1u << q);
        if (queues)
            layer->laid_maps[queues - layer->queues] = true;
    }
}

/* The site's row again under another key, unless it has one of its own there. */
static int copy_row(struct layer *layer, const struct site_row *site, const char *key)
{
    if (sonic_row(layer->db, site->table, key))
        return 0;
    json_t *row = json_deep_copy(site->row);
    return row ? sonic_put(layer->db, site->table, key, row) : -ENOMEM;
}

/* A port's part of a row that is split: ours one by one, the others in runs. */
static int split_port(struct layer *layer, const struct site_row *site,
                      const struct sonic_queues *queues)
{
    char key[SONIC_NAME + 24];
    int r = 0;
    for (uint32_t q = site->cells.low; r >= 0 && q <= site->cells.high; q++) {
        uint32_t last = q;
        bool ours = q < SONIC_QUEUES && queues->queue[q].ours;
        while (!ours && last < site->cells.high &&
               !(last + 1 < SONIC_QUEUES && queues->queue[last + 1].ours))
            last++;
        range_key(queues->port, q, last, key, sizeof(key));
        r = copy_row(layer, site, key);
        if (r >= 0 && ours)
            r = lay_queue(layer->db, key, &queues->queue[q]);
        q = last;
    }
    return r;
}

/* The ports of a list that are not ours, under a key of their own; "" when all are. */
static void others_key(const struct layer *layer, const struct site_row *site, char key[SONIC_KEY])
{
    const char *at = site->cells.ports, *end = at + site->cells.ports_bytes;
    char name[SONIC_NAME];
    size_t n = 0;
    key[0] = '\0';
    while (sonic_next_name(&at, end, name))
        if (!queues_of(layer, name))
            n += (size_t)snprintf(key + n, SONIC_KEY - n, "%s%s", n ? "," : "", name);
    if (n)
        snprintf(key + n, SONIC_KEY - n, "%s", end);
}

static int split_row(struct layer *layer, const struct site_row *site)
{
    const char *at = site->cells.ports, *end = at + site->cells.ports_bytes;
    char name[SONIC_NAME], key[SONIC_KEY];
    int r = 0;
    sonic_drop(layer->db, site->table, site->key);
    others_key(layer, site, key);
    if (key[0])
        r = copy_row(layer, site, key);
    while (r >= 0 && sonic_next_name(&at, end, name)) {
        const struct sonic_queues *queues = queues_of(layer, name);
        if (!queues)
            continue;
        if (strcmp(site->table, "QUEUE") == 0)
            r = split_port(layer, site, queues);
        else if ((r = copy_row(layer, site, name)) >= 0)
            r = lay_maps(layer->db, name, queues);
    }
    return r;
}

static int lay_site_queues(struct layer *layer, const json_t *rows)
{
    struct site_row site = {.table = "QUEUE"};
    const struct sonic_queue *queue;
    int r = 0;
    json_object_foreach((json_t *)rows, site.key, site.row)
    {
        if (sonic_cells(site.key, &site.cells) < 0)
            continue;
        enum row_fate fate = queue_fate(layer, &site, &queue);
        if (fate != ROW_STAYS)
            mark_laid(layer, &site);
        if (fate == ROW_CHANGES)
            r = lay_queue(layer->db, site.key, queue);
        else if (fate == ROW_SPLITS)
            r = split_row(layer, &site);
        if (r < 0)
            break;
    }
    return r;
}

static enum row_fate maps_fate(const struct layer *layer, const struct site_row *site,
                               const struct sonic_queues **ret_queues)
{
    const char *at = site->cells.ports, *end = at + site->cells.ports_bytes;
    char name[SONIC_NAME];
    const struct sonic_queues *first = NULL;
    bool all = true;
    while (sonic_next_name(&at, end, name)) {
        const struct sonic_queues *queues = queues_of(layer, name);
        if (queues && !first)
            first = queues;
        all = all && queues && strcmp(queues->dscp_map, first->dscp_map) == 0 &&
              strcmp(queues->queue_map, first->queue_map) == 0;
    }
    *ret_queues = first;
    return !first ? ROW_STAYS : all ? ROW_CHANGES : ROW_SPLITS;
}

static int lay_site_maps(struct layer *layer, const json_t *rows)
{
    struct site_row site = {.table = "PORT_QOS_MAP"};
    const struct sonic_queues *queues;
    int r = 0;
    json_object_foreach((json_t *)rows, site.key, site.row)
    {
        size_t n = strlen(site.key);
        if (n >= SONIC_KEY)
            continue;
        site.cells = (struct sonic_cells){.ports = site.key, .ports_bytes = n};
        enum row_fate fate = maps_fate(layer, &site, &queues);
        if (fate != ROW_STAYS)
            mark_laid(layer, &site);
        if (fate == ROW_CHANGES)
            r = lay_maps(layer->db, site.key, queues);
        else if (fate == ROW_SPLITS)
            r = split_row(layer, &site);
        if (r < 0)
            break;
    }
    return r;
}

/* Adds rows for cells that the site had no row for. */
static int lay_rest(struct layer *layer)
{
    char key[SONIC_NAME + 24];
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < layer->n; i++) {
        const struct sonic_queues *queues = &layer->queues[i];
        for (uint32_t q = 0; r >= 0 && q < SONIC_QUEUES; q++) {
            if (!queues->queue[q].ours || layer->laid[i] >> q & 1)
                continue;
            range_key(queues->port, q, q, key, sizeof(key));
            r = lay_queue(layer->db, key, &queues->queue[q]);
        }
    }
    return r;
}

static int lay_rest_of_maps(struct layer *layer)
{
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < layer->n; i++)
        if (!layer->laid_maps[i])
            r = lay_maps(layer->db, layer->queues[i].port, &layer->queues[i]);
    return r;
}

static int lay_all(struct layer *layer, const json_t *site)
{
    int r = 0;
    for (uint32_t i = 0; i < layer->n; i++)
        if (json_object_set_new(layer->index, layer->queues[i].port, json_integer(i)) < 0)
            return -ENOMEM;
    r = lay_site_queues(layer, json_object_get(site, "QUEUE"));
    if (r >= 0)
        r = lay_rest(layer);
    memset(layer->laid_maps, 0, layer->n * sizeof(layer->laid_maps[0]));
    if (r >= 0)
        r = lay_site_maps(layer, json_object_get(site, "PORT_QOS_MAP"));
    return r < 0 ? r : lay_rest_of_maps(layer);
}

int sonic_lay(const json_t *site, json_t *db, const struct sonic_queues *queues, uint32_t n)
{
    struct layer layer = {.db = db,
                          .queues = queues,
                          .n = n,
                          .index = json_object(),
                          .laid = calloc(n + 1, sizeof(*layer.laid)),
                          .laid_maps = calloc(n + 1, sizeof(*layer.laid_maps))};
    int r = layer.index && layer.laid && layer.laid_maps ? lay_all(&layer, site) : -ENOMEM;
    json_decref(layer.index);
    free(layer.laid);
    free(layer.laid_maps);
    return r;
}
