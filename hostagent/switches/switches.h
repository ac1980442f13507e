/* The switch that this agent manages, whatever its driver: brought to what it should be, compared,
 * put right, and taken back. A host is a switch of one port, its uplink.
 *
 * Blocking as its driver (switch.h), a few exchanges with the switch each. One thread. */
#pragma once

#include "hostagent/switches/switch.h"

#include <stddef.h>

struct switches;

/* Connects; changes nothing yet. What `config` points to is borrowed until close. */
int switches_open(const struct switch_driver *driver, const struct switch_config *config,
                  struct switches **ret_switches, struct err *err);

/* Each port by itself: those that cannot have what is wished are left, and told (switches_troubles). −errno,
 * and nothing is changed, where nothing can be done on the switch; −ENOSYS: there are no queues that would
 * be good for any of its ports; −EEXIST: another agent has them all. What stood there is on disk first. */
int switches_apply(struct switches *switches, struct err *err);

/* What switches_apply would do; changes nothing, and fails where it would. The caller ends the plan
 * (switches_free_plan). */
int switches_plan(struct switches *switches, struct switch_plan **ret_plan, struct err *err);
void switches_free_plan(const struct switches *switches, struct switch_plan *plan); /* takes NULL */

/* Puts back what stood there before and forgets it; nothing where that is so already. */
int switches_restore(struct switches *switches, struct err *err);

enum switches_verdict {
    SWITCHES_RIGHT,   /* it is as switches_apply left it */
    SWITCHES_DIFFERS, /* somebody changed it */
    SWITCHES_FOLLOW /* ports came, went, have another MTU, speed or lossless queues, or are in trouble no
                         more: nobody changed what is ours, and switches_repair makes it right */
};

/* The verdict, with a sentence in `what` unless it is right, or what follows has failed before. O(steps · ports) when it is not. */
int switches_compare(struct switches *switches, char *what, size_t size, struct err *err);

/* After SWITCHES_DIFFERS: the ports that somebody changed, in order of their names, with a sentence each; "" is
 * the switch as a whole. NULL: there are no more. Until the next comparison. */
const struct switch_trouble *switches_differing(const struct switches *switches, uint32_t i);

/* From now on nothing is done on this port, which is in trouble for that: somebody changes it again and again.
 * −ENOMEM: it goes on as before. */
int switches_yield(struct switches *switches, const char *port, struct err *err);
void switches_yield_none(struct switches *switches); /* any more */

/* Makes it so again, whatever stands there now; what stood there before us stays kept. */
int switches_repair(struct switches *switches, struct err *err);

/* In a sentence, how many ports have not got what is wished, and why, as the last of the calls above found;
 * "": all have. Returns `text`. */
const char *switches_troubles(struct switches *switches, char *text, size_t size);
/* Whether a port has none of ours as it is found now. */
bool switches_have_troubles(const struct switches *switches);
/* Whether a port is another agent's, which makes more on it than queues. */
bool switches_is_anothers(const struct switches *switches, const char *port);
/* Logs each port that is in trouble once, and once when it is no more. Whether there was anything to log. */
bool switches_tell(struct switches *switches);

/* Whether its driver counts what links carry; only then switches_counters. */
bool switches_counts(const struct switches *switches);
int switches_counters(struct switches *switches, struct switch_counters **ret_counters,
                      struct err *err);
int switches_stats(struct switches *switches, struct switch_stats *ret_stats, struct err *err);

/* In words for people: what makes the ports' queues and why, and what they have not got as wished; those in
 * trouble first, once for ports in a row that are alike. Returns `text`. */
const char *switches_say(struct switches *switches, char *text, size_t size);
/* How many ports there are now, and how they are called: "3 ports (p0, p1 and p2)". Returns `text`. */
const char *switches_names(struct switches *switches, char *text, size_t size);

/* What makes this port's queues, and why that. Returns `text`. */
const char *switches_port_by(struct switches *switches, const struct switch_port *port, char *text,
                             size_t size);
/* What this port has not got as it is wished; "" where it has all. Returns `text`. */
const char *switches_port_lacks(const struct switches *switches, const struct switch_port *port,
                                char *text, size_t size);
/* What there is and what would have to be done, for those who look. The caller frees the ports, and
 * the plan by switches_free_plan. */
int switches_look(struct switches *switches, struct switch_ports **ret_ports,
                  struct switch_plan **ret_plan, struct err *err);
/* Whether some of the settings' patterns match none of its ports: `text` then says which. */
bool switches_lack(struct switches *switches, const struct switch_ports *ports, char *text,
                   size_t size);
void switches_warn(struct switches *switches); /* logs what switches_lack finds */
const char *switches_driver(const struct switches *switches);

/* The driver's own, as in switch.h. */
int switches_fd(const struct switches *switches);
int switches_notice(struct switches *switches, struct err *err);

/* As queues_touch, for compare and repair. */
void switches_touch(struct switches *switches, const int *ifindexes, uint32_t n);

/* As queues_is_own. */
bool switches_is_own(const struct switches *switches, uint32_t port_id);

/* The interfaces that are its ports have changed, as queues_follow; for a driver that has such. */
void switches_follow(struct switches *switches, const struct ports_found *found, bool apply,
                     void (*say)(void *user, const char *text), void *user);

void switches_close(struct switches *switches); /* leaves it as it is; takes NULL */
