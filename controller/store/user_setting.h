/* Users as settings in the store: kind "user", the number as name. */
#pragma once

#include "controller/engine/event.h"
#include "controller/store/store.h"

struct user_kept {
    uint32_t share;
    int64_t since_s; /* wall clock, since 1970 */
    bool leaves;
    char name[ENGINE_NAME_MAX];
};

/* Adds to the open change: as it is from now on; NULL: it is gone. */
void user_setting_put(struct store *store, uint32_t number, const struct user_kept *kept);
/* False: nothing is kept of it. */
bool user_setting_get(const struct store *store, uint32_t number, struct user_kept *ret_kept);
/* Each, in the order of their numbers' digits. */
void user_settings(const struct store *store,
                   void (*each)(void *context, uint32_t number, const struct user_kept *kept),
                   void *context);
