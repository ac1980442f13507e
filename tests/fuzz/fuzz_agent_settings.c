/* Fuzz target of the agent's configuration: what is read keeps the bounds of its table, and what is
 * refused leaves the structure alone and says where. What the host has is answered here. */
#include "hostagent/settings.h"

#include <net/if.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct passwd *getpwnam(const char *name)
{
    static struct passwd user = {.pw_uid = 1000, .pw_gid = 1000};
    return strcmp(name, "nobody") == 0 ? &user : NULL;
}

unsigned if_nametoindex(const char *name)
{
    return strcmp(name, "eth0") == 0 ? 2 : 0;
}

static bool counts_are_sound(const struct agent_settings *settings)
{
    return settings->units_n <= SLOTS_UNITS && settings->tasks.commands_n <= COMMANDS_MAX &&
           settings->marks.members_n <= MARK_MEMBERS && settings->marks.dscp_n <= MARK_LEVELS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct agent_settings settings, untouched;
    struct err err = {0};
    memset(&settings, 0x5a, sizeof(settings));
    memset(&untouched, 0x5a, sizeof(untouched));
    if (conf_parse("fuzz", (const char *)data, size, &agent_settings_section, &settings, &err) <
        0) {
        if (memcmp(&settings, &untouched, sizeof(settings)) != 0 ||
            strncmp(err.text, "fuzz:", 5) != 0)
            abort();
        return 0;
    }
    if (!counts_are_sound(&settings))
        abort();
    return 0;
}
