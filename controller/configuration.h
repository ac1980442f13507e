/* The controller's configuration file while it runs: what was taken of it, and what it says now.
 *
 * It is judged by the same code at the start, for `duopolyd --check` and for a reload: read whole,
 * or refused with a sentence that says where. Which keys a running controller takes is a word of
 * their entries in the table (conf_field.live, controller/settings.c); the others wait for its next
 * start. reload.h brings what was taken into force. One thread; reading blocks. */
#pragma once

#include "controller/settings.h"
#include "lib/conf_keys.h"
#include "lib/err.h"

/* What a file says. */
struct configured {
    struct settings settings;
    struct conf_keys keys;
};
/* Reads and judges it; `path` NULL: the defaults. The caller calls configured_done. Errors as
 * settings_load, and those of `judge`, which looks at what only this host can say; it may be
 * NULL. */
typedef int configuration_judge(const struct settings *settings, struct err *err);
int configured_read(const char *path, configuration_judge *judge, struct configured *ret_configured,
                    struct err *err);
void configured_done(struct configured *configured);

struct configuration;

/* Reads the file (borrowed path; NULL: there is none, and the defaults count). */
int configuration_open(const char *path, configuration_judge *judge,
                       struct configuration **ret_configuration, struct err *err);
/* NULL is fine. */
void configuration_close(struct configuration *configuration);

/* "" without a file. */
const char *configuration_path(const struct configuration *configuration);
/* What counts of what was read: of live keys the newest that was taken, of others that of the
 * start. Borrowed until configuration_take. */
const struct configured *configuration_taken(const struct configuration *configuration);

/* What the file says now, as configured_read. Its keys are the same, in the same order. */
int configuration_look(const struct configuration *configuration, struct configured *ret_now,
                       struct err *err);
/* What would be taken of it. */
void configuration_merge(const struct configuration *configuration, const struct configured *now,
                         struct settings *ret_settings);
/* It is taken: its live keys count from now on, and where the others stand that say the same. */
void configuration_take(struct configuration *configuration, const struct configured *now);
