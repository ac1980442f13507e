#include "hostagent/confinement.h"

#include "lib/confine.h"
#include "lib/log.h"

#include <libgen.h>
#include <unistd.h>

int confinement_limit_agent_files(const struct agent_settings *settings,
                                  const struct settings_resolved *resolved, struct err *err)
{
    char measurements[FILES_PATH], key[FILES_PATH];
    char socket[FILES_PATH], framework_key[FILES_PATH], guests[FILES_PATH];
    if (geteuid() == 0) {
        log_note("not confined: this agent runs as root");
        return 0;
    }
    files_path(measurements, "%s", settings->measurements);
    files_path(key, "%s", settings->key);
    files_path(socket, "%s", settings->frameworks.socket);
    files_path(framework_key, "%s", settings->frameworks.key);
    files_path(guests, "%s", settings->guests.socket);
    const struct confine_path paths[] = {
        {settings->state, true},
        {resolved->bpffs, true},
        {resolved->cgroup[0] ? resolved->cgroup : settings->state, true},
        {measurements[0] ? dirname(measurements) : settings->state, true},
        {key[0] ? dirname(key) : settings->state, true},
        {socket[0] ? dirname(socket) : settings->state, true},
        {guests[0] ? dirname(guests) : settings->state, true},
        {framework_key[0] ? dirname(framework_key) : settings->state, true}};
    return confine_or_say(confine_files(paths, sizeof(paths) / sizeof(paths[0]), err), err);
}

int confinement_limit_agent_calls(struct err *err)
{
    return geteuid() == 0 ? 0 : confine_or_say(confine_calls(CONFINE_BPF, err), err);
}
