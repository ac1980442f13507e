#include "controller/cli/commands.h"

#include "controller/cli/audit.h"
#include "controller/cli/bundle.h"
#include "controller/cli/config.h"
#include "controller/cli/confirm.h"
#include "controller/cli/drain.h"
#include "controller/cli/events.h"
#include "controller/cli/exits.h"
#include "controller/cli/explain.h"
#include "controller/cli/fastpath.h"
#include "controller/cli/flows.h"
#include "controller/cli/graph.h"
#include "controller/cli/guests.h"
#include "controller/cli/history.h"
#include "controller/cli/job_list.h"
#include "controller/cli/job_order.h"
#include "controller/cli/keys.h"
#include "controller/cli/links.h"
#include "controller/cli/lists.h"
#include "controller/cli/log_level.h"
#include "controller/cli/queues.h"
#include "controller/cli/render.h"
#include "controller/cli/selection.h"
#include "controller/cli/shares.h"
#include "controller/cli/stance.h"
#include "controller/cli/submit.h"
#include "controller/cli/switches.h"
#include "controller/cli/top.h"
#include "controller/cli/transfers.h"
#include "controller/cli/units.h"
#include "controller/cli/users.h"
#include "controller/cli/watch.h"
#include "controller/cli/whatif.h"
#include "lib/join.h"
#include "lib/nearest.h"
#include "lib/number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* `job` is for looking at one: two pages. */
#define JOB_TASKS_SHOWN 96

int number_parse(const char *text, const char *what, uint64_t *ret_number, struct err *err)
{
    const char *end = number_take(text, UINT64_MAX, ret_number);
    if (!end || *end || !*ret_number)
        return err_set(err, EINVAL, "%s is a number from 1, not '%s'", what, text);
    return 0;
}

static int mode_check(const struct request *request, struct err *err)
{
    return !request->n_words || strcmp(request->words[0], "history") == 0
               ? 0
               : err_set(err, EINVAL, "mode takes history, or nothing; not '%s'",
                         request->words[0]);
}

/* A job's number, or nothing. */
static int one_job_check(const struct request *request, struct err *err)
{
    uint64_t job;
    return request->n_words ? number_parse(request->words[0], "a job", &job, err) : 0;
}

static int job_check(const struct request *request, struct err *err)
{
    if (job_order_is(request))
        return job_order_check(request, err);
    if (request->n_words > 1)
        return err_set(err, EINVAL, "a job can be told to: set, hold, release, requeue; not '%s'",
                       request->words[0]);
    return one_job_check(request, err);
}

static int tasks_check(const struct request *request, struct err *err)
{
    if (request->all && !request->n_words)
        return err_set(err, EINVAL,
                       "--all lists every task of one job: duopolyctl tasks JOB --all");
    return one_job_check(request, err);
}

static int forget_check(const struct request *request, struct err *err)
{
    if (strcmp(request->words[0], "forget") != 0)
        return err_set(err, EINVAL, "a host can be told to: forget, not '%s'", request->words[0]);
    return wire_name_valid(request->words[1])
               ? 0
               : err_set(err, EINVAL, "'%s' cannot be a host's name", request->words[1]);
}

/* WORD=VALUE. −EINVAL where it is none, or does not fit the message. */
static int parameter_split(const char *text, duopoly_PolicyParameter *ret, struct err *err)
{
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : 0;
    if (!length || length >= sizeof(ret->word) || strlen(equals + 1) >= sizeof(ret->value))
        return err_set(err, EINVAL, "'%s' is no parameter: WORD=VALUE, as even_wait='200 ms'",
                       text);
    snprintf(ret->word, sizeof(ret->word), "%.*s", (int)length, text);
    snprintf(ret->value, sizeof(ret->value), "%s", equals + 1);
    return 0;
}

/* The controller knows which policies exist; a word that does not fit the message is not sent
 * cut. */
