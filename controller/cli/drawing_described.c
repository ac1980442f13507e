#include "controller/cli/description.h"
#include "controller/cli/drawing.h"
#include "lib/sonic/sonic_want.h"
#include "lib/text_mark.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_site(const struct description *description, json_t **ret_site, struct err *err)
{
    json_error_t at;
    if (!description->site[0])
        return err_set(err, EINVAL,
                       "a patch is made from what is there: name it as site (sonic-cfggen -d "
                       "--print-data >FILE)");
    FILE *in = fopen(description->site, "re");
    if (!in)
        return err_sys(err, errno, "cannot open %s", description->site);
    int r = text_mark_skip(in, description->site, err);
    *ret_site = r < 0 ? NULL : json_loadf(in, JSON_REJECT_DUPLICATES, &at);
    fclose(in);
    return r < 0       ? r
           : *ret_site ? 0
                       : err_set(err, EINVAL, "%s:%d:%d: %s", description->site, at.line, at.column,
                                 at.text);
}

/* Facts that the description gives for every port, or CONFIG_DB for this one. */
static void facts_of(const struct description *description, const struct drawing *drawing,
                     const char *port, struct port_facts *ret_facts, struct err *why)
{
    uint32_t queues = (uint32_t)description->queues, lossless = drawing->sw.lossless;
    struct sonic_facts facts = {.link_bps = (uint64_t)description->rate_bps,
                                .mtu_bytes = (uint32_t)description->mtu};
    if (drawing->site && sonic_facts(drawing->site, port, &facts, why) < 0)
        err_prefix(why, "%s", description->site);
    if (drawing->site) {
        queues = SONIC_QUEUES;
        lossless = facts.lossless;
    }
    *ret_facts = (struct port_facts){
        .link_bps = facts.link_bps, .mtu_bytes = facts.mtu_bytes, .queues_n = queues};
    memcpy(ret_facts->name, port, strlen(port) + 1);
    for (uint32_t q = 0; q < queues; q++)
        ret_facts->lossless |= (lossless >> q & 1) << (queues - 1 - q);
}

static int fill(struct drawing *drawing, const struct description *description, struct err *err)
{
    int r = drawing_room(drawing, description->ports_n, err);
    drawing->sw.queues_n = (uint32_t)description->queues;
    drawing->sw.site = drawing->site;
    for (uint32_t i = 0; i < description->lossless_n; i++)
        drawing->sw.lossless |= 1u << description->lossless[i];
    for (uint32_t i = 0; i < description->keep_n; i++)
        drawing->sw.kept_dscp |= UINT64_C(1) << description->keep[i];
    for (uint32_t i = 0; r >= 0 && i < description->ports_n; i++)
        facts_of(description, drawing, description->ports[i].name, &drawing->facts[i],
                 &drawing->why[i]);
    return r;
}

int drawing_describe(struct drawing *drawing, const char *path, const struct renderer *renderer,
                     struct err *err)
{
    struct description *description = NULL;
    int r = description_read(path, &description, err);
    if (r >= 0)
        r = description_wish(description, &drawing->wish, err);
    if (r >= 0 && renderer->needs_site)
        r = read_site(description, &drawing->site, err);
    if (r >= 0)
        r = fill(drawing, description, err);
    free(description);
    return r;
}
