#include "hostagent/plan.h"

#include "hostagent/agent.h"
#include "hostagent/guests/process.h"
#include "hostagent/routes/routes.h"
#include "hostagent/stance.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

struct planner {
    const struct agent_settings *settings;
    const struct settings_resolved *resolved;
    bool replace;
    duopoly_Stance stance;
    struct mark_config marks;
    struct changes *changes;
};

static bool is_host(const struct planner *planner)
{
    return planner->settings->role == duopoly_Role_ROLE_HOST;
}

static int plan_state(struct planner *planner, struct err *err)
{
    const struct agent_settings *settings = planner->settings;
    const struct {
        const char *format, *what;
    } files[] = {{AGENT_LOCK, "an agent runs"}, {AGENT_BEGUN, "something of this host is changed"}};
    char path[FILES_PATH];
    int r = files_check_writable(settings->state, err);
    if (r >= 0)
        r = changes_path(planner->changes, "folder", settings->state, "the agent's state", err);
    for (size_t i = 0; r >= 0 && i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), files[i].format, settings->state);
        r = changes_path(planner->changes, "file", path, files[i].what, err);
    }
    return r < 0 || !settings->measurements[0]
               ? r
               : changes_path(planner->changes, "file", settings->measurements, "measurements",
                              err);
}

/* The record of a port's former configuration, or of another switch's. */
static void record_path(const struct planner *planner, uint32_t port, char path[FILES_PATH])
{
    const char *state = planner->settings->state;
    if (planner->resolved->ports.n)
        files_path(path, QUEUES_RECORD, state, planner->resolved->ports.names[port]);
    else
        files_path(path, SWITCH_KEPT_FILE, state);
}

static uint32_t records_n(const struct planner *planner)
{
    return planner->resolved->ports.n ? planner->resolved->ports.n : 1;
}

static int add_steps(struct planner *planner, const struct switch_plan *plan, struct err *err)
{
    static const enum change_verb verbs[] = {[SWITCH_ADD] = CHANGE_ADD,
                                             [SWITCH_CHANGE] = CHANGE_CHANGE,
                                             [SWITCH_REMOVE] = CHANGE_REMOVE};
    char path[FILES_PATH];
    int r = 0;
    for (uint32_t i = 0; r >= 0 && plan->steps_n && i < records_n(planner); i++) {
        record_path(planner, i, path);
        r = changes_path(planner->changes, "file", path, "what stands there now", err);
    }
    for (uint32_t i = 0; r >= 0 && i < plan->steps_n; i++) {
        const struct switch_step *step = &plan->steps[i];
        r = changes_tell(planner->changes, verbs[step->verb], "queues", step->port, err, "%s",
                         step->text);
    }
    return r;
}

/* Ports that would get none of our queues, or not those that are wished; all others would. */
static void add_troubles(struct planner *planner, const struct switch_plan *plan)
{
    for (uint32_t i = 0; i < plan->troubles_n; i++) {
        const struct switch_trouble *trouble = &plan->troubles[i];
        struct err why = {0};
        err_set(&why, trouble->code, "%s", trouble->text);
        if (trouble->left)
            changes_refuse(planner->changes, &why);
        else
            changes_note(planner->changes, &why);
    }
}

static void note_lacks(struct planner *planner)
{
    const char *lacks = planner->resolved->ports.lacks;
    struct err what = {0};
    if (!lacks[0])
        return;
    err_set(&what, ENODEV, "there is no interface %s in this network namespace yet (link.ports)",
            lacks);
    changes_note(planner->changes, &what);
}

void plan_look_at_ports(const struct agent_settings *settings,
                        const struct settings_resolved *resolved, bool replace,
                        struct changes *ret_changes)
{
    const struct switch_config config = settings_switch(settings, resolved, replace);
    struct planner planner = {.resolved = resolved, .changes = ret_changes};
    struct switches *switches = NULL;
    struct switch_plan *plan = NULL;
    note_lacks(&planner);
    if (!config.queues || stance_kept(settings->state) != duopoly_Stance_STANCE_ENFORCE ||
        switches_open(switch_find(settings->switch_settings.driver), &config, &switches, NULL) < 0)
        return;
    if (switches_plan(switches, &plan, NULL) >= 0) {
        add_troubles(&planner, plan);
        switches_free_plan(switches, plan);
    }
    switches_close(switches);
}

static int plan_our_queues(struct planner *planner, const struct switch_config *config,
                           struct err *err)
{
    const struct agent_settings *settings = planner->settings;
    struct switches *switches = NULL;
    struct switch_plan *plan = NULL;
    if (planner->resolved->ports.n)
        changes_need(planner->changes, CAP_NET_ADMIN, "CAP_NET_ADMIN", "change queues");
    int r = switches_open(switch_find(settings->switch_settings.driver), config, &switches, err);
    if (r < 0)
        return r;
    r = switches_plan(switches, &plan, err);
    if (r >= 0) {
        add_troubles(planner, plan);
        r = add_steps(planner, plan, err);
        switches_free_plan(switches, plan);
    }
    switches_close(switches);
    return r;
}

/* The stance leaves the ports alone: what an earlier agent made there is removed. */
static int plan_no_queues(struct planner *planner, struct err *err)
{
    char path[FILES_PATH];
    int r = 0;
    for (uint32_t i = 0; r >= 0 && i < records_n(planner); i++) {
        record_path(planner, i, path);
        if (access(path, F_OK) == 0)
            r = changes_tell(planner->changes, CHANGE_REMOVE, "queues", path, err,
                             "ours; what stood there before comes back");
    }
    return r;
}