static int policy_check(const struct request *request, struct err *err)
{
    const size_t room[] = {sizeof(((duopoly_SetPolicy *)0)->question),
                           sizeof(((duopoly_SetPolicy *)0)->name)};
    duopoly_PolicyParameter parameter;
    uint32_t seconds;
    int r = confirm_seconds(request, &seconds, err);
    if (request->confirm && !request->n_words)
        return err_set(err, EINVAL, "--confirm goes with a policy that is set");
    if (request->n_words == 1)
        return err_set(err, EINVAL, "policy takes a question and a policy's name, or nothing");
    if (request->n_words && request->all)
        return err_set(err, EINVAL, "policy --all lists all combinations, it sets none");
    for (int i = 0; i < 2 && i < request->n_words; i++)
        if (strlen(request->words[i]) >= room[i])
            return err_set(err, EINVAL, "'%s' is no %s", request->words[i],
                           i ? "policy's name" : "question");
    for (int i = 2; r == 0 && i < request->n_words; i++)
        r = parameter_split(request->words[i], &parameter, err);
    return r;
}

static int store_check(const struct request *request, struct err *err)
{
    bool backup = strcmp(request->words[0], "backup") == 0;
    if (!backup && strcmp(request->words[0], "check") != 0)
        return err_set(err, EINVAL, "the store can be told to: check, backup FILE; not '%s'",
                       request->words[0]);
    if (request->n_words != 1 + backup)
        return err_set(err, EINVAL, backup ? "store backup needs a FILE" : "store check has none");
    if (backup && strlen(request->words[1]) >= sizeof(((duopoly_StoreCare *)0)->path))
        return err_set(err, EINVAL, "%s is longer than %zu bytes", request->words[1],
                       sizeof(((duopoly_StoreCare *)0)->path) - 1);
    return 0;
}

static uint64_t job_of(const struct request *request)
{
    uint64_t job = 0;
    if (request->n_words)
        number_parse(request->words[0], "a job", &job, NULL);
    return job;
}

static int status_get(struct client *client, const duopoly_Status **ret_status, struct err *err)
{
    const duopoly_Envelope *answer;
    client_request(client, duopoly_Envelope_get_status_tag);
    int r = client_call(client, duopoly_Envelope_status_tag, &answer, err);
    if (r == 0)
        *ret_status = &answer->body.status;
    return r;
}

static void uplinks_write(const duopoly_Status *s, struct writer *writer)
{
    writer_field(writer, "congested_uplinks", "full uplinks",
                 *s->congested_uplinks ? value_text(s->congested_uplinks) : value_absent());
}

/* For programs each clause by itself. */
static void verdict_write(const duopoly_Status *s, struct writer *writer)
{
    static const struct column columns[] = {{"text", NULL}, {NULL, NULL}};
    char verdict[sizeof(s->wrong) + 32] = "healthy";
    for (pb_size_t i = 0; i < s->wrong_count; i++) {
        if (!i)
            strcpy(verdict, "unhealthy: ");
        join_word(verdict, sizeof(verdict), i ? "; " : "", s->wrong[i]);
    }
    writer_field(writer, "verdict", "verdict", value_text(verdict));
    writer_field(writer, "healthy", NULL, value_bool(!s->wrong_count));
    writer_table(writer, "wrong", columns);
    for (pb_size_t i = 0; i < s->wrong_count; i++)
        writer_cell(writer, value_text(s->wrong[i]));
    writer_table_end(writer);
}

static void worst_write(const duopoly_Status *s, struct writer *writer)
{
    const bool known = *s->worst_host;
    writer_field(writer, "worst_host", known ? "worst off" : NULL,
                 known ? value_text(s->worst_host) : value_absent());
    writer_field(writer, "worst_why", known ? "because" : NULL,
                 known ? value_text(s->worst_why) : value_absent());
}

