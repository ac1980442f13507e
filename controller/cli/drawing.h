/* The input of `render`: a switch's ports, what is wished of them, and the queues that follow; from
 * a description in a file, or from the report of the switch's agent. */
#pragma once

#include "controller/switch/render/render.h"
#include "lib/client.h"

/* Zero it first, except `sw.left` and `sw.user`; `sw.name` borrows the name. */
struct drawing {
    struct render_switch sw; /* points to what follows */
    struct port_wish wish;
    struct port_facts *facts; /* `sw.ports_n` of each of these four */
    struct render_port *ports;
    struct port *wants;
    struct err *why; /* for each port: why it cannot have what is wished; code 0: it can */
    json_t *site;
};

/* From the file at `path` (schemas/switch.yaml). −EINVAL with file, line and column. */
int drawing_describe(struct drawing *drawing, const char *path, const struct renderer *renderer,
                     struct err *err);

/* From the controller, as ports with DRAWING_QUEUES queues. −EREMOTEIO: it knows no such switch;
 * −EINVAL: the report is incomplete; −EAGAIN: it is just being updated. */
#define DRAWING_QUEUES 8
int drawing_ask(struct drawing *drawing, struct client *client, const struct renderer *renderer,
                struct err *err);

/* Computes the queues of each port. Ports that cannot have them are reported (`sw.left`) and
 * removed from the drawing. −EINVAL, with the first one's name and reason: no port can. */
int drawing_want(struct drawing *drawing, const struct renderer *renderer, struct err *err);

void drawing_done(struct drawing *drawing);

/* For functions that fill a drawing: makes room for this many ports. */
int drawing_room(struct drawing *drawing, uint32_t ports_n, struct err *err);
