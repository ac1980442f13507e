/* Faults and their times: hosts that fail and return, attempts that compute slowly or begin late.
 *
 * Hosts fail as a list says, or at random: up for an exponential time of mean mtbf_s, then down for
 * an exponential time of mean repair_s. A slow attempt takes slow_times as long to compute. Which
 * attempts are slow is a hash of the seed, the task and the host, so that a task is equally slow on
 * a host under every policy, and another host is another draw. run.h has the effects of a fault.
 *
 * Each attempt begins late by a uniform draw of the same kind. WHY: tasks that start together and
 * compute equally long end at the same instant here and at no two equal ones on machines, which is
 * another case for a placement: each end alone is a choice among the tasks of one host.
 *
 * Pure: all randomness is from the seed. O(log hosts) per fault. */
#pragma once

#include "lib/err.h"
#include "testbed/sim/network/heap.h"

#include <stdbool.h>
#include <stdint.h>

enum { FAULTS_LISTED_MAX = 32 };

struct fault {
    uint32_t host;
    int64_t down_ns, up_ns; /* INT64_MAX: it stays down */
};

struct faults_config {
    uint64_t seed;
    double mtbf_s, repair_s; /* of each host; 0: no random failures */
    uint32_t n_listed;
    struct fault listed[FAULTS_LISTED_MAX];
    double slow_share;       /* 0…1; 0: no stragglers */
    double slow_times;       /* ≥ 1 */
    int64_t start_spread_ns; /* the latest begin of an attempt; 0: none is late */
};

/* Whether any host ever fails. */
bool faults_hosts_fail(const struct faults_config *config);

/* Reads "MTBF/REPAIR" in seconds, or a list of HOST@SECOND (stays down) and
 * HOST@SECOND+REPAIR_SECONDS with commas. 0, or −EINVAL with a sentence. */
int faults_read_failures(struct faults_config *config, const char *text, struct err *err);

/* Reads "SHARE/TIMES", such as 0.05/8. 0, or −EINVAL with a sentence. */
int faults_read_stragglers(struct faults_config *config, const char *text, struct err *err);

/* The factor on this task's computing time on this host; 1 for most. */
double faults_slowness(const struct faults_config *config, uint64_t job, uint32_t stage,
                       uint32_t task, uint32_t host);

/* How late this task's attempt on this host begins. */
int64_t faults_lateness_ns(const struct faults_config *config, uint64_t job, uint32_t stage,
                           uint32_t task, uint32_t host);

/* Hosts' changes in order of time, ties by host. A listed host that is down by another fault may be
 * reported down again; the caller handles that. */
struct faults {
    const struct faults_config *config; /* borrows */
    uint32_t hosts;
    struct heap changes; /* ids: hosts that fail at random, then the list's faults */
    uint32_t *drawn;     /* per host: changes so far */
    bool listed_down[FAULTS_LISTED_MAX];
};

struct fault_change {
    uint32_t host;
    bool down;
};

/* 0; −EINVAL with a sentence for a listed host that does not exist; −ENOMEM. Call faults_done in
 * any case. */
int faults_init(struct faults *f, const struct faults_config *config, uint32_t hosts,
                struct err *err);
/* The next change's instant; INT64_MAX: none. */
int64_t faults_next_ns(const struct faults *f);
/* Takes the next change that is due by now_ns: 1, 0 if there is none, −ENOMEM. */
int faults_take(struct faults *f, int64_t now_ns, struct fault_change *ret_change);
void faults_done(struct faults *f);
