/* Configuration: a YAML file bound to a C structure by a table.
 *
 * A program describes its configuration in const tables: each field's name, type, range, default
 * and place in a structure. conf_read fills the structure or refuses the whole file: a
 * configuration is never half in force. The first error is reported as "FILE:LINE:COLUMN: sentence"
 * (lines and columns from 1). An unknown key is an error that names the nearest known key. Defaults
 * are written as a user would write them and go through the same parser, so a default outside its
 * own range is found (conf_defaults).
 *
 * Numbers with units are exact decimals, the unit is required and case-sensitive: "1.5 s", "100
 * Mbps", "64 KiB", "0.5 %". Structures hold strings inline and lists as arrays of a fixed size, so
 * nothing needs to be freed.
 *
 * Bounds: a file of 1 MiB, strings and lists as long as the table says; more is refused with a
 * sentence. YAML anchors, tags and several documents in one file are not used; what the table does
 * not describe is refused. No global state; the file is read once, blocking. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
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
    CONF_PARSED,   /* what `parse` reads from a scalar */
    CONF_SECTION,  /* a mapping: `section` describes it, at this offset */
    CONF_WORDS,    /* scalars under the keys that `word` lists; `take` gets each that is present */
    CONF_PLACE,    /* struct conf_place: where its section stands. The field's name is in no file */
    CONF_OTHERS,   /* last in a table: keys that no field names belong to another program */
    CONF_LIST,     /* a sequence of at most `max` items as `item` describes, `size` bytes apart; a
                      uint32_t at     count_offset takes their number; absent: empty */
};

/* In the file, from 1, for what can only be said later; 0: the section is not there. */
struct conf_place {
    uint32_t line, column;
};

struct conf_section;

struct conf_field {
    const char *name;
    enum conf_type type;
    size_t offset; /* in the section's structure */
    size_t size; /* CONF_STRING: of the array; CONF_LIST: of one element; CONF_PARSED and CONF_WORDS
                    that are live: of the member */
    /* Numbers, in the structure's scale; both 0: 0…INT64_MAX. CONF_LIST: number of items. */
    int64_t min, max;
    const char *preset; /* the default, as a user writes it; NULL: required (for sections: their
                           fields' defaults). CONF_WORDS: what an absent key means, for people */
    /* A program that reads its file again takes a new value while it runs (conf_take_live); else
     * only when it starts. Sections and lists: their fields say it. */
    bool live;
    const char *const *choices;         /* CONF_CHOICE: null-terminated */
    const struct conf_section *section; /* CONF_SECTION */
    const struct conf_field *item;      /* CONF_LIST: name, offset ignored */
    size_t count_offset;                /* CONF_LIST */
    /* CONF_LIST: checks item `i` beside those before it, such as that no two have one name; its
     * sentence gets the item's position. May be NULL. */
    int (*beside)(const void *items, uint32_t i, struct err *err);
    /* CONF_LIST: checks item `i` when all fields of its section are read, such as that what it
     * names is in another list; its sentence gets the item's position. May be NULL. */
    int (*among)(const void *structure, uint32_t i, struct err *err);
    /* CONF_STRING: a further check of the word; may be NULL. An error's sentence needs no
     * position. */
    int (*check)(const char *text, struct err *err);
    /* CONF_PARSED: writes *target; an error's sentence needs no position. */
    int (*parse)(const char *text, void *target, struct err *err);
    /* CONF_WORDS: `word` gives key number `index`, NULL at the end; `take` gets its value, for what
     * is at `offset`. The field's own name is in no file. */
    const char *(*word)(unsigned index);
    int (*take)(const char *word, const char *text, void *target, struct err *err);
    /* Writes a value that `take` accepts as it is always written; NULL: as it stands there. */
    void (*say)(const char *word, const char *text, char *words, size_t size);
};

struct conf_section {
    const struct conf_field *fields; /* ends with a NULL name */
    size_t bytes;                    /* of the structure */
    /* May be NULL. Checks what concerns several fields, such as their order; its sentence gets the
     * section's position. */
    int (*check)(const void *structure, struct err *err);
};

/* Fills `ret_structure` (section->bytes, untouched on failure) from a file. −EINVAL: the file's
 * content is wrong; else the error of opening or reading it. */
int conf_read(const char *path, const struct conf_section *section, void *ret_structure,
              struct err *err);

/* A file's content, whose owner the caller becomes; with its errors as in conf_read. */
int conf_file(const char *path, char **ret_text, size_t *ret_length, struct err *err);

/* As conf_read, from memory; sentences name `name` instead of a path. */
int conf_parse(const char *name, const char *text, size_t length,
               const struct conf_section *section, void *ret_structure, struct err *err);

/* As conf_read of an empty file: fails if a field is required or a default is out of range. */
int conf_defaults(const struct conf_section *section, void *ret_structure, struct err *err);

/* Copies the live fields of one of the section's structures into another. */
void conf_take_live(const struct conf_section *section, const void *from, void *to);

/* Parses one scalar as the field describes, of any type except sections and lists. −EINVAL with a
 * sentence. */
int conf_scalar(const struct conf_field *field, const char *text, void *target, struct err *err);
/* A number as a user would write it, in the largest unit that has no fraction. Returns `words`. */
const char *conf_words(enum conf_type type, int64_t value, char *words, size_t size);

/* Parses one scalar of a numeric type (CONF_INT…CONF_SHARE), for command lines. */
int conf_number(enum conf_type type, const char *text, int64_t *ret_value, struct err *err);
