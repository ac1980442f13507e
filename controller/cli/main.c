/* duopolyctl: what the controller does, and what it should do. */
#include "controller/cli/commands.h"
#include "controller/cli/ending.h"
#include "controller/cli/exits.h"
#include "controller/cli/fastpath.h"
#include "controller/cli/manual.h"
#include "lib/conf_check.h"
#include "lib/program.h"

#include <argp.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { KEY_ID = 256, KEY_UNDO, KEY_DRY_RUN, KEY_IF_VERSION, KEY_WAIT, KEY_PRINT, KEY_TEXT };

/* Columns of a line, at least and at most; before a line that goes on; before a command's text. */
enum { HELP_LEAST = 40, HELP_MOST = 80, HELP_INDENT = 6, HELP_TEXT = 26 };

struct arguments {
    const char *socket, *key; /* NULL: not given */
    const struct writer_form *form;
    const char *form_name; /* NULL: as `form` */
    const char *command;
    struct request request;
};

/* The key of an option whose text is only stored: where. */
#define TEXT_AT(member) (KEY_TEXT + (int)offsetof(struct arguments, member))

const char *argp_program_version = "duopolyctl " DUOPOLY_VERSION;

static const struct argp_option options[] = {
    {"socket", 's', "PATH", 0,
     "the controller's socket (" CLIENT_SOCKET "); for fastpath the data plane's (" FASTPATH_SOCKET
     ")",
     0},
    {"controller", TEXT_AT(request.controller), "ADDRESS", 0,
     "a controller elsewhere, tcp://HOST:PORT", 0},
    {"key", TEXT_AT(key), "FILE", 0, "the key for that controller (lib/keys.h)", 0},
    {"json", 'j', NULL, 0, "write JSON, with raw units; errors too", 0},
    {"form", TEXT_AT(form_name), "FORM", 0,
     "write text, wide (text with all columns), json (as -j), json-lines or csv", 0},
    {"all", 'a', NULL, 0,
     "also finished ones (jobs, tasks); all hosts (stance); every combination (policy)", 0},
    {"id", KEY_ID, "N", 0, "only the job with this id in the file (submit)", 0},
    {"host", TEXT_AT(request.host), "NAME", 0, "this host (stance)", 0},
    {"rack", TEXT_AT(request.rack), "NAME", 0, "the hosts of this rack (stance, drain)", 0},
    {"confirm", TEXT_AT(request.confirm), "TIME", 0,
     "undo the change after this time, such as 60s, unless the same without it confirms it "
     "(policy, "
     "drain, stance, switch)",
     0},
    {"as", TEXT_AT(request.as), "FORMAT", 0,
     "eos, nvue, openconfig or sonic-patch (switch NAME render); dot or dimacs (graph)", 0},
    {"from", TEXT_AT(request.from), "FILE", 0,
     "the switch's description, instead of its agent's report (switch NAME render)", 0},
    {"svg", TEXT_AT(request.svg), "FILE", 0, "also as a picture in this file (shares, graph)", 0},
    {"undo", KEY_UNDO, NULL, 0, "undo it (drain, switch NAME render)", 0},
    {"wait", KEY_WAIT, "TIME", OPTION_ARG_OPTIONAL,
     "until nothing runs there, at most this long, such as 10min; default 1 h (drain)", 0},
    {"dry-run", KEY_DRY_RUN, NULL, 0,
     "change nothing: the controller says what it would do, or why not (what changes something)",
     0},
    {"if-version", KEY_IF_VERSION, "N", 0,
     "only if nothing changed since `status` showed this version (what changes something)", 0},
    {"role", TEXT_AT(request.role), "ROLE", 0,
     "agent, scheduler, framework, read-only, operator, admin (keys make)", 0},
    {"out", TEXT_AT(request.folder), "FOLDER", 0, "the folder for key files (keys make, rotate)",
     0},
    {"for", TEXT_AT(request.lasting), "TIME", 0,
     "how long the old key stays valid, such as 90s; default 1 h (keys rotate)", 0},
    {"who", TEXT_AT(request.who), "WORD", 0,
     "only of users whose names contain this (audit, history)", 0},
    {"what", TEXT_AT(request.what), "WORD", 0,
     "only actions, or jobs' names, that contain this (audit, history)", 0},
    {"kind", TEXT_AT(request.kind), "KINDS", 0,
     "only of these kinds: job, task, host, mode, hold, policy, stance, key, framework (events, "
     "watch, record)",
     0},
    {"result", TEXT_AT(request.result), "RESULT", 0,
     "only with this result (audit: done, refused; history: done, failed, cancelled)", 0},
    {"filter", TEXT_AT(request.filter), "CONDITIONS", 0,
     "only rows with this content, such as 'state=up,running>3,name~w|v' (lists, top)", 0},
    {"columns", TEXT_AT(request.columns), "NAMES", 0,
     "these columns in this order, by their names in JSON (lists)", 0},
    {"sort", TEXT_AT(request.sort), "NAMES", 0,
     "by these columns; -NAME: the largest first (lists)", 0},
    {"since", TEXT_AT(request.since), "TIME", 0,
     "only what was since then: 10min, 2026-01-31, 2026-01-31T12:00:00Z (lists with a time, "
     "events); first what is kept since then (watch, record)",
     0},
    {"limit", TEXT_AT(request.limit), "N", 0,
     "only the first N (lists); the newest N (audit, history, events); end after N (watch, record)",
     0},
    {"print", KEY_PRINT, "FORM", 0, "print the man page (man) or a completion (bash, zsh)", 0},
    {0},
};

