#include "controller/confinement.h"

#include "lib/confine.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The folder itself, or its parent if it does not exist yet. */
static const char *there(char *path)
{
    return access(path, F_OK) == 0 ? path : dirname(path);
}

/* WHY the configuration's folder: a file that replaces it is another one. */
int confinement_limit_files(const struct settings *settings, const char *config, struct err *err)
{
    char configuration[PATH_MAX];
    char state[sizeof(settings->state)], log[sizeof(settings->recording.folder)];
    char socket[sizeof(settings->socket)], keys[sizeof(settings->keys)];
    const char *token = settings->metrics.token; /* read anew when it begins again */
    strcpy(state, settings->state);
    strcpy(log, settings->recording.folder);
    strcpy(socket, settings->socket);
    strcpy(keys, settings->keys);
    snprintf(configuration, sizeof(configuration), "%s", config ? config : "/etc/duopoly");
    const struct confine_path paths[] = {{state, true},
                                         {dirname(socket), true},
                                         {*log ? there(log) : state, true},
                                         {*keys ? there(keys) : state, true},
                                         {*token == '/' ? token : state, *token != '/'},
                                         {config ? dirname(configuration) : configuration, false}};
    return confine_or_say(confine_files(paths, sizeof(paths) / sizeof(paths[0]), err), err);
}

int confinement_limit_calls(struct err *err)
{
    return confine_or_say(confine_calls(CONFINE_FORK, err), err);
}
