/* Text records: one line per event, decision or piece of state. The log, engine dumps, golden tests
 * and bug reports all use them.
 *
 * A record is "KIND NAME=VALUE NAME=VALUE…": names and order are fixed per kind by one table for
 * encoder and decoder. Numbers are decimal, lists are comma-separated, strings are percent-escaped
 * (space, %, comma, =, control bytes and ≥ 0x7f), so a record has no newline and single spaces
 * separate its words. Decoding is strict: every field, in order, in range; what was encoded decodes
 * to equal values. New fields are lean (field.h), so a run that does not use them writes the same
 * records as before.
 *
 * Pure and re-entrant. Bounds: a record is at most RECORD_MAX bytes; lists at most what fits.
 *
 * One object in several files: record, field. */
#pragma once

#include "controller/engine/event.h"
#include "lib/err.h"

#include <stddef.h>

enum { RECORD_MAX = 1 << 20 };

/* Writes the record without newline and with a terminating zero; returns its length, or −ENOSPC. */
int record_encode_event(const struct event *event, char *buffer, size_t size);
int record_encode_decision(const struct decision *decision, char *buffer, size_t size);

/* Memory for what a decoded event points to. The caller owns and zeroes it; each decode reuses it;
 * record_room_done frees it. */
struct record_room {
    void *at;
    size_t used, size;
};
void record_room_done(struct record_room *room);

/* `line` ends with zero or newline. The event borrows `room` until the next decode into it. −EINVAL
 * with the field and what is wrong with it; −ENOMEM. */
int record_decode_event(const char *line, struct record_room *room, struct event *ret_event,
                        struct err *err);
int record_decode_decision(const char *line, struct decision *ret_decision, struct err *err);

/* Reads one number of a record by its field's name: 0, −ENOENT, −ERANGE. */
int record_field_u64(const char *line, const char *name, uint64_t *ret_value);