static int plan_queues(struct planner *planner, struct err *err)
{
    const struct switch_config config =
        settings_switch(planner->settings, planner->resolved, planner->replace);
    if (!config.queues)
        return 0;
    note_lacks(planner);
    return planner->stance == duopoly_Stance_STANCE_ENFORCE ? plan_our_queues(planner, &config, err)
                                                            : plan_no_queues(planner, err);
}

static int plan_routes(struct planner *planner, struct err *err)
{
    const struct routes_config config = settings_routes(planner->settings, planner->resolved);
    char path[FILES_PATH];
    if (config.members_n && planner->stance == duopoly_Stance_STANCE_ENFORCE)
        return routes_plan(&config, planner->changes, err);
    files_path(path, ROUTES_RECORD, planner->settings->state);
    return access(path, F_OK) < 0 ? 0
                                  : changes_tell(planner->changes, CHANGE_REMOVE, "routes", path,
                                                 err, "what is ours of them");
}

static int plan_cgroup(struct planner *planner, struct err *err)
{
    const char *cgroup = planner->resolved->cgroup;
    char note[FILES_PATH];
    if (!is_host(planner) || access(cgroup, F_OK) == 0)
        return 0;
    files_path(note, AGENT_CGROUP, planner->settings->state);
    int r = changes_path(planner->changes, "file", note, "the cgroup is ours", err);
    return r < 0 ? r : changes_path(planner->changes, "cgroup", cgroup, "of all attempts", err);
}

static int plan_marks(struct planner *planner, struct err *err)
{
    return marks_plan(&planner->marks, planner->changes, err);
}

static int plan_stance(struct planner *planner, struct err *err)
{
    return stance_plan(planner->settings->state, planner->changes, err);
}

static int plan_tasks(struct planner *planner, struct err *err)
{
    const struct tasks_config config = {.state_dir = planner->settings->state};
    return is_host(planner) ? tasks_plan(&config, planner->changes, err) : 0;
}

static int plan_frameworks(struct planner *planner, struct err *err)
{
    const char *path = planner->settings->frameworks.socket;
    return path[0] ? changes_path(planner->changes, "socket", path, "frameworks' drivers", err) : 0;
}

static int plan_guests(struct planner *planner, struct err *err)
{
    const struct guests_config config = settings_guests(planner->settings, planner->resolved);
    const char *path = planner->settings->guests.socket;
    int r = path[0] ? changes_path(planner->changes, "socket", path, "guests", err) : 0;
    return r >= 0 && is_host(planner) ? guests_plan(&config, planner->changes, err) : r;
}

/* As agent_run does it. */
static int (*const parts[])(struct planner *planner, struct err *err) = {
    plan_state,  plan_queues, plan_routes,     plan_cgroup, plan_marks,
    plan_stance, plan_tasks,  plan_frameworks, plan_guests};

int plan_make(const struct agent_settings *settings, const struct settings_resolved *resolved,
              bool replace, struct changes *ret_changes, struct err *err)
{
    struct planner planner = {.settings = settings,
                              .resolved = resolved,
                              .replace = replace,
                              .stance = stance_kept(settings->state),
                              .marks = resolved->marks,
                              .changes = ret_changes};
    planner.marks.reach = stance_reach(planner.stance);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct err why = {0};
        int r = parts[i](&planner, &why);
        if (r == -ENOMEM || r == -E2BIG) {
            *err = why;
            return r;
        }
        if (r < 0)
            changes_refuse(ret_changes, &why);
    }
    return 0;
}

int plan_write(const struct agent_settings *settings, const struct settings_resolved *resolved,
               const struct changes *changes, const struct writer_form *form, FILE *out,
               struct err *err)
{
    static const struct column notes[] = {{"note", "NOTE"}, {NULL, NULL}};
    static const struct column reasons[] = {{"reason", "REFUSED BECAUSE"}, {NULL, NULL}};
    static const struct column columns[] = {
        {"verb", "CHANGE"}, {"kind", "KIND"}, {"where", "WHERE"}, {"what", "WHAT"}, {NULL, NULL}};
    static const char *const verbs[] = {"add", "change", "remove"};
    struct err hidden;
    struct writer *writer = writer_new(form);
    writer_field(writer, "host", "host", value_text(settings->name));
    writer_field(writer, "stance", "stance",
                 value_text(stance_said_as(stance_kept(settings->state))));
    writer_field(writer, "count", "changes", value_number(changes->n));
    writer_table(writer, "refusals", reasons);
    for (uint32_t i = 0; i < changes->refusals_n; i++)
        writer_cell(writer, value_text(changes->refusals[i].text));
    writer_table_end(writer);
    writer_table(writer, "notes", notes);
    for (uint32_t i = 0; i < resolved->tunnels.notes_n; i++)
        writer_cell(writer, value_text(resolved->tunnels.notes[i]));
    for (uint32_t i = 0; i < changes->notes_n; i++)
        writer_cell(writer, value_text(changes->notes[i].text));
    if (settings->guests.rung != GUESTS_OFF && process_others_seen(&hidden) < 0)
        writer_cell(writer, value_text(hidden.text));
    writer_table_end(writer);
    writer_table(writer, "changes", columns);
    for (uint32_t i = 0; i < changes->n; i++) {
        const struct change *change = &changes->items[i];
        writer_cell(writer, value_text(verbs[change->verb]));
        writer_cell(writer, value_text(change->kind));
        writer_cell(writer, value_text(change->where));
        writer_cell(writer, value_text(change->what));
    }
    writer_table_end(writer);
    return writer_end(writer, out, err);
}
