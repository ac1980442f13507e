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
 * ATTEMPT is decimal. Lines are written at once, each by one write. The file is
 * closed for good at MEASUREMENTS_BYTES, and says so in its last line. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

#define MEASUREMENTS_BYTES (256ll << 20)

struct measurements;

/* Appends to `path`, made if missing; "" gives one that takes lines and keeps none. */
int measurements_open(const char *path, struct measurements **ret_measurements, struct err *err);
void measurements_close(struct measurements *measurements); /* takes NULL */

/* Whether lines are kept: false for NULL, for "" and when the file is full. */
bool measurements_kept(const struct measurements *measurements);

/* One line without its newline; NULL is fine. */
__attribute__((format(printf, 2, 3))) void measurements_line(struct measurements *measurements,
                                                             const char *format, ...);
