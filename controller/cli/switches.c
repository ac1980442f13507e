#include "controller/cli/switches.h"

#include "controller/cli/render.h"
#include "controller/cli/stance.h"
#include "lib/conf.h"

#include <errno.h>
#include <string.h>

#define SECOND         INT64_C(1000000000)
#define CONFIRM_MOST_S 3600

static bool is_verb(const struct request *request, const char *verb)
{
    return request->n_words == 2 && strcmp(request->words[1], verb) == 0;
}

static int confirm_seconds(const struct request *request, uint32_t *ret_s, struct err *err)
{
    int64_t ns = 0;
    *ret_s = 0;
    if (!request->confirm)
        return 0;
    if (!is_verb(request, "apply"))
        return err_set(err, EINVAL, "--confirm goes with: switch NAME apply");
    int r = conf_number(CONF_DURATION, request->confirm, &ns, err);
    if (r < 0)
        return r;
    if (ns < SECOND || ns > CONFIRM_MOST_S * SECOND)
        return err_set(err, EINVAL, "--confirm is 1 s to %d s, not '%s'", CONFIRM_MOST_S,
                       request->confirm);
    *ret_s = (uint32_t)((ns + SECOND - 1) / SECOND);
    return 0;
}

bool switch_alone(const struct request *request)
{
    return is_verb(request, "render") && request->from;
}

int switch_check(const struct request *request, struct err *err)
{
    uint32_t seconds;
    if (!wire_name_valid(request->words[0]))
        return err_set(err, EINVAL, "'%s' cannot be a switch's name", request->words[0]);
    if (request->n_words == 2 && !is_verb(request, "plan") && !is_verb(request, "apply") &&
        !is_verb(request, "restore") && !is_verb(request, "render"))
        return err_set(err, EINVAL,
                       "a switch can be told to: plan, apply, restore, render; not '%s'",
                       request->words[1]);
    if ((request->as || request->from || request->undo) && !is_verb(request, "render"))
        return err_set(err, EINVAL, "--as, --from and --undo go with: switch NAME render");
    int r = confirm_seconds(request, &seconds, err);
    return r == 0 && is_verb(request, "render") ? render_check(request, err) : r;
}

static struct value text_or_none(const char *text)
{
    return *text ? value_text(text) : value_absent();
}

static void switch_row(const duopoly_SwitchRow *row, struct writer *writer)
{
    writer_cell(writer, value_text(row->name));
    writer_cell(writer, text_or_none(row->state));
    writer_cell(writer, value_text(row->driver));
    writer_cell(writer, text_or_none(stance_word(row->stance)));
    writer_cell(writer, value_number(row->ports));
    writer_cell(writer, value_number(row->steps));
    writer_cell(writer, row->differs_ns < 0 ? value_absent() : value_duration(row->differs_ns));
    writer_cell(writer, row->confirm_s ? value_duration(row->confirm_s * SECOND) : value_absent());
    writer_cell(writer, text_or_none(row->text));
}

static void port_row(const duopoly_SwitchPort *row, struct writer *writer)
{
    writer_cell(writer, value_text(row->name));
    writer_cell(writer, row->rate_bps ? value_bit_rate(row->rate_bps) : value_absent());
    writer_cell(writer, row->queues ? value_number(row->queues) : value_absent());
    writer_cell(writer, text_or_none(row->text));
}

static void step_row(const duopoly_SwitchStep *row, struct writer *writer)
{
    writer_cell(writer, value_text(row->verb));
    writer_cell(writer, text_or_none(row->port));
    writer_cell(writer, value_text(row->text));
}

static void rows(const duopoly_SwitchPage *page, struct writer *writer)
{
    for (pb_size_t i = 0; i < page->switches_count; i++)
        switch_row(&page->switches[i], writer);
    for (pb_size_t i = 0; i < page->ports_count; i++)
        port_row(&page->ports[i], writer);
    for (pb_size_t i = 0; i < page->steps_count; i++)
        step_row(&page->steps[i], writer);
}

static int table(struct client *client, duopoly_ListOf of, const char *name, const char *key,
                 const struct column *columns, struct writer *writer, struct err *err)
{
    const duopoly_Envelope *answer;
    duopoly_List list = {.of = of};
    int took = wire_take(list.name, sizeof(list.name), name, "a switch's name", err);
    if (took < 0)
        return took;
    writer_table(writer, key, columns);
    do {
        client_request(client, duopoly_Envelope_list_tag)->body.list = list;
        int r = client_call(client, duopoly_Envelope_switch_page_tag, &answer, err);
        if (r < 0)
            return r;
        rows(&answer->body.switch_page, writer);
        list.cursor = answer->body.switch_page.cursor;
    } while (list.cursor);
    writer_table_end(writer);
    return 0;
}

static int list_switches(struct client *client, const char *name, struct writer *writer,
                         struct err *err)
{
    static const struct column columns[] = {
        {"name", "SWITCH"},        {"state", "STATE"},
        {"driver", "DRIVER"},      {"stance", "STANCE"},
        {"ports", "PORTS"},        {"steps", "TO DO"},
        {"differs_ns", "DIFFERS"}, {"confirm_ns", "CONFIRM WITHIN"},
        {"text", "NOTE"},          {NULL, NULL},
    };
    return table(client, duopoly_ListOf_LIST_SWITCHES, name, "switches", columns, writer, err);
}

int run_switches(struct client *client, const struct request *request, struct writer *writer,
                 struct err *err)
{
    (void)request;
    return list_switches(client, "", writer, err);
}

static int set_stance(struct client *client, const struct request *request, struct writer *writer,
                      struct err *err)
{
    const duopoly_Envelope *answer;
    duopoly_SetStance *set =
        &client_request(client, duopoly_Envelope_set_stance_tag)->body.set_stance;
    set->stance =
        is_verb(request, "apply") ? duopoly_Stance_STANCE_ENFORCE : duopoly_Stance_STANCE_OBSERVE;
    int r = wire_take(set->host, sizeof(set->host), request->words[0], "a switch's name", err);
    if (r == 0)
        r = confirm_seconds(request, &set->confirm_s, err);
    if (r == 0)
        r = client_call(client, duopoly_Envelope_accepted_tag, &answer, err);
    if (r == 0)
        writer_field(writer, "text", "accepted", value_text(answer->body.accepted.text));
    return r;
}

int run_switch(struct client *client, const struct request *request, struct writer *writer,
               struct err *err)
{
    static const struct column ports[] = {{"name", "PORT"},
                                          {"rate_bps", "RATE"},
                                          {"queues", "QUEUES"},
                                          {"text", "NOTE"},
                                          {NULL, NULL}};
    static const struct column steps[] = {
        {"verb", "DO"}, {"port", "PORT"}, {"text", "WHAT"}, {NULL, NULL}};
    const char *name = request->words[0];
    if (is_verb(request, "render"))
        return run_render(client, request, writer, err);
    if (is_verb(request, "apply") || is_verb(request, "restore"))
        return set_stance(client, request, writer, err);
    int r = list_switches(client, name, writer, err);
    if (r == 0 && is_verb(request, "plan"))
        return table(client, duopoly_ListOf_LIST_SWITCH_STEPS, name, "plan", steps, writer, err);
    return r < 0
               ? r
               : table(client, duopoly_ListOf_LIST_SWITCH_PORTS, name, "ports", ports, writer, err);
}
