/* Users that divide a scripted cluster: what tests of it have alike. */
#pragma once

#include "tests/model/script.h"

#include "controller/engine/base/state.h"
#include "controller/engine/policy/questions.h"

static inline struct engine_config begin_config(const char *place, int64_t even)
{
    struct engine_config config = script_config();
    strcpy(config.place, place);
    strcpy(config.turn, "fifo");
    strcpy(config.users, "sequence");
    engine_config_say(&config, "even", even, NULL);
    engine_config_say(&config, "repay_permille", 1000, NULL);
    engine_config_say(&config, "even_wait", 10 * SECOND, NULL);
    return config;
}

static inline void begin(struct script *s, const char *place, int64_t even)
{
    struct engine_config config = begin_config(place, even);
    script_begin(s, &config);
    s->reload = true;
}

static inline void set_user(struct script *s, uint32_t user, uint32_t share)
{
    char name[16];
    snprintf(name, sizeof(name), "u%u", user);
    script_user(s, user, name, share);
}

/* A job of maps of so many slots each. */
static inline void submit(struct script *s, uint64_t job, uint32_t user, uint32_t maps,
                          int64_t slots)
{
    struct script_job of = {.number = job, .maps = maps, .map_ns = SECOND};
    struct event events[8];
    char name[32];
    uint64_t *room = calloc(2 * (size_t)maps + 1, sizeof(*room));
    size_t n = script_job_events(&of, events, room, name, sizeof(name));
    events[0].job_begin.user = user;
    events[1].job_stage.demand.amount[RES_SLOTS] = slots;
    script_events(s, events, n);
    free(room);
}

static inline struct user_view view(const struct script *s, uint32_t user)
{
    struct user_view view;
    assert_int_equal(engine_user_from(s->engine, user, &view), 0);
    assert_int_equal(view.user, user);
    return view;
}

static inline bool is_there(const struct script *s, uint32_t user)
{
    struct user_view view;
    return engine_user_from(s->engine, user, &view) == 0 && view.user == user;
}

static inline uint32_t user_of(const struct script *s, uint64_t job)
{
    struct job_view view;
    assert_int_equal(engine_job(s->engine, job, &view), 0);
    return view.user;
}

/* Starts of the last step, by user. */
static inline void count_starts(const struct script *s, uint32_t *counts)
{
    const struct decision *start;
    for (size_t n = 0; (start = script_decision(s, DECISION_START, n)); n++)
        counts[user_of(s, start->start.job)]++;
}

/* All that run are done, in one step. */
static inline void end_all(struct script *s)
{
    struct event events[64];
    struct attempt_view attempt;
    size_t n = 0;
    for (uint64_t after = 0; engine_attempt_after(s->engine, after, &attempt) == 0;
         after = attempt.attempt) {
        events[n] = (struct event){.kind = EVENT_ATTEMPT_DONE};
        events[n++].attempt.attempt = attempt.attempt;
    }
    script_events(s, events, n);
}

static inline void assert_owed(const struct script *s, uint32_t user, int64_t owed)
{
    assert_int_equal(view(s, user).owed, owed);
}

static inline void submit_urgent(struct script *s, uint64_t job, uint32_t user, uint32_t maps,
                                 int64_t priority)
{
    struct script_job of = {.number = job, .maps = maps, .map_ns = SECOND};
    struct event events[8];
    char name[32];
    uint64_t room[64];
    size_t n = script_job_events(&of, events, room, name, sizeof(name));
    events[0].job_begin.user = user;
    events[0].job_begin.priority = priority;
    script_events(s, events, n);
}
