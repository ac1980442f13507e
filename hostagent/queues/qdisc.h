/* Queue drivers: they configure a port's queues on a data path, read them, and restore what was
 * there.
 *
 * A driver is a const table of functions; qdisc_all lists them, and one test holds every entry to
 * this contract. port.h describes what is wanted, independent of any data path; a driver reads what
 * is there, plans steps of its own kind, and carries them out. queues.h runs drivers over all ports
 * and keeps the former configuration on disk.
 *
 * Contract of every entry: `plan` after `apply` has no steps. `record` before and after apply +
 * restore are equal byte for byte. `restore` of a port that is as recorded already does nothing.
 * `abilities` is what a driver can do at best; `facts` says what a port can do, and nothing else is
 * wanted there. −EOPNOTSUPP from `facts` or `plan`, naming what is missing: this data path lacks
 * what the driver needs. All calls may block for one exchange with the data path (well under a
 * millisecond with a kernel); one thread.
 *
 * The former configuration is kept as an opaque text of lines, "" for the data path's default. A
 * driver refuses (−EOPNOTSUPP, with a sentence) to record what it cannot restore exactly: then
 * nothing may be replaced. */
#pragma once

#include "lib/port/port.h"

#define QDISC_MAJOR 0x0d00 /* the root of our queues is "d00:" on every port */

struct qdisc_stats { /* of one port since its queues were made */
    struct qdisc_queue_stats {
        bool there;
        uint64_t bytes, packets, drops;
        uint64_t backlog_packets, backlog_bytes; /* now */
        int64_t marked;     /* packets, with CE; −1: it marks none; by `marks` only */
    } queues[PORT_TRAFFIC]; /* where several kinds share a queue, under the most urgent */
};

/* The change from what is there to what is wanted. A driver's own plan begins with this. */
struct qdisc_plan {
    enum qdisc_root {
        QDISC_EMPTY,               /* the default, which returns by itself */
        QDISC_OURS,                /* made by this driver */
        QDISC_FOREIGN              /* another owner's: replaced only if configured */
    } root;                        /* what is there now */
    char kind[16];                 /* its name in the data path's words; "" when empty */
    uint32_t steps;                /* 0: nothing to do */
    const struct qdisc_driver *by; /* what `auto` chose */
};

/* What `auto` considers besides the port and the kernel. */
struct qdisc_site {
    const struct port_wish *wish; /* borrowed until close */
    bool nudge;                   /* starved senders learn of promotions without floors, too */
};

struct qdisc; /* a driver's own state: a netlink socket, or a test's memory */

struct qdisc_driver {
    const char *name;
    struct port_abilities abilities;
    /* In the calling thread's network namespace. */
    int (*open)(struct qdisc **ret_qdisc, struct err *err);
    void (*close)(struct qdisc *qdisc); /* takes NULL */
    /* After open; NULL if the driver does not need it. */
    void (*tell)(struct qdisc *qdisc, const struct qdisc_site *site);
    /* Explains what it does on a port and why; NULL: its name is enough. */
    void (*why)(struct qdisc *qdisc, const char *port, char *text, size_t size);
    /* As queues_is_own; NULL: no netlink. */
    bool (*is_own)(const struct qdisc *qdisc, uint32_t port_id);
    /* −ENODEV: there is no such port. −ENOSYS: no queues suit it. */
    int (*facts)(struct qdisc *qdisc, const char *port, struct port_facts *ret_facts,
                 struct err *err);
    /* Until look_away, `record`, `plan` and `restore` use one snapshot of all ports, taken in one
     * exchange, at the latest when a port is asked about that is not at the default. A port that
     * changes meanwhile is not read again. */
    int (*look)(struct qdisc *qdisc, struct err *err);
    void (*look_away)(struct qdisc *qdisc);
    /* The caller owns the text (free). */
    int (*record)(struct qdisc *qdisc, const char *port, char **ret_text, struct err *err);
    /* Reads, and changes nothing. A port with our queues is changed queue by queue, without a gap.
     * The caller owns the plan (free). */
    int (*plan)(struct qdisc *qdisc, const char *port, const struct port *want,
                struct qdisc_plan **ret_plan, struct err *err);
    /* A step of a plan in the data path's words (pure): "class d00:20, rate 12375000 B/s, …". NULL:
     * steps have only numbers. */
    void (*say)(const struct qdisc_plan *plan, uint32_t step, char *text, size_t size);
    /* In order; stops at the first failure and names it. */
    int (*apply)(struct qdisc *qdisc, const char *port, const struct qdisc_plan *plan,
                 struct err *err);
    /* Replaces our queues; anything else on the port is another owner's, and stays. With `begun`,
     * whatever is there is replaced: an earlier call left it half done. Returns 1 if it restored
     * the text, 0 if something else is in its place. */
    int (*restore)(struct qdisc *qdisc, const char *port, const char *text, bool begun,
                   struct err *err);
    /* Called with every restore, even without records: removes what a killed driver left outside of
     * ports. NULL: it leaves nothing. */
    void (*clean)(struct qdisc *qdisc);
    int (*stats)(struct qdisc *qdisc, const char *port, struct qdisc_stats *ret_stats,
                 struct err *err);
    /* Sets in `stats` how many packets each queue has marked, −1 where it marks none, as a pfifo.
     * NULL: that is not counted. */
    int (*marks)(struct qdisc *qdisc, const char *port, struct qdisc_stats *stats, struct err *err);
};

extern const struct qdisc_driver qdisc_htb;      /* Linux HTB */
extern const struct qdisc_driver qdisc_prio;     /* Linux prio, below a tbf if the port must be
                                                  * shaped */
extern const struct qdisc_driver qdisc_ets;      /* Linux ets, the same */
extern const struct qdisc_driver qdisc_mqprio;   /* a multi-queue NIC's own classes */
extern const struct qdisc_driver qdisc_auto;     /* the best of these that this kernel supports */
extern const struct qdisc_driver qdisc_recorder; /* records its calls, for tests */
extern const struct qdisc_driver *const qdisc_all[]; /* ends with NULL */

/* The entry of that name, NULL if there is none. */
const struct qdisc_driver *qdisc_find(const char *name);

/* The minor of a queue's class, by the most urgent traffic that it serves. It is the same for every
 * driver, so ports of one machine may have different drivers. (HTB, prio and ets find "d00:MINOR"
 * in a packet's skb->priority; mqprio uses its last four bits.) */
#define QDISC_MINOR(first) ((uint16_t)((first) + 1))

/* The skb->priority that a packet needs for the queue of its traffic, on all ports of a site. Zeros
 * without a driver: classes are left alone. −EINVAL as port_want. */
int qdisc_classes(const struct qdisc_driver *driver, const struct port_wish *wish,
                  uint32_t ret_class[PORT_TRAFFIC], struct err *err);

/* The recorder's calls: one line for each step since open, borrowed until the next call on
 * `qdisc`. */
const char *qdisc_recorder_text(const struct qdisc *qdisc);

/* The recorder: makes `port` look as if it had a foreign root qdisc of that kind ("": none). */
void qdisc_recorder_plant(struct qdisc *qdisc, const char *kind);
