/* What duopolyctl and drivers talk to: requests on the Unix socket, answered in order, and job
 * events to those who watch.
 *
 * Every request is answered once: by what schemas/duopoly.proto names beside it, or by Refused with
 * a sentence. Kinds that are no request are refused and counted, unknown ones too (a client waits
 * for an answer, so ignoring it would hang it). An Accepted says that the request is in the engine,
 * not that it is on a disk: `durable` is false.
 *
 * Bounds are wire_unix.h's. One thread. */
#pragma once

#include "controller/agents_zmq.h"
#include "controller/conductor.h"

struct control;

/* Listens on settings' socket; the conductor is named by control_attach before the loop runs. */
int control_open(sd_event *loop, const struct settings *settings, struct control **ret_control,
                 struct err *err);
void control_attach(struct control *control, struct conductor *conductor,
                    const struct agents_zmq *door);

/* As conductor_hooks.job_ended, `user` is the struct control. */
void control_job_ended(void *user, const duopoly_JobEvent *event);

/* NULL is fine. */
void control_close(struct control *control);
