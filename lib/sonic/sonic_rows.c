#include "lib/sonic/sonic_rows.h"

#include "lib/number.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *const sonic_ours[] = {"DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "SCHEDULER", "WRED_PROFILE",
                                  "QUEUE",          "PORT_QOS_MAP",    NULL};
const char *const sonic_read[] = {"DEVICE_METADATA", "PORT", "MAP_PFC_PRIORITY_TO_QUEUE", NULL};

json_t *sonic_row(const json_t *db, const char *table, const char *key)
{
    return json_object_get(json_object_get(db, table), key);
}

const char *sonic_field(const json_t *db, const char *table, const char *key, const char *field)
{
    return json_string_value(json_object_get(sonic_row(db, table, key), field));
}

int sonic_put(json_t *db, const char *table, const char *key, json_t *row)
{
    json_t *rows = json_object_get(db, table);
    if (!rows) {
        json_object_set_new(db, table, json_object());
        rows = json_object_get(db, table);
    }
    return json_object_set_new(rows, key, row) < 0 ? -ENOMEM : 0;
}

int sonic_set(json_t *db, const char *table, const char *key, const char *field, const char *value)
{
    if (!sonic_row(db, table, key) && sonic_put(db, table, key, json_object()) < 0)
        return -ENOMEM;
    json_t *row = sonic_row(db, table, key);
    return json_object_set_new(row, field, json_string(value)) < 0 ? -ENOMEM : 0;
}

void sonic_unset(json_t *db, const char *table, const char *key, const char *field)
{
    json_object_del(sonic_row(db, table, key), field);
}

void sonic_drop(json_t *db, const char *table, const char *key)
{
    json_t *rows = json_object_get(db, table);
    json_object_del(rows, key);
    if (rows && json_object_size(rows) == 0)
        json_object_del(db, table);
}

static bool bracketed(const char *value)
{
    size_t n = strlen(value);
    return n > 2 && value[0] == '[' && value[n - 1] == ']' && strchr(value, '|');
}

void sonic_referred(const char *value, char name[SONIC_NAME])
{
    const char *from = bracketed(value) ? strchr(value, '|') + 1 : value;
    snprintf(name, SONIC_NAME, "%.*s", (int)strlen(from) - bracketed(value), from);
}

static bool bracketed_in(const json_t *db, const char *table, const char *field)
{
    const char *key;
    json_t *row;
    json_object_foreach((json_t *)json_object_get(db, table), key, row)
    {
        const char *value = json_string_value(json_object_get(row, field));
        if (value)
            return bracketed(value);
    }
    return false;
}

bool sonic_brackets(const json_t *db)
{
    return bracketed_in(db, "QUEUE", "scheduler") ||
           bracketed_in(db, "PORT_QOS_MAP", "dscp_to_tc_map") ||
           bracketed_in(db, "PORT_QOS_MAP", "tc_to_queue_map");
}

void sonic_reference(bool brackets, const char *table, const char *name, char *value, size_t size)
{
    if (brackets)
        snprintf(value, size, "[%s|%s]", table, name);
    else
        snprintf(value, size, "%s", name);
}

int sonic_cells(const char *key, struct sonic_cells *ret_cells)
{
    const char *bar = strchr(key, '|');
    uint64_t low, high;
    if (!bar || bar == key || strlen(key) >= SONIC_KEY)
        return -EINVAL;
    const char *at = number_take(bar + 1, SONIC_CELL, &low);
    high = low;
    if (at && *at == '-' && ((at = number_take(at + 1, SONIC_CELL, &high)) == NULL || high <= low))
        return -EINVAL;
    if (!at || *at)
        return -EINVAL;
    *ret_cells = (struct sonic_cells){.ports = key,
                                      .ports_bytes = (size_t)(bar - key),
                                      .low = (uint32_t)low,
                                      .high = (uint32_t)high};
    return 0;
}

bool sonic_next_name(const char **at, const char *end, char name[SONIC_NAME])
{
    if (*at >= end)
        return false;
    const char *comma = memchr(*at, ',', (size_t)(end - *at));
    const char *stop = comma ? comma : end;
    snprintf(name, SONIC_NAME, "%.*s", (int)(stop - *at), *at);
    *at = comma ? comma + 1 : end;
    return true;
}
