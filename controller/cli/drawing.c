#include "controller/cli/drawing.h"

#include <errno.h>
#include <stdlib.h>

int drawing_room(struct drawing *drawing, uint32_t ports_n, struct err *err)
{
    drawing->facts = calloc(ports_n + 1, sizeof(*drawing->facts));
    drawing->ports = calloc(ports_n + 1, sizeof(*drawing->ports));
    drawing->wants = calloc(ports_n + 1, sizeof(*drawing->wants));
    drawing->why = calloc(ports_n + 1, sizeof(*drawing->why));
    if (!drawing->facts || !drawing->ports || !drawing->wants || !drawing->why)
        return err_sys(err, ENOMEM, "%u ports", ports_n);
    drawing->sw.ports = drawing->ports;
    drawing->sw.ports_n = ports_n;
    return 0;
}

/* If all ports are left out, the first one's reason says why nothing is rendered. */
static void leave(const struct drawing *drawing, const char *port, const struct err *why,
                  struct err *first)
{
    if (drawing->sw.left)
        drawing->sw.left(drawing->sw.user, port, why);
    if (first->code)
        return;
    *first = *why;
    err_prefix(first, "%s", port);
}

int drawing_want(struct drawing *drawing, const struct renderer *renderer, struct err *err)
{
    struct err first = {0};
    uint32_t n = 0, all = drawing->sw.ports_n;
    drawing->sw.dscp_of_level = drawing->wish.dscp_of_level;
    for (uint32_t i = 0; i < all; i++) {
        struct port_facts *facts = &drawing->facts[i];
        struct err *why = &drawing->why[i];
        facts->abilities = renderer->abilities;
        if (why->code || port_want(&drawing->wish, facts, &drawing->wants[i], why) < 0)
            leave(drawing, facts->name, why, &first);
        else
            drawing->ports[n++] = (struct render_port){facts->name, &drawing->wants[i]};
    }
    drawing->sw.ports_n = n;
    return n || !all ? 0 : err_set(err, first.code, "%s", first.text);
}

void drawing_done(struct drawing *drawing)
{
    json_decref(drawing->site);
    free(drawing->facts);
    free(drawing->ports);
    free(drawing->wants);
    free(drawing->why);
}
