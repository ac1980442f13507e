/* Times and facts for measurements: one line each, appended to a file.
 *
 * This is not a log for people (lib/log.h), and nothing needs it to work: the demo and the
 * benchmark read their latencies from it. Times are CLOCK_MONOTONIC in nanoseconds:
 *
 * - begin ATTEMPT REQUEST_NS BEFORE_NS AFTER_NS: the start was requested; duopoly-task began it;
 *   the command's process was there
 * - end ATTEMPT NS: the agent saw the attempt's end
 * - mode MODE SEQUENCE NS: after the write to the map
 * - levels ATTEMPT COFLOW MACROFLOW NS: after the write to the map
 * - connection ATTEMPT LOCAL PORT PEER PORT NS: as the command said
 * - echo SENT_NS BACK_NS: an empty message to the controller was sent, and its acknowledgement came
 *
 * ATTEMPT is decimal. Each line is written at once, by one write. The file is closed for good at
 * MEASUREMENTS_BYTES; its last line says so. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>

#define MEASUREMENTS_BYTES (256ll << 20)

struct measurements;

/* Appends to `path`, made if missing; with "" it accepts lines and keeps none. */
int measurements_open(const char *path, struct measurements **ret_measurements, struct err *err);
void measurements_close(struct measurements *measurements); /* takes NULL */

/* Whether lines are kept: false for NULL, for "" and when the file is full. */
bool measurements_kept(const struct measurements *measurements);

/* One line without its newline; NULL is fine. */
__attribute__((format(printf, 2, 3))) void measurements_line(struct measurements *measurements,
                                                             const char *format, ...);
