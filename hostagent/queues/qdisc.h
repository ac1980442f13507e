/* Queue drivers: how a port's queues are read, put in place and taken back.
 *
 * A driver is a const table of functions; qdisc_all lists them, and one test holds every entry to
 * this contract. want.h decides what a port should be; a driver only translates. queues.h runs them
 * over all ports and keeps what stood there before on disk.
 *
 * Contract of every entry: `have` after `apply` of want_steps(want, have) gives a tree from which
 * want_steps has nothing left to do. `record` before and after apply + restore are equal byte for
 * byte. `restore` of a port that is as recorded already does nothing. All calls may block for one
 * exchange with the kernel (well under a millisecond); one thread.
 *
 * What stood there before is kept as an opaque text, a line for each qdisc. A driver refuses
 * (−EOPNOTSUPP, with a sentence) to record what it cannot put back exactly: then nothing may be
 * replaced. */
#pragma once

#include "hostagent/queues/want.h"

#include <stddef.h>

#define QDISC_RECORD_BYTES 4096

struct qdisc_record {
    char text[QDISC_RECORD_BYTES]; /* lines; "" where the kernel's default stood */
};

struct qdisc_stats { /* of one port since its classes were made */
    struct qdisc_queue_stats {
        uint64_t bytes, packets, drops;
        uint64_t backlog_packets; /* now */
    } queues[WANT_QUEUES];
};

struct qdisc; /* a driver's own state: a netlink socket, or a test's memory */

struct qdisc_driver {
    const char *name;
    int (*want)(const struct port_plan *plan, struct port_tree *ret_want, struct err *err);
    int (*open)(struct qdisc **ret_qdisc,
                struct err *err);       /* in the calling thread's network namespace */
    void (*close)(struct qdisc *qdisc); /* takes NULL */
    /* −ENODEV: there is no such interface. */
    int (*have)(struct qdisc *qdisc, const char *port, struct port_tree *ret_have, struct err *err);
    int (*record)(struct qdisc *qdisc, const char *port, struct qdisc_record *ret_record,
                  struct err *err);
    /* In order; stops at the first failure and says which. */
    int (*apply)(struct qdisc *qdisc, const char *port, const struct port_step *steps, uint32_t n,
                 struct err *err);
    int (*restore)(struct qdisc *qdisc, const char *port, const struct qdisc_record *record,
                   struct err *err);
    int (*stats)(struct qdisc *qdisc, const char *port, struct qdisc_stats *ret_stats,
                 struct err *err);
    /* The interface's MTU in bytes, for plans; −ENODEV as above. */
    int (*mtu)(struct qdisc *qdisc, const char *port, uint32_t *ret_bytes, struct err *err);
};

extern const struct qdisc_driver qdisc_htb;      /* Linux HTB with pfifo leaves, through libnl */
extern const struct qdisc_driver qdisc_recorder; /* remembers what it was told, for tests */
extern const struct qdisc_driver *const qdisc_all[]; /* ends with NULL */

/* The entry of that name, NULL if there is none. */
const struct qdisc_driver *qdisc_find(const char *name);

/* The recorder's transcript: one line a step since open, borrowed until the next call on `qdisc`.
 */
const char *qdisc_recorder_text(const struct qdisc *qdisc);

/* The recorder: makes `port` look as if a foreign root qdisc of that kind stood there ("" none). */
void qdisc_recorder_plant(struct qdisc *qdisc, const char *kind);
