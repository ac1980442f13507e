#include "controller/clients/user_requests.h"

#include "controller/clients/refusal.h"
#include "controller/store/user_setting.h"
#include "lib/plural.h"
#include "lib/wire.h"

#include <inttypes.h>
#include <time.h>

#define SHARE_MAX (UINT32_C(1) << 31)

/* As it is in the engine now, or that it is gone; it keeps the time since which it is there. */
static void keep(const struct conductor_parts *parts, uint32_t number, bool is_new)
{
    struct user_kept kept;
    struct user_view user;
    if (parts->judging)
        return;
    if (engine_user_from(parts->engine, number, &user) < 0 || user.user != number) {
        user_setting_put(parts->store, number, NULL);
        return;
    }
    if (!user_setting_get(parts->store, number, &kept) || is_new)
        kept.since_s = time(NULL);
    kept.share = user.share;
    kept.leaves = user.leaves;
    wire_copy(kept.name, sizeof(kept.name), user.name);
    user_setting_put(parts->store, number, &kept);
}

static uint32_t free_number(const struct engine *engine)
{
    struct user_view user;
    uint32_t number = 1;
    while (engine_user_from(engine, number, &user) == 0 && user.user == number)
        number++;
    return number;
}

static void rejected(const struct conductor_parts *parts, const struct decision *rejection,
                     const duopoly_SetUser *set, duopoly_Envelope *answer)
{
    if (rejection->reason == REASON_NAME_TAKEN)
        refused_answer(answer, duopoly_Reason_REASON_CONFLICT,
                       "user %" PRId64 " has the name %s already", rejection->left, set->name);
    else
        rejection_answer(parts, rejection, 0, answer);
}

static void leave(struct conductor *conductor, const duopoly_SetUser *set, duopoly_Envelope *answer)
{
    const struct conductor_parts *parts = conductor_parts(conductor);
    struct event event = {.kind = EVENT_USER_LEAVE};
    struct decision rejection;
    struct user_view user;
    if (engine_user_named(parts->engine, set->name, &user) < 0) {
        refused_answer(answer, duopoly_Reason_REASON_UNKNOWN, "there is no user %s", set->name);
        return;
    }
    if (!user.user) {
        refused_answer(answer, duopoly_Reason_REASON_STATE,
                       "user 0 (%s) stays: it has the jobs that are no other user's", set->name);
        return;
    }
    event.user_leave.user = user.user;
    if (conductor_request(conductor, &event, &rejection) < 0) {
        rejected(parts, &rejection, set, answer);
        return;
    }
    keep(parts, user.user, false);
    bool would_go = parts->judging && !user.jobs && user.owed >= 0;
    if (would_go || engine_user_named(parts->engine, set->name, &user) < 0)
        accepted_answer(answer, "user %s is gone", set->name);
    else if (!user.jobs)
        accepted_answer(answer,
                        "user %s owes %" PRId64 " granule%s: it leaves when its part of the "
                        "cluster has paid that back",
                        set->name, -user.owed, plural((uint64_t)-user.owed));
    else
        accepted_answer(answer,
                        "user %s has %" PRIu64 " job%s: it leaves with the last of them, and new "
                        "ones are refused",
                        set->name, user.jobs, plural(user.jobs));
}

void user_set_answer(struct conductor *conductor, const duopoly_SetUser *set,
                     duopoly_Envelope *answer)
{
    const struct conductor_parts *parts = conductor_parts(conductor);
    struct event event = {.kind = EVENT_USER_SET};
    struct decision rejection;
    struct user_view user;
    bool known = engine_user_named(parts->engine, set->name, &user) == 0;
    if (!wire_name_valid(set->name)) {
        refused_answer(
            answer, duopoly_Reason_REASON_MALFORMED,
            "a user's name has 1 to 63 printable characters without space, slash and quotes");
        return;
    }
    if (set->leave) {
        leave(conductor, set, answer);
        return;
    }
    if (set->has_share && (!set->share || set->share > SHARE_MAX)) {
        refused_answer(answer, duopoly_Reason_REASON_MALFORMED,
                       "a share is 1 to %" PRIu32 ", not %" PRIu32, SHARE_MAX, set->share);
        return;
    }
    uint32_t number = set->has_user ? set->user : known ? user.user : free_number(parts->engine);
    known = engine_user_from(parts->engine, number, &user) == 0 && user.user == number;
    uint32_t share = set->has_share ? set->share : known ? user.share : 1;
    struct err err = {0};
    if (engine_user_fits(parts->engine, number, share, &err) < 0) {
        refused_answer(answer, duopoly_Reason_REASON_LIMIT, "%s", err.text);
        return;
    }
    event.user_set.user = number;
    event.user_set.name = set->name;
    event.user_set.share = share;
    if (conductor_request(conductor, &event, &rejection) < 0) {
        rejected(parts, &rejection, set, answer);
        return;
    }
    keep(parts, number, !known);
    accepted_answer(answer, "user %s has number %" PRIu32 " and share %" PRIu32, set->name, number,
                    event.user_set.share);
}