static int run_status(struct client *client, const struct request *request, struct writer *writer,
                      struct err *err)
{
    const duopoly_Status *s = NULL;
    (void)request;
    int r = status_get(client, &s, err);
    if (r < 0)
        return r;
    writer_schema(writer, "status", NULL);
    verdict_write(s, writer);
    worst_write(s, writer);
    writer_field(writer, "epoch", "epoch", value_number(s->epoch));
    writer_field(writer, "uptime_ns", "up for", value_duration((int64_t)s->uptime_ns));
    writer_field(writer, "changes_version", "version", value_number(s->version));
    writer_field(writer, "policy", "policy", value_text(s->policy));
    writer_field(writer, "mode", "mode", mode_value(s->mode));
    writer_field(writer, "mode_switches", "mode switches", value_number(s->mode_switches));
    writer_field(writer, "congested", "congested", value_bool(s->congested));
    uplinks_write(s, writer);
    writer_field(writer, "hosts_up", "hosts up", value_number(s->hosts_up));
    writer_field(writer, "hosts", "hosts known", value_number(s->hosts));
    writer_field(writer, "hosts_suspect", "hosts suspect", value_number(s->hosts_suspect));
    writer_field(writer, "slots_free", "slots free", value_signed(s->slots_free));
    writer_field(writer, "slots", "slots", value_signed(s->slots));
    writer_field(writer, "jobs_active", "jobs active", value_number(s->jobs_active));
    writer_field(writer, "jobs_done", "jobs done", value_number(s->jobs_done));
    writer_field(writer, "jobs_failed", "jobs failed", value_number(s->jobs_failed));
    writer_field(writer, "tasks_ready", "tasks ready", value_number(s->tasks_ready));
    writer_field(writer, "attempts", "tasks running", value_number(s->attempts));
    writer_field(writer, "held_stages", "stages held", value_number(s->held_stages));
    writer_field(writer, "holds", "holds so far", value_number(s->holds));
    writer_field(writer, "orphans", s->orphans ? "orphans stopped" : NULL,
                 value_number(s->orphans));
    writer_field(writer, "lost_jobs", s->orphans ? "of jobs lost" : NULL,
                 value_number(s->lost_jobs));
    writer_field(writer, "sources_replaced", "sources replaced", value_number(s->sources_replaced));
    if (*s->text)
        writer_field(writer, "text", "note", value_text(s->text));
    return s->wrong_count ? EXIT_UNHEALTHY : 0;
}

static int run_mode(struct client *client, const struct request *request, struct writer *writer,
                    struct err *err)
{
    const duopoly_Status *s = NULL;
    if (request->n_words)
        return list_show(client, &list_of_modes, request, (duopoly_List){0}, writer, err);
    int r = status_get(client, &s, err);
    if (r < 0)
        return r;
    writer_schema(writer, "mode", NULL);
    writer_field(writer, "mode", "mode", mode_value(s->mode));
    writer_field(writer, "mode_rule", "rule", value_text(s->mode_rule));
    writer_field(
        writer, "mode_forced", "forced",
        value_bool(strcmp(s->mode_rule, "rich") == 0 || strcmp(s->mode_rule, "starved") == 0));
    writer_field(writer, "mode_age_ns", "last changed",
                 s->mode_age_ns < 0 ? value_absent() : value_duration(s->mode_age_ns));
    writer_field(writer, "mode_why", "because",
                 *s->mode_why ? value_text(s->mode_why) : value_absent());
    writer_field(writer, "mode_use", "it tells",
                 *s->mode_use ? value_text(s->mode_use) : value_absent());
    writer_field(writer, "mode_sequence", "sequence", value_number(s->mode_sequence));
    writer_field(writer, "mode_switches", "switches", value_number(s->mode_switches));
    writer_field(writer, "congested", "congested", value_bool(s->congested));
    uplinks_write(s, writer);
    writer_field(writer, "first_job", "first job",
                 s->first_job ? value_id(s->first_job) : value_absent());
    writer_field(writer, "first_ready", "its ready tasks", value_number(s->first_ready));
    writer_field(writer, "first_free", "free slots for it", value_signed(s->first_free));
    return 0;
}

static int run_jobs(struct client *client, const struct request *request, struct writer *writer,
                    struct err *err)
{
    int r = job_list_write(client, request, writer, err);
    return r < 0 || selection_is_given(request) ? r
                                                : guests_write_applications(client, writer, err);
}

static int run_hosts(struct client *client, const struct request *request, struct writer *writer,
                     struct err *err)
{
    int r = list_show(client, &list_of_hosts, request, (duopoly_List){0}, writer, err);
    return r < 0 || selection_is_given(request) ? r : guests_write(client, writer, err);
}

static int run_counters(struct client *client, const struct request *request, struct writer *writer,
                        struct err *err)
{
    return list_show(client, &list_of_counters, request, (duopoly_List){0}, writer, err);
}

