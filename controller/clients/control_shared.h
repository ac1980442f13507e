/* Clients of both listeners, as the files behind control.h share them. For these files only.
 *
 *   control.c         messages, and the answers that wait
 *   requests.c        which messages clients may send, by role, and what answers each
 *   idle_waits.c      answers that wait until nothing runs on hosts
 *   event_requests.c  answers that wait until something happens
 *   agent_waits.c     answers that wait for an agent's
 *   list_waits.c      pages of lists, which are put together between other work
 *   state_waits.c     answers with the state, and those that wait for its next bytes
 *   client_turns.c    whose turn it is, and what each is charged for
 *   trial.c           a change that is undone unless it is confirmed
 *   control_who.c     a client's role and name, answers to it, its rows of the audit */
#pragma once

#include "controller/clients/control.h"
#include "controller/clients/event_requests.h"
#include "controller/clients/paging.h"
#include "controller/clients/questions.h"
#include "controller/clients/remote.h"
#include "controller/clients/submission.h"
#include "controller/clients/trial.h"
#include "controller/clients/watchers.h"
#include "controller/loop_shares.h"
#include "controller/portions.h"
#include "controller/state_dump.h"
#include "lib/wire_unix.h"

#include <sys/queue.h>

/* Why a client is not read: each cause ends by itself, and it is read again after the last one. */
enum hold {
    HOLD_ANSWER = 1, /* its answer waits */
    HOLD_LATE = 2,   /* a job's end is prepared in portions */
    HOLD_BEHIND = 4, /* the store has to catch up */
    HOLD_TURN = 8    /* it is put off: its turn has not come */
};

/* An answer that waits for the disk. */
struct held_answer {
    bool held;
    bool cared;   /* it waits for the store's care instead; accepted.text: the copy's path */
    bool idles;   /* it waits until nothing runs on hosts instead */
    bool follows; /* it waits until something happens instead */
    bool asks;    /* it waits for an agent's answer instead */
    bool takes;   /* it waits for the state's next bytes instead */
    bool lists;   /* it waits for a page instead */
    uint64_t ticket;
    uint64_t sequence;
    pb_size_t request;
    duopoly_Accepted accepted;
};

/* The hosts of an answer that idles: one, or a rack's. */
struct idle_wait {
    char host[64], rack[32];
    uint32_t busy; /* something ran on this one when it was last looked at */
};

/* State of a connected client. */
struct requester {
    uint64_t client; /* 0: free */
    struct loop_turn turn;
    struct submission submission;
    struct held_answer answer;
    struct idle_wait idle;
    struct event_wait events;
    duopoly_List list; /* that it waits for a page of, in line: */
    STAILQ_ENTRY(requester) next_list;
    /* A job's end that is prepared in portions, then handled; NULL: none. Owned. */
    duopoly_Envelope *late;
    uint32_t holds; /* it is not read: enum hold */
    bool answered;  /* by an agent: it is read again with the next portion */
};

#define REQUESTERS (UNIX_CLIENTS + REMOTE_CLIENTS)

/* Pages that are asked for, in the order of asking, but that the first one's is in work. */
struct list_waits {
    STAILQ_HEAD(, requester) line;
    sd_event_source *again; /* while somebody is in line */
    struct paging paging;
};

/* client_turns.c */
struct client_turns {
    struct loop_shares shares;
    sd_event_source *idle, *due; /* while somebody is put off */
};

struct control {
    sd_event *loop; /* borrowed */
    struct wire_unix *server;
    struct remote *remote;
    struct conductor *conductor;
    const struct conductor_parts *parts; /* owned by the conductor */
    struct agents_zmq *door;
    struct requester
        requesters[REQUESTERS]; /* by the client's place, as in wire_unix.h, then in remote.h */
    uint64_t refused[WIRE_KINDS];
    struct watchers *watchers;
    struct portions *portions;
    STAILQ_HEAD(, leaving) leaving;
    uint32_t idlers; /* answers that idle */
    struct event_waits event_waits;
    struct list_waits lists;
    struct client_turns turns;
    struct questions questions;
    struct state_dump *state_dump;
    struct trial trial;
    char what[192]; /* was logged last as what a request asked for */
    uint64_t carer; /* the client that waits for the store's care, */
    void (*on_cared)(void *user, const struct err *err,
                     uint64_t rows); /* which is over; user: this */
    bool dry_run; /* of what is being answered: neither the log nor the audit has it */
    duopoly_Envelope answer, event;
};

