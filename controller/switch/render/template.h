/* Configurations as templates: a text with places to fill in, part by part. A part is written once
 * for each thing that its scope names, with its own parts behind it each time.
 *
 * A place is $ and a word: $switch, $profile (a kind of port, see render_profiles), $port, $queue
 * (its number on the switch), $index (of the port's queues, from 0), $dscp, $kbps (the queue's
 * floor, rounded up), $bytes (its ECN threshold), $share (per cent of a lossless queue). Each is
 * what the innermost scope around it says.
 *
 * JSON is written with ' for ", and with a comma before each item of a list; the first one's is
 * left out. It is read again and printed in one form. */
#pragma once

#include "controller/switch/render/render.h"

enum render_scope {
    RENDER_END,
    RENDER_ONCE,
    RENDER_EACH_PROFILE,
    RENDER_EACH_PORT,
    RENDER_EACH_CLASS,      /* of the switch's queues those with code points on its first port */
    RENDER_EACH_OWN_QUEUE,  /* of the switch's queues those that are not lossless */
    RENDER_EACH_LOSSLESS,   /* the others */
    RENDER_EACH_QUEUE,      /* of the port or profile, in the order of its wish */
    RENDER_EACH_CODE_POINT, /* of all queues of the port or profile; its $queue, too */
    RENDER_EACH_DSCP,       /* of the queue */
    RENDER_EACH_OWN_DSCP,   /* of the switch: all but those that are kept */
    RENDER_IF_FLOOR,        /* of the queue */
    RENDER_IF_ECN,          /* of the queue */
    RENDER_IF_PORT_ECN,     /* of any queue of the port or profile */
    RENDER_IF_SWITCH_ECN,   /* of any queue of any port */
    RENDER_SCOPES
};

struct render_part {
    enum render_scope scope;
    const char *text;
    const struct render_part *parts; /* up to RENDER_END; NULL: none */
};

/* −ENOMEM. */
int render_text(const struct render_switch *sw, const struct render_part *parts, FILE *out,
                struct err *err);
int render_json(const struct render_switch *sw, const struct render_part *parts, FILE *out,
                struct err *err);
