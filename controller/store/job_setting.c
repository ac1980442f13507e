#include "controller/store/job_setting.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KIND "job"

struct job_name {
    char text[24];
};

static struct job_name name_of(uint64_t job)
{
    struct job_name name;
    snprintf(name.text, sizeof(name.text), "%" PRIu64, job);
    return name;
}

int job_setting_put(struct store *store, uint64_t job, const struct job_kept *kept)
{
    char value[ENGINE_NAME_MAX + 64];
    if (!kept->has_priority && !kept->held) {
        job_setting_drop(store, job);
        return 0;
    }
    snprintf(value, sizeof(value), "%d %" PRId64 " %d %" PRId64 " %s", kept->has_priority,
             kept->priority, kept->held, kept->since_s, kept->by);
    return store_set(store, KIND, name_of(job).text, value);
}

bool job_setting_get(const struct store *store, uint64_t job, struct job_kept *ret_kept)
{
    const char *value = store_setting(store, KIND, name_of(job).text);
    struct job_kept kept = {0};
    unsigned has_priority, held;
    int by = 0;
    if (!value || sscanf(value, "%u %" SCNd64 " %u %" SCNd64 " %n", &has_priority, &kept.priority,
                         &held, &kept.since_s, &by) != 4)
        return false;
    kept.has_priority = has_priority;
    kept.held = held;
    snprintf(kept.by, sizeof(kept.by), "%s", by ? value + by : "");
    *ret_kept = kept;
    return true;
}

void job_setting_drop(struct store *store, uint64_t job)
{
    if (store_setting(store, KIND, name_of(job).text))
        store_set(store, KIND, name_of(job).text, NULL);
}
