/* Records our changes to a CONFIG_DB and undoes them (pure).
 *
 * The record on disk is {"before": TABLES, "ours": [TABLES, …]}: the rows that we change, as the
 * site had them and as they become; null for no row. Several generations of ours may be in force:
 * the next one is recorded before it is written, the last one is dropped afterwards. Undoing goes
 * field by field: a field with our value gets the site's value back; a field that somebody has set
 * since stays. So unless somebody else changed something, every row is restored exactly.
 *
 * Returned values are new; the caller drops its reference. O(rows). */
#pragma once

#include "lib/err.h"
#include "lib/sonic/sonic_rows.h"

/* The rows of `sonic_ours` that differ between `site` and `want`, with the generations of `kept`
 * (NULL: none) as older ones. NULL: out of memory. */
json_t *sonic_keep(const json_t *site, const json_t *want, const json_t *kept);

/* The same record with only the newest generation. */
json_t *sonic_keep_last(const json_t *kept);

/* `db` with our changes undone. NULL: out of memory. */
json_t *sonic_undo(const json_t *db, const json_t *kept);

/* To and from text, one row a line. −EINVAL: it was not made by sonic_keep. */
char *sonic_kept_text(const json_t *kept);
int sonic_kept_parse(const char *text, json_t **ret_kept, struct err *err);
