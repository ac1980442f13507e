#include "controller/confinement.h"

#include "lib/confine.h"

#include <libgen.h>
#include <string.h>
#include <unistd.h>

/* The folder itself, or its parent if it does not exist yet. */
static const char *there(char *path)
{
    return access(path, F_OK) == 0 ? path : dirname(path);
}

int confinement_limit_files(const struct settings *settings, struct err *err)
{
    char state[sizeof(settings->state)], log[sizeof(settings->recording.folder)];
    char socket[sizeof(settings->socket)], keys[sizeof(settings->keys)];
    const char *token = settings->metrics.token; /* read anew when it begins again */
    strcpy(state, settings->state);
    strcpy(log, settings->recording.folder);
    strcpy(socket, settings->socket);
    strcpy(keys, settings->keys);
    const struct confine_path paths[] = {{state, true},
                                         {dirname(socket), true},
                                         {*log ? there(log) : state, true},
                                         {*keys ? there(keys) : state, true},
                                         {*token == '/' ? token : state, *token != '/'}};
    return confine_or_say(confine_files(paths, sizeof(paths) / sizeof(paths[0]), err), err);
}

int confinement_limit_calls(struct err *err)
{
    return confine_or_say(confine_calls(CONFINE_FORK, err), err);
}
