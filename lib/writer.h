/* Writes a command's answer: as text for people, or as JSON or CSV for programs. Commands hand over
 * named values and never print, so all forms say the same.
 *
 * An answer is one object: fields, and tables whose rows have the fields that their columns name,
 * in that order. In JSON a key is the field's name with its unit, and the value is raw (ns, bytes,
 * per mille). In text the heading is given beside it, and the value is in words ("1.5 s", "4.0
 * MB"). Absent values are null, or "-".
 *
 * In JSON an answer that was enclosed is a document: an envelope says of which schema its items are
 * (docs/operate/cli.md, schemas/json/v1).
 *
 * A writer owns what it collects and writes it at writer_end, so a command that fails half-way
 * prints nothing of its answer, unless it called writer_keep. writer_stream has it write long
 * answers as their rows come, in bounded memory: then a command can fail when part of its answer is
 * written. Out of memory ends the program: a command line tool can do nothing better. */
#pragma once

#include "lib/err.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum value_kind {
    VALUE_TEXT,
    VALUE_NUMBER, /* unsigned */
    VALUE_SIGNED,
    VALUE_ID,   /* a number that names something and is no amount; in JSON a string */
    VALUE_BOOL, /* number ≠ 0; yes, no */
    VALUE_BYTES,
    VALUE_DURATION, /* signed, ns */
    VALUE_PERMILLE,
    VALUE_BIT_RATE, /* bit/s */
    VALUE_TIME,     /* ns of the wall clock since 1970; RFC 3339 in UTC */
    VALUE_ABSENT,
};

struct value {
    enum value_kind kind;
    const char *text; /* borrowed for the call */
    uint64_t number;
    int64_t signed_number; /* VALUE_SIGNED, VALUE_DURATION */
};

#define value_text(t)      ((struct value){.kind = VALUE_TEXT, .text = (t)})
#define value_number(n)    ((struct value){.kind = VALUE_NUMBER, .number = (n)})
#define value_signed(n)    ((struct value){.kind = VALUE_SIGNED, .signed_number = (n)})
#define value_id(n)        ((struct value){.kind = VALUE_ID, .number = (n)})
#define value_bool(b)      ((struct value){.kind = VALUE_BOOL, .number = (b)})
#define value_bytes(n)     ((struct value){.kind = VALUE_BYTES, .number = (n)})
#define value_duration(ns) ((struct value){.kind = VALUE_DURATION, .signed_number = (ns)})
#define value_permille(n)  ((struct value){.kind = VALUE_PERMILLE, .number = (n)})
#define value_bit_rate(n)  ((struct value){.kind = VALUE_BIT_RATE, .number = (n)})
#define value_time(ns)     ((struct value){.kind = VALUE_TIME, .number = (ns)})
#define value_absent()     ((struct value){.kind = VALUE_ABSENT})

struct column {
    const char *key; /* in JSON */
    const char
        *heading; /* in text; NULL: for programs alone, or, beside columns of a table that have
                            one, also in wide text */
};

/* The major of the schemas that documents are of. */
#define WRITER_VERSION 1

/* What a document says of itself. Strings are borrowed until the writer's end. */
struct writer_envelope {
    const char *schema;    /* NULL: it is no document */
    const char *items;     /* key of the table whose rows are its items; NULL: it has one item */
    uint64_t generated_ns; /* of the wall clock */
};

/* Why a command failed. Strings are borrowed until the writer's end. */
struct writer_failure {
    int code;           /* its exit code */
    const char *reason; /* a word for programs */
    const char *text;   /* the sentence for people */
    const char *hint;   /* what to do; NULL: nothing more */
};

struct writer;

/* One form of output: a const table of functions, which add to a text. */
struct writer_form {
    const char *name;
    /* Returns the form's own state; `out` and `envelope`, which may change until the first field or
     * table comes, are borrowed until end or drop. */
    void *(*begin)(struct text *out, const struct writer_envelope *envelope);
    void (*field)(void *state, const struct column *column, const struct value *value);
    void (*table_begin)(void *state, const char *key, const struct column *columns);
    void (*cell)(void *state, const struct column *column, const struct value *value,
                 bool first_of_row);
    void (*table_end)(void *state);
    void (*document)(void *state, const char *key, const char *text);
    /* Adds the whole rows of the open table that it holds back; NULL: it holds none back. */
    void (*settle)(void *state);
    /* What `end` says besides; NULL: this form does not say why a command failed. */
    void (*fail)(void *state, const struct writer_failure *failure);
    /* Adds what is left, ends an open table, and frees the state. */
    void (*end)(void *state);
    /* Frees the state. */
    void (*drop)(void *state);
};

/* `wide` is text with all columns of its tables. */
extern const struct writer_form writer_form_text, writer_form_wide, writer_form_json,
    writer_form_lines, writer_form_csv;
/* All forms, NULL at the end. */
extern const struct writer_form *const writer_forms[];

/* The form of this name; −EINVAL with the names of all. */
int writer_form_find(const char *name, const struct writer_form **ret_form, struct err *err);

struct writer *writer_new(const struct writer_form *form);

/* The answer becomes a document, generated at that time of the wall clock, of one item and of this
 * schema unless another is said. */
void writer_enclose(struct writer *writer, const char *schema, uint64_t generated_ns);

/* Says, before any field or table, of which schema an answer is that may be enclosed. `items`: each
 * row of the table with this key is an item, and whatever else the answer has stands beside them.
 * NULL: the answer is one item, and its tables are arrays in it. */
void writer_schema(struct writer *writer, const char *schema, const char *items);

/* One named value of the answer, outside a table. */
void writer_field(struct writer *writer, const char *key, const char *heading, struct value value);

/* Begins a table; `columns` (ended by a NULL key) is borrowed until writer_table_end. Cells are
 * given in the columns' order; a row is complete when it has as many cells as there are columns. */
void writer_table(struct writer *writer, const char *key, const struct column *columns);
void writer_cell(struct writer *writer, struct value value);
void writer_table_end(struct writer *writer);

/* A text of many lines for another program, written unchanged; in JSON one more value. It comes
 * first among what people see, so it is given first. */
void writer_document(struct writer *writer, const char *key, const char *text);

/* The output so far is written even if the command fails. */
void writer_keep(struct writer *writer);

/* From now on a long answer is written to `out` (borrowed until the end) as its rows come: whenever
 * WRITER_AT_ONCE bytes of whole rows are collected. In text the widths of columns are then those of
 * its first rows, and grow. */
#define WRITER_AT_ONCE 65536
void writer_stream(struct writer *writer, FILE *out);
/* Writes what came so far, whole rows, to `out` at once: for answers that go on for long. */
int writer_flush(struct writer *writer, FILE *out, struct err *err);
/* What was given so far is written now, where it may be: between two rows, of a stream. */
void writer_now(struct writer *writer);
/* Whether a part of it is written already. */
bool writer_begun(const struct writer *writer);

/* Whether the document says why a command failed: then nobody else has to. */
bool writer_says_why(const struct writer *writer);

/* The command failed: what was given so far is dropped unless it was to be kept or is written in
 * part. Where the form says why a command failed (writer_form.fail), the document has it. */
void writer_fail(struct writer *writer, const struct writer_failure *failure);

/* Writes all of it to `out` and ends the writer. */
int writer_end(struct writer *writer, FILE *out, struct err *err);

/* Ends it without writing; NULL is fine. */
void writer_drop(struct writer *writer);

/* A value in words; `size` ≥ 32 unless it is text. Returns words, or the value's own text. */
const char *value_words(const struct value *value, char *words, size_t size);
