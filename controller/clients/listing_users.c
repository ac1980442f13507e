#include "controller/clients/listing_users.h"

#include "lib/wire.h"

#define MOST (sizeof(((duopoly_UserPage *)0)->rows) / sizeof(duopoly_UserRow))

static void row_fill(const struct conductor_parts *parts, const struct user_view *user,
                     duopoly_UserRow *row)
{
    *row = (duopoly_UserRow){.user = user->user,
                             .share = user->share,
                             .age_ns = -1,
                             .jobs = user->jobs,
                             .leaves = user->leaves};
    wire_copy(row->name, sizeof(row->name), user->name);
    if (user->user)
        row->age_ns = clock_now_ns(parts->clock) - user->since_ns;
}

void listing_users(const struct conductor_parts *parts, const duopoly_List *list,
                   duopoly_Envelope *answer)
{
    duopoly_UserPage *page = &wire_begin(answer, duopoly_Envelope_user_page_tag)->body.user_page;
    struct user_view user;
    uint64_t from = list->cursor;
    for (; engine_user_from(parts->engine, from, &user) == 0; from = (uint64_t)user.user + 1) {
        if (page->rows_count == MOST) {
            page->cursor = from;
            return;
        }
        row_fill(parts, &user, &page->rows[page->rows_count++]);
    }
}
