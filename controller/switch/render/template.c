#include "controller/switch/render/template.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Where the walk through a template is. */
struct walk {
    const struct render_switch *sw;
    FILE *out;
    bool json, failed;
    char last; /* that was written */
    uint32_t *profile_of, *port_of, profiles_n;
    uint32_t profile, port, index, number, dscp;
    const struct port *want;
    const struct port_queue *queue;
};

/* ---- text ------------------------------------------------------------------------------------ */

/* As it stands between two quotes. */
static void put_json(struct walk *w, const char *text)
{
    json_t *string = json_string(text);
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    w->failed |= !quoted;
    if (quoted)
        fprintf(w->out, "%.*s", (int)strlen(quoted) - 2, quoted + 1);
    free(quoted);
    json_decref(string);
}

static void put_string(struct walk *w, const char *text)
{
    if (w->json)
        put_json(w, text);
    else
        fputs(text, w->out);
}

static void put_place(struct walk *w, const char *word, size_t length)
{
    const struct {
        const char *word;
        const char *text;
        uint64_t number;
    } places[] = {
        {"switch", w->sw->name, 0},
        {"port", w->sw->ports_n ? w->sw->ports[w->port].name : "", 0},
        {"profile", NULL, w->profile},
        {"queue", NULL, w->number},
        {"index", NULL, w->index},
        {"dscp", NULL, w->dscp},
        {"kbps", NULL, w->queue ? (w->queue->floor_bps + 999) / 1000 : 0},
        {"bytes", NULL, w->queue ? render_ecn_bytes(w->want, w->queue) : 0},
        {"share", NULL, 100 / (uint64_t)(__builtin_popcount(w->sw->lossless) | !w->sw->lossless)},
    };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (strlen(places[i].word) != length || strncmp(places[i].word, word, length) != 0)
            continue;
        if (places[i].text)
            put_string(w, places[i].text);
        else
            fprintf(w->out, "%" PRIu64, places[i].number);
    }
}

static void put_char(struct walk *w, char c)
{
    if (w->json && c == ',' && w->last == '[')
        return;
    w->last = c;
    fputc(w->json && c == '\'' ? '"' : c, w->out);
}

static void put_text(struct walk *w, const char *text)
{
    while (*text) {
        if (*text != '$') {
            put_char(w, *text++);
            continue;
        }
        size_t length = 0;
        while (islower((unsigned char)text[1 + length]))
            length++;
        put_place(w, text + 1, length);
        w->last = '$';
        text += 1 + length;
    }
}

/* ---- scopes ---------------------------------------------------------------------------------- */

static void put_parts(struct walk *w, const struct render_part *parts);

static void once(struct walk *w, const struct render_part *part)
{
    put_text(w, part->text);
    if (part->parts)
        put_parts(w, part->parts);
}

static void each_profile(struct walk *w, const struct render_part *part)
{
    for (w->profile = 0; w->profile < w->profiles_n; w->profile++) {
        w->port = w->port_of[w->profile];
        w->want = w->sw->ports[w->port].want;
        once(w, part);
    }
}

static void each_port(struct walk *w, const struct render_part *part)
{
    for (w->port = 0; w->port < w->sw->ports_n; w->port++) {
        w->profile = w->profile_of[w->port];
        w->want = w->sw->ports[w->port].want;
        once(w, part);
    }
    w->port = 0;
}

static bool has_code_point(const struct walk *w, uint32_t number)
{
    for (uint32_t dscp = 0; dscp < PORT_CODE_POINTS; dscp++)
        if (render_queue_of(w->sw, w->want, dscp) == (int)number)
            return true;
    return false;
}

static void each_class(struct walk *w, const struct render_part *part)
{
    if (!w->sw->ports_n)
        return;
    w->want = w->sw->ports[0].want;
    for (w->number = 0; w->number < w->sw->queues_n; w->number++)
        if (has_code_point(w, w->number))
            once(w, part);
}

static void each_of_switch(struct walk *w, const struct render_part *part, uint32_t queues)
{
    for (w->number = 0; w->number < w->sw->queues_n; w->number++)
        if (queues >> w->number & 1)
            once(w, part);
}

static void each_own_queue(struct walk *w, const struct render_part *part)
{
    each_of_switch(w, part, ~w->sw->lossless);
}

static void each_lossless(struct walk *w, const struct render_part *part)
{
    each_of_switch(w, part, w->sw->lossless);
}