static int job_get(struct client *client, uint64_t number, duopoly_JobRow *ret_job, struct err *err)
{
    const duopoly_Envelope *answer;
    duopoly_List *list = &client_request(client, duopoly_Envelope_list_tag)->body.list;
    list->of = duopoly_ListOf_LIST_JOBS;
    list->job = number;
    list->finished = true;
    int r = client_call(client, duopoly_Envelope_page_tag, &answer, err);
    if (r < 0)
        return r;
    if (!answer->body.page.jobs_count)
        return err_set(err, ENOENT, "there is no job %" PRIu64 " any more", number);
    *ret_job = answer->body.page.jobs[0];
    return 0;
}

static int run_tasks(struct client *client, const struct request *request, struct writer *writer,
                     struct err *err)
{
    duopoly_JobRow job;
    struct selection selection;
    const duopoly_List ask = {.job = job_of(request), .finished = request->all};
    if (!request->n_words || !request->all)
        return list_show(client, &list_of_tasks, request, ask, writer, err);
    int r = selection_read(request, &list_of_tasks, &selection, err);
    if (r == 0)
        r = job_get(client, ask.job, &job, err);
    if (r < 0)
        return r;
    selection_schema(&selection, writer);
    return job_tasks_write(client, &job, UINT64_MAX, &selection, writer, err);
}

static int run_job(struct client *client, const struct request *request, struct writer *writer,
                   struct err *err)
{
    duopoly_JobRow job;
    if (job_order_is(request))
        return job_order(client, request, writer, err);
    int r = job_get(client, job_of(request), &job, err);
    if (r < 0)
        return r;
    writer_schema(writer, "job", NULL);
    job_fields_write(&job, writer);
    return job_tasks_write(client, &job, JOB_TASKS_SHOWN, NULL, writer, err);
}

int accepted_write(struct client *client, struct writer *writer, struct err *err)
{
    const duopoly_Envelope *answer;
    int r = client_call(client, duopoly_Envelope_accepted_tag, &answer, err);
    if (r == 0 && writer)
        writer_field(writer, "text", "accepted", value_text(answer->body.accepted.text));
    return r;
}

static int run_cancel(struct client *client, const struct request *request, struct writer *writer,
                      struct err *err)
{
    client_request(client, duopoly_Envelope_cancel_job_tag)->body.cancel_job.job = job_of(request);
    return accepted_write(client, writer, err);
}

static int run_host(struct client *client, const struct request *request, struct writer *writer,
                    struct err *err)
{
    duopoly_ForgetHost *forget =
        &client_request(client, duopoly_Envelope_forget_host_tag)->body.forget_host;
    int r = wire_take(forget->name, sizeof(forget->name), request->words[1], "a host's name", err);
    return r < 0 ? r : accepted_write(client, writer, err);
}

/* Both read the whole file. */
#define STORE_PATIENCE_MS 3600000

static int run_store(struct client *client, const struct request *request, struct writer *writer,
                     struct err *err)
{
    duopoly_StoreCare *care =
        &client_request(client, duopoly_Envelope_store_care_tag)->body.store_care;
    int r = request->n_words == 2
                ? wire_take(care->path, sizeof(care->path), request->words[1], "a path", err)
                : 0;
    client_patience(client, STORE_PATIENCE_MS);
    return r < 0 ? r : accepted_write(client, writer, err);
}

static int policies_write(struct client *client, const struct request *request,
                          struct writer *writer, struct err *err)
{
    const duopoly_Status *status = NULL;
    struct selection selection;
    struct table table;
    int r = selection_read(request, &list_of_policies, &selection, err);
    if (r == 0)
        r = status_get(client, &status, err);
    if (r < 0)
        return r;
    selection_schema(&selection, writer);
    table_begin(&table, list_of_policies.key, list_of_policies.cells, &selection, writer);
    for (pb_size_t i = 0; r == 0 && i < status->policies_count; i++)
        r = table_row(&table, &status->policies[i], err);
    r = table_end(&table, r);
    return r < 0 ? r : 0;
}

