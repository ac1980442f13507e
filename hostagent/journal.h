/* Times and facts for those who measure: one line each, appended to a file.
 *
 * Not a log for people (lib/log.h) and not needed for anything to work: the demo and the benchmark
 * read their latencies from it. Times are CLOCK_MONOTONIC in nanoseconds:
 *
 * - begin ATTEMPT REQUEST_NS BEFORE_NS AFTER_NS: start asked for; duopoly-task came to it; the
 *   command's process was there
 * - end ATTEMPT NS: the agent saw the attempt's end
 * - mode MODE SEQUENCE NS: after the write to the map
 * - levels ATTEMPT COFLOW MACROFLOW NS: after the write to the map
 * - connection ATTEMPT LOCAL PORT PEER PORT NS: the command said so
 * - echo SENT_NS BACK_NS: an empty message to the controller, and its acknowledgement
 *
 * ATTEMPT is decimal. The file is closed for good at JOURNAL_BYTES (and says so in its last line).
 * Lines are written at once, each by one write. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

#define JOURNAL_BYTES (256ll << 20)

struct journal;

/* Appends to `path`, made if missing; "" gives a journal that takes lines and keeps none. */
int journal_open(const char *path, struct journal **ret_journal, struct err *err);
void journal_close(struct journal *journal); /* takes NULL */

/* Whether lines are kept: false for NULL, for "" and when the file is full. */
bool journal_keeps(const struct journal *journal);

/* One line without its newline; NULL journals are fine. */
__attribute__((format(printf, 2, 3))) void journal_line(struct journal *journal, const char *format,
                                                        ...);

/* CLOCK_MONOTONIC. */
uint64_t journal_now_ns(void);
