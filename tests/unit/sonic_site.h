/* CONFIG_DB of a switch as a site has it, with PFC, ranges, lists and maps of its own, for tests
 * and the benchmark; and what orchagent makes of a CONFIG_DB when it reads it anew (sonic-swss,
 * orchagent/qosorch.cpp): rows in the order of their keys, the last word counts. */
#pragma once

#include "lib/sonic/sonic_rows.h"
#include "tests/unit/test.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void site_set(json_t *db, const char *table, const char *key, const char *field,
                            const char *value)
{
    if (sonic_set(db, table, key, field, value) < 0)
        abort();
}

static inline void site_map(json_t *db, const char *table, const char *name, uint32_t n,
                            const uint8_t *to)
{
    char field[12], value[12];
    for (uint32_t i = 0; i < n; i++) {
        snprintf(field, sizeof(field), "%u", i);
        snprintf(value, sizeof(value), "%u", to[i]);
        site_set(db, table, name, field, value);
    }
}

static inline void site_name(uint32_t port, char name[SONIC_NAME])
{
    snprintf(name, SONIC_NAME, "Ethernet%u", 4 * port);
}

/* What every CONFIG_DB has, and ports of 100 Gb/s. */
static inline json_t *site_bare(uint32_t ports)
{
    json_t *db = json_object();
    char name[SONIC_NAME], alias[SONIC_NAME];
    site_set(db, "DEVICE_METADATA", "localhost", "hwsku", "Force10-S6000");
    site_set(db, "DEVICE_METADATA", "localhost", "hostname", "leaf1");
    for (uint32_t i = 0; i < ports; i++) {
        site_name(i, name);
        snprintf(alias, sizeof(alias), "etp%u", i);
        site_set(db, "PORT", name, "speed", "100000");
        site_set(db, "PORT", name, "mtu", "9100");
        site_set(db, "PORT", name, "alias", alias);
    }
    return db;
}

static inline void site_queue(json_t *db, const char *ports, const char *range,
                              const char *scheduler, const char *wred)
{
    char key[SONIC_KEY];
    snprintf(key, sizeof(key), "%s|%s", ports, range);
    site_set(db, "QUEUE", key, "scheduler", scheduler);
    if (wred)
        site_set(db, "QUEUE", key, "wred_profile", wred);
}

static inline void site_maps(json_t *db, const char *port, const char *map, const char *pfc)
{
    site_set(db, "PORT_QOS_MAP", port, "dscp_to_tc_map", map);
    site_set(db, "PORT_QOS_MAP", port, "tc_to_queue_map", map);
    site_set(db, "PORT_QOS_MAP", port, "tc_to_pg_map", map);
    site_set(db, "PORT_QOS_MAP", port, "pfc_to_queue_map", map);
    if (pfc)
        site_set(db, "PORT_QOS_MAP", port, "pfc_enable", pfc);
}

/* Maps of two kinds, schedulers and a WRED profile, as sites write them. */
static inline void site_objects(json_t *db)
{
    uint8_t dscp[SONIC_DSCPS], storage[SONIC_DSCPS], same[SONIC_TCS];
    for (uint32_t i = 0; i < SONIC_DSCPS; i++) {
        dscp[i] = 1;
        storage[i] = (uint8_t)(i / 8);
    }
    dscp[8] = 0;
    dscp[5] = 2;
    dscp[26] = 3;
    dscp[34] = 4;
    dscp[46] = 5;
    dscp[48] = 6;
    for (uint8_t i = 0; i < SONIC_TCS; i++)
        same[i] = i;
    site_map(db, "DSCP_TO_TC_MAP", "AZURE", SONIC_DSCPS, dscp);
    site_map(db, "DSCP_TO_TC_MAP", "STORAGE", SONIC_DSCPS, storage);
    site_map(db, "TC_TO_QUEUE_MAP", "AZURE", SONIC_TCS, same);
    site_map(db, "TC_TO_QUEUE_MAP", "STORAGE", SONIC_TCS, same);
    site_map(db, "MAP_PFC_PRIORITY_TO_QUEUE", "AZURE", SONIC_TCS, same);
    site_set(db, "SCHEDULER", "scheduler.0", "type", "DWRR");
    site_set(db, "SCHEDULER", "scheduler.0", "weight", "14");
    site_set(db, "SCHEDULER", "scheduler.1", "type", "DWRR");
    site_set(db, "SCHEDULER", "scheduler.1", "weight", "15");
    site_set(db, "WRED_PROFILE", "AZURE_LOSSLESS", "ecn", "ecn_all");
    site_set(db, "WRED_PROFILE", "AZURE_LOSSLESS", "green_max_threshold", "2097152");
    site_set(db, "PORT_QOS_MAP", "global", "dscp_to_tc_map", "AZURE");
}

/* Every third port has single rows, every third a range over its lossless queues, every third
 * stands in lists of ports or has a range that begins before them. */