static int run_policy(struct client *client, const struct request *request, struct writer *writer,
                      struct err *err)
{
    if (!request->n_words)
        return request->all ? list_show(client, &list_of_combinations, request, (duopoly_List){0},
                                        writer, err)
                            : policies_write(client, request, writer, err);
    duopoly_SetPolicy *set =
        &confirm_request(client, duopoly_Envelope_set_policy_tag, request)->body.set_policy;
    int r = wire_take(set->question, sizeof(set->question), request->words[0], "a question", err);
    if (r == 0)
        r = wire_take(set->name, sizeof(set->name), request->words[1], "a policy's name", err);
    for (int i = 2; r == 0 && i < request->n_words; i++)
        r = parameter_split(request->words[i], &set->parameters[set->parameters_count++], err);
    return r < 0 ? r : accepted_write(client, writer, err);
}

const struct command cli_commands[] = {
    {"status", "", "the controller's state as a whole", 0, 0, "", NULL, run_status},
    {"jobs", "[-a]", "jobs that are not done (-a: also finished ones)", 0, 0, "al", NULL, run_jobs},
    {"job", "JOB | set JOB priority=N | hold JOB | release JOB | requeue JOB",
     "one job and its tasks; set: its priority; hold: nothing of it starts until release, what "
     "runs goes on; requeue: what runs of it is stopped, and runs again",
     1, 3, "d", job_check, run_job},
    {"tasks", "[JOB] [-a]", "running tasks; with JOB and -a all of its tasks", 0, 1, "al",
     tasks_check, run_tasks},
    {"history", "[--who WORD] [--what WORD] [--result done|failed|cancelled]",
     "jobs that ended, the newest first, and where their time went: all that are kept, or those of "
     "users, and with names, with these words, and that ended so; --since is when they ended",
     0, 0, "fl", history_check, run_history},
    {"hosts", "", "the hosts, their slots and links", 0, 0, "l", NULL, run_hosts},
    {"units", "[HOST]", "the units of hosts: what each has, what is free and which tasks run there",
     0, 1, "l", host_name_check, run_units},
    {"queues", "[HOST]",
     "the queue driver of each host and of each port of a switch, why it was chosen, and what it "
     "lacks; with HOST what each queue of its ports sends, holds, drops and marks",
     0, 1, "l", host_name_check, run_queues},
    {"links", "[HOST]",
     "the load of the links of hosts' and switches' ports: over the last second, and in its "
     "busiest "
     "tenth",
     0, 1, "l", host_name_check, run_links},
    {"coflows", "", "what stages receive now: their bytes, what is left, their levels and hosts", 0,
     0, "l", NULL, run_coflows},
    {"macroflows", "", "what tasks receive now: their bytes, what is left, their levels", 0, 0, "l",
     NULL, run_macroflows},
    {"flows", "HOST",
     "the live connections of a host: the mark that each bears, the levels that were decided, and "
     "whose it is",
     1, 1, "l", host_name_check, run_flows},
    {"top", "[hosts|links|jobs] [--filter CONDITIONS]",
     "hosts, links or jobs on the terminal, and what each job waits for, as they are now, until q; "
     "? shows its keys",
     0, 1, "t", top_check, run_top},
    {"counters", "", "all counters", 0, 0, "l", NULL, run_counters},
    {"fastpath", "[capture PORT|all FRAMES | capture end]",
     "ports, queues, flows, drops and cycles of this machine's duopoly-fastpath; or captures "
     "FRAMES "
     "frames of a port, as they come and as they leave its queues, to a file (pcapng) beside its "
     "socket",
     0, 3, "", fastpath_check, run_fastpath},
    {"mode", "[history]",
     "slot-rich or slot-starved, and the numbers that decided; history: of each change since the "
     "controller's start",
     0, 1, "l", mode_check, run_mode},
    {"submit", "FILE [--id N]", "all jobs of a workload file, or the one with that id; all or none",
     1, 1, "id", NULL, run_submit},
    {"cancel", "JOB", "end a job", 1, 1, "d", one_job_check, run_cancel},
    {"drain", "HOST | --rack NAME [--undo | --wait[=TIME]] [--confirm TIME]",
     "start nothing on that host, or on the hosts of that rack, any more; --wait: return when "
     "nothing runs there",
     0, 1, "uhdwc", drain_check, run_drain},
    {"host", "forget HOST", "forget a host that is gone", 2, 2, "d", forget_check, run_host},
    {"stance", "STANCE --all [--confirm TIME]",
     "observe, mark or enforce; or with --host NAME, --rack NAME", 1, 1, "ahdc", stance_check,
     run_stance},
    {"switches", "", "the switches, and what differs from the wanted state", 0, 0, "l", NULL,
     run_switches},
    {"switch",
     "NAME [plan | apply [--confirm TIME] | restore | render --as FORMAT [--from FILE] [--undo]]",
     "its ports; plan: the changes; apply: make them, with a time only until then unless applied "
     "again without one; restore: undo them; render: the configuration for a switch without an "
     "agent, as eos, nvue, openconfig or sonic-patch, from an agent's report or from a description",
     1, 2, "crmud", switch_check, run_switch},
    {"store", "check | backup FILE",
     "check every row of the store, or copy it to a new file: a name in the controller's state "
     "folder, or a path on its host",
     1, 2, "d", store_check, run_store},
    {"audit", "[--who WORD] [--what WORD] [--result done|refused]",
     "who changed what, and what was refused: all rows at hand, or those with these words and this "
     "result; of a --limit the newest ones",
     0, 0, "fl", audit_check, run_audit},
    {"events", "[--kind KINDS] [--since TIME|SEQUENCE] [--limit N]",
     "what happened of late, as far as the controller keeps it: jobs, tasks, hosts, modes, holds, "
     "policies, stances, keys, frameworks; only these KINDS (job,host), since TIME or behind the "
     "event with this SEQUENCE (3:1042), the newest N of them",
     0, 0, "e", events_check, run_events},
    {"watch", "[--kind KINDS] [--since TIME|SEQUENCE] [--limit N]",
     "what happens, as it comes, until it is interrupted or N events came (-j: lines of JSON); "
     "with --since first what is kept since then. It says what it lost, and goes on after a "
     "restart of the controller",
     0, 0, "e", events_check, run_watch},
    {"record", "FILE [--kind KINDS] [--since TIME|SEQUENCE] [--limit N]",
     "the same as lines of JSON into a new file, synced to the disk every second", 1, 1, "e",
     record_check, run_record},
    {"policy", "[QUESTION NAME [WORD=VALUE...] [--confirm TIME]] | --all",
     "the policies in force and their parameters; or sets the policy of turn, place, network, "
     "mode or users, and its parameters, until the next change; configured: back to the "
     "configuration; "
     "--all: every combination of policies, and which do not work together",
     0, 18, "adcl", policy_check, run_policy},
    {"log", "level [error|warning|note|debug|configured]",
     "the least urgent lines that the controller logs; or sets it until the controller restarts; "
     "configured: back to the configuration",
     1, 2, "d", log_check, run_log},
    {"config", "show | check FILE | diff [FILE] | reload",
     "what of the controller's configuration is in force, and where each word comes from; check: "
     "whether duopolyd would start with FILE here; diff: what FILE, or the controller's own file "
     "as "
     "it is now, would change; reload: reads that file again, and what can change without a "
     "restart "
     "is in force then",
     1, 2, "dl", config_check, run_config},
    {"users", "", "the users, their shares and how many jobs they have", 0, 0, "l", NULL,
     run_users},
    {"debts", "", "which user owes which one, how much and since when (policy users sequence)", 0,
     0, "l", NULL, run_debts},
    {"shares", "[--svg FILE]",
     "which part of the slots each user was to have, and had over time (-j: each span); --svg: "
     "also as a picture",
     0, 0, "s", NULL, run_shares},
    {"graph", "[--as dot|dimacs] [--svg FILE]",
     "the graph of which the placement is an optimum (place flow), with what it costs and runs, as "
     "DOT or DIMACS; --svg: also as a picture",
     0, 0, "rs", graph_check, run_graph},
    {"user", "set NAME [share=N] [number=N] | leave NAME",
     "makes a user known, renames the one with that number, or changes its share; leave: it goes, "
     "with the last of its jobs",
     2, 4, "d", user_check, run_user},
    {"explain", "TASK | JOB | HOST[:LINK] | mode",
     "why a task runs there with that level, or why it waits; where a job's time went, also when "
     "it is over; why a host is used as it is; what a host's LINK (uplink, downlink or a port that "
     "`links` lists) carries and whether it counts as full; why the mode is as it is. A host that "
     "is called mode, or as a number, has a colon behind it",
     1, 2, "", explain_check, run_explain},
    {"whatif", "policy NAME | host-down HOST | job FILE",
     "what would be decided otherwise, and when the present jobs would end, with another policy (a "
     "preset, or QUESTION=NAME,...), without that host, or with the jobs of FILE: the controller's "
     "state is run on by duopoly-sim here, and nothing changes",
     2, 2, "", whatif_check, run_whatif},
    {"support-bundle", "FILE",
     "writes a new tar file for who is to help: the controller's configuration, newest recording "
     "and log, what it answers, versions and what the kernel tells; no key and no token",
     1, 1, "", bundle_check, run_bundle},
    {"keys", "make NAMES --role ROLE",
     "also: keys list, revoke NAMES, rotate NAMES; w[1-9] means nine names", 1, 2, "kdl",
     keys_check, run_keys},
    {.name = NULL},
};

