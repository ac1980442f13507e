/* What render writes of: a switch's ports, what is wished of them, and the queues that follow; from
 * a description in a file, or from what the switch's agent says of it. */
#pragma once

#include "controller/switch/render/render.h"
#include "lib/client.h"

/* Zero to begin with, but `sw.left`; `sw.name` borrows the name. */
struct drawing {
    struct render_switch sw; /* points to what follows */
    struct port_wish wish;
    struct port_facts *facts; /* `sw.ports_n` of each of these four */
    struct render_port *ports;
    struct port *wants;
    struct err *why; /* of each port: why it cannot have what is wished; code 0: it may */
    json_t *site;
};

/* From the file at `path` (schemas/switch.yaml). −EINVAL with file, line and column. */
int drawing_describe(struct drawing *drawing, const char *path, const struct renderer *renderer,
                     struct err *err);

/* From the controller, as ports of DRAWING_QUEUES queues. −EREMOTEIO: it knows no such switch;
 * −EINVAL: not all of it can be known from there; −EAGAIN: it is just being told anew. */
#define DRAWING_QUEUES 8
int drawing_ask(struct drawing *drawing, struct client *client, const struct renderer *renderer,
                struct err *err);

/* What each port is to have. Those that cannot are told (`sw.left`), and no ports of the drawing any more.
 * −EINVAL, with the first one's name and reason: no port can. */
int drawing_want(struct drawing *drawing, const struct renderer *renderer, struct err *err);

void drawing_done(struct drawing *drawing);

/* ---- for those that fill one ------------------------------------------------------------------- */

/* Makes room for so many ports. */
int drawing_room(struct drawing *drawing, uint32_t ports_n, struct err *err);
