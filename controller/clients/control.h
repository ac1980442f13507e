/* Serves duopolyctl and drivers: answers requests on the Unix socket or over TCP (remote.h) in
 * order, and sends job events to watchers. One table (requests.c) says which role may ask what:
 * root has the rights of an admin, the socket's group those of an operator, its readers may only
 * look; over TCP the key has a role.
 *
 * Every request is answered once: by the kind that schemas/duopoly.proto names beside it, or by
 * Refused with a sentence. Kinds that are not requests are refused and counted, unknown ones too (a
 * client waits for an answer; ignoring it would make it hang).
 *
 * Acknowledged means committed: the rows of a request that changes something are handed over when
 * its handler returns, and Accepted is sent when they are on the disk (`durable`). Its client is
 * not read meanwhile. While the store cannot be written, such requests are refused before they
 * change anything, except stances, whose answer says that a restart may undo them; a request that
 * was just on its way is undone (a submission), or refused as in force but not on the disk. Each
 * change, and each refused one, is a line of the log and of the audit; submissions only of the
 * audit.
 *
 * Bounds are wire_unix.h's. One thread. */
#pragma once

#include "controller/clients/listing.h"

struct control;

/* Listens on settings' socket; call control_attach before the loop runs. */
int control_open(sd_event *loop, const struct settings *settings, struct control **ret_control,
                 struct err *err);
/* Where counters come from; after control_attach. */
void control_sources(const struct control *control, struct listing_sources *ret_sources);
/* 0 or −ENOMEM. */
int control_attach(struct control *control, struct conductor *conductor, struct agents_zmq *door);

/* SIGHUP: reads the configuration's file again, as the request to do so, and says in the log and
 * the audit what came of it. */
void control_hangup(struct control *control, uint32_t process);

/* As agents_zmq_clients', `user` is the struct control. */
void control_remote_message(void *user, uint64_t peer, const struct key_holder *who,
                            const duopoly_Envelope *envelope);
void control_remote_gone(void *user, uint64_t peer);

/* As in struct clients (listeners.h); `user` is the struct control. */
void control_job_over(void *user, const struct job_fact *fact);
void control_stepped(void *user);
void control_stored(void *user);
bool control_asked(void *user, const char *name, const duopoly_AskedPart *part);
void control_charged(void *user, const struct loop_spent *spent);

/* NULL is fine. */
void control_close(struct control *control);