int command_find(const char *name, const struct command **ret_command, struct err *err)
{
    struct nearest nearest = NEAREST_TO(name);
    for (const struct command *c = cli_commands; c->name; c++) {
        if (strcmp(c->name, name) == 0) {
            *ret_command = c;
            return 0;
        }
        nearest_take(&nearest, c->name);
    }
    return nearest.found
               ? err_set(err, EINVAL,
                         "there is no command '%s'; did you mean '%s'? (duopolyctl --help "
                         "lists all)",
                         name, nearest.found)
               : err_set(err, EINVAL, "there is no command '%s'; duopolyctl --help lists all",
                         name);
}

static const struct list *mode_list(const struct request *request)
{
    return request->n_words ? &list_of_modes : NULL;
}

static const struct list *queues_list(const struct request *request)
{
    return request->n_words ? &list_of_port_queues : &list_of_queues;
}

static const struct list *policy_list(const struct request *request)
{
    return request->all ? &list_of_combinations : request->n_words ? NULL : &list_of_policies;
}

static const struct list *keys_list(const struct request *request)
{
    return keys_lists(request) ? &list_of_keys : NULL;
}

/* The lists that commands show, or one of two, or none, as a function says. */
static const struct {
    int (*run)(struct client *, const struct request *, struct writer *, struct err *);
    const struct list *lists[2];
    const struct list *(*of)(const struct request *request);
} shown[] = {
    {run_jobs, {&list_of_jobs}, NULL},
    {run_tasks, {&list_of_tasks}, NULL},
    {run_history, {&list_of_history}, NULL},
    {run_hosts, {&list_of_hosts}, NULL},
    {run_units, {&list_of_units}, NULL},
    {run_queues, {&list_of_queues, &list_of_port_queues}, queues_list},
    {run_links, {&list_of_links}, NULL},
    {run_coflows, {&list_of_coflows}, NULL},
    {run_macroflows, {&list_of_macroflows}, NULL},
    {run_flows, {&list_of_flows}, NULL},
    {run_counters, {&list_of_counters}, NULL},
    {run_top, {NULL}, top_list},
    {run_mode, {&list_of_modes}, mode_list},
    {run_switches, {&list_of_switches}, NULL},
    {run_audit, {&list_of_audit}, NULL},
    {run_policy, {&list_of_policies, &list_of_combinations}, policy_list},
    {run_config, {&list_of_config, &list_of_config_changes}, config_list},
    {run_users, {&list_of_users}, NULL},
    {run_debts, {&list_of_debts}, NULL},
    {run_keys, {&list_of_keys}, keys_list},
};

