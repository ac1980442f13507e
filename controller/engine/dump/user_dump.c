/* Users in a dump; user 0 where it is not as it was made. WHY before jobs: each job is counted as
 * its user's own when it is read. */
#include "controller/engine/base/ground.h"
#include "controller/engine/books/users.h"
#include "controller/engine/dump/dump.h"

#include <errno.h>
#include <string.h>

struct users_record {
    bool refuse_unknown;
};
struct user_record {
    uint32_t number, share;
    char name[ENGINE_NAME_MAX];
    int64_t since_ns;
    bool leaves;
};
DUMP_FITS(struct users_record);
DUMP_FITS(struct user_record);

static int load_users(struct engine *engine, const void *object, struct err *err)
{
    const struct users_record *record = object;
    (void)err;
    engine->config.refuse_unknown_users = record->refuse_unknown;
    return 0;
}

static int load_user(struct engine *engine, const void *object, struct err *err)
{
    const struct user_record *record = object;
    struct user *user = users_find(engine, record->number);
    const struct user *named = users_named(engine, record->name);
    if ((user && record->number) || (named && named != user) || !*record->name || !record->share ||
        engine->users.n >= ENGINE_USERS_MAX)
        return err_set(err, EINVAL,
                       "user %u comes twice, or has another one's name, or none, or no share, or "
                       "is one too many",
                       record->number);
    user = user ? user : users_add(engine, record->number);
    user->share = record->share;
    memcpy(user->name, record->name, sizeof(user->name));
    user->since_ns = record->since_ns;
    user->leaves = record->leaves && record->number;
    return 0;
}

#define F FIELD_OF

enum { USERS, USER };
const struct dump_kind user_kinds[] = {
    [USERS] = {{"users", {F(users_record, refuse_unknown, BOOL)}}, load_users},
    [USER] = {{"user",
               {F(user_record, number, U32), F(user_record, share, U32),
                F(user_record, name, CHARS), F(user_record, since_ns, I64),
                F(user_record, leaves, BOOL)}},
              load_user},
    {{0}, NULL},
};

void user_dump_config(struct dumper *d, const struct engine *engine)
{
    const struct users_record users = {engine->config.refuse_unknown_users};
    if (users.refuse_unknown)
        dump_record(d, &user_kinds[USERS].kind, &users);
}

void user_dump(struct dumper *d, const struct engine *engine)
{
    for (struct sorted_node *node = sorted_first(&engine->users); node; node = sorted_next(node)) {
        const struct user *user = container_of(node, struct user, by_number);
        struct user_record record = {.number = user->number,
                                     .share = user->share,
                                     .since_ns = user->since_ns,
                                     .leaves = user->leaves};
        memcpy(record.name, user->name, sizeof(record.name));
        if (user->number || user->share != 1 || strcmp(user->name, "everybody") != 0)
            dump_record(d, &user_kinds[USER].kind, &record);
    }
}
