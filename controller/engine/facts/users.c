#include "controller/engine/facts/users.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/tell.h"
#include "controller/engine/books/users.h"
#include "controller/engine/share/sequence.h"

#include <string.h>

#define SHARE_MAX ((int64_t)1 << 31)

/* False after a rejection. */
static bool is_valid(struct engine *engine, const struct event *event)
{
    const char *name = event->user_set.name ? event->user_set.name : "";
    int64_t share = event->user_set.share;
    size_t length = strlen(name);
    const struct user *named = users_named(engine, name);
    if (!share || share > SHARE_MAX || !length || length >= ENGINE_NAME_MAX) {
        engine_reject(engine, event, REASON_BAD_VALUE, share, SHARE_MAX);
        return false;
    }
    if (named && named->number != event->user_set.user) {
        engine_reject(engine, event, REASON_NAME_TAKEN, named->number, 0);
        return false;
    }
    if (users_fit(engine, event->user_set.user, event->user_set.share, NULL) < 0) {
        engine_reject(engine, event, REASON_TURN_TOO_LONG, share, SEQUENCE_ENTRIES_MAX);
        return false;
    }
    return true;
}

void user_set(struct engine *engine, const struct event *event)
{
    struct user *user = users_find(engine, event->user_set.user);
    if (!is_valid(engine, event))
        return;
    if (!user && engine->users.n >= ENGINE_USERS_MAX) {
        engine_reject(engine, event, REASON_TABLE_FULL, 0, ENGINE_USERS_MAX);
        return;
    }
    if (!user) {
        user = users_add(engine, event->user_set.user);
        user->since_ns = event->user_set.since_ns ? event->user_set.since_ns : engine->now_ns;
    }
    user->leaves = false;
    users_share(engine, user, event->user_set.share);
    engine_copy_word(user->name, sizeof(user->name), event->user_set.name);
    tell_users_changed(engine);
}

void user_leave(struct engine *engine, const struct event *event)
{
    struct user *user = users_find(engine, event->user_leave.user);
    if (!user)
        engine_reject(engine, event, REASON_UNKNOWN_USER, event->user_leave.user, 0);
    else if (!user->number)
        engine_reject(engine, event, REASON_BAD_STATE, 0, 0);
    else
        users_leave(engine, user);
}
