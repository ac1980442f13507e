/* What ours changed in a CONFIG_DB, and taking it back (pure).
 *
 * What is kept on disk is {"before": TABLES, "ours": [TABLES, …]}: the rows that ours changes as the
 * site had them, and as they become, null where there is none. Several generations of ours may be in
 * force: the next one is kept before it is written, the last one is forgotten after. Taking back goes
 * field by field: what has a value of ours gets the site's; what somebody has set since stays. So
 * without a change of somebody's, every row comes back as it was.
 *
 * Returned values are new; the caller drops its reference. O(rows). */
#pragma once

#include "lib/err.h"
#include "lib/sonic/sonic_rows.h"

/* The tables of `sonic_ours` as rows that differ between `site` and `want`; with those of `kept`
 * (NULL: none) as older generations. NULL: out of memory. */
json_t *sonic_keep(const json_t *site, const json_t *want, const json_t *kept);

/* The same with the newest generation alone. */
json_t *sonic_keep_last(const json_t *kept);

/* `db` without ours. NULL: out of memory. */
json_t *sonic_undo(const json_t *db, const json_t *kept);

/* From and to text, a row a line. −EINVAL: it is not what sonic_keep made. */
char *sonic_kept_text(const json_t *kept);
int sonic_kept_parse(const char *text, json_t **ret_kept, struct err *err);
