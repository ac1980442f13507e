#include "controller/settings.h"

#include "controller/engine/policy/presets.h"
#include "controller/parameters.h"

#include "lib/conf_check.h"
#include "lib/conf_table.h"
#include "lib/join.h"
#include "lib/log.h"
#include "lib/wire.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

#define WIRE_LEVELS     8
#define READY_AT_ONCE   256 /* tasks, in one engine step: 0.2 to 0.8 ms */
#define CHANGED_AT_ONCE 512 /* tasks, in one engine step: sizes, lost outputs; 0.2 to 0.5 ms */

#define OF_PRESET "preset" /* as a value: as policy.preset has it */

static int policy_parse(const char *question, const char *text, void *target, struct err *err)
{
    char words[256] = "";
    const char *name;
    for (unsigned i = 0; (name = engine_policy_name(question, i)); i++) {
        if (strcmp(name, text) == 0) {
            strcpy(target, name);
            return 0;
        }
        join_word(words, sizeof(words), ", ", name);
    }
    return err_set(err, EINVAL, "'%s' is none of: %s", text, words);
}

static int policy_or_preset(const char *question, const char *text, void *target, struct err *err)
{
    if (strcmp(text, OF_PRESET) != 0)
        return policy_parse(question, text, target, err);
    strcpy(target, "");
    return 0;
}

static int turn_parse(const char *text, void *target, struct err *err)
{
    return policy_or_preset("turn", text, target, err);
}

static int place_parse(const char *text, void *target, struct err *err)
{
    return policy_or_preset("place", text, target, err);
}

static int commit_parse(const char *text, void *target, struct err *err)
{
    return policy_parse("commit", text, target, err);
}

static int network_parse(const char *text, void *target, struct err *err)
{
    return policy_or_preset("network", text, target, err);
}

static int mode_parse(const char *text, void *target, struct err *err)
{
    return policy_or_preset("mode", text, target, err);
}

static int users_parse(const char *text, void *target, struct err *err)
{
    return policy_parse("users", text, target, err);
}

static int preset_parse(const char *text, void *target, struct err *err)
{
    const struct preset *preset = preset_find(text);
    char words[512] = "";
    for (const struct preset *p = presets; !preset && p->name; p++)
        join_word(words, sizeof(words), ", ", p->name);
    if (!preset)
        return err_set(err, EINVAL, "'%s' is none of: %s", text, words);
    if (preset->levels > WIRE_LEVELS)
        return err_set(err, EINVAL,
                       "'%s' needs more levels than the %d of the wire: it is for the simulator",
                       text, WIRE_LEVELS);
    strcpy(target, text);
    return 0;
}

/* Parameter number `index` of the questions from `first` to before `end`. */
static const char *parameter_word(int first, int end, unsigned index)
{
    static const char *const questions[] = {"mode", "turn", "place", "commit", "network", "users"};
    const struct engine_parameter *parameter;
    for (int q = first; q < end; q++)
        for (unsigned i = 0; (parameter = engine_question_parameter(questions[q], i)); i++)
            if (index-- == 0)
                return parameter->word;
    return NULL;
}

static const char *mode_word(unsigned index)
{
    return parameter_word(0, 1, index);
}

static const char *policy_word(unsigned index)
{
    return parameter_word(1, 6, index);
}

static int value_take(const char *word, const char *text, void *target, struct err *err)
{
    struct settings_values *values = target;
    int64_t value;
    if (strcmp(text, OF_PRESET) == 0)
        return 0;
    int r = parameter_parse(engine_parameter(word), text, &value, err);
    if (r < 0)
        return r;
    if (values->n == ENGINE_VALUES_MAX)
        return err_set(err, EINVAL, "more than %d parameters are said", ENGINE_VALUES_MAX);
    struct engine_value *said = &values->at[values->n++];
    snprintf(said->word, sizeof(said->word), "%s", word);
    said->value = value;
    return 0;
}

