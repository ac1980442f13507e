/* The switch that this agent manages, with any driver: configures, compares, repairs and restores
 * it. A host is a switch with one port, its uplink.
 *
 * Blocking as its driver (switch.h), a few exchanges with the switch each. One thread. */
#pragma once

#include "hostagent/switches/switch.h"

#include <stddef.h>

struct switches;

/* Connects; changes nothing yet. What `config` points to is borrowed until close. */
int switches_open(const struct switch_driver *driver, const struct switch_config *config,
                  struct switches **ret_switches, struct err *err);

/* Handles each port alone: those that cannot have what is wished are left, and reported
 * (switches_troubles). −errno, and nothing is changed, if nothing can be done on the switch;
 * −ENOSYS: no queues suit any of its ports; −EEXIST: another agent has them all. The former
 * configuration is on disk before a change. */
int switches_apply(struct switches *switches, struct err *err);

/* What switches_apply would do; changes nothing, and fails as that would. The caller frees the plan
 * (switches_free_plan). */
int switches_plan(struct switches *switches, struct switch_plan **ret_plan, struct err *err);
void switches_free_plan(const struct switches *switches, struct switch_plan *plan); /* takes NULL */

/* Restores the former configuration and drops the record; does nothing if that is done. */
int switches_restore(struct switches *switches, struct err *err);

enum switches_verdict {
    SWITCHES_RIGHT,   /* it is as switches_apply left it */
    SWITCHES_DIFFERS, /* somebody changed it */
    SWITCHES_FOLLOW   /* ports came, went, changed their MTU, speed or lossless queues, or left
                     * trouble: nobody changed what is ours, and switches_repair updates it */
};

/* The verdict, with a sentence in `what` unless it is right, or unless following has failed before.
 * O(steps · ports) if it is not right. */
int switches_compare(struct switches *switches, char *what, size_t size, struct err *err);

/* After SWITCHES_DIFFERS: the ports that somebody changed, sorted by name, with a sentence each; ""
 * is the switch as a whole. NULL: no more. Valid until the next comparison. */
const struct switch_trouble *switches_differing(const struct switches *switches, uint32_t i);

/* From now on nothing is done on this port, which is in trouble for that reason: somebody changes
 * it again and again. −ENOMEM: nothing changes. */
int switches_yield(struct switches *switches, const char *port, struct err *err);
void switches_yield_none(struct switches *switches); /* ends all yields */

/* Repairs it, whatever is there now; the record of the former configuration is kept. */
int switches_repair(struct switches *switches, struct err *err);

/* Says in a sentence how many ports lack what is wished, and why, as found by the last of the calls
 * above; "": none. Returns `text`. */
const char *switches_troubles(struct switches *switches, char *text, size_t size);
/* Whether a port has none of our queues, as last found. */
bool switches_have_troubles(const struct switches *switches);
/* Whether a port is another agent's, which does more on it than queues. */
bool switches_is_anothers(const struct switches *switches, const char *port);
/* Logs each port once when it gets into trouble, and once when it is out. Returns whether it logged
 * anything. */
bool switches_tell(struct switches *switches);

/* Whether its driver counts the links' load; switches_counters requires it. */
bool switches_counts(const struct switches *switches);
int switches_counters(struct switches *switches, struct switch_counters **ret_counters,
                      struct err *err);
int switches_stats(struct switches *switches, struct switch_stats *ret_stats, struct err *err);
/* As queues_read. −EOPNOTSUPP: its driver does not count by port and queue. */
int switches_queues(struct switches *switches, uint32_t first, struct queues_counted *ret,
                    uint32_t most, uint32_t *ret_n, struct err *err);

/* Says what makes the ports' queues and why, and what they lack of what is wished; those in trouble
 * first, once for a row of equal ports. Returns `text`. */
const char *switches_say(struct switches *switches, char *text, size_t size);
/* How many ports there are now, and their names: "3 ports (p0, p1 and p2)". Returns `text`. */
const char *switches_names(struct switches *switches, char *text, size_t size);

/* Says what makes this port's queues, and why. Returns `text`. */
const char *switches_port_by(struct switches *switches, const struct switch_port *port, char *text,
                             size_t size);
/* Says what this port lacks of what is wished; "" if nothing. Returns `text`. */
const char *switches_port_lacks(const struct switches *switches, const struct switch_port *port,
                                char *text, size_t size);
/* The ports and the plan, for display. The caller frees the ports, and the plan by
 * switches_free_plan. */
int switches_look(struct switches *switches, struct switch_ports **ret_ports,
                  struct switch_plan **ret_plan, struct err *err);
/* Whether some of the settings' patterns match none of its ports: `text` then names them. */
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

/* The interfaces that are its ports have changed, as queues_follow; for a driver with such
 * ports. */
void switches_follow(struct switches *switches, const struct ports_found *found, bool apply,
                     void (*say)(void *user, const char *text), void *user);

void switches_close(struct switches *switches); /* leaves it as it is; takes NULL */
