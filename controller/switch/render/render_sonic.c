/* A SONiC's CONFIG_DB as a JSON patch (RFC 6902) for `config apply-patch`, from its present
 * content: the rows that the agent's driver writes (lib/sonic), and the patch that undoes them. A
 * table that is missing is added and removed as a whole: apply-patch accepts no empty ones. */
#include "controller/switch/render/render.h"
#include "lib/sonic/sonic_most.h"
#include "lib/sonic/sonic_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A path's part, with "~" and "/" escaped (RFC 6901). */
static void put_part(FILE *out, const char *part)
{
    fputc('/', out);
    for (; *part; part++) {
        if (*part == '~')
            fputs("~0", out);
        else if (*part == '/')
            fputs("~1", out);
        else
            fputc(*part, out);
    }
}

static int add_operation(json_t *patch, const char *op, const char *const *parts, uint32_t n,
                         json_t *value)
{
    char *path = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&path, &size);
    if (!out)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        put_part(out, parts[i]);
    fclose(out);
    json_t *operation = json_pack("{s:s, s:s}", "op", op, "path", path);
    free(path);
    if (value && json_object_set(operation, "value", value) < 0) {
        json_decref(operation);
        return -ENOMEM;
    }
    return json_array_append_new(patch, operation) < 0 ? -ENOMEM : 0;
}

static int add_fields(json_t *patch, const struct sonic_step *step)
{
    const char *parts[] = {step->table, step->key, NULL};
    json_t *value;
    int r = 0;
    json_object_foreach((json_t *)step->to, parts[2], value)
    {
        json_t *had = json_object_get(step->from, parts[2]);
        if (r >= 0 && !(had && json_equal(had, value)))
            r = add_operation(patch, had ? "replace" : "add", parts, 3, value);
    }
    json_object_foreach((json_t *)step->from, parts[2], value)
    {
        if (r >= 0 && !json_object_get(step->to, parts[2]))
            r = add_operation(patch, "remove", parts, 3, NULL);
    }
    return r;
}

static int add_step(json_t *patch, const json_t *from, const json_t *to,
                    const struct sonic_step *step, json_t *whole)
{
    const char *const parts[] = {step->table, step->key};
    json_t *was = json_object_get(from, step->table), *is = json_object_get(to, step->table);
    if (was && is)
        return step->from && step->to ? add_fields(patch, step)
                                      : add_operation(patch, step->to ? "add" : "remove", parts, 2,
                                                      (json_t *)step->to);
    if (json_object_get(whole, step->table))
        return 0;
    json_object_set_new(whole, step->table, json_true());
    return add_operation(patch, is ? "add" : "remove", parts, 1, is);
}

static int put_patch(const json_t *from, const json_t *to, FILE *out, struct err *err)
{
    struct sonic_step *steps = NULL;
    uint32_t n = 0;
    json_t *patch = json_array(), *whole = json_object();
    int r = patch && whole ? sonic_steps(from, to, &steps, &n) : -ENOMEM;
    for (uint32_t i = 0; r >= 0 && i < n; i++)
        r = add_step(patch, from, to, &steps[i], whole);
    if (r >= 0 && json_dumpf(patch, out, JSON_INDENT(2)) < 0)
        r = -ENOMEM;
    fputs("\n", out);
    free(steps);
    json_decref(patch);
    json_decref(whole);
    return r < 0 ? err_sys(err, ENOMEM, "a patch") : 0;
}

/* Other owners' rows may be replaced: the person who applies the patch sees it. */
static bool may_replace(void *user, const char *port)
{
    (void)user;
    (void)port;
    return true;
}

/* For sonic_want_most. */
struct leaving {
    const struct render_switch *sw;
    struct err first;
};

static int leave(void *user, const char *port, const struct err *why)
{
    struct leaving *leaving = user;
    if (leaving->sw->left)
        leaving->sw->left(leaving->sw->user, port, why);
    if (!leaving->first.code) {
        leaving->first = *why;
        err_prefix(&leaving->first, "%s", port);
    }
    return 0;
}

static int want_site(const struct render_switch *sw, json_t **ret_want, struct err *err)
{
    struct sonic_port *ports = calloc(sw->ports_n + 1, sizeof(*ports));
    struct leaving leaving = {.sw = sw};
    const struct sonic_most most = {.db = sw->site,
                                    .site = sw->site,
                                    .may_replace = may_replace,
                                    .left = leave,
                                    .user = &leaving};
    uint32_t n = sw->ports_n;
    int r = ports ? sonic_check(sw->site, err) : err_sys(err, ENOMEM, "%u ports", sw->ports_n);
    for (uint32_t i = 0; r >= 0 && i < sw->ports_n; i++)
        ports[i] = (struct sonic_port){sw->ports[i].name, sw->ports[i].want};
    const struct sonic_wish wish = {.owner = sw->name, .dscp_of_level = sw->dscp_of_level};
    if (r >= 0)
        r = sonic_want_most(&most, &wish, ports, &n, ret_want, err);
    if (r >= 0 && !n && leaving.first.code) {
        json_decref(*ret_want);
        r = err_set(err, leaving.first.code, "%s", leaving.first.text);
    }
    free(ports);
    return r;
}

static int sonic_patch_render(const struct render_switch *sw, FILE *out, struct err *err)
{
    json_t *want;
    int r = want_site(sw, &want, err);
    if (r < 0)
        return r;
    r = put_patch(sw->site, want, out, err);
    json_decref(want);
    return r;
}

static int sonic_patch_undo(const struct render_switch *sw, FILE *out, struct err *err)
{
    json_t *want;
    int r = want_site(sw, &want, err);
    if (r < 0)
        return r;
    r = put_patch(want, sw->site, out, err);
    json_decref(want);
    return r;
}

const struct renderer render_sonic_patch = {
    .name = "sonic-patch",
    .what = "a JSON patch of a SONiC's CONFIG_DB",
    .abilities = {.strict = true, .floors = true, .ecn = true, .hardware = true},
    .needs_site = true,
    .render = sonic_patch_render,
    .undo = sonic_patch_undo};
