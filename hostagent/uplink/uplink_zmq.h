/* The agent's session with the controller: carries out its orders and reports what happens here.
 *
 * It sends HELLO, after WELCOME the inventory (running attempts, unacknowledged results, held
 * outputs), then changes. Orders are acknowledged when they took effect: levels, mode and lease
 * after the map write; a start when its process exists (or it waits in the queue, or is refused);
 * stop and forget when they are under way on disk. A result leaves the disk when the controller has
 * acknowledged it. An order of an older epoch is refused and counted; the newest epoch seen is kept
 * on disk. Reports (load, progress, counters) may be dropped when the controller is slow; a result
 * never: if it cannot be queued the session ends, and the next inventory carries it.
 *
 * The controller's lease: while it lasts, the marks' lease is renewed every fifth of it (every
 * second at most). After that, marks expire by themselves and tasks run on. If the controller is
 * silent for silent_ms, the agent connects again, for ever.
 *
 * With a key, only the controller that the key file names is obeyed. A new key file is used at
 * once, by a new connection; the controller's next key is written into it.
 *
 * One thread, in the sd-event loop; nothing blocks. `tasks` may be NULL (role switch): orders about
 * attempts are counted as refused. Everything borrowed must outlive the uplink. */
#pragma once

#include "hostagent/links/links.h"
#include "hostagent/marks/marks.h"
#include "hostagent/measurements.h"
#include "hostagent/tasks/tasks.h"
#include "lib/err.h"
#include "lib/reach.h"
#include "schemas/duopoly.pb.h"

#include <systemd/sd-event.h>

struct uplink_config {
    const char *controller; /* tcp://ADDRESS:PORT */
    const char *key_path;   /* "": in plain text */
    const char *state_dir;  /* keeps the epoch */
    duopoly_Hello hello;    /* versions, boot and sequence are set here */
    /* The address for `hello`, found again for each; 0 or −errno. NULL: `hello` has one, or needs
     * none. */
    int (*own_address)(void *user, const struct reach_address *controller, uint8_t ret_address[16]);
    struct marks *marks;
    struct links *links; /* WELCOME tells it when a link is hot; may be NULL */
    uint64_t mark_lease_ns;
    struct measurements *measurements;
    /* The controller sets the stance; in effect when it returns. */
    void (*on_stance)(void *user, duopoly_Stance stance);
    /* The same at the begin of each session: a trial continues if the stance is unchanged. */
    void (*on_greeting)(void *user, duopoly_Stance stance);
    /* A stance for so many seconds only, unless the controller repeats it without a time. */
    void (*on_trial)(void *user, duopoly_Stance stance, uint32_t confirm_s);
    /* Levels of guests' applications; NULL: guests are off. In force when it returns. */
    void (*on_guests)(void *user, const duopoly_GuestLevels *levels);
    void (*on_guest_allows)(void *user, const duopoly_GuestAllows *said); /* the same */
    /* It asks what is only told then; `hello.asks` says which questions. NULL: none. */
    void (*on_ask)(void *user, const duopoly_Ask *ask);
    void (*on_session)(void *user); /* a session has begun and its inventory is sent; may be NULL */
    void *user;
};

struct uplink;

int uplink_open(const struct uplink_config *config, sd_event *event, struct uplink **ret_uplink,
                struct err *err);
void uplink_close(struct uplink *uplink); /* takes NULL */

/* The host's units have these amounts from now on; an open session begins anew, which tells it. */
void uplink_set_units(struct uplink *uplink, const duopoly_Resources *units, uint32_t n);

/* Attempts to order and to list; call it before the loop runs. */
void uplink_set_tasks(struct uplink *uplink, struct tasks *tasks);

/* Results and changes; without a session they are part of the next inventory. */
void uplink_tell_state(struct uplink *uplink, const duopoly_AttemptState *state);
void uplink_tell_output_lost(struct uplink *uplink, const duopoly_OutputLost *lost);
void uplink_tell_room(struct uplink *uplink, const char *why_not);
void uplink_tell_source(struct uplink *uplink, const duopoly_SourceState *source);

/* The host's state from now on: reported now and after every inventory. */
void uplink_tell_host(struct uplink *uplink, const duopoly_HostState *state);

/* A part of the switch's state; lost without a session. */
void uplink_tell_switch(struct uplink *uplink, const duopoly_SwitchPart *part);

/* Reports. */
void uplink_report_load(struct uplink *uplink, const duopoly_Load *load);
void uplink_report_bytes(struct uplink *uplink, uint64_t attempt,
                         uint64_t received_bytes); /* batched */
void uplink_flush(struct uplink *uplink);          /* sends what report_bytes has gathered */
void uplink_report_links(struct uplink *uplink, const duopoly_LinksPart *part);
void uplink_report_guests(struct uplink *uplink, const duopoly_GuestsPart *part);
void uplink_report_counters(struct uplink *uplink, const duopoly_AgentCounters *counters);
void uplink_answer(struct uplink *uplink, const duopoly_AskedPart *part);

struct uplink_counters {
    uint64_t refused_messages, ignored_messages, dropped_reports;
    uint64_t sessions; /* begun */
};
void uplink_count(const struct uplink *uplink, struct uplink_counters *ret_counters);
