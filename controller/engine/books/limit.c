#include "controller/engine/books/limit.h"

#include "controller/engine/books/account.h"
#include "controller/engine/books/room.h"

struct account *limit_user_of(const struct account *account)
{
    return account->above[0];
}

struct account *limit_key_of(const struct account *account)
{
    return account->above[1];
}

void limit_set(struct account *account, uint32_t limit)
{
    struct account *user = limit_user_of(account);
    bool was = account->limit, is = limit;
    account->limit = limit;
    if (user && was != is)
        user->allowed += is ? account->allowed : -account->allowed;
}

/* The account has neither used an allow nor let one lapse. */
static bool is_new(const struct account *account)
{
    return !account->limit && !account->spare && !account->lapsed;
}

void limit_begin(struct account *account)
{
    struct account *user = limit_user_of(account);
    if (is_new(user) && limit_key_of(account)->limit)
        limit_set(user, limit_key_of(account)->limit);
    if (!account->limit && user->limit)
        limit_set(account, user->limit);
}

void limit_count(const struct job *job, int by)
{
    struct account *account = job->account;
    if (!account)
        return;
    account->allowed += (uint32_t)by;
    if (account->limit && limit_user_of(account))
        limit_user_of(account)->allowed += (uint32_t)by;
}

bool limit_binds(const struct account *account)
{
    return account && (account->away || account->limit);
}

bool limit_is_reached(const struct account *account)
{
    const struct account *user = account ? limit_user_of(account) : NULL;
    if (!limit_binds(account))
        return false;
    return account->away || account->allowed >= account->limit ||
           (user && user->limit && user->allowed >= user->limit);
}

uint64_t limit_of_shape(const struct engine *engine, const struct job *job, bool apart)
{
    uint64_t application = job->number >> ENGINE_APPLICATION_SHIFT;
    return apart && room_owner(engine, job) != application ? application : 0;
}

void limit_come_back(struct job *job)
{
    job->framework->last = job->framework->last && limit_binds(job->account);
}