static void each_queue(struct walk *w, const struct render_part *part)
{
    for (w->index = 0; w->index < w->want->queues_n; w->index++) {
        w->queue = &w->want->queues[w->index];
        w->number = render_number(w->sw, w->queue);
        once(w, part);
    }
}

static void each_code_point(struct walk *w, const struct render_part *part)
{
    for (w->dscp = 0; w->dscp < PORT_CODE_POINTS; w->dscp++) {
        int number = render_queue_of(w->sw, w->want, w->dscp);
        w->number = (uint32_t)number;
        if (number >= 0)
            once(w, part);
    }
}

static void each_dscp(struct walk *w, const struct render_part *part)
{
    for (w->dscp = 0; w->dscp < PORT_CODE_POINTS; w->dscp++)
        if (render_queue_of(w->sw, w->want, w->dscp) == (int)w->number)
            once(w, part);
}

static void each_own_dscp(struct walk *w, const struct render_part *part)
{
    for (w->dscp = 0; w->dscp < PORT_CODE_POINTS; w->dscp++)
        if (!(w->sw->kept_dscp >> w->dscp & 1))
            once(w, part);
}

static void if_floor(struct walk *w, const struct render_part *part)
{
    if (w->queue->floor_bps)
        once(w, part);
}

static void if_ecn(struct walk *w, const struct render_part *part)
{
    if (w->queue->ecn_packets)
        once(w, part);
}

static bool has_ecn(const struct port *want)
{
    for (uint32_t i = 0; i < want->queues_n; i++)
        if (want->queues[i].ecn_packets)
            return true;
    return false;
}

static void if_port_ecn(struct walk *w, const struct render_part *part)
{
    if (has_ecn(w->want))
        once(w, part);
}

static void if_switch_ecn(struct walk *w, const struct render_part *part)
{
    bool any = false;
    for (uint32_t i = 0; i < w->sw->ports_n; i++)
        any |= has_ecn(w->sw->ports[i].want);
    if (any)
        once(w, part);
}

static void put_parts(struct walk *w, const struct render_part *parts)
{
    static void (*const scopes[RENDER_SCOPES])(struct walk *, const struct render_part *) = {
        [RENDER_ONCE] = once,
        [RENDER_EACH_PROFILE] = each_profile,
        [RENDER_EACH_PORT] = each_port,
        [RENDER_EACH_CLASS] = each_class,
        [RENDER_EACH_OWN_QUEUE] = each_own_queue,
        [RENDER_EACH_LOSSLESS] = each_lossless,
        [RENDER_EACH_QUEUE] = each_queue,
        [RENDER_EACH_CODE_POINT] = each_code_point,
        [RENDER_EACH_DSCP] = each_dscp,
        [RENDER_EACH_OWN_DSCP] = each_own_dscp,
        [RENDER_IF_FLOOR] = if_floor,
        [RENDER_IF_ECN] = if_ecn,
        [RENDER_IF_PORT_ECN] = if_port_ecn,
        [RENDER_IF_SWITCH_ECN] = if_switch_ecn,
    };
    for (; parts->scope; parts++)
        scopes[parts->scope](w, parts);
}

static int render(struct walk *w, const struct render_part *parts, struct err *err)
{
    int r = render_profiles(w->sw, &w->profile_of, &w->port_of, &w->profiles_n, err);
    if (r < 0)
        return r;
    put_parts(w, parts);
    free(w->profile_of);
    free(w->port_of);
    return 0;
}

int render_text(const struct render_switch *sw, const struct render_part *parts, FILE *out,
                struct err *err)
{
    struct walk w = {.sw = sw, .out = out};
    return render(&w, parts, err);
}

int render_json(const struct render_switch *sw, const struct render_part *parts, FILE *out,
                struct err *err)
{
    char *text = NULL;
    size_t size;
    struct walk w = {.sw = sw, .out = open_memstream(&text, &size), .json = true};
    if (!w.out)
        return err_sys(err, ENOMEM, "a configuration as JSON");
    int r = render(&w, parts, err);
    bool whole = fclose(w.out) == 0 && !w.failed;
    json_t *value = r == 0 && whole ? json_loads(text, 0, NULL) : NULL;
    if (r == 0 && (!value || json_dumpf(value, out, JSON_INDENT(2)) != 0))
        r = err_sys(err, ENOMEM, "a configuration as JSON");
    fputs("\n", out);
    json_decref(value);
    free(text);
    return r;
}
