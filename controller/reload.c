#include "controller/reload.h"

#include "controller/parameters.h"
#include "lib/join.h"
#include "lib/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The questions whose policies the file names, and where it does. */
static const struct {
    const char *question, *path;
} named[] = {{"turn", "policy.turn"},      {"place", "policy.place"},
             {"commit", "policy.commit"},  {"network", "policy.network"},
             {"mode", "policy.mode.rule"}, {"users", "policy.users"}};
enum { NAMED = sizeof(named) / sizeof(named[0]) };

static const char *question_of(const struct conf_key *key)
{
    for (size_t i = 0; i < NAMED; i++)
        if (strcmp(named[i].path, key->path) == 0)
            return named[i].question;
    return NULL;
}

static bool is_log_level(const struct conf_key *key)
{
    return strcmp(key->path, "log_level") == 0;
}

static bool is_commanded(const struct store *store, const struct conf_key *key)
{
    const char *question = question_of(key);
    return question                  ? store_setting(store, "policy", question) != NULL
           : key->type == CONF_WORDS ? store_setting(store, "parameter", key->name) != NULL
           : is_log_level(key)       ? log_level_is_chosen()
                                     : false;
}

enum reload_source reload_in_force(const struct conductor_parts *parts, const struct conf_key *key,
                                   char words[CONF_VALUE_MAX])
{
    const char *question = question_of(key);
    bool of_preset = (question || key->type == CONF_WORDS) && strcmp(key->value, "preset") == 0;
    snprintf(words, CONF_VALUE_MAX, "%s", key->value);
    if (question)
        snprintf(words, CONF_VALUE_MAX, "%s", engine_policy(parts->engine, question));
    else if (key->type == CONF_WORDS)
        parameter_words(engine_parameter(key->name), engine_value(parts->engine, key->name), words,
                        CONF_VALUE_MAX);
    else if (is_log_level(key))
        snprintf(words, CONF_VALUE_MAX, "%s", log_levels[log_level_get()]);
    return is_commanded(parts->store, key) ? RELOAD_OF_COMMAND
           : of_preset                     ? RELOAD_OF_PRESET
           : key->at.line                  ? RELOAD_OF_FILE
                                           : RELOAD_OF_DEFAULT;
}

/* ---- policies ---- */

struct answers {
    const char *to[NAMED];
};

struct plan {
    struct event events[ENGINE_VALUES_MAX + NAMED];
    size_t n;
};

static struct engine_combination combination_of(const struct answers *answers)
{
    return (struct engine_combination){.turn = answers->to[0],
                                       .place = answers->to[1],
                                       .commit = answers->to[2],
                                       .network = answers->to[3],
                                       .mode = answers->to[4],
                                       .users = answers->to[5]};
}

static bool fits(const struct engine *engine, const struct answers *answers, struct err *err)
{
    const struct engine_combination all = combination_of(answers);
    return engine_policies_fit(engine, &all, err) == 0;
}

/* The name as the engine's table has it, for it outlives what named it; NULL: none. */
static const char *name_of(const char *question, const char *name)
{
    const char *there;
    for (unsigned i = 0; name && (there = engine_policy_name(question, i)); i++)
        if (strcmp(there, name) == 0)
            return there;
    return NULL;
}

/* What a command set, else what the configuration says. */
static void wanted_fill(const struct store *store, const struct engine_config *config,
                        struct answers *ret_wanted)
{
    const char *const configured[NAMED] = {config->turn,    config->place, config->commit,
                                           config->network, config->mode,  config->users};
    for (size_t q = 0; q < NAMED; q++) {
        const char *question = named[q].question;
        const char *name = name_of(question, store_setting(store, "policy", question));
        ret_wanted->to[q] = name ? name : name_of(question, configured[q]);
    }
}

static bool step_try(const struct engine *engine, struct answers *at, size_t q, const char *name,
                     struct plan *plan)
{
    struct answers next = *at;
    next.to[q] = name;
    if (!fits(engine, &next, NULL) || plan->n == sizeof(plan->events) / sizeof(plan->events[0]))
        return false;
    struct event *event = &plan->events[plan->n++];
    *event = (struct event){.kind = EVENT_POLICY_SET};
    event->policy_set.question = named[q].question;
    event->policy_set.name = name;
    *at = next;
    return true;
}

static bool step_on(const struct engine *engine, struct answers *at, const struct answers *wanted,
                    struct plan *plan)
{
    for (size_t q = 0; q < NAMED; q++)
        if (at->to[q] != wanted->to[q] && step_try(engine, at, q, wanted->to[q], plan))
            return true;
    return false;
}

