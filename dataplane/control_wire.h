/* The control socket of the data plane, for an agent and duopolyctl: messages (lib/wire_unix.h has
 * the access rules), each answered once, Accepted or Refused.
 *
 *   Lease     marks are written for this long from now
 *   Mode      0 or 1
 *   SetFlows  levels of connections: all of one message are taken, or none
 *   SetDataplanePorts  queues of ports: all of one message, or none; GetDataplanePorts  as they are
 *   BeginCapture, EndCapture  frames into a file beside the socket
 *   List      LIST_COUNTERS: counters of sides, queues, marks and flows, in pages. All pages show
 *             the moment of the first one, unless another client began a list meanwhile
 *
 * Readers may only list. In the caller's loop; nothing blocks but List, for the worker's answer. */
#pragma once

#include "dataplane/settings.h"
#include "dataplane/workers_dpdk.h"
#include "lib/err.h"

#include <systemd/sd-event.h>

struct fastpath_control;

/* Listens; nothing is answered before fastpath_control_begin. −EADDRINUSE: another instance listens
 * there. */
int fastpath_control_open(sd_event *loop, const struct fastpath_settings *settings,
                          struct fastpath_control **ret_control, struct err *err);
void fastpath_control_begin(struct fastpath_control *control,
                            struct workers *workers); /* borrowed until close */
/* The workers continue with these settings. */
void fastpath_control_change(struct fastpath_control *control,
                             const struct fastpath_settings *settings);
void fastpath_control_close(struct fastpath_control *control); /* takes NULL */
