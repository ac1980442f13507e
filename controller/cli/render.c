#include "controller/cli/render.h"

#include "controller/cli/description.h"
#include "controller/switch/render/render.h"
#include "lib/sonic/sonic_want.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int render_check(const struct request *request, struct err *err)
{
    char names[128] = "";
    if (!request->as || !request->from)
        return err_set(err, EINVAL, "write: duopolyctl switch NAME render --as FORMAT --from FILE");
    if (render_find(request->as))
        return description_name_check(request->words[0], err);
    for (size_t i = 0; render_all[i]; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "", render_all[i]->name);
    }
    return err_set(err, EINVAL, "there is no format '%s'; there are: %s", request->as, names);
}

/* What a description becomes. */
struct drawing {
    struct render_switch sw;
    struct render_port *ports;
    struct port *wants;
    json_t *site;
};

static int read_site(const struct description *description, json_t **ret_site, struct err *err)
{
    json_error_t at;
    if (!description->site[0])
        return err_set(err, EINVAL,
                       "a patch is made from what is there: name it as site (sonic-cfggen -d "
                       "--print-data >FILE)");
    *ret_site = json_load_file(description->site, JSON_REJECT_DUPLICATES, &at);
    return *ret_site ? 0
                     : err_set(err, EINVAL, "%s:%d:%d: %s", description->site, at.line, at.column,
                               at.text);
}

/* What the description says of every port, or what CONFIG_DB says of this one. */
static int facts_of(const struct description *description, const struct renderer *renderer,
                    const struct drawing *drawing, const char *port, struct port_facts *ret_facts,
                    struct err *err)
{
    uint32_t queues = (uint32_t)description->queues, lossless = drawing->sw.lossless;
    struct sonic_facts facts = {.link_bps = (uint64_t)description->rate_bps,
                                .mtu_bytes = (uint32_t)description->mtu};
    int r = drawing->site ? sonic_facts(drawing->site, port, &facts, err) : 0;
    if (r < 0)
        return err_prefix(err, "%s", description->site);
    if (drawing->site) {
        queues = SONIC_QUEUES;
        lossless = facts.lossless;
    }
    *ret_facts = (struct port_facts){.link_bps = facts.link_bps,
                                     .mtu_bytes = facts.mtu_bytes,
                                     .queues_n = queues,
                                     .abilities = renderer->abilities};
    for (uint32_t q = 0; q < queues; q++)
        ret_facts->lossless |= (lossless >> q & 1) << (queues - 1 - q);
    return 0;
}

static int draw_ports(const struct description *description, const struct renderer *renderer,
                      const struct port_wish *wish, struct drawing *drawing, struct err *err)
{
    for (uint32_t i = 0; i < description->ports_n; i++) {
        const char *name = description->ports[i].name;
        struct port_facts facts;
        int r = facts_of(description, renderer, drawing, name, &facts, err);
        if (r >= 0 && (r = port_want(wish, &facts, &drawing->wants[i], err)) < 0)
            err_prefix(err, "%s", name);
        if (r < 0)
            return r;
        drawing->ports[i] = (struct render_port){name, &drawing->wants[i]};
    }
    return 0;
}

static int draw(const char *name, const struct description *description,
                const struct renderer *renderer, const struct port_wish *wish,
                struct drawing *drawing, struct err *err)
{
    uint32_t n = description->ports_n;
    drawing->ports = calloc(n + 1, sizeof(*drawing->ports));
    drawing->wants = calloc(n + 1, sizeof(*drawing->wants));
    if (!drawing->ports || !drawing->wants)
        return err_sys(err, ENOMEM, "%u ports", n);
    int r = renderer->needs_site ? read_site(description, &drawing->site, err) : 0;
    if (r < 0)
        return r;
    drawing->sw = (struct render_switch){.name = name,
                                         .queues_n = (uint32_t)description->queues,
                                         .dscp_of_level = wish->dscp_of_level,
                                         .ports = drawing->ports,
                                         .ports_n = n,
                                         .site = drawing->site};
    for (uint32_t i = 0; i < description->lossless_n; i++)
        drawing->sw.lossless |= 1u << description->lossless[i];
    for (uint32_t i = 0; i < description->keep_n; i++)
        drawing->sw.kept_dscp |= UINT64_C(1) << description->keep[i];
    return draw_ports(description, renderer, wish, drawing, err);
}

static void tell_compromises(const struct drawing *drawing)
{
    char text[PORT_TEXT];
    if (drawing->sw.ports_n && port_compromises(&drawing->wants[0], text, sizeof(text))[0])
        fprintf(stderr, "duopolyctl: %s: %s\n", drawing->ports[0].name, text);
}

static int write_text(const struct renderer *renderer, const struct drawing *drawing, bool undo,
                      struct writer *writer, struct err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return err_sys(err, ENOMEM, "%s", renderer->name);
    int r = (undo ? renderer->undo : renderer->render)(&drawing->sw, out, err);
    if (fclose(out) != 0 && r >= 0)
        r = err_sys(err, ENOMEM, "%s", renderer->name);
    if (r >= 0)
        writer_document(writer, renderer->name, text);
    free(text);
    return r;
}

int run_render(const struct request *request, struct writer *writer, struct err *err)
{
    const struct renderer *renderer = render_find(request->as);
    struct description *description = NULL;
    struct drawing drawing = {0};
    struct port_wish wish;
    int r = description_read(request->from, &description, err);
    if (r >= 0)
        r = description_wish(description, &wish, err);
    if (r >= 0)
        r = draw(request->words[0], description, renderer, &wish, &drawing, err);
    if (r >= 0) {
        tell_compromises(&drawing);
        r = write_text(renderer, &drawing, request->undo, writer, err);
    }
    json_decref(drawing.site);
    free(drawing.ports);
    free(drawing.wants);
    free(description);
    return r;
}
