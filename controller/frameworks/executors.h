/* An application's executors: where they are, and what all of one host have together, which is its room
 * there in the engine. Private to controller/frameworks.
 *
 * Each has a name of its own in the application. Its host is what the hook `claim` says for the name and
 * address that it came with; the application's words on tasks use the same name, and so does what goes
 * out. Room that is shared is everybody's, whoever told it. What has come stays over the end of a
 * session; what the next one has not named until its replay is over has gone.
 *
 * Bounds: EXECUTORS_MAX of an application, and of executors and their slots its share, its user's and its key's
 * of all_executors_max and all_slots_max (executor_shares.c): what is beyond is counted, said, and not
 * kept; what an executor, or all of a host together, have beyond
 * resource_bounds.h is cut. O(1). One thread. */
#pragma once

#include "controller/engine/event.h"
#include "lib/err.h"
#include "lib/wire.h"

#include <uthash.h>

#define EXECUTORS_MAX 16384

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
    uint32_t session; /* that named it last */
};

struct executors { /* begins as zeros */
    struct executor *by_name;
    struct executor_host *hosts, *hosts_by_index;
    uint64_t slots; /* of all of them */
    uint32_t session;
    bool tells;    /* it says that it tells them, or has told one in this session */
    bool is_known; /* the engine knows that it tells */
    bool cut;      /* one had more than there can be, and the log says so */
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

/* executor_shares.c: whether it may tell one more. Cuts the slots of one that has `has` now to what it may
 * have; true: they were more. O(FRAMEWORKS_MAX). */
bool executors_have_place(const struct application *application);
bool executors_cut_slots(const struct application *application, uint64_t has, int64_t *slots);

/* A session begins; `tells`: it will tell executors. All has been told. */
void executors_begin(struct application *application, bool tells);
void executors_replayed(struct application *application, int64_t now_ns);
/* A framework_executor. −EINVAL with a sentence: it counts for nothing. */
int executors_take(struct application *application, int64_t now_ns,
                   const duopoly_Envelope *envelope, struct err *err);
/* All of them go; that it tells them stays. */
void executors_leave(struct application *application, int64_t now_ns);
/* All of them go, with what the engine knows of them. */
void executors_forget(struct application *application, int64_t now_ns);
/* Frees them, without a word. */
void executors_done(struct application *application);
void executors_rooms_done(struct frameworks *frameworks);

/* The host that the application calls so; ENGINE_NONE: it has no executor there. */
uint32_t executors_host(const struct application *application, const char *name);
/* What it calls the host; NULL: it has no executor there. */
const char *executors_host_name(const struct application *application, uint32_t host);
/* Who was on `from` is on `to`. O(executors of all). */
void executors_move(struct frameworks *frameworks, uint32_t from, uint32_t to);
