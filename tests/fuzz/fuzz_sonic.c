/* Fuzz target of a switch's CONFIG_DB, as JSON: whatever is in it, all ports of it get ours or one
 * sentence says why not, and what was there comes back. */
#include "lib/sonic/sonic_undo.h"
#include "lib/sonic/sonic_want.h"

#include <stdlib.h>
#include <string.h>

#define PORTS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Only text, as Redis gives it; no rows without fields. */
static void clean(json_t *db)
{
    const char *table, *key, *field;
    json_t *rows, *row, *value;
    void *a, *b, *c;
    json_object_foreach_safe(db, a, table, rows)
    {
        json_object_foreach_safe(rows, b, key, row)
        {
            json_object_foreach_safe(row, c, field, value)
            {
                if (!json_is_string(value))
                    json_object_del(row, field);
            }
            if (json_object_size(row) == 0)
                json_object_del(rows, key);
        }
        if (json_object_size(rows) == 0)
            json_object_del(db, table);
    }
}

static void check_back(const json_t *site, const json_t *want)
{
    json_t *kept = sonic_keep(site, want, NULL), *back = sonic_undo(want, kept);
    if (!json_equal(back, site))
        abort();
    json_decref(back);
    json_decref(kept);
}

static void want_all(const json_t *site)
{
    static struct port wants[PORTS];
    struct sonic_port of[PORTS];
    struct sonic_wish wish = {
        .owner = "tester", .dscp_of_level = port_wish_preset.dscp_of_level, .ports = of};
    const char *name;
    json_t *row, *want;
    struct err err = {0};
    json_object_foreach(json_object_get(site, "PORT"), name, row)
    {
        struct sonic_facts facts;
        if (wish.ports_n == PORTS || strlen(name) >= SONIC_NAME ||
            sonic_facts(site, name, &facts, &err) < 0)
            continue;
        struct port_facts port = {.mtu_bytes = facts.mtu_bytes,
                                  .link_bps = facts.link_bps,
                                  .queues_n = SONIC_QUEUES,
                                  .abilities = {.strict = true, .floors = true}};
        for (uint32_t q = 0; q < SONIC_QUEUES; q++)
            port.lossless |= (uint32_t)(facts.lossless >> q & 1) << (7 - q);
        of[wish.ports_n] = (struct sonic_port){name, &wants[wish.ports_n]};
        wish.ports_n += port_want(&port_wish_preset, &port, &wants[wish.ports_n], &err) >= 0;
    }
    if (sonic_want(site, &wish, &want, &err) < 0) {
        if (!err.text[0])
            abort();
        return;
    }
    check_back(site, want);
    json_decref(want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_error_t at;
    struct err err;
    json_t *kept = NULL;
    json_t *db = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, &at);
    if (!db)
        return 0;
    clean(db);
    if (sonic_check(db, &err) >= 0)
        want_all(db);
    char *text = json_dumps(db, JSON_SORT_KEYS);
    if (text && sonic_kept_parse(text, &kept, &err) >= 0) {
        json_decref(sonic_undo(db, kept));
        json_decref(kept);
    }
    free(text);
    json_decref(db);
    return 0;
}