/* A client's role, and its name in words. */
enum role control_who(const struct control *control, uint64_t client, char *text, size_t size);
/* Its name without its role and process, for what stays when it is gone. */
void control_who_short(const struct control *control, uint64_t client, char *text, size_t size);
/* The same as a number: of a key, or of a user of this machine. */
uint64_t control_who_number(const struct control *control, uint64_t client);
/* The number and the name of whom a client belongs to; *ret_first: it administers. */
uint64_t control_owner(const struct control *control, uint64_t client, char *name, size_t size,
                       bool *ret_first);
int control_send(struct control *control, uint64_t client, const duopoly_Envelope *envelope);
/* The first cause begins to hold it, the end of the last one releases it: then its next messages
 * may be handled before this returns. A client that is gone: nothing. */
void control_hold(struct control *control, uint64_t client, enum hold cause);
void control_release(struct control *control, uint64_t client, enum hold cause);
/* Adds a line to the audit: who, what, and the result, which is the answer. And one to the log as
 * well. */
void control_audit(const struct control *control, const char *asker, const char *what);
/* Notes what an operator changed: a policy, a user, a stance, a key (notices.h). `what` and
 * `result` are as in the audit. */
void control_note(struct control *control, const char *asker, const char *what, const char *result);
__attribute__((format(printf, 3, 4))) void control_log(struct control *control, uint64_t client,
                                                       const char *format, ...);

/* idle_waits.c: answers an AwaitIdle, or holds its answer; sends those that were held and are due;
 * its client is gone. */
void idle_wait_begin(struct control *control, struct requester *requester,
                     const duopoly_AwaitIdle *await);
void idle_waits_look(struct control *control);
void idle_wait_end(struct control *control, struct requester *requester);
/* agent_waits.c: answers a List of what an agent tells when it is asked, or holds its answer; the
 * clients that were answered are read again; its client is gone. */
bool agent_wait_asks(duopoly_ListOf list); /* whether it is such a list */
void agent_wait_begin(struct control *control, struct requester *requester,
                      const duopoly_Envelope *request);
void agent_waits_release(struct control *control);
void agent_wait_end(struct control *control, const struct requester *requester);
/* As questions_init, for control->questions; before the loop runs. */
void agent_waits_open(struct control *control);
/* list_waits.c: answers any other List, or holds its answer; its client is gone; before the loop
 * runs; at the end. */
void list_wait_begin(struct control *control, struct requester *requester,
                     const duopoly_Envelope *request);
void list_wait_end(struct control *control, struct requester *requester);
int list_waits_open(struct control *control, struct err *err);
void list_waits_close(struct control *control);
/* list_waits.c: whether at least n (1 or 2) of the loop's descriptors are ready. A system call. */
bool control_others_wait(const struct control *control, int n);
/* state_waits.c: as state_dump_open, for control->state_dump; answers a GetState, or holds its
 * answer; its client is gone. */
int state_waits_open(struct control *control, struct err *err);
void state_wait_begin(struct control *control, struct requester *requester,
                      const duopoly_Envelope *request);
void state_wait_end(struct control *control, const struct requester *requester);
/* control.c: the state of a client that is connected; of one that may be gone: NULL. */
struct requester *control_requester(struct control *control, uint64_t client);
struct requester *control_find(struct control *control, uint64_t client);
/* control.c: sends the answer to a request of this kind. */
void control_answer(struct control *control, uint64_t client, uint64_t sequence, pb_size_t request);

/* client_turns.c: a message of a client has come: whether it is taken now; as on_ready of both
 * listeners, `user` is the struct control. The client's state has been made. What was done for a
 * client is noted (a client that is gone: for nobody). What it has left of its share: more for whom
 * to prefer. Before the loop runs; at the end. */
bool client_turns_take(void *user, uint64_t client);
void client_turns_begin(struct control *control, struct requester *requester);
void client_turns_note(struct control *control, struct loop_turn *turn,
                       const struct charged_work *work);
void client_turns_note_client(struct control *control, uint64_t client,
                              const struct charged_work *work);
int64_t client_turns_credit(const struct control *control, struct requester *requester);
int client_turns_open(struct control *control, const struct settings *settings, struct err *err);
void client_turns_close(struct control *control);

/* control.c: reads the configuration's file again (reload.h), and fills the answer. */
void control_reload(struct control *control);

/* requests.c: answers a request, or holds its answer. */
void request_answer(struct control *control, struct requester *requester,
                    const duopoly_Envelope *request);
/* Refuses a request that its role does not allow, before it is handled. */
bool request_is_forbidden(struct control *control, uint64_t client, pb_size_t kind);
/* Whether the request changes something that must last; whether it only prepares what a later one
 * begins, so that nothing is promised yet; whether the change survives a restart. */
bool request_lasts(pb_size_t kind);
bool request_prepares(pb_size_t kind);
bool request_is_kept(const duopoly_Envelope *request);