/* NULL: so asked it shows none. */
static const struct list *list_of(const struct command *command, const struct request *request)
{
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        if (shown[i].run == command->run)
            return shown[i].of ? shown[i].of(request) : shown[i].lists[0];
    return NULL;
}

static int selection_check(const struct command *command, const struct request *request,
                           struct err *err)
{
    struct selection selection;
    const struct list *list = list_of(command, request);
    if (strchr(command->options, 't') &&
        (request->columns || request->sort || request->since || request->limit))
        return err_set(err, EINVAL, "'%s' takes no --columns, --sort, --since and --limit",
                       command->name);
    if (list)
        return selection_read(request, list, &selection, err);
    if (!strchr(command->options, 'e'))
        return err_set(err, EINVAL,
                       "'%s' takes no --filter, --columns, --sort, --since and --limit%s",
                       command->name, strchr(command->options, 'l') ? " here" : "");
    if (request->filter || request->columns || request->sort)
        return err_set(err, EINVAL, "'%s' takes no --filter, --columns and --sort", command->name);
    return 0;
}

int command_check(const struct command *command, const struct request *request, struct err *err)
{
    if (request->n_words < command->least_words || request->n_words > command->most_words)
        return err_set(err, EINVAL, "write: duopolyctl %s%s%s", command->name,
                       *command->arguments ? " " : "", command->arguments);
    if (request->all && !strchr(command->options, 'a'))
        return err_set(err, EINVAL, "'%s' takes no --all", command->name);
    if (request->undo && !strchr(command->options, 'u'))
        return err_set(err, EINVAL, "'%s' takes no --undo", command->name);
    if (request->dry_run && (!strchr(command->options, 'd') || command_alone(command, request)))
        return err_set(err, EINVAL, "'%s' takes no --dry-run here: no controller would judge it",
                       command->name);
    if (request->if_version && (!strchr(command->options, 'd') || command_alone(command, request)))
        return err_set(err, EINVAL, "'%s' takes no --if-version here", command->name);
    if (request->wait && !strchr(command->options, 'w'))
        return err_set(err, EINVAL, "'%s' takes no --wait", command->name);
    if ((request->host || request->rack) && !strchr(command->options, 'h'))
        return err_set(err, EINVAL, "'%s' takes no --host and no --rack", command->name);
    if (request->confirm && !strchr(command->options, 'c'))
        return err_set(err, EINVAL, "'%s' takes no --confirm", command->name);
    if (request->as && !strchr(command->options, 'r'))
        return err_set(err, EINVAL, "'%s' takes no --as", command->name);
    if (request->from && !strchr(command->options, 'm'))
        return err_set(err, EINVAL, "'%s' takes no --from", command->name);
    if (request->svg && !strchr(command->options, 's'))
        return err_set(err, EINVAL, "'%s' takes no --svg", command->name);
    if (request->id && !strchr(command->options, 'i'))
        return err_set(err, EINVAL, "'%s' takes no --id", command->name);
    if ((request->who || request->what || request->result) && !strchr(command->options, 'f'))
        return err_set(err, EINVAL, "'%s' takes no --who, --what and --result", command->name);
    if (request->kind && !strchr(command->options, 'e'))
        return err_set(err, EINVAL, "'%s' takes no --kind", command->name);
    if ((request->role || request->folder || request->lasting) && !strchr(command->options, 'k'))
        return err_set(err, EINVAL, "'%s' takes no --role, --out and --for", command->name);
    int r = selection_is_given(request) ? selection_check(command, request, err) : 0;
    return r == 0 && command->check ? command->check(request, err) : r;
}

bool command_alone(const struct command *command, const struct request *request)
{
    return (command->run == run_switch && switch_alone(request)) ||
           (command->run == run_keys && keys_alone(request)) ||
           (command->run == run_config && config_alone(request));
}

bool command_copes(const struct command *command)
{
    return command->run == run_bundle;
}

bool command_tries(const struct command *command, const struct request *request)
{
    return request->confirm && command->run != run_switch;
}

bool command_streams(const struct command *command)
{
    return command->run == run_watch;
}

bool command_draws(const struct command *command)
{
    return command->run == run_top;
}

bool command_filters(const struct command *command, const struct request *request)
{
    const struct list *list = list_of(command, request);
    return (request->filter || request->since) && list && !list->local;
}

const struct cell *command_columns(const struct command *command, unsigned n)
{
    for (size_t i = 0; n < 2 && i < sizeof(shown) / sizeof(shown[0]); i++)
        if (shown[i].run == command->run)
            return shown[i].lists[n] ? shown[i].lists[n]->cells : NULL;
    return NULL;
}

bool command_of_fastpath(const struct command *command)
{
    return command->run == run_fastpath;
}
