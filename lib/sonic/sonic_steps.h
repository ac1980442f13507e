/* From one CONFIG_DB to another in steps that can go one after the other (pure): what is referred to
 * comes first, and goes last. */
#pragma once

#include "lib/sonic/sonic_rows.h"

struct sonic_step {
    const char *table, *key; /* borrow the values */
    const json_t *from;      /* the row; NULL: it is new */
    const json_t *to;        /* NULL: it goes */
};

/* The tables of `sonic_ours` alone. The caller frees; it borrows both values. −ENOMEM. O(rows). */
int sonic_steps(const json_t *from, const json_t *to, struct sonic_step **ret_steps,
                uint32_t *ret_n);
