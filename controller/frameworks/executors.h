/* An application's executors: where they are, and the sum of those on one host, which is its room
 * there in the engine. Private to controller/frameworks.
 *
 * Each has a name that is unique in the application. The hook `claim` finds its host by the name
 * and address that it came with; the application's messages about tasks use the same host name, and
 * so do ours. Shared room is for all applications, whichever reported it. Executors survive the end
 * of a session; those that the next session has not named by the end of its replay are gone.
 *
 * Bounds: EXECUTORS_MAX of an application, and of executors and their slots its share, its user's
 * and its key's of all_executors_max and all_slots_max (executor_shares.c): more is counted,
 * reported, and not kept; what an executor, or all of a host together, have beyond
 * resource_bounds.h is cut. O(1). One thread. */
#pragma once

#include "controller/engine/event.h"
#include "lib/err.h"
#include "lib/wire.h"

#include <uthash.h>

#define EXECUTORS_MAX          16384
#define EXECUTORS_LOOKS_OF_END 8 /* what an executor's end costs, in looks at one that stays */

struct application;
struct frameworks;

struct executor_host {
    UT_hash_handle by_name, by_host;
    char name[64];
    uint32_t host;
    uint32_t executors;
};

struct executor {
    UT_hash_handle by_name;
    char name[64];
    struct executor_host *host;
    struct resources resources;
    bool shared;
    uint32_t session; /* the session that named it last */
};

struct executors { /* zero it first */
    struct executor *by_name;
    struct executor_host *hosts, *hosts_by_index;
    uint64_t slots; /* of all of them */
    uint32_t session;
    bool tells;    /* it announced that it reports executors, or has reported one in this session */
    bool is_known; /* the engine knows that */
    bool cut;      /* one claimed more than possible, and that was logged */
    struct executor *at; /* the next to look at, of those that may have ended */
};

/* What the executors of one application, or shared ones, have on a host. */
struct executor_room {
    UT_hash_handle hh;
    struct {
        uint64_t application;
        uint64_t host;
    } key;
    struct resources sum;
    uint32_t executors;
};

/* executor_shares.c: whether it may report one more. Cuts the slots of an executor that has `has`
 * now to what it may have; true: they were cut. O(FRAMEWORKS_MAX). */
bool executors_have_place(const struct application *application);
bool executors_cut_slots(const struct application *application, uint64_t has, int64_t *slots);

/* executors.c: a session begins; `tells`: it will report executors. */
void executors_begin(struct application *application, bool tells);
/* From now on those end that this session has not named; not `named`: all. */
void executors_end_begin(struct executors *executors, bool named);
/* Ends some of them, as long as *left, from which each takes its part, is above 0. True: all are
 * done. */
bool executors_end_go_on(struct application *application, int64_t now_ns, int *left);
/* The session has reported all: the engine learns whether it reports executors at all. */
void executors_replayed(struct application *application);
/* Handles a framework_executor. −EINVAL with a sentence: it is ignored. */
int executors_take(struct application *application, int64_t now_ns,
                   const duopoly_Envelope *envelope, struct err *err);
/* None is left: the engine forgets that it reported any. */
void executors_forget(struct application *application);
/* Frees them and reports nothing. */
void executors_done(struct application *application);
void executors_rooms_done(struct frameworks *frameworks);

/* The host that has this name in the application; ENGINE_NONE: it has no executor there. */
uint32_t executors_host(const struct application *application, const char *name);
/* The application's name for the host; NULL: it has no executor there. */
const char *executors_host_name(const struct application *application, uint32_t host);
/* Moves executors on `from` to `to`. O(executors of all). */
void executors_move(struct frameworks *frameworks, uint32_t from, uint32_t to);
