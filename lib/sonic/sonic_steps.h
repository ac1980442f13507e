/* Splits the change from one CONFIG_DB to another into steps that can be written one after the
 * other (pure): what others refer to is added first and removed last. */
#pragma once

#include "lib/sonic/sonic_rows.h"

struct sonic_step {
    const char *table, *key; /* borrow from the values */
    const json_t *from;      /* the row; NULL: it is new */
    const json_t *to;        /* NULL: it is removed */
};

/* Compares the tables of `sonic_ours` only. The caller frees the steps, which borrow from both
 * values. −ENOMEM. O(rows). */
int sonic_steps(const json_t *from, const json_t *to, struct sonic_step **ret_steps,
                uint32_t *ret_n);
