/* Text records: one line per event, decision or piece of state. The log, engine dumps, golden tests
 * and bug reports all use them.
 *
 * A record is "KIND NAME=VALUE NAME=VALUE…": names and order are fixed per kind by one table for
 * encoder and decoder. Numbers are decimal, lists are comma-separated, strings are percent-escaped
 * (space, %, comma, =, control bytes and ≥ 0x7f), so a record has no newline and words are
 * separated by single spaces. Decoding is strict: every field, in order, in range; what was encoded
 * decodes to equal values. Records grow by lean fields (field.h), which are written where they say
 * something only: a run that uses nothing new writes what it wrote before there were such.
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

/* Room for what a decoded event points to; owned by the caller, zeroed at first, reused by the next
 * decode, ended by record_room_done. */
struct record_room {
    void *at;
    size_t used, size;
};
void record_room_done(struct record_room *room);

/* `line` ends with zero or newline. The event borrows `room` until the next decode into it. −EINVAL
 * with what is wrong at which field; −ENOMEM. */
int record_decode_event(const char *line, struct record_room *room, struct event *ret_event,
                        struct err *err);
int record_decode_decision(const char *line, struct decision *ret_decision, struct err *err);

/* Reads one number of a record's field by name, for tools that need no more: 0, −ENOENT,
 * −ERANGE. */
int record_field_u64(const char *line, const char *name, uint64_t *ret_value);
