/* Fuzz target of the controller's configuration: what is read keeps the ranges of its table, and
 * what is refused leaves the structure alone and says where. What the host has is answered here. */
#include "controller/settings.h"

#include <grp.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct group *getgrnam(const char *name)
{
    static struct group group;
    return strcmp(name, "users") == 0 ? &group : NULL;
}

unsigned if_nametoindex(const char *name)
{
    return strcmp(name, "eth0") == 0 ? 2 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct settings settings, untouched;
    struct engine_config config;
    struct err err = {0};
    memset(&settings, 0x5a, sizeof(settings));
    memset(&untouched, 0x5a, sizeof(untouched));
    if (conf_parse("fuzz", (const char *)data, size, &settings_section, &settings, &err) < 0) {
        if (memcmp(&settings, &untouched, sizeof(settings)) != 0 ||
            strncmp(err.text, "fuzz:", 5) != 0)
            abort();
        return 0;
    }
    if (settings.bounds.hosts < 1 || settings.bounds.hosts > 1000000 ||
        settings.timers.heartbeat_ns < 1 || !memchr(settings.state, 0, sizeof(settings.state)))
        abort();
    settings_engine(&settings, 1, &config);
    return 0;
}
