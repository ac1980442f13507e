/* What uplink_zmq.c (connection, session, time), uplink_orders.c (orders and reports) and
 * uplink_key.c (the key file) share. For these files only. */
#pragma once

#include "hostagent/uplink/uplink_zmq.h"
#include "lib/keys.h"
#include "lib/rarely.h"
#include "lib/wire_zmq.h"

#include <stdbool.h>
#include <sys/queue.h>

/* A message and the attempt that it is about. */
struct uplink_note {
    STAILQ_ENTRY(uplink_note) next;
    uint64_t sequence, attempt;
};
STAILQ_HEAD(uplink_notes, uplink_note);

struct uplink {
    struct uplink_config config;
    char state_dir[FILES_PATH];
    struct tasks *tasks;
    struct key_file key; /* without a name: none */
    sd_event_source *key_watch;
    struct wire_zmq *endpoint;
    struct wire_session session;
    bool up;      /* the connection is up */
    bool greeted; /* HELLO was sent */
    bool open;    /* WELCOME came */
    uint32_t epoch;
    uint64_t boot;
    uint64_t began_ns, hellos; /* of this process: HELLOs of a younger process are newer */
    uint64_t heard_ns, sent_ns, heartbeat_ns, silent_ns;
    uint64_t retry_ns;        /* 0: no */
    struct rarely unanswered; /* HELLOs without an answer, or refused */
    uint8_t address[16];      /* as last found */
    uint64_t rival_ns; /* how long to wait for another agent with our name; 0: there is none */
    uint64_t lease_until_ns, renew_ns;
    uint64_t echo_sequence, echo_ns; /* measures a round trip; 0 ns: none under way */
    uint64_t echoed_ns;              /* when the last one began */
    uint64_t mode_sequence;
    uint64_t refused, ignored, sessions;
    sd_event_source *tick;
    struct uplink_notes results; /* ours, by sequence: not acknowledged */
    struct uplink_notes starts;  /* the controller's: not in effect */
    uint32_t progress_n;
    duopoly_AttemptBytes progress[256];
    bool leased; /* as last logged */
    duopoly_HostState host;
    duopoly_Envelope out;
};

/* uplink_zmq.c */
/* Sends uplink->out. On failure the session ends. */
int uplink_send(struct uplink *uplink, enum wire_class class, bool changes_state);
void uplink_end(struct uplink *uplink, const char *why);
void uplink_take_lease(struct uplink *uplink, uint32_t lease_ms);

/* Makes a new connection now, replacing the current one. */
void uplink_connect_anew(struct uplink *uplink, const char *why);

/* uplink_key.c */
/* Reads the key and watches its file; does nothing without one. */
int uplink_key_open(struct uplink *uplink, sd_event *event, struct err *err);
void uplink_key_learn(struct uplink *uplink, const duopoly_ControllerKeys *keys);
void uplink_key_close(struct uplink *uplink);

/* uplink_orders.c */
void uplink_obey(struct uplink *uplink, const duopoly_Envelope *envelope);
void uplink_take_mode(struct uplink *uplink, uint32_t mode, uint64_t sequence);
void uplink_send_inventory(struct uplink *uplink);
void uplink_forget_answered(struct uplink *uplink); /* results that the controller has
                                                     * acknowledged */
void uplink_forget_results(struct uplink *uplink);
void uplink_forget_starts(struct uplink *uplink);
