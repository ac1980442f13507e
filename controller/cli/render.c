#include "controller/cli/render.h"

#include "controller/cli/description.h"
#include "controller/cli/drawing.h"
#include "lib/join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int render_check(const struct request *request, struct err *err)
{
    char names[128] = "";
    if (!request->as)
        return err_set(err, EINVAL,
                       "write: duopolyctl switch NAME render --as FORMAT [--from FILE] [--undo]");
    if (render_find(request->as))
        return description_name_check(request->words[0], err);
    for (size_t i = 0; render_all[i]; i++)
        join_word(names, sizeof(names), ", ", render_all[i]->name);
    return err_set(err, EINVAL, "there is no format '%s'; there are: %s", request->as, names);
}

static void tell_left(const char *port, const struct err *why)
{
    fprintf(stderr, "duopolyctl: %s: %s: it is left out\n", port, why->text);
}

static void tell_compromises(const struct drawing *drawing)
{
    char text[PORT_TEXT];
    for (uint32_t i = 0; i < drawing->sw.ports_n; i++) {
        const struct port *want = drawing->ports[i].want;
        if ((i == 0 || want->lacks_bps) && port_compromises(want, text, sizeof(text))[0])
            fprintf(stderr, "duopolyctl: %s: %s\n", drawing->ports[i].name, text);
    }
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

int run_render(struct client *client, const struct request *request, struct writer *writer,
               struct err *err)
{
    const struct renderer *renderer = render_find(request->as);
    struct drawing drawing = {.sw = {.name = request->words[0], .left = tell_left}};
    int r = request->from ? drawing_describe(&drawing, request->from, renderer, err)
                          : drawing_ask(&drawing, client, renderer, err);
    if (r >= 0)
        r = drawing_want(&drawing, renderer, err);
    if (r >= 0) {
        tell_compromises(&drawing);
        r = write_text(renderer, &drawing, request->undo, writer, err);
    }
    drawing_done(&drawing);
    return r;
}
