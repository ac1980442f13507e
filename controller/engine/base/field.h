/* Table-driven text records: the format of record.h, for any struct whose fields a table describes.
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
    bool added;  /* older records lack it; the member then keeps its value */
    bool former; /* only older records have it: read if present, never written */
    /* Written only when not zero and not empty; a missing one leaves the member as it is. So a run
     * that does not use the field writes the same records as before the field existed. */
    bool lean;
};

/* A field that has the name of its member. */
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
/* The index of the line's kind among `n` kinds, or −EINVAL. Kinds without a name match no line. */
int field_kind(const struct record_kind *kinds, int n, const char *line, struct err *err);
/* Appends fields to the `length` bytes in the buffer. Returns the new length or −ENOSPC; returns a
 * negative length unchanged. */
int field_encode_more(const struct field *fields, const void *object, char *buffer, size_t size,
                      int length);
/* Sets the described fields of the object. Added and lean fields may be missing: they keep their
 * values, so the caller zeroes the object first. `room` may be NULL when the kind has neither
 * strings nor lists. */
int field_decode(const struct record_kind *kind, const char *line, struct record_room *room,
                 void *object, struct err *err);
/* The same for fields in the middle of a record, from *at, which is moved behind them. `kind` is
 * used in error sentences. */
int field_decode_some(const char *kind, const struct field *fields, const char **at,
                      struct record_room *room, void *object, struct err *err);
/* 0 at the end of the record, else −EINVAL. */
int field_decode_end(const char *kind, const char *at, struct err *err);
