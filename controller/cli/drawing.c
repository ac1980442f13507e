#include "controller/cli/drawing.h"

#include <errno.h>
#include <stdlib.h>

int drawing_room(struct drawing *drawing, uint32_t ports_n, struct err *err)
{
    drawing->facts = calloc(ports_n + 1, sizeof(*drawing->facts));
    drawing->ports = calloc(ports_n + 1, sizeof(*drawing->ports));
    drawing->wants = calloc(ports_n + 1, sizeof(*drawing->wants));
    if (!drawing->facts || !drawing->ports || !drawing->wants)
        return err_sys(err, ENOMEM, "%u ports", ports_n);
    drawing->sw.ports = drawing->ports;
    drawing->sw.ports_n = ports_n;
    return 0;
}

int drawing_want(struct drawing *drawing, const struct renderer *renderer, struct err *err)
{
    drawing->sw.dscp_of_level = drawing->wish.dscp_of_level;
    for (uint32_t i = 0; i < drawing->sw.ports_n; i++) {
        struct port_facts *facts = &drawing->facts[i];
        facts->abilities = renderer->abilities;
        if (port_want(&drawing->wish, facts, &drawing->wants[i], err) < 0)
            return err_prefix(err, "%s", facts->name);
        drawing->ports[i] = (struct render_port){facts->name, &drawing->wants[i]};
    }
    return 0;
}

void drawing_done(struct drawing *drawing)
{
    json_decref(drawing->site);
    free(drawing->facts);
    free(drawing->ports);
    free(drawing->wants);
}
