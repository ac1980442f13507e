#include "controller/engine/books/users.h"

#include "controller/engine/base/ground.h"
#include "lib/invariant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct user *user_of(struct sorted_node *node)
{
    return node ? container_of(node, struct user, by_number) : NULL;
}

static void put(struct engine *engine, struct user *user, uint32_t number)
{
    user->number = number;
    user->share = 1;
    sorted_insert(&engine->users, &user->by_number, (struct sorted_key){number, 0, 0}, 0);
}

int users_begin(struct engine *engine)
{
    struct user *user = calloc(1, sizeof(*user));
    if (!user)
        return -ENOMEM;
    strcpy(user->name, "everybody");
    put(engine, user, 0);
    return 0;
}

static void forget(struct engine *engine, struct user *user)
{
    sorted_remove(&engine->users, &user->by_number);
    free(user);
}

void users_done(struct engine *engine)
{
    struct user *user;
    while ((user = user_of(sorted_first(&engine->users))))
        forget(engine, user);
}

struct user *users_find(const struct engine *engine, uint32_t number)
{
    return user_of(sorted_find(&engine->users, (struct sorted_key){number, 0, 0}));
}

struct user *users_from(const struct engine *engine, uint64_t number)
{
    return user_of(sorted_from(&engine->users, (struct sorted_key){number, 0, 0}));
}

struct user *users_named(const struct engine *engine, const char *name)
{
    for (struct sorted_node *node = sorted_first(&engine->users); node; node = sorted_next(node))
        if (strcmp(user_of(node)->name, name) == 0)
            return user_of(node);
    return NULL;
}

bool users_admit(const struct engine *engine, uint32_t number)
{
    const struct user *user = users_find(engine, number);
    if (engine->suspended)
        return true;
    if (user)
        return !user->leaves;
    return !engine->config.refuse_unknown_users || engine->users.n == 1;
}

static void move(struct job *job, struct user *user)
{
    job->tenant = user;
    user->jobs++;
}

void users_join(struct engine *engine, struct job *job, uint32_t number)
{
    struct user *known = users_find(engine, number), *user = known ? known : users_find(engine, 0);
    job->user = number;
    if (job->tenant == user)
        return;
    users_part(engine, job);
    move(job, user);
}

void users_part(struct engine *engine, struct job *job)
{
    struct user *user = job->tenant;
    job->tenant = NULL;
    if (!user)
        return;
    checked(user->jobs > 0);
    user->jobs--;
    if (user->leaves && !user->jobs)
        forget(engine, user);
}

struct user *users_add(struct engine *engine, uint32_t number)
{
    struct user *user = engine_allocate(engine, 1, sizeof(*user));
    put(engine, user, number);
    for (struct sorted_node *node = sorted_first(&engine->jobs); node; node = sorted_next(node)) {
        struct job *job = container_of(node, struct job, by_number);
        if (job->user != number || !job->tenant)
            continue;
        users_part(engine, job);
        move(job, user);
    }
    return user;
}

void users_leave(struct engine *engine, struct user *user)
{
    user->leaves = true;
    if (!user->jobs)
        forget(engine, user);
}
