/* The controller's configuration: what schemas/duopolyd.yaml explains, as a structure. That file is
 * the manual, and holds nothing but defaults (a test compares); this module is its table. Times are
 * ns, rates bit/s, sizes bytes, shares per mille. */
#pragma once

#include "controller/engine/engine.h"
#include "lib/conf.h"
#include "lib/err.h"

#define SETTINGS_GROUP   "duopoly"
#define SETTINGS_READERS "duopoly-readers"

/* Used allows that offset as many that lapse. */
#define SETTINGS_LAPSES_SPARED 64

enum { SETTINGS_UNKNOWN_OF_USER_0, SETTINGS_UNKNOWN_REFUSED };
enum { SETTINGS_TRUST_KEYS, SETTINGS_TRUST_EVERYBODY };

struct settings_timers {
    int64_t heartbeat_ns, silent_ns, host_lost_ns, lease_ns, resync_wait_ns, start_timeout_ns;
    int64_t client_idle_ns;
    int64_t fetch_stall_ns, forget_ns;
};

struct settings_recording {
    char folder[256]; /* empty: nothing is recorded */
    int64_t max_bytes, files;
};

struct settings_store {
    int64_t keep_ns, max_bytes;
};

/* Each text is "none" where there is none. */
struct settings_metrics {
    char listen[128];
    char token[256]; /* a file */
    int64_t hosts;
};

/* Parameters of policies that are set explicitly, of any question; the preset, then the policy
 * gives the others. */
struct settings_values {
    struct engine_value at[ENGINE_VALUES_MAX];
    uint32_t n;
};

struct settings_mode {
    char mode[16]; /* "": of the preset */
    struct settings_values values;
    int64_t dwell_ns;
};

/* "preset" leaves the choice to the preset: "" for a name, no value for a parameter. */
struct settings_policy {
    char preset[32];
    char turn[16], place[16], commit[16], network[16], users[16];
    int64_t seed;
    struct settings_mode mode;
    int64_t congested_permille, cleared_permille, congested_share_permille;
    struct settings_values values;
    int64_t hold_max_ns, stop_grace_ns, failures_max, losses_max;
};

struct settings_levels {
    int64_t levels, first_bytes, factor;
};

struct settings_tables {
    struct settings_levels coflow, macroflow, dclas;
};

struct settings_users {
    int unknown; /* SETTINGS_UNKNOWN_…: jobs of users that nobody set */
};

struct settings_bounds {
    int64_t hosts, units_per_host, jobs, stages_per_job, tasks, cells_per_job, finished, shapes;
    int64_t memory_bytes, framework_memory_bytes, framework_time_permille;
    int64_t client_time_permille, host_time_permille;
    int64_t tasks_per_stage, tasks_per_host, starts_per_host, starts_at_once;
    int64_t executors, executor_slots;
    int64_t agent_messages, incoming_bytes, unanswered_bytes, claims_bytes;
};

struct settings {
    char listen[128];
    char socket[108];
    char group[32], readers[32];
    char state[256];
    char keys[256];
    int trust;     /* SETTINGS_TRUST_… */
    int log_level; /* enum log_level */
    struct settings_timers timers;
    struct settings_recording recording;
    struct settings_store store;
    struct settings_metrics metrics;
    struct settings_policy policy;
    struct settings_tables levels;
    struct settings_users users;
    struct settings_bounds bounds;
};

/* Reads and checks a file; `path` NULL: the defaults. Errors as conf_read, and −EINVAL if the
 * engine refuses the combination. */
int settings_load(const char *path, struct settings *ret_settings, struct err *err);
/* The same of a file's text; sentences name `name`. */
int settings_parse(const char *name, const char *text, size_t length, struct settings *ret_settings,
                   struct err *err);

/* The table itself, for tests. */
extern const struct conf_section settings_section;

void settings_engine(const struct settings *settings, uint32_t epoch,
                     struct engine_config *ret_config);
