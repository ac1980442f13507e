/* Reports this host's live connections to a client that asks: what each carries on the wire, and
 * whose it is.
 *
 * The marking programs know the connections with members (mark.h); the kernel's socket of each says
 * its cgroup, which is an attempt's or a guest's. A call looks at a portion of the table, which is
 * as long as a message has room for. Connections that a data plane carries past the kernel
 * are not among them. Rates are since a reading of all connections, which the caller has done some
 * time before (flow_rates.h). */
#pragma once

#include "hostagent/flow_rates.h"
#include "hostagent/guests/guests.h"
#include "hostagent/marks/marks.h"
#include "hostagent/tasks/tasks.h"
#include "schemas/duopoly.pb.h"

/* Borrowed. */
struct flow_report_from {
    struct marks *marks;
    struct tasks *tasks;
    struct guests *guests; /* NULL: they are off */
    const struct flow_rates *rates;
};

/* Reads what all connections have carried; blocks for one exchange with the kernel. */
int flow_report_look(struct flow_rates *rates, struct err *err);

/* Fills a part, but for its number: from `cursor` on. What cannot be read is said by its text. */
void flow_report(const struct flow_report_from *from, uint64_t cursor, duopoly_AskedPart *ret_part);
