/* A port of a software data plane (duopoly-fastpath) on the wire: converts struct port
 * (lib/port/port.h) to DataplanePort and back, for the data plane and the agent that configures it
 * (pure). */
#pragma once

#include "lib/err.h"
#include "lib/port/port.h"
#include "lib/wire.h"

#define PORT_MESSAGES (sizeof(((duopoly_DataplanePorts *)0)->ports) / sizeof(duopoly_DataplanePort))

/* Every such port's. */
extern const struct port_abilities port_message_abilities;

/* Writes rate and queues; the rest of the message is not touched. */
void port_message_write(const struct port *port, duopoly_DataplanePort *message);

/* −EINVAL, with a sentence that begins with the port's name, if the message is not a valid port: a
 * kind of traffic without a queue or with two, lengths and thresholds out of their ranges, floors
 * that leave nothing, a rate that is unknown or above the device's. Speed and MTU come from
 * `facts`. */
int port_message_read(const duopoly_DataplanePort *message, const struct port_facts *facts,
                      struct port *ret_port, struct err *err);

/* Whether rate and queues are the same. */
bool port_message_equal(const duopoly_DataplanePort *a, const duopoly_DataplanePort *b);
