#include "controller/store/user_setting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIND "user"

/* "SHARE SINCE LEAVES NAME": a name has no space. */
static bool parse(const char *value, struct user_kept *ret_kept)
{
    unsigned leaves;
    struct user_kept kept = {0};
    _Static_assert(sizeof(kept.name) == 64, "one more than the scan below takes");
    if (!value || sscanf(value, "%" SCNu32 " %" SCNd64 " %u %63s", &kept.share, &kept.since_s,
                         &leaves, kept.name) != 4)
        return false;
    kept.leaves = leaves;
    *ret_kept = kept;
    return true;
}

void user_setting_put(struct store *store, uint32_t number, const struct user_kept *kept)
{
    char name[16], value[ENGINE_NAME_MAX + 64];
    snprintf(name, sizeof(name), "%" PRIu32, number);
    if (kept)
        snprintf(value, sizeof(value), "%" PRIu32 " %" PRId64 " %d %s", kept->share, kept->since_s,
                 kept->leaves, kept->name);
    store_set(store, KIND, name, kept ? value : NULL);
}

bool user_setting_get(const struct store *store, uint32_t number, struct user_kept *ret_kept)
{
    char name[16];
    snprintf(name, sizeof(name), "%" PRIu32, number);
    return parse(store_setting(store, KIND, name), ret_kept);
}

struct telling {
    void (*each)(void *context, uint32_t number, const struct user_kept *kept);
    void *context;
};

static void tell(void *context, const char *name, const char *value)
{
    const struct telling *telling = context;
    struct user_kept kept;
    if (parse(value, &kept))
        telling->each(telling->context, (uint32_t)strtoul(name, NULL, 10), &kept);
}

void user_settings(const struct store *store,
                   void (*each)(void *context, uint32_t number, const struct user_kept *kept),
                   void *context)
{
    struct telling telling = {each, context};
    store_settings(store, KIND, tell, &telling);
}
