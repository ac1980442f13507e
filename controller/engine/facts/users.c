#include "controller/engine/facts/users.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/tell.h"
#include "controller/engine/books/users.h"
#include "controller/engine/share/sequence.h"

#include <string.h>

#define SHARE_MAX ((int64_t)1 << 31)

struct obstacle user_set_obstacle(const struct engine *engine, const struct event *event)
{
    const uint32_t number = event->user_set.user;
    const char *name = event->user_set.name ? event->user_set.name : "";
    int64_t share = event->user_set.share;
    size_t length = strlen(name);
    const struct user *named = users_named(engine, name);
    if (!share || share > SHARE_MAX || !length || length >= ENGINE_NAME_MAX)
        return (struct obstacle){REASON_BAD_VALUE, share, SHARE_MAX};
    if (named && named->number != number)
        return (struct obstacle){REASON_NAME_TAKEN, named->number, 0};
    if (users_fit(engine, number, event->user_set.share, NULL) < 0)
        return (struct obstacle){REASON_TURN_TOO_LONG, share, SEQUENCE_ENTRIES_MAX};
    if (!users_find(engine, number) && engine->users.n >= ENGINE_USERS_MAX)
        return (struct obstacle){REASON_TABLE_FULL, 0, ENGINE_USERS_MAX};
    return (struct obstacle){REASON_NONE, 0, 0};
}

void user_set(struct engine *engine, const struct event *event)
{
    struct user *user = users_find(engine, event->user_set.user);
    if (!user) {
        user = users_add(engine, event->user_set.user);
        user->since_ns = event->user_set.since_ns ? event->user_set.since_ns : engine->now_ns;
    }
    user->leaves = false;
    users_share(engine, user, event->user_set.share);
    engine_copy_word(user->name, sizeof(user->name), event->user_set.name);
    tell_users_changed(engine);
}

struct obstacle user_leave_obstacle(const struct engine *engine, const struct event *event)
{
    const struct user *user = users_find(engine, event->user_leave.user);
    if (!user)
        return (struct obstacle){REASON_UNKNOWN_USER, event->user_leave.user, 0};
    return (struct obstacle){user->number ? REASON_NONE : REASON_BAD_STATE, 0, 0};
}

void user_leave(struct engine *engine, const struct event *event)
{
    users_leave(engine, users_find(engine, event->user_leave.user));
}
