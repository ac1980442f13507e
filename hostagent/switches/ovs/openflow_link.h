/* A connection to a switch's flows (openflow.h): reads and changes them, within the times of
 * switch.h. Between calls, unrequested messages are received without waiting.
 *
 * A switch may have any number of flows: those of one table are kept, up to OPENFLOW_FLOWS; of all
 * others only the tables they jump to. One thread. */
#pragma once

#include "hostagent/switches/ovs/openflow.h"
#include "hostagent/switches/ovs/stream.h"

#define OPENFLOW_FLOWS 1024
#define OPENFLOW_BYTES (64u << 20) /* of one answer */

struct openflow;

/* Takes the stream, which is connected or about to be; sends HELLO when it is. */
int openflow_open(struct stream *stream, struct openflow **ret_link, struct err *err);
int openflow_greet(struct openflow *link, struct err *err); /* once, when it is connected */
/* Whether the switch has answered and supports 1.3: the calls below need that. −EPROTO, from any
 * call that reads its answer: it does not; the sentence lists its versions. */
bool openflow_greeted(const struct openflow *link);
void openflow_close(struct openflow *link); /* takes NULL */

struct openflow_table {
    uint32_t n;
    bool more;         /* than are kept */
    uint8_t jumps[32]; /* tables that a flow of any table jumps to; only with `all` */
    struct of_flow flows[OPENFLOW_FLOWS];
};

/* The flows of one table; `all`: also reads the other tables for jumps. */
int openflow_read(struct openflow *link, uint8_t table, bool all, struct openflow_table *ret_table,
                  struct err *err);

struct openflow_change {
    enum of_command command;
    struct of_flow flow;
};

/* Changes flows in order, then waits until all are in force (a barrier). −EPROTO: the switch
 * refused one; the others may be in force. */
int openflow_change(struct openflow *link, const struct openflow_change *changes, uint32_t n,
                    struct err *err);

/* Calls `each` for every queue of every port. */
int openflow_queues(struct openflow *link,
                    void (*each)(void *user, const struct of_queue_stats *stats), void *user,
                    struct err *err);

/* Receives messages. 1: a flow whose removal is reported was removed since the last call; 0:
 * none. */
int openflow_notice(struct openflow *link, struct err *err);

/* Whether openflow_notice may have news that the connection is not readable for: they were received
 * with an answer. */
bool openflow_has_news(const struct openflow *link);
