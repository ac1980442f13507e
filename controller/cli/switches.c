#include "controller/cli/switches.h"

#include "controller/cli/confirm.h"
#include "controller/cli/render.h"
#include "controller/cli/table.h"

#include <errno.h>
#include <string.h>

static bool is_verb(const struct request *request, const char *verb)
{
    return request->n_words == 2 && strcmp(request->words[1], verb) == 0;
}

/* The agent of a switch takes it back by itself, also without a controller. */
static int trial_check(const struct request *request, struct err *err)
{
    uint32_t seconds;
    if (request->confirm && !is_verb(request, "apply"))
        return err_set(err, EINVAL, "--confirm goes with: switch NAME apply");
    return confirm_seconds(request, &seconds, err);
}

bool switch_alone(const struct request *request)
{
    return is_verb(request, "render") && request->from;
}

int switch_check(const struct request *request, struct err *err)
{
    if (!wire_name_valid(request->words[0]))
        return err_set(err, EINVAL, "'%s' cannot be a switch's name", request->words[0]);
    if (request->n_words == 2 && !is_verb(request, "plan") && !is_verb(request, "apply") &&
        !is_verb(request, "restore") && !is_verb(request, "render"))
        return err_set(err, EINVAL,
                       "a switch can be told to: plan, apply, restore, render; not '%s'",
                       request->words[1]);
    if ((request->as || request->from || request->undo) && !is_verb(request, "render"))
        return err_set(err, EINVAL, "--as, --from and --undo go with: switch NAME render");
    int r = trial_check(request, err);
    return r == 0 && is_verb(request, "render") ? render_check(request, err) : r;
}

static int table(struct client *client, const struct list *list, const char *name,
                 struct writer *writer, struct err *err)
{
    return list_table_of(client, list, name, "a switch's name", writer, err);
}

int run_switches(struct client *client, const struct request *request, struct writer *writer,
                 struct err *err)
{
    return list_show(client, &list_of_switches, request, (duopoly_List){0}, writer, err);
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

/* One switch as fields. */
static int switch_write(void *user, const void *row, struct err *err)
{
    static const char *const headings[CELLS_MAX] = {
        "switch", "state",   "driver",         "stance", "ports",
        "to do",  "differs", "confirm within", "note",
    };
    const struct cell *cells = list_of_switches.cells;
    char words[CELL_WORDS];
    (void)err;
    for (size_t i = 0; cells[i].key; i++)
        writer_field(user, cells[i].key, headings[i], cell_value(&cells[i], row, words));
    return 1;
}

static int switch_show(struct client *client, const struct request *request, struct writer *writer,
                       struct err *err)
{
    const char *name = request->words[0];
    duopoly_List list = {0};
    writer_schema(writer, "switch", NULL);
    int r = wire_take(list.name, sizeof(list.name), name, "a switch's name", err);
    if (r == 0)
        r = list_read(client, &list_of_switches, list, switch_write, NULL, writer, NULL, err);
    return r < 0 ? r
                 : table(client, is_verb(request, "plan") ? &list_of_steps : &list_of_ports, name,
                         writer, err);
}

int run_switch(struct client *client, const struct request *request, struct writer *writer,
               struct err *err)
{
    if (is_verb(request, "render"))
        return run_render(client, request, writer, err);
    if (is_verb(request, "apply") || is_verb(request, "restore"))
        return set_stance(client, request, writer, err);
    return switch_show(client, request, writer, err);
}
