/* Table-driven text records: what record.h promises, for any struct whose fields are described.
 * Private to controller/engine.
 *
 * A field's name in the record is the part after the last dot of the member's name. Pure;
 * O(length).
 *
 * One object in several files: record.h. */
#pragma once

#include "controller/engine/base/record.h"

enum field_type {
    FIELD_END,
    FIELD_U32,
    FIELD_U64,
    FIELD_I64,
    FIELD_BOOL,
    FIELD_REASON,    /* enum reason, by its word */
    FIELD_STRING,    /* const char *, percent-escaped */
    FIELD_CHARS,     /* char[], percent-escaped; decoded ones must fit */
    FIELD_RESOURCES, /* struct resources: six numbers */
    FIELD_U32S,
    FIELD_U64S,
    FIELD_TABLE, /* struct level_table: levels, then thresholds */
};

struct field {
    const char *member;
    enum field_type type;
    size_t offset, size;
    bool added;  /* records of before do not have it; it is then left as it was */
    bool former; /* only records of before have it: read if it is there, never written */
    /* It is written unless it is zero or empty; where it is missing it is left so. What does not
     * use it writes what was written before there was such a field. */
    bool lean;
};

/* A field that is named like the member of the struct. */
#define FIELD_OF(record, name, kind)                                                               \
    {                                                                                              \
        .member = #name, .type = FIELD_##kind, .offset = offsetof(struct record, name),            \
        .size = sizeof(((struct record *)0)->name)                                                 \
    }
#define FIELD_ADDED(record, name, kind)                                                            \
    {                                                                                              \
        .member = #name, .type = FIELD_##kind, .offset = offsetof(struct record, name),            \
        .size = sizeof(((struct record *)0)->name), .added = true                                  \
    }
#define FIELD_FORMER(record, name, kind)                                                           \
    {                                                                                              \
        .member = #name, .type = FIELD_##kind, .offset = offsetof(struct record, name),            \
        .size = sizeof(((struct record *)0)->name), .former = true                                 \
    }
#define FIELD_LEAN(record, name, kind)                                                             \
    {                                                                                              \
        .member = #name, .type = FIELD_##kind, .offset = offsetof(struct record, name),            \
        .size = sizeof(((struct record *)0)->name), .lean = true                                   \
    }

enum { FIELDS_MAX = 40 };
struct record_kind {
    const char *name;
    struct field fields[FIELDS_MAX]; /* ends with FIELD_END */
};

/* As record_encode_event. */
int field_encode(const struct record_kind *kind, const void *object, char *buffer, size_t size);
/* Which of `n` kinds the line is, −EINVAL. Kinds without a name are none. */
int field_kind(const struct record_kind *kinds, int n, const char *line, struct err *err);
/* Appends fields to the `length` bytes that the buffer holds: the new length, or −ENOSPC. A
 * negative length is handed through. */
int field_encode_more(const struct field *fields, const void *object, char *buffer, size_t size,
                      int length);
/* Fills the described fields of the object; those that were added, and lean ones, may be missing:
 * they are left as they were (the caller zeroes the object). `room` may be NULL when the kind has
 * no strings and lists. */
int field_decode(const struct record_kind *kind, const char *line, struct record_room *room,
                 void *object, struct err *err);
/* The same for fields in the middle of a record, from *at, which then stands behind them. `kind` is
 * for sentences. */
int field_decode_some(const char *kind, const struct field *fields, const char **at,
                      struct record_room *room, void *object, struct err *err);
/* 0 when nothing is left of the record, else −EINVAL. */
int field_decode_end(const char *kind, const char *at, struct err *err);
