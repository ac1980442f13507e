/* The keys of a configuration one by one, for people who ask what is in force and what a file
 * would change: each key that a table describes, in its order, whether the file has it or not.
 *
 * A value is written in one way only (600 s, not 10 min), so two keys that mean the same have the
 * same words. Lists, and what belongs to another program, are left out. Pure except for memory. */
#pragma once

#include "lib/conf.h"

#include <stdbool.h>
#include <stdint.h>

#define CONF_KEY_MAX   64
#define CONF_VALUE_MAX 256

struct conf_key {
    char path[CONF_KEY_MAX]; /* with the sections around it: "policy.mode.dwell" */
    char value[CONF_VALUE_MAX];
    const char *name;     /* without them; of the table, or of CONF_WORDS' word */
    struct conf_place at; /* of the value; line 0: it is the default */
    enum conf_type type;
    bool live; /* as in conf_field */
};

struct conf_keys {
    struct conf_key *at;
    size_t n;
};

/* The keys of a text that conf_parse takes with this section. The caller calls conf_keys_done, also
 * after a failure. −ENOMEM. O(keys of the table · pairs of a section). */
int conf_keys_read(const char *text, size_t length, const struct conf_section *section,
                   struct conf_keys *ret_keys, struct err *err);
void conf_keys_done(struct conf_keys *keys);

/* The key of this path; NULL: there is none. O(keys). */
const struct conf_key *conf_keys_find(const struct conf_keys *keys, const char *path);
