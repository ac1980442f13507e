/* What duopolyctl and drivers talk to: requests on the Unix socket or over TCP (remote.h), answered
 * in order, and job events to those who watch. Who may ask what is one table (requests.c): root may
 * what an admin may, the socket's group what an operator may, its readers may look; over TCP the key
 * has a role.
 *
 * Every request is answered once: by what schemas/duopoly.proto names beside it, or by Refused with
 * a sentence. Kinds that are no request are refused and counted, unknown ones too (a client waits
 * for an answer, so ignoring it would hang it).
 *
 * Acknowledged means committed: what a request that changes something put into the store is handed
 * over when its handler returns, and an Accepted is sent when that is on the disk (`durable`). Its
 * client is not read meanwhile. While the store cannot be written such requests are refused before
 * they change anything, but for stances, whose answer says that a restart may undo them; one that
 * was just on its way is taken back (a submission) or refused as in force but not on the disk. Each
 * change, and each refused one, is a line of the log and of the audit, submissions only of the
 * audit.
 *
 * Bounds are wire_unix.h's. One thread. */
#pragma once

#include "controller/agents_zmq.h"
#include "controller/conductor.h"

struct control;

/* Listens on settings' socket; the conductor is named by control_attach before the loop runs. */
int control_open(sd_event *loop, const struct settings *settings, struct control **ret_control,
                 struct err *err);
/* 0 or −ENOMEM. */
int control_attach(struct control *control, struct conductor *conductor, struct agents_zmq *door);

/* As agents_zmq_clients', `user` is the struct control. */
void control_remote_message(void *user, uint64_t peer, const struct key_holder *who,
                            const duopoly_Envelope *envelope);
void control_remote_gone(void *user, uint64_t peer);

/* As struct clients (listeners.h) has them, `user` is the struct control. */
void control_job_over(void *user, const struct job_fact *fact);
void control_stored(void *user);

/* NULL is fine. */
void control_close(struct control *control);
