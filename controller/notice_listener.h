/* Notes what happens (notices.h) where the engine tells of it: its facts and decisions, as they
 * pass. Nothing is looked for. What operators change by command (policies, stances, keys) is noted
 * where that is answered (clients/control_who.c). */
#pragma once

#include "controller/agents/agents.h"
#include "controller/listeners.h"
#include "controller/notices.h"

struct notice_listener {
    const struct engine *engine; /* borrowed, as all here */
    const struct frameworks *frameworks;
    const struct agents *agents;
    struct notices *notices;
};

/* `user` is the struct notice_listener. It notes: a job that was submitted, ordered to do something
 * or is over; a task that starts, is stopped, or ends, also one that a framework runs or is allowed
 * to; what is kept from a stage, until when; a host that joins, changes, is silent, full, lost,
 * back, drained or forgotten; a mode; an application's session, its end, and a stage that is left
 * to it. */
extern const struct listener notices_listener;
