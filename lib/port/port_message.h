/* A port of a software data plane (duopoly-fastpath) on the wire: converts struct port
 * (lib/port/port.h) to PlanePort and back, for the data plane and for the agent that configures it
 * (pure). */
#pragma once

#include "lib/err.h"
#include "lib/port/port.h"
#include "lib/wire.h"

#define PORT_MESSAGES (sizeof(((duopoly_PlanePorts *)0)->ports) / sizeof(duopoly_PlanePort))

/* Every such port's. */
extern const struct port_abilities port_message_abilities;

/* Writes rate and queues; the rest of the message is not touched. */
void port_message_write(const struct port *port, duopoly_PlanePort *message);

/* −EINVAL, with a sentence that begins with the port's name, if the message is not a valid port: a
 * kind of traffic without a queue or with two, lengths and thresholds out of their ranges, floors
 * that leave nothing, a rate that is unknown or above the device's. Speed and MTU come from
 * `facts`. */
int port_message_read(const duopoly_PlanePort *message, const struct port_facts *facts,
                      struct port *ret_port, struct err *err);

/* Whether rate and queues are the same. */
bool port_message_equal(const duopoly_PlanePort *a, const duopoly_PlanePort *b);