static inline json_t *site_full(uint32_t ports)
{
    json_t *db = site_bare(ports);
    char name[SONIC_NAME], list[2 * SONIC_NAME + 1] = "", text[12];
    site_objects(db);
    for (uint32_t i = 0; i < ports; i++) {
        site_name(i, name);
        if (i % 3 == 0) {
            for (uint32_t q = 0; q < 7; q++) {
                bool lossless = q == 3 || q == 4;
                snprintf(text, sizeof(text), "%u", q);
                site_queue(db, name, text, lossless ? "scheduler.1" : "scheduler.0",
                           lossless ? "AZURE_LOSSLESS" : NULL);
            }
            site_maps(db, name, "AZURE", "3,4");
        } else if (i % 3 == 1) {
            site_queue(db, name, "3-4", "scheduler.1", "AZURE_LOSSLESS");
            site_queue(db, name, "0-2", "scheduler.0", NULL);
            site_maps(db, name, "STORAGE", "3,4");
            snprintf(list, sizeof(list), "%s", name);
        } else {
            site_queue(db, name, "2-4", "scheduler.1", "AZURE_LOSSLESS");
            strcat(strcat(list, ","), name);
            site_queue(db, list, "5-6", "scheduler.0", NULL);
            site_maps(db, name, "AZURE", "3");
        }
    }
    return db;
}

/* More of what sites have, drawn at random: rows for single queues and ranges, fields of others. */
static inline void site_scatter(json_t *db, uint32_t ports, uint64_t *stream)
{
    static const char *const fields[] = {"tc_to_dscp_map", "scheduler", "dscp_to_fc_map"};
    char name[SONIC_NAME], text[16], range[24];
    for (uint32_t n = (uint32_t)(test_random(stream) % 40); n > 0; n--) {
        uint32_t low = (uint32_t)(test_random(stream) % SONIC_QUEUES);
        uint32_t high = low + (uint32_t)(test_random(stream) % (SONIC_QUEUES - low));
        site_name((uint32_t)(test_random(stream) % ports), name);
        snprintf(range, sizeof(range), low == high ? "%u" : "%u-%u", low, high);
        site_queue(db, name, range, test_random(stream) & 1 ? "scheduler.0" : "scheduler.1",
                   test_random(stream) & 1 ? "AZURE_LOSSLESS" : NULL);
        snprintf(text, sizeof(text), "u%u", low);
        site_set(db, "PORT_QOS_MAP", name, fields[high % 3], text);
    }
}

/* ---- what orchagent makes of it -------------------------------------------------------------- */

static inline int site_by_key(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static inline bool site_names(const char *ports, const char *end, const char *port)
{
    char name[SONIC_NAME];
    while (sonic_next_name(&ports, end, name))
        if (strcmp(name, port) == 0)
            return true;
    return false;
}

/* A field of the row that was applied last to a cell of QUEUE, without brackets; "" for none. */
static inline void site_cell(const json_t *db, const char *port, uint32_t queue, const char *field,
                             char value[SONIC_NAME])
{
    json_t *rows = json_object_get(db, "QUEUE"), *row;
    const char *key, *sorted[8192];
    size_t n = 0;
    value[0] = '\0';
    json_object_foreach(rows, key, row)
    {
        struct sonic_cells cells;
        if (sonic_cells(key, &cells) >= 0 && cells.low <= queue && queue <= cells.high &&
            site_names(cells.ports, cells.ports + cells.ports_bytes, port))
            sorted[n++] = key;
    }
    qsort(sorted, n, sizeof(sorted[0]), site_by_key);
    for (size_t i = 0; i < n; i++) {
        const char *had = sonic_field(db, "QUEUE", sorted[i], field);
        if (had)
            sonic_referred(had, value);
    }
}

/* A field of PORT_QOS_MAP, without brackets; "" for none. */
static inline void site_port_map(const json_t *db, const char *port, const char *field,
                                 char value[SONIC_NAME])
{
    json_t *rows = json_object_get(db, "PORT_QOS_MAP"), *row;
    const char *key;
    value[0] = '\0';
    json_object_foreach(rows, key, row)
    {
        const char *had = json_string_value(json_object_get(row, field));
        if (had && site_names(key, key + strlen(key), port))
            sonic_referred(had, value);
    }
}

/* The queue that a code point gets into on a port. */
static inline int site_queue_of(const json_t *db, const char *port, uint32_t dscp)
{
    char map[SONIC_NAME], field[12];
    site_port_map(db, port, "dscp_to_tc_map", map);
    if (!map[0])
        site_port_map(db, "global", "dscp_to_tc_map", map);
    snprintf(field, sizeof(field), "%u", dscp);
    const char *tc = sonic_field(db, "DSCP_TO_TC_MAP", map, field);
    if (!tc)
        tc = "0";
    site_port_map(db, port, "tc_to_queue_map", map);
    const char *queue = sonic_field(db, "TC_TO_QUEUE_MAP", map, tc);
    return atoi(queue ? queue : tc);
}
