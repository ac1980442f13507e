/* Configuration: a YAML file bound to a C structure by a table.
 *
 * A program says in const tables what it understands: each field's name, type, range, default and
 * place in a structure. conf_read fills the structure or refuses the whole file: a configuration is
 * never half in force. Whatever is wrong is told as "FILE:LINE:COLUMN: sentence" (lines and columns
 * from 1), the first fault only; an unknown key is an error that names the nearest known one.
 * Defaults are written as a user would write them and go through the same parser, so a table cannot
 * hold a default that its own range refuses (conf_defaults tells).
 *
 * Numbers with units are exact decimals, the unit is required and case-sensitive: "1.5 s", "100
 * Mbps", "64 KiB", "0.5 %". Structures hold strings inline and lists as arrays of a fixed size, so
 * nothing needs to be freed.
 *
 * Bounds: a file of 1 MiB, strings and lists as long as the table says; more is refused with a
 * sentence. YAML anchors, tags and several documents in one file are not used; what a table does
 * not expect is refused. No global state; the file is read once, blocking. */
#pragma once

#include "lib/err.h"

#include <stddef.h>
#include <stdint.h>

enum conf_type {
    CONF_BOOL,     /* bool: true, false, yes, no, on, off */
    CONF_INT,      /* int64_t */
    CONF_DURATION, /* int64_t, nanoseconds; units ns us ms s min h */
    CONF_RATE,     /* int64_t, bits per second; units bps kbps Mbps Gbps */
    CONF_BYTES,    /* int64_t; units B kB MB GB TB (powers of 1000), KiB MiB GiB */
    CONF_SHARE,    /* int64_t, per mille; unit % */
    CONF_STRING,   /* char[size]; not empty unless the default is */
    CONF_CHOICE,   /* int: the index in `choices` */
    CONF_PARSED,   /* what `parse` makes of a scalar */
    CONF_SECTION,  /* a mapping: `section` tells what is in it, at this offset */
    CONF_WORDS,    /* scalars under the keys that `word` lists: `take` has each that is there */
    CONF_OTHERS,   /* last in a table: keys that no field names are another program's */
    CONF_LIST,     /* a sequence of at most `max` items as `item` describes, `size` bytes apart; a
                      uint32_t at     count_offset takes their number; absent: empty */
};

struct conf_section;

struct conf_field {
    const char *name;
    enum conf_type type;
    size_t offset; /* in the section's structure */
    size_t size;   /* CONF_STRING: of the array; CONF_LIST: of one element */
    /* Numbers, in the structure's scale; both 0: 0…INT64_MAX. CONF_LIST: number of items. */
    int64_t min, max;
    const char *preset; /* the default, as a user writes it; NULL: required (for sections: their
                           fields' defaults) */
    const char *const *choices;         /* CONF_CHOICE: null-terminated */
    const struct conf_section *section; /* CONF_SECTION */
    const struct conf_field *item;      /* CONF_LIST: name, offset ignored */
    size_t count_offset;                /* CONF_LIST */
    /* CONF_STRING: what else the word must be; may be NULL. An error's sentence needs no
     * position. */
    int (*check)(const char *text, struct err *err);
    /* CONF_PARSED: writes *target; an error's sentence needs no position. */
    int (*parse)(const char *text, void *target, struct err *err);
    /* CONF_WORDS: key number `index`, NULL at the end; and its value, for what is at `offset`. The name stands
     * in no file. */
    const char *(*word)(unsigned index);
    int (*take)(const char *word, const char *text, void *target, struct err *err);
};

struct conf_section {
    const struct conf_field *fields; /* ends with a NULL name */
    size_t bytes;                    /* of the structure */
    /* May be NULL. What no single field can tell, such as an order of two; its sentence gets the
     * section's position. */
    int (*check)(const void *structure, struct err *err);
};

/* Fills `ret_structure` (section->bytes, untouched on failure) from a file. −EINVAL for what the
 * file says, else what opening and reading it returned. */
int conf_read(const char *path, const struct conf_section *section, void *ret_structure,
              struct err *err);

/* As conf_read from memory; `name` stands where a path would in sentences. */
int conf_parse(const char *name, const char *text, size_t length,
               const struct conf_section *section, void *ret_structure, struct err *err);

/* As an empty file: fails if something is required, or a default is not one. */
int conf_defaults(const struct conf_section *section, void *ret_structure, struct err *err);

/* One scalar as a field says: of any type but sections and lists. −EINVAL with a sentence. */
int conf_scalar(const struct conf_field *field, const char *text, void *target, struct err *err);
/* A number as a user would write it, in the largest unit that has no fraction. Returns `words`. */
const char *conf_words(enum conf_type type, int64_t value, char *words, size_t size);

/* One scalar of a numeric type (CONF_INT…CONF_SHARE) from words, for command lines. */
int conf_number(enum conf_type type, const char *text, int64_t *ret_value, struct err *err);
