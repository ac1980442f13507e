/* SONiC's CONFIG_DB as a value: tables of rows of fields, all of them text.
 *
 * The form is that of SONiC's own config_db.json, {"TABLE": {"key": {"field": "value"}}}, so one
 * set of functions serves a switch's Redis, an operator's file and the state kept on disk. A row
 * without fields is {"NULL": "NULL"} in Redis and in such files; it is kept so.
 *
 * Keys of QUEUE name cells: "Ethernet0,Ethernet4|3-4" are queues 3 and 4 of two ports. Releases up
 * to 202106 write a reference as "[SCHEDULER|scheduler.0]", later ones as "scheduler.0"
 * (sonic-swss, orchagent/orch.cpp): both are read; the form that the switch uses is written.
 *
 * Functions that change a value return 0 or −ENOMEM. Pure; a row is found in O(1). */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define SONIC_QUEUES 8
#define SONIC_TCS    8 /* traffic classes that every ASIC has */
#define SONIC_DSCPS  64
#define SONIC_CELL   255  /* the largest number of a queue, the CPU port's too */
#define SONIC_NAME   64   /* bytes of a port's or an object's name with its NUL */
#define SONIC_KEY    8192 /* bytes of a key with its NUL: a list of ports can be long */

/* The tables that we write, referred-to tables first: add rows in this order, remove them in the
 * reverse order. NULL ends the list. */
extern const char *const sonic_ours[];
/* Further tables that we read. */
extern const char *const sonic_read[];

/* Borrowed; NULL: there is none. */
json_t *sonic_row(const json_t *db, const char *table, const char *key);
const char *sonic_field(const json_t *db, const char *table, const char *key, const char *field);

int sonic_set(json_t *db, const char *table, const char *key, const char *field, const char *value);
/* Takes ownership of `row`, also on failure. */
int sonic_put(json_t *db, const char *table, const char *key, json_t *row);
void sonic_unset(json_t *db, const char *table, const char *key, const char *field);
void sonic_drop(json_t *db, const char *table, const char *key);

/* The name in a reference, without brackets and table; cut if it is too long. */
void sonic_referred(const char *value, char name[SONIC_NAME]);
/* Whether this switch writes references in brackets. O(rows). */
bool sonic_brackets(const json_t *db);
void sonic_reference(bool brackets, const char *table, const char *name, char *value, size_t size);

/* The cells that a key of QUEUE (with a range) or PORT_QOS_MAP (without) names. */
struct sonic_cells {
    const char *ports; /* borrows the key: names with commas between, `ports_bytes` long */
    size_t ports_bytes;
    uint32_t low, high; /* queues; 0 without a range */
};

/* −EINVAL: neither "PORTS|N" nor "PORTS|N-M" with N < M ≤ SONIC_CELL, or longer than SONIC_KEY. */
int sonic_cells(const char *key, struct sonic_cells *ret_cells);
/* The next name of a comma-separated list, from `*at` (at first the list); false at the end. A name
 * longer than SONIC_NAME is cut and matches no port. */
bool sonic_next_name(const char **at, const char *end, char name[SONIC_NAME]);
