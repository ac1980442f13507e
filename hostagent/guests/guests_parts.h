/* What guests.c (finds guests), guest.c (handles one) and guests_tell.c (reports them) share. For
 * these files only. */
#pragma once

#include "hostagent/guests/executor_line.h"
#include "hostagent/guests/guest_allows.h"
#include "hostagent/guests/guest_cgroup.h"
#include "hostagent/guests/guest_sockets.h"
#include "hostagent/guests/guest_tasks.h"
#include "hostagent/guests/guests.h"
#include "hostagent/guests/process_events_nl.h"

#include <uthash.h>

struct guest_application {
    char name[64]; /* "": the place is free */
    uid_t user;
    bool configured, vouched; /* either: it may be marked */
    uint8_t level;
    uint32_t guests_n;
    uint64_t gone_bytes;                         /* of guests that have ended */
    uint64_t tasks, tasks_unknown, shared_bytes; /* the same */
    struct guest_allows allows;
};

struct guest {
    UT_hash_handle hh; /* by process.pid */
    struct guests *guests;
    struct guest_application *application;
    struct process process;
    struct executor_line line;
    int pidfd, counter; /* counter: open while its bytes are counted */
    sd_event_source *end;
    char cgroup[FILES_PATH]; /* its own; "": it has none */
    uint64_t cgroup_id;
    bool inherited;        /* an earlier agent had it, and may have marked it */
    uint64_t bytes;        /* as last read */
    uint64_t before_bytes; /* by its sockets, before its cgroup was counted */
    struct guest_sockets sockets;
    struct guest_tasks tasks; /* that it announced */
    bool marked;              /* its cgroup has the application's level */
    char why[240];            /* why it is not marked; "": it is */
};

struct guests {
    struct guests_config config;
    sd_event *event;
    enum mark_reach reach;
    char root[FILES_PATH]; /* of the hierarchy: "/sys/fs/cgroup" */
    struct guest *table;
    struct guest_application applications[GUESTS_APPLICATIONS];
    struct guest_cgroups cgroups;
    struct process_events *events; /* NULL: the kernel reports nothing here */
    sd_event_source *rescan;
    bool told; /* something was reported the last time */
    uint32_t tellings;
    uint64_t left_out, malformed;
    char hidden[GUESTS_HIDDEN]; /* why others' processes are not seen; "": they are */
    char *buffer;               /* of a command line */
};

/* guests.c */
struct guest *guests_find(struct guests *guests, pid_t pid);
/* Makes the process a guest if its command line says so; checks known ones again. */
void guests_look_at(struct guests *guests, pid_t pid);
/* The same, whatever its command line says. */
void guests_take(struct guests *guests, const struct process *process,
                 const struct executor_line *line);

/* guest.c */
/* Its levels: its tasks', else its application's. */
struct guest_task_levels guest_levels(const struct guest *guest);
/* Finds its cgroup, or makes one, and marks it, as far as allowed now. A failure becomes the reason
 * why it is not marked. May be called again at any time. */
void guest_settle(struct guest *guest);
/* Whether its cgroup still contains no other process. */
bool guest_owns_cgroup(const struct guest *guest);
/* Sets its application's level in the marks. */
void guest_mark(struct guest *guest);
/* Its bytes so far, of its cgroup if that is counted. */
uint64_t guest_bytes(struct guest *guest);
/* It has ended, or is left alone from now on; so is its cgroup, if we made it. */
void guest_leave(struct guest *guest);
/* Closes its descriptors, and nothing else: the next agent finds it. */
void guest_close(struct guest *guest);