static void number_argument(struct argp_state *state, const char *option, const char *text,
                            uint64_t *ret_number)
{
    struct err err;
    if (number_parse(text, option, ret_number, &err) < 0)
        argp_failure(state, EXIT_ARGUMENTS, 0, "%s", err.text);
}

static void print_take(struct argp_state *state, const char *form)
{
    struct err err;
    if (manual_print(form, options, stdout, &err) < 0)
        argp_failure(state, EXIT_ARGUMENTS, 0, "%s", err.text);
    exit(fflush(stdout) == 0 ? EXIT_DONE : EXIT_REFUSED);
}

static void word_take(struct argp_state *state, struct arguments *arguments, const char *word)
{
    const size_t most = sizeof(arguments->request.words) / sizeof(arguments->request.words[0]);
    if (!arguments->command)
        arguments->command = word;
    else if ((size_t)arguments->request.n_words < most)
        arguments->request.words[arguments->request.n_words++] = word;
    else
        argp_failure(state, EXIT_ARGUMENTS, 0, "'%s' is one argument too many", word);
}

static error_t option_take(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    if (key >= KEY_TEXT && key < KEY_TEXT + (int)sizeof(*arguments)) {
        *(const char **)(void *)((char *)arguments + key - KEY_TEXT) = value;
        return 0;
    }
    switch (key) {
    case 's':
        arguments->socket = value;
        return 0;
    case 'j':
        arguments->form = &writer_form_json;
        return 0;
    case 'a':
        arguments->request.all = true;
        return 0;
    case KEY_UNDO:
        arguments->request.undo = true;
        return 0;
    case KEY_WAIT:
        arguments->request.wait = value ? value : "";
        return 0;
    case KEY_DRY_RUN:
        arguments->request.dry_run = true;
        return 0;
    case KEY_ID:
        number_argument(state, "--id", value, &arguments->request.id);
        return 0;
    case KEY_IF_VERSION:
        number_argument(state, "--if-version", value, &arguments->request.if_version);
        return 0;
    case KEY_PRINT:
        print_take(state, value);
        return 0;
    case ARGP_KEY_ARG:
        word_take(state, arguments, value);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_failure(state, EXIT_ARGUMENTS, 0, "say what to do; --help lists the commands");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Columns of the terminal that help goes to, or of pages else. */
static size_t help_columns(void)
{
    struct winsize size;
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= HELP_LEAST;
    return known && size.ws_col < HELP_MOST ? size.ws_col : HELP_MOST;
}

/* Which argp asks for when it writes options. */
static void help_fit(void)
{
    char format[32];
    snprintf(format, sizeof(format), "rmargin=%zu", help_columns() - 1);
    setenv("ARGP_HELP_FMT", format, false);
}

/* Words behind column `at`, and below each other; the column behind them. */
static size_t words_put(const char *words, size_t at, FILE *out)
{
    const size_t columns = help_columns();
    while (*words) {
        const size_t length = strcspn(words, " ");
        if (at + length + 3 > columns)
            at = (size_t)fprintf(out, "\n%*s", HELP_INDENT, "") - 1;
        at += (size_t)fprintf(out, " %.*s", (int)length, words);
        words += length + strspn(words + length, " ");
    }
    return at;
}

static void command_help(const struct command *command, FILE *out)
{
    size_t at = words_put(command->arguments, (size_t)fprintf(out, "  %-8s", command->name), out);
    if (at > HELP_TEXT)
        at = help_columns(); /* a line of its own */
    else
        at += (size_t)fprintf(out, "%*s", (int)(HELP_TEXT - at), "");
    words_put(command->help, at, out);
    fputc('\n', out);
}

/* --help is made from the table of commands, so that it is complete. */
static char *commands_help(int key, const char *text, void *input)
{
    (void)input;
    char *help = NULL;
    size_t size = 0;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)text;
    FILE *out = open_memstream(&help, &size);
    if (!out)
        return NULL;
    fputs("Commands:\n", out);
    for (const struct command *c = cli_commands; c->name; c++)
        command_help(c, out);
    fputs("\nA TASK is JOB/STAGE/TASK or the number of an attempt.\nExit status:", out);
    for (const struct exit_row *row = exit_rows; row->word; row++)
        fprintf(out, "\n  %d %s: %s", row->code, row->word, row->what);
    fclose(out);
    return help;
}

static int controller_check(const struct arguments *arguments, struct err *err)
{
    const char *address = arguments->request.controller;
    if (!address != !arguments->key)
        return err_set(err, EINVAL, "--controller and --key go together");
    return address ? conf_check_connect(address, err) : 0;
}

/* Which words a command takes says its check; this is about how it is to answer. */
static int form_check(const struct command *command, const struct arguments *arguments,
                      struct err *err)
{
    return !command_draws(command) || arguments->form == &writer_form_text
               ? 0
               : err_set(err, EINVAL, "'%s' draws on a terminal and has no other form",
                         command->name);
}

static int local_reach(const struct command *command, const char *socket,
                       struct client **ret_client, struct err *err)
{
    return command_of_fastpath(command)
               ? fastpath_open(socket ? socket : FASTPATH_SOCKET, ret_client, err)
               : client_open(socket ? socket : CLIENT_SOCKET, ret_client, err);
}

static int somebody_reach(const struct command *command, const struct arguments *arguments,
                          struct client **ret_client, struct err *err)
{
    const char *address = arguments->request.controller;
    return address ? client_open_remote(address, arguments->key, ret_client, err)
                   : local_reach(command, arguments->socket, ret_client, err);
}

/* The exit code of a command that returned `r`. */
static enum exit_code code_of(int r, const struct writer *writer, duopoly_Reason refusal,
                              const struct err *err)
{
    return r >= 0 ? (enum exit_code)r : writer_begun(writer) ? EXIT_PARTIAL : exit_of(err, refusal);
}

/* How it is to be carried out, which an older controller would ignore. */
static int manner_agree(const struct command *command, const struct request *request,
                        struct client *client, struct err *err)
{
    int r = request->dry_run ? client_dry_run(client, err) : 0;
    if (r == 0 && command_filters(command, request))
        r = client_may_filter(client, err);
    if (r == 0 && request->if_version)
        r = client_if_version(client, request->if_version, err);
    return r == 0 && command_tries(command, request) ? client_may_confirm(client, err) : r;
}

static enum exit_code command_run(const struct command *command, struct arguments *arguments)
{
    struct err err = {0}, unreached;
    struct client *client = NULL;
    duopoly_Reason refusal = duopoly_Reason_REASON_NONE;
    struct writer *writer = ending_begin(arguments->form);
    bool alone = command_alone(command, &arguments->request);
    if (!alone && somebody_reach(command, arguments, &client, &unreached) < 0) {
        if (!command_copes(command))
            return ending_write(
                writer, exit_of_connection(&unreached, arguments->request.controller != NULL),
                refusal, &unreached);
        arguments->request.unreached = unreached.text;
    }
    writer_stream(writer, stdout);
    int r = manner_agree(command, &arguments->request, client, &err);
    if (r == 0)
        r = command->run(client, &arguments->request, writer, &err);
    if (r == EXIT_PARTIAL)
        writer_keep(writer);
    if (r < 0 && client && err.code == EREMOTEIO)
        refusal = client_refusal(client);
    enum exit_code code = ending_write(writer, code_of(r, writer, refusal, &err), refusal, &err);
    client_close(client);
    return code;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        option_take,
        "COMMAND [ARGUMENT]",
        "Asks and tells the duopoly controller on this machine, or elsewhere.\v",
        NULL,
        commands_help,
        NULL};
    struct arguments arguments = {.form = &writer_form_text};
    const struct command *command;
    struct err err;
    program_begin();
    argp_err_exit_status = EXIT_ARGUMENTS;
    help_fit();
    struct ending_catch *caught = ending_catch(argc, argv);
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
        return EXIT_ARGUMENTS;
    ending_release(caught);
    if ((arguments.form_name && writer_form_find(arguments.form_name, &arguments.form, &err) < 0) ||
        command_find(arguments.command, &command, &err) < 0 ||
        command_check(command, &arguments.request, &err) < 0 ||
        form_check(command, &arguments, &err) < 0 || controller_check(&arguments, &err) < 0)
        return (int)ending_write(ending_begin(arguments.form), EXIT_ARGUMENTS,
                                 duopoly_Reason_REASON_NONE, &err);
    if (command_streams(command) && arguments.form == &writer_form_json)
        arguments.form = &writer_form_lines;
    return (int)command_run(command, &arguments);
}