/* WHY in an order that is looked for: one policy may need another that comes. */
static int policies_plan(const struct engine *engine, const struct answers *wanted,
                         struct plan *plan, struct err *err)
{
    struct answers at;
    for (size_t q = 0; q < NAMED; q++)
        at.to[q] = name_of(named[q].question, engine_policy(engine, named[q].question));
    if (!fits(engine, wanted, err))
        return -EPERM;
    while (memcmp(&at, wanted, sizeof(at)) != 0)
        if (!step_on(engine, &at, wanted, plan))
            return err_set(err, EPERM,
                           "these policies cannot be changed one by one: restart the controller");
    return 0;
}

static void value_plan(const struct conductor_parts *parts, const struct engine_config *config,
                       const char *word, struct plan *plan)
{
    const char *set = store_setting(parts->store, "parameter", word);
    int64_t value = set ? strtoll(set, NULL, 10) : engine_config_value(config, word);
    if (value == engine_value(parts->engine, word) ||
        plan->n == sizeof(plan->events) / sizeof(plan->events[0]))
        return;
    struct event *event = &plan->events[plan->n++];
    *event = (struct event){.kind = EVENT_POLICY_PARAMETER};
    event->policy_parameter.word = word;
    event->policy_parameter.value = value;
}

/* Values first, so that a policy never works with others than it is given. */
static int policies_follow(struct conductor *conductor, const struct settings *settings,
                           struct err *err)
{
    const struct conductor_parts *parts = conductor_parts(conductor);
    const struct engine_parameter *parameter;
    struct plan plan = {.n = 0};
    struct engine_config config;
    struct decision rejection;
    struct answers wanted;
    settings_engine(settings, epoch_number(parts->epoch), &config);
    for (size_t q = 0; q < NAMED; q++)
        for (unsigned i = 0; (parameter = engine_question_parameter(named[q].question, i)); i++)
            value_plan(parts, &config, parameter->word, &plan);
    wanted_fill(parts->store, &config, &wanted);
    int r = policies_plan(parts->engine, &wanted, &plan, err);
    if (r < 0 || parts->judging || !plan.n)
        return r;
    if (conductor_requests(conductor, plan.events, plan.n, &rejection) < 0)
        return err_set(err, EPERM, "the engine refuses to change its policies: %s",
                       reason_name(rejection.reason));
    return 0;
}

/* ---- a reload ---- */

static void name_add(char *list, size_t size, const char *name)
{
    static const char more[] = " and more";
    size_t used = strlen(list);
    if (used + strlen(name) + sizeof(more) + 2 <= size)
        join_word(list, size, ", ", name);
    else if (used < strlen(more) || strcmp(list + used - strlen(more), more) != 0)
        strcpy(list + used, more);
}

static void report_fill(const struct store *store, const struct conf_keys *taken,
                        const struct conf_keys *now, struct reload_report *ret_report)
{
    *ret_report = (struct reload_report){.taken = ""};
    for (size_t i = 0; i < now->n; i++) {
        const struct conf_key *key = &now->at[i];
        if (strcmp(key->value, taken->at[i].value) == 0)
            continue;
        if (!key->live)
            name_add(ret_report->waits, sizeof(ret_report->waits), key->path);
        else if (is_commanded(store, key))
            name_add(ret_report->kept, sizeof(ret_report->kept), key->path);
        else
            name_add(ret_report->taken, sizeof(ret_report->taken), key->path);
    }
}

int reload_run(struct conductor *conductor, struct reload_report *ret_report, struct err *err)
{
    const struct conductor_parts *parts = conductor_parts(conductor);
    struct configuration *configuration = parts->configuration;
    struct configured now;
    struct settings merged;
    int r = configuration_look(configuration, &now, err);
    if (r < 0)
        return r;
    configuration_merge(configuration, &now, &merged);
    report_fill(parts->store, &configuration_taken(configuration)->keys, &now.keys, ret_report);
    r = policies_follow(conductor, &merged, err);
    if (r < 0)
        err_prefix(err, "%s", configuration_path(configuration));
    if (r == 0 && !parts->judging) {
        conductor_take_settings(conductor, &merged);
        configuration_take(configuration, &now);
    }
    configured_done(&now);
    return r;
}

void reload_say(const struct reload_report *report, char *text, size_t size)
{
    char clause[112];
    *text = '\0';
    if (*report->taken) {
        snprintf(clause, sizeof(clause), "taken: %s", report->taken);
        join_word(text, size, "; ", clause);
    }
    if (*report->waits) {
        snprintf(clause, sizeof(clause), "not before a restart: %s", report->waits);
        join_word(text, size, "; ", clause);
    }
    if (*report->kept) {
        snprintf(clause, sizeof(clause), "as a command set it: %s", report->kept);
        join_word(text, size, "; ", clause);
    }
    if (!*text)
        snprintf(text, size, "the file says what is in force");
}
