/* Brings the configuration's file as it is now into force, as far as a running controller can
 * (configuration.h).
 *
 * All or nothing: a file that is wrong, or policies that do not work together with what commands
 * set, change nothing. What a command set counts before what the file says, as at a start: policies
 * and their parameters until `configured` returns to the file, the log's level until that or a
 * restart. Policies change by events, so the recording has them. The log's own level changes when
 * the caller has logged what came of it: log_reopen with the settings in force. One thread. */
#pragma once

#include "controller/conductor.h"

/* What a reload did, or, where it is only judged, would do: keys, as "policy.turn, log_level". */
struct reload_report {
    char taken[80]; /* in force now */
    char waits[56]; /* until the next start */
    char kept[64];  /* a command set them, and that counts */
};

/* −EINVAL with FILE:LINE:COLUMN: the file is wrong; other errors of reading it; −EPERM: the
 * policies. Only judges where the conductor does. O(keys), and what changing a policy costs. */
int reload_run(struct conductor *conductor, struct reload_report *ret_report, struct err *err);
/* The report as a clause without a full stop. */
void reload_say(const struct reload_report *report, char *text, size_t size);

/* Where the value comes from that is in force for a key of the file that was taken. */
enum reload_source { RELOAD_OF_DEFAULT, RELOAD_OF_FILE, RELOAD_OF_PRESET, RELOAD_OF_COMMAND };
/* Writes that value into `words`. */
enum reload_source reload_in_force(const struct conductor_parts *parts, const struct conf_key *key,
                                   char words[CONF_VALUE_MAX]);
