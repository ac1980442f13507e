#include "controller/cli/render.h"

#include "controller/cli/description.h"
#include "controller/cli/drawing.h"
#include "lib/grow.h"
#include "lib/join.h"

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { REMARK_TEXT = 640 };

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

/* What is to be known of ports besides the text: programs find it in the answer. */
struct remarks {
    struct remark {
        char port[PORT_LONG_NAME], text[REMARK_TEXT];
    } * at;
    size_t n, allocated;
    bool of_answer;
};

static void remark(struct remarks *remarks, const char *port, const char *text)
{
    if (!remarks->of_answer) {
        fprintf(stderr, "duopolyctl: %s: %s\n", port, text);
        return;
    }
    if (!array_grow(remarks->at, remarks->n, remarks->allocated, 16))
        errx(1, "out of memory");
    struct remark *new = &remarks->at[remarks->n++];
    snprintf(new->port, sizeof(new->port), "%s", port);
    snprintf(new->text, sizeof(new->text), "%s", text);
}

static void tell_left(void *user, const char *port, const struct err *why)
{
    char text[REMARK_TEXT];
    snprintf(text, sizeof(text), "%s: it is left out", why->text);
    remark(user, port, text);
}

static void tell_compromises(const struct drawing *drawing, struct remarks *remarks)
{
    char text[PORT_TEXT];
    for (uint32_t i = 0; i < drawing->sw.ports_n; i++) {
        const struct port *want = drawing->ports[i].want;
        if ((i == 0 || want->lacks_bps) && port_compromises(want, text, sizeof(text))[0])
            remark(remarks, drawing->ports[i].name, text);
    }
}

static void remarks_write(const struct remarks *remarks, struct writer *writer)
{
    static const struct column columns[] = {{"port", NULL}, {"text", NULL}, {NULL, NULL}};
    writer_table(writer, "remarks", columns);
    for (size_t i = 0; i < remarks->n; i++) {
        writer_cell(writer, value_text(remarks->at[i].port));
        writer_cell(writer, value_text(remarks->at[i].text));
    }
    writer_table_end(writer);
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
    if (r >= 0) {
        writer_field(writer, "format", NULL, value_text(renderer->name));
        writer_document(writer, "document", text);
    }
    free(text);
    return r;
}

int run_render(struct client *client, const struct request *request, struct writer *writer,
               struct err *err)
{
    const struct renderer *renderer = render_find(request->as);
    struct remarks remarks = {.of_answer = writer_says_why(writer)};
    struct drawing drawing = {
        .sw = {.name = request->words[0], .left = tell_left, .user = &remarks}};
    writer_schema(writer, "render", NULL);
    int r = request->from ? drawing_describe(&drawing, request->from, renderer, err)
                          : drawing_ask(&drawing, client, renderer, err);
    if (r >= 0)
        r = drawing_want(&drawing, renderer, err);
    if (r >= 0) {
        tell_compromises(&drawing, &remarks);
        r = write_text(renderer, &drawing, request->undo, writer, err);
    }
    if (r >= 0)
        remarks_write(&remarks, writer);
    free(remarks.at);
    drawing_done(&drawing);
    return r;
}