static void value_say(const char *word, const char *text, char *words, size_t size)
{
    const struct engine_parameter *parameter = engine_parameter(word);
    int64_t value;
    if (strcmp(text, OF_PRESET) != 0 && parameter_parse(parameter, text, &value, NULL) == 0)
        parameter_words(parameter, value, words, size);
    else
        snprintf(words, size, "%s", text);
}

#define POLICY(s, member, name, preset)                                                            \
    PARSED(s, member, name, member##_parse, preset, .live = true)
#define WORDS(s, member, word_)                                                                    \
    {                                                                                              \
        .name = "", .type = CONF_WORDS, .offset = offsetof(struct s, member),                      \
        .size = sizeof(((struct s *)0)->member), .preset = OF_PRESET, .live = true,                \
        .word = (word_), .take = value_take, .say = value_say                                      \
    }

static const struct conf_field timer_fields[] = {
    DURATION(settings_timers, heartbeat_ns, "heartbeat", "1 s", SECOND / 100, 60 * SECOND),
    DURATION(settings_timers, silent_ns, "silent", "3 s", SECOND / 50, 600 * SECOND),
    DURATION(settings_timers, host_lost_ns, "host_lost", "30 s", SECOND / 25, 86400 * SECOND),
    DURATION(settings_timers, lease_ns, "lease", "10 s", SECOND / 25, 3600 * SECOND),
    DURATION(settings_timers, resync_wait_ns, "resync_wait", "5 s", 0, 600 * SECOND),
    DURATION(settings_timers, start_timeout_ns, "start_timeout", "5 s", SECOND / 100, 600 * SECOND,
             .live = true),
    DURATION(settings_timers, client_idle_ns, "client_idle", "60 s", SECOND, 86400 * SECOND,
             .live = true),
    DURATION(settings_timers, forget_ns, "forget", "10 min", SECOND, 86400 * SECOND, .live = true),
    DURATION(settings_timers, fetch_stall_ns, "fetch_stall", "10 s", SECOND / 10, 3600 * SECOND,
             .live = true),
    END,
};

static int timers_check(const void *structure, struct err *err)
{
    const struct settings_timers *t = structure;
    if (t->silent_ns < 2 * t->heartbeat_ns)
        return err_set(err, EINVAL,
                       "silent must be at least twice heartbeat, or a late packet silences a host");
    if (t->host_lost_ns <= t->silent_ns)
        return err_set(err, EINVAL, "host_lost must be longer than silent");
    if (t->lease_ns < 2 * t->heartbeat_ns)
        return err_set(err, EINVAL, "lease must be at least twice heartbeat, which renews it");
    return 0;
}

static const struct conf_section timer_section = {timer_fields, sizeof(struct settings_timers),
                                                  timers_check};

/* A path, or a name in `state`. */
static int recording_folder_check(const char *text, struct err *err)
{
    if (*text == '/')
        return conf_check_folder(text, err);
    if (strchr(text, '/') || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
        return err_set(err, EINVAL, "'%s' is neither a path from / on nor a name", text);
    return 0;
}

static const struct conf_field recording_fields[] = {
    CHECKED(settings_recording, folder, "log", recording_folder_check),
    BYTES(settings_recording, max_bytes, "max_bytes", "64 MB", 4096, INT64_C(1) << 40,
          .live = true),
    NUMBER(settings_recording, files, "files", "4", 1, 1000),
    END,
};
static const struct conf_section recording_section = {recording_fields,
                                                      sizeof(struct settings_recording), NULL};

static const struct conf_field store_fields[] = {
    DURATION(settings_store, keep_ns, "keep", "720 h", 0, 87600 * 3600 * SECOND, .live = true),
    BYTES(settings_store, max_bytes, "max_bytes", "4 GB", 1000000, INT64_C(1) << 46),
    END,
};
static const struct conf_section store_section = {store_fields, sizeof(struct settings_store),
                                                  NULL};

static bool is_none(const char *text)
{
    return strcmp(text, "none") == 0;
}

static int metrics_listen_check(const char *text, struct err *err)
{
    return is_none(text) ? 0 : conf_check_listen(text, err);
}

static int metrics_token_check(const char *text, struct err *err)
{
    return is_none(text) ? 0 : conf_check_path(text, err);
}

static const struct conf_field metrics_fields[] = {
    CHECKED(settings_metrics, listen, "none", metrics_listen_check),
    CHECKED(settings_metrics, token, "none", metrics_token_check),
    NUMBER(settings_metrics, hosts, "hosts", "256", 0, 2000),
    END,
};

static int metrics_section_check(const void *structure, struct err *err)
{
    const struct settings_metrics *m = structure;
    if (is_none(m->listen) || !is_none(m->token) || conf_address_is_loopback(m->listen))
        return 0;
    return err_set(err, EINVAL,
                   "%s can be reached by others: name the file of a token at `token`, or listen on "
                   "loopback (tcp://127.0.0.1:7601)",
                   m->listen);
}

static const struct conf_section metrics_section = {metrics_fields, sizeof(struct settings_metrics),
                                                    metrics_section_check};

static const struct conf_field mode_fields[] = {
    POLICY(settings_mode, mode, "rule", OF_PRESET),
    WORDS(settings_mode, values, mode_word),
    DURATION(settings_mode, dwell_ns, "dwell", "50 ms", 0, 60 * SECOND),
    END,
};
static const struct conf_section mode_section = {mode_fields, sizeof(struct settings_mode), NULL};

static const struct conf_field policy_fields[] = {
    POLICY(settings_policy, preset, "preset", "joint"),
    POLICY(settings_policy, turn, "turn", OF_PRESET),
    POLICY(settings_policy, place, "place", OF_PRESET),
    POLICY(settings_policy, commit, "commit", "single"),
    POLICY(settings_policy, network, "network", OF_PRESET),
    POLICY(settings_policy, users, "users", "none"),
    NUMBER(settings_policy, seed, "seed", "1", 0, INT64_MAX),
    SECTION(settings_policy, mode, &mode_section),
    SHARE(settings_policy, congested_permille, "congested", "90 %", 0, 1000),
    SHARE(settings_policy, cleared_permille, "cleared", "80 %", 0, 1000),
    SHARE(settings_policy, congested_share_permille, "congested_share", "0 %", 0, 1000),
    WORDS(settings_policy, values, policy_word),
    DURATION(settings_policy, hold_max_ns, "hold_max", "30 s", 0, 86400 * SECOND),
    DURATION(settings_policy, stop_grace_ns, "stop_grace", "1 s", 0, 3600 * SECOND),
    NUMBER(settings_policy, failures_max, "failures", "4", 1, 1000),
    NUMBER(settings_policy, losses_max, "losses", "2", 0, 1000),
    END,
};

static int policy_check(const void *structure, struct err *err)
{
    const struct settings_policy *p = structure;
    if (p->cleared_permille > p->congested_permille)
        return err_set(err, EINVAL, "cleared must not be above congested");
    return 0;
}

static const struct conf_section policy_section = {policy_fields, sizeof(struct settings_policy),
                                                   policy_check};

#define LEVELS_FIELDS(first_, factor_)                                                             \
    {                                                                                              \
        NUMBER(settings_levels, levels, "levels", "8", 0, 8),                                      \
            BYTES(settings_levels, first_bytes, "first", first_, 1, INT64_C(1) << 50),             \
            NUMBER(settings_levels, factor, "factor", factor_, 2, 1000000), END,                   \
    }
static const struct conf_field coflow_fields[] = LEVELS_FIELDS("10 MB", "8");
static const struct conf_field macroflow_fields[] = LEVELS_FIELDS("1 MB", "4");
static const struct conf_field dclas_fields[] = LEVELS_FIELDS("10 MB", "10");
static const struct conf_section coflow_section = {coflow_fields, sizeof(struct settings_levels),
                                                   NULL};
static const struct conf_section macroflow_section = {macroflow_fields,
                                                      sizeof(struct settings_levels), NULL};
static const struct conf_section dclas_section = {dclas_fields, sizeof(struct settings_levels),
                                                  NULL};
static const struct conf_field table_fields[] = {
    SECTION(settings_tables, coflow, &coflow_section),
    SECTION(settings_tables, macroflow, &macroflow_section),
    SECTION(settings_tables, dclas, &dclas_section),
    END,
};
static const struct conf_section table_section = {table_fields, sizeof(struct settings_tables),
                                                  NULL};

static const char *const unknowns[] = {
    [SETTINGS_UNKNOWN_OF_USER_0] = "user-0", [SETTINGS_UNKNOWN_REFUSED] = "refuse", NULL};
static const struct conf_field user_fields[] = {
    CHOICE(settings_users, unknown, unknowns, "user-0"),
    END,
};
static const struct conf_section user_section = {user_fields, sizeof(struct settings_users), NULL};

static const struct conf_field bound_fields[] = {
    NUMBER(settings_bounds, hosts, "hosts", "10000", 1, 1000000),
    NUMBER(settings_bounds, units_per_host, "units_per_host", "16", 1, 16),
    NUMBER(settings_bounds, jobs, "jobs", "100000", 1, 10000000),
    NUMBER(settings_bounds, stages_per_job, "stages_per_job", "1024", 1, 65536),
    NUMBER(settings_bounds, tasks, "tasks", "4000000", 1, 1000000000),
    NUMBER(settings_bounds, cells_per_job, "cells_per_job", "16777216", 1, 1000000000),
    NUMBER(settings_bounds, finished, "finished", "10000", 1, 10000000),
    NUMBER(settings_bounds, shapes, "shapes", "1024", 1, 1000000),
    BYTES(settings_bounds, memory_bytes, "memory", "4 GB", 1000000, INT64_C(1) << 50),
    BYTES(settings_bounds, framework_memory_bytes, "framework_memory", "512 MB", 1000000,
          INT64_C(1) << 50),
    SHARE(settings_bounds, framework_time_permille, "framework_time", "25 %", 0, 1000),
    SHARE(settings_bounds, client_time_permille, "client_time", "10 %", 0, 1000),
    SHARE(settings_bounds, host_time_permille, "host_time", "50 %", 0, 1000),
    NUMBER(settings_bounds, tasks_per_stage, "tasks_per_stage", "65536", 1, 1048576),
    NUMBER(settings_bounds, tasks_per_host, "tasks_per_host", "4096", 1, 65536),
    NUMBER(settings_bounds, starts_per_host, "starts_per_host", "256", 1, 1024),
    NUMBER(settings_bounds, starts_at_once, "starts_at_once", "256", 1, 65536),
    NUMBER(settings_bounds, executors, "executors", "65536", 1, 10000000),
    NUMBER(settings_bounds, executor_slots, "executor_slots", "4000000", 1, INT64_C(1) << 40),
    NUMBER(settings_bounds, agent_messages, "agent_messages", "10000", 100, 1000000000),
    BYTES(settings_bounds, incoming_bytes, "incoming", "4 GB", 16 * WIRE_PEER_BYTES,
          INT64_C(1) << 50),
    BYTES(settings_bounds, unanswered_bytes, "unanswered", "256 MB", 1000000, INT64_C(1) << 50),
    BYTES(settings_bounds, claims_bytes, "claims", "1 GB", 100000, INT64_C(1) << 50),
    END,
};
static const struct conf_section bound_section = {bound_fields, sizeof(struct settings_bounds),
                                                  NULL};

/* The default groups may be missing: then only root may use the socket. */
static int group_check(const char *text, struct err *err)
{
    if (strcmp(text, SETTINGS_GROUP) != 0 && strcmp(text, SETTINGS_READERS) != 0 && !getgrnam(text))
        return err_set(err, EINVAL, "there is no group '%s' on this host", text);
    return 0;
}

static const char *const trusts[] = {
    [SETTINGS_TRUST_KEYS] = "keys", [SETTINGS_TRUST_EVERYBODY] = "everybody-who-connects", NULL};
static const struct conf_field settings_fields[] = {
    CHECKED(settings, listen, "tcp://127.0.0.1:7600", conf_check_listen),
    CHECKED(settings, socket, "/run/duopoly/duopolyd.sock", conf_check_file),
    CHECKED(settings, group, SETTINGS_GROUP, group_check),
    CHECKED(settings, readers, SETTINGS_READERS, group_check),
    CHECKED(settings, state, "/var/lib/duopoly", conf_check_folder),
    STRING(settings, keys, "keys"),
    CHOICE(settings, trust, trusts, "keys"),
    CHOICE(settings, log_level, log_levels, "note", .live = true),
    SECTION(settings, timers, &timer_section),
    SECTION_CALLED(settings, recording, "log", &recording_section),
    SECTION(settings, store, &store_section),
    SECTION(settings, metrics, &metrics_section),
    SECTION(settings, policy, &policy_section),
    SECTION(settings, levels, &table_section),
    SECTION(settings, users, &user_section),
    SECTION(settings, bounds, &bound_section),
    END,
};
const struct conf_section settings_section = {settings_fields, sizeof(struct settings), NULL};

static void levels_fill(const struct settings_levels *levels, struct level_table *ret_table)
{
    if (levels->levels)
        level_table_exponential(ret_table, (uint64_t)levels->first_bytes, (uint64_t)levels->factor,
                                (uint32_t)levels->levels);
    else
        *ret_table = (struct level_table){.levels = 0};
}

/* They were checked when they were read. */
static void values_fill(const struct settings_values *values, struct engine_config *ret_config)
{
    for (uint32_t i = 0; i < values->n; i++)
        engine_config_say(ret_config, values->at[i].word, values->at[i].value, NULL);
}

/* The preset, and what overrides it. */
static void policy_fill(const struct settings_policy *policy, struct engine_config *ret_config)
{
    preset_apply(preset_find(policy->preset), ret_config);
    if (policy->turn[0])
        strcpy(ret_config->turn, policy->turn);
    if (policy->place[0])
        strcpy(ret_config->place, policy->place);
    if (policy->network[0])
        strcpy(ret_config->network, policy->network);
    strcpy(ret_config->commit, policy->commit);
    strcpy(ret_config->users, policy->users);
    if (policy->mode.mode[0])
        strcpy(ret_config->mode, policy->mode.mode);
    values_fill(&policy->values, ret_config);
    values_fill(&policy->mode.values, ret_config);
}

void settings_engine(const struct settings *settings, uint32_t epoch,
                     struct engine_config *ret_config)
{
    const struct settings_policy *policy = &settings->policy;
    const struct settings_bounds *bounds = &settings->bounds;
    engine_config_default(ret_config);
    ret_config->seed = (uint64_t)policy->seed;
    ret_config->epoch = epoch;
    policy_fill(policy, ret_config);
    ret_config->mode_dwell_ns = policy->mode.dwell_ns;
    ret_config->congested_permille = (uint32_t)policy->congested_permille;
    ret_config->cleared_permille = (uint32_t)policy->cleared_permille;
    ret_config->congested_share_permille = (uint32_t)policy->congested_share_permille;
    ret_config->hold_max_ns = policy->hold_max_ns;
    ret_config->stop_grace_ns = policy->stop_grace_ns;
    ret_config->failures_max = (uint32_t)policy->failures_max;
    ret_config->reruns_max = (uint32_t)policy->failures_max;
    ret_config->losses_max = (uint32_t)policy->losses_max;
    ret_config->source_lost_ns = settings->timers.host_lost_ns;
    levels_fill(&settings->levels.coflow, &ret_config->coflow);
    levels_fill(&settings->levels.macroflow, &ret_config->macroflow);
    levels_fill(&settings->levels.dclas, &ret_config->dclas);
    ret_config->refuse_unknown_users = settings->users.unknown == SETTINGS_UNKNOWN_REFUSED;
    ret_config->hosts_max = (uint32_t)bounds->hosts;
    ret_config->units_per_host_max = (uint32_t)bounds->units_per_host;
    ret_config->jobs_max = (uint32_t)bounds->jobs;
    ret_config->framework_jobs_max = (uint32_t)(bounds->jobs / 2 ? bounds->jobs / 2 : 1);
    ret_config->stages_per_job_max = (uint32_t)bounds->stages_per_job;
    ret_config->tasks_max = (uint64_t)bounds->tasks;
    ret_config->cells_per_job_max = (uint64_t)bounds->cells_per_job;
    ret_config->finished_max = (uint32_t)bounds->finished;
    ret_config->shapes_max = (uint32_t)bounds->shapes;
    ret_config->memory_max = (uint64_t)bounds->memory_bytes;
    ret_config->framework_memory_max = (uint64_t)bounds->framework_memory_bytes;
    ret_config->stage_tasks_max = (uint32_t)bounds->tasks_per_stage;
    ret_config->host_attempts_max = (uint32_t)bounds->tasks_per_host;
    ret_config->host_starts_max = (uint32_t)bounds->starts_per_host;
    ret_config->step_starts_max = (uint32_t)bounds->starts_at_once;
    ret_config->lapses_spared = SETTINGS_LAPSES_SPARED;
    ret_config->lapses_of_keys = true;
    ret_config->step_ready_max = READY_AT_ONCE;
    ret_config->step_tasks_max = CHANGED_AT_ONCE;
}

/* A name is a folder in `state`. */
static int folder_resolve(const struct settings *settings, const char *what, char folder[256],
                          struct err *err)
{
    char whole[512];
    if (!*folder || *folder == '/')
        return 0;
    snprintf(whole, sizeof(whole), "%s/%s", settings->state, folder);
    if (strlen(whole) >= 256)
        return err_set(err, EINVAL, "%s: %s is longer than 255 bytes", what, whole);
    strcpy(folder, whole);
    return 0;
}

static int folders_resolve(struct settings *settings, struct err *err)
{
    if (strcmp(settings->recording.folder, "none") == 0)
        strcpy(settings->recording.folder, "");
    int r = folder_resolve(settings, "log: folder", settings->recording.folder, err);
    return r < 0 ? r : folder_resolve(settings, "keys", settings->keys, err);
}

/* What concerns several sections. */
static int whole_judge(struct settings *settings, struct err *err)
{
    struct engine_config config;
    struct engine *engine;
    int r = folders_resolve(settings, err);
    if (r < 0)
        return r;
    settings_engine(settings, 1, &config);
    r = engine_create(&config, &engine, err);
    if (r == 0)
        engine_destroy(engine);
    return r;
}

int settings_parse(const char *name, const char *text, size_t length, struct settings *ret_settings,
                   struct err *err)
{
    struct settings settings;
    int r = conf_parse(name, text, length, &settings_section, &settings, err);
    if (r < 0)
        return r;
    if ((r = whole_judge(&settings, err)) < 0)
        return err_prefix(err, "%s", name);
    *ret_settings = settings;
    return 0;
}

int settings_load(const char *path, struct settings *ret_settings, struct err *err)
{
    size_t length = 0;
    char *text = NULL;
    if (!path)
        return settings_parse("defaults", "", 0, ret_settings, err);
    int r = conf_file(path, &text, &length, err);
    if (r == 0)
        r = settings_parse(path, text, length, ret_settings, err);
    free(text);
    return r;
}
