/* A connection to a switch's flows (openflow.h): asked and changed, for at most as long as switch.h
 * says; between that, what it tells of its own is taken in without waiting.
 *
 * A switch may have any number of flows: those of one table are kept, up to OPENFLOW_FLOWS, of all
 * others only where they jump to. One thread. */
#pragma once

#include "hostagent/switches/ovs/openflow.h"
#include "hostagent/switches/ovs/stream.h"

#define OPENFLOW_FLOWS 1024
#define OPENFLOW_BYTES (64u << 20) /* of one answer */

struct openflow;

/* Takes the stream, that is connected or about to be; greets when it is. */
int openflow_open(struct stream *stream, struct openflow **ret_link, struct err *err);
int openflow_greet(struct openflow *link, struct err *err); /* once, when it is connected */
/* Whether the switch has answered, and speaks 1.3: what is asked below waits for that. −EPROTO, from
 * whatever takes in its answer: it does not, and which versions it speaks. */
bool openflow_greeted(const struct openflow *link);
void openflow_close(struct openflow *link); /* takes NULL */

struct openflow_table {
    uint32_t n;
    bool more;         /* than are kept */
    uint8_t jumps[32]; /* tables that a flow of any table jumps to; only of `all` */
    struct of_flow flows[OPENFLOW_FLOWS];
};

/* The flows of one table; `all`: looks through every other one for jumps, too. */
int openflow_read(struct openflow *link, uint8_t table, bool all, struct openflow_table *ret_table,
                  struct err *err);

struct openflow_change {
    enum of_command command;
    struct of_flow flow;
};

/* In order, then waits for all to be in force (a barrier). −EPROTO: the switch refuses one, and the
 * others may be in force. */
int openflow_change(struct openflow *link, const struct openflow_change *changes, uint32_t n,
                    struct err *err);

/* Calls `each` for every queue of every port. */
int openflow_queues(struct openflow *link,
                    void (*each)(void *user, const struct of_queue_stats *stats), void *user,
                    struct err *err);

/* Takes in what came. 1: a flow that wants to be told of ended since the last call; 0: none. */
int openflow_notice(struct openflow *link, struct err *err);
