#include "controller/clients/listing_history.h"

#include "controller/clients/listing.h"
#include "lib/wire.h"

#include <string.h>

#define MOST (sizeof(((duopoly_HistoryPage *)0)->rows) / sizeof(duopoly_HistoryRow))

static const char *user_name(const struct engine *engine, uint32_t number, struct user_view *user)
{
    bool known = engine_user_from(engine, number, user) == 0 && user->user == number;
    return known ? user->name : "";
}

static uint64_t ended_at(const struct conductor_parts *parts, const struct job_view *job)
{
    return (uint64_t)(job->finished_ns + parts->wall_offset_ns);
}

static bool is_wanted(const struct conductor_parts *parts, const duopoly_List *list,
                      const struct job_view *job)
{
    struct user_view user;
    return strstr(user_name(parts->engine, job->user, &user), list->who) &&
           strstr(job->name, list->what) &&
           (!*list->result || strcmp(job_state_name(job->state), list->result) == 0);
}

static void split_fill(const struct job_split *split, duopoly_HistoryRow *row)
{
    row->divided = split != NULL;
    if (!split)
        return;
    row->lasted_ns = split->lasted_ns;
    row->turn_ns = split->ns[SPLIT_TURN];
    row->held_ns = split->ns[SPLIT_HELD];
    row->ordered_ns = split->ns[SPLIT_ORDERED];
    row->receive_ns = split->ns[SPLIT_RECEIVING];
    row->compute_ns = split->ns[SPLIT_COMPUTING];
    row->again_ns = split->ns[SPLIT_AGAIN];
    row->idle_ns = split->idle_ns;
    row->unknown_ns = split->unknown_ns;
    row->received_bytes = split->received_bytes;
}

static void row_fill(const struct conductor_parts *parts, const struct job_view *job,
                     duopoly_HistoryRow *row)
{
    const struct job_ending *end = history_job(parts->history, job->job);
    struct user_view user;
    *row = (duopoly_HistoryRow){.job = job->job,
                                .user = job->user,
                                .ended_ns = ended_at(parts, job),
                                .lasted_ns = job->finished_ns - job->submitted_ns,
                                .tasks = job->tasks,
                                .stages = job->stages,
                                .shuffle_bytes = job->shuffle_bytes};
    wire_copy(row->name, sizeof(row->name), job->name);
    wire_copy(row->user_name, sizeof(row->user_name), user_name(parts->engine, job->user, &user));
    wire_copy(row->state, sizeof(row->state), job_state_name(job->state));
    if (end)
        wire_copy(row->text, sizeof(row->text), end->reason);
    split_fill(history_split(parts->history, job->job), row);
}

/* The cursor is the place in the order of ends of the last job that was looked at. */
void listing_history(const struct conductor_parts *parts, const duopoly_List *list,
                     struct sieve *sieve, duopoly_Envelope *answer)
{
    duopoly_HistoryPage *page =
        &wire_begin(answer, duopoly_Envelope_history_page_tag)->body.history_page;
    uint64_t place = list->cursor, next;
    struct job_view job;
    for (int looks = 0; engine_finished_before(parts->engine, place, &job, &next) == 0; looks++) {
        if (ended_at(parts, &job) < list->since_ns)
            return;
        if (page->rows_count == MOST || looks == LISTING_LOOKS || sieve_is_worn(sieve)) {
            page->cursor = place;
            return;
        }
        place = next;
        if (!is_wanted(parts, list, &job))
            continue;
        row_fill(parts, &job, &page->rows[page->rows_count]);
        page->rows_count += sieve_keeps(sieve, &page->rows[page->rows_count]);
    }
}
