#include "controller/configuration.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct configuration {
    const char *path; /* NULL: none */
    configuration_judge *judge;
    struct configured taken;
};

static int text_judge(const char *name, const char *text, size_t length, configuration_judge *judge,
                      struct configured *configured, struct err *err)
{
    int r = settings_parse(name, text, length, &configured->settings, err);
    if (r == 0 && judge)
        r = judge(&configured->settings, err);
    return r < 0 ? r : conf_keys_read(text, length, &settings_section, &configured->keys, err);
}

int configured_read(const char *path, configuration_judge *judge, struct configured *ret_configured,
                    struct err *err)
{
    struct configured configured = {0};
    size_t length = 0;
    char *text = NULL;
    int r = path ? conf_file(path, &text, &length, err) : 0;
    if (r == 0)
        r = text_judge(path ? path : "defaults", text ? text : "", length, judge, &configured, err);
    free(text);
    if (r < 0)
        configured_done(&configured);
    else
        *ret_configured = configured;
    return r;
}

void configured_done(struct configured *configured)
{
    conf_keys_done(&configured->keys);
}

int configuration_open(const char *path, configuration_judge *judge,
                       struct configuration **ret_configuration, struct err *err)
{
    struct configuration *configuration = calloc(1, sizeof(*configuration));
    if (!configuration)
        return err_sys(err, ENOMEM, "the configuration");
    configuration->path = path;
    configuration->judge = judge;
    int r = configuration_look(configuration, &configuration->taken, err);
    if (r < 0)
        configuration_close(configuration);
    else
        *ret_configuration = configuration;
    return r;
}

void configuration_close(struct configuration *configuration)
{
    if (!configuration)
        return;
    configured_done(&configuration->taken);
    free(configuration);
}

const char *configuration_path(const struct configuration *configuration)
{
    return configuration->path ? configuration->path : "";
}

const struct configured *configuration_taken(const struct configuration *configuration)
{
    return &configuration->taken;
}

int configuration_look(const struct configuration *configuration, struct configured *ret_now,
                       struct err *err)
{
    return configured_read(configuration->path, configuration->judge, ret_now, err);
}

void configuration_merge(const struct configuration *configuration, const struct configured *now,
                         struct settings *ret_settings)
{
    *ret_settings = configuration->taken.settings;
    conf_take_live(&settings_section, &now->settings, ret_settings);
}

void configuration_take(struct configuration *configuration, const struct configured *now)
{
    struct configured *taken = &configuration->taken;
    configuration_merge(configuration, now, &taken->settings);
    for (size_t i = 0; i < taken->keys.n; i++)
        if (now->keys.at[i].live || strcmp(now->keys.at[i].value, taken->keys.at[i].value) == 0)
            taken->keys.at[i] = now->keys.at[i];
}
