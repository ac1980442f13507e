/* Writes wanted queues as text for switches that a person, or another tool, configures.
 *
 * A renderer is a const table; render_all lists them, and one test holds every entry to this
 * contract. It writes a switch's configuration, and its undo. Pure: from the wanted ports
 * (lib/port) and, if it changes what is there, from the present configuration.
 *
 * Contract of every entry: a reader of the text finds each code point of ours in its port's queue,
 * each queue strict with its floor and ECN threshold as far as `abilities` say, and lossless queues
 * untouched. The text followed by its undo restores the switch (a setting of the whole switch gets
 * its factory default; the text says so). The same input gives the same text. Queue numbers are the
 * switch's: of n queues n − 1 is served first; a traffic class (switch priority, forwarding group)
 * has its queue's number. */
#pragma once

#include "lib/err.h"
#include "lib/port/port.h"

#include <jansson.h>
#include <stdio.h>

#define RENDER_PORTS 2048

struct render_port {
    const char *name;
    const struct port *want;
};

struct render_switch {
    const char *name;             /* ours are named after it if something needs an owner */
    uint32_t queues_n;            /* of each port */
    uint32_t lossless;            /* bit q: queue q of each port is */
    uint64_t kept_dscp;           /* bit d: code point d is not ours and keeps the site's queue */
    const uint8_t *dscp_of_level; /* PORT_LEVELS of them */
    const struct render_port *ports;
    uint32_t ports_n;
    const json_t *site; /* the present configuration, if needs_site */
    /* Called for a port that cannot have what is wished, with the reason; all others are rendered.
     * May be NULL. */
    void (*left)(void *user, const char *port, const struct err *why);
    void *user; /* of left */
};

struct renderer {
    const char *name;
    const char *what; /* for people */
    struct port_abilities abilities;
    bool needs_site;
    int (*render)(const struct render_switch *sw, FILE *out, struct err *err);
    int (*undo)(const struct render_switch *sw, FILE *out, struct err *err);
};

extern const struct renderer render_eos;        /* Arista EOS, lines of its configuration */
extern const struct renderer render_nvue;       /* Cumulus Linux 5, commands */
extern const struct renderer render_openconfig; /* openconfig-qos 2.2, RFC 7951; undo: gNMI paths */
extern const struct renderer render_sonic_patch;  /* RFC 6902, for `config apply-patch` */
extern const struct renderer *const render_all[]; /* ends with NULL */

/* The entry of that name, NULL if there is none. */
const struct renderer *render_find(const char *name);

/* For renderers: the number of a port's queue. */
uint32_t render_number(const struct render_switch *sw, const struct port_queue *queue);

/* The queue number of a code point on a port; −1: it is not changed. */
int render_queue_of(const struct render_switch *sw, const struct port *want, uint32_t dscp);

/* Ports that want the same share a profile: returns each port's profile number, from 0, and for
 * each profile a port that has it. The caller frees both. O(ports · profiles). */
int render_profiles(const struct render_switch *sw, uint32_t **ret_profile_of,
                    uint32_t **ret_port_of, uint32_t *ret_profiles_n, struct err *err);

/* Above this length packets are marked, in bytes; 0: never. */
uint64_t render_ecn_bytes(const struct port *want, const struct port_queue *queue);
