#include "controller/cli/manual.h"

#include "controller/cli/commands.h"
#include "controller/cli/exits.h"
#include "controller/cli/fastpath.h"
#include "lib/join.h"
#include "lib/program.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* Options of some commands alone. */
static const struct {
    const char *option, *letters; /* as in struct command, one of them */
} of_some[] = {
    {"all", "a"},     {"undo", "u"},   {"id", "i"},      {"role", "k"},       {"out", "k"},
    {"for", "k"},     {"host", "h"},   {"rack", "h"},    {"as", "r"},         {"from", "m"},
    {"confirm", "c"}, {"svg", "s"},    {"dry-run", "d"}, {"if-version", "d"}, {"wait", "w"},
    {"who", "f"},     {"what", "f"},   {"result", "f"},  {"filter", "lt"},    {"columns", "l"},
    {"sort", "l"},    {"since", "le"}, {"limit", "le"},  {"kind", "e"},
};

static const struct {
    const char *command, *words;
} first_words[] = {
    {"config", "show check diff reload"},
    {"explain", "mode"},
    {"fastpath", "capture"},
    {"host", "forget"},
    {"job", "set hold release requeue"},
    {"keys", "list make revoke rotate"},
    {"log", "level"},
    {"mode", "history"},
    {"policy", "turn place commit network mode users"},
    {"stance", "observe mark enforce"},
    {"store", "check backup"},
    {"top", "hosts links jobs"},
    {"user", "set leave"},
    {"whatif", "policy host-down job"},
};

/* What an option's value can be, or each word between commas of it. */
static const struct {
    const char *option, *words;
} values_of[] = {
    {"as", "eos nvue openconfig sonic-patch dot dimacs"},
    {"form", "text wide json json-lines csv"},
    {"kind", "job task host mode hold policy stance key framework"},
    {"print", "man bash zsh"},
    {"result", "done refused failed cancelled"},
    {"role", "agent scheduler framework read-only operator admin"},
};

bool manual_takes(const char *letters, const struct argp_option *option)
{
    for (size_t i = 0; i < sizeof(of_some) / sizeof(of_some[0]); i++)
        if (strcmp(of_some[i].option, option->name) == 0)
            return strpbrk(letters, of_some[i].letters) != NULL;
    return true;
}

const char *manual_words(const char *command)
{
    for (size_t i = 0; i < sizeof(first_words) / sizeof(first_words[0]); i++)
        if (strcmp(first_words[i].command, command) == 0)
            return first_words[i].words;
    return "";
}

const char *manual_values(const struct argp_option *option)
{
    for (size_t i = 0; i < sizeof(values_of) / sizeof(values_of[0]); i++)
        if (strcmp(values_of[i].option, option->name) == 0)
            return values_of[i].words;
    return "";
}

/* As roff has it: a line does not begin with a point or a quote, and a minus is one. */
static void roff_put(const char *text, FILE *out)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '-' || *text == '\\')
            fputc('\\', out);
        fputs(*text == '\\' ? "e" : (char[]){*text, '\0'}, out);
    }
}

static void option_put(const struct argp_option *option, FILE *out)
{
    fputs(".TP\n", out);
    if (isalpha(option->key) && option->key < 256)
        fprintf(out, "\\fB\\-%c\\fR, ", option->key);
    fputs("\\fB\\-\\-", out);
    roff_put(option->name, out);
    fputs("\\fR", out);
    if (option->arg) {
        fputs(option->flags & OPTION_ARG_OPTIONAL ? "[=\\fI" : "=\\fI", out);
        roff_put(option->arg, out);
        fputs(option->flags & OPTION_ARG_OPTIONAL ? "\\fR]" : "\\fR", out);
    }
    fputc('\n', out);
    roff_put(option->doc, out);
    fputc('\n', out);
}

static void man_print(const struct argp_option *options, FILE *out)
{
    fputs(".TH DUOPOLYCTL 1 \"\" \"duopoly " DUOPOLY_VERSION "\" \"duopoly\"\n"
          ".SH NAME\nduopolyctl \\- ask and tell the controller of a duopoly cluster\n"
          ".SH SYNOPSIS\n.B duopolyctl\n[\\fIOPTION\\fR...] \\fICOMMAND\\fR [\\fIARGUMENT\\fR...]\n"
          ".SH DESCRIPTION\nThe controller is asked on its host by its Unix socket, or from "
          "elsewhere with a key. A TASK is JOB/STAGE/TASK or the number of an attempt.\n"
          ".SH COMMANDS\n",
          out);
    for (const struct command *c = cli_commands; c->name; c++) {
        fprintf(out, ".TP\n\\fB%s\\fR ", c->name);
        roff_put(c->arguments, out);
        fputc('\n', out);
        roff_put(c->help, out);
        fputc('\n', out);
    }
    fputs(".SH OPTIONS\n", out);
    for (; options->name; options++)
        option_put(options, out);
    fputs(".SH EXIT STATUS\n", out);
    for (const struct exit_row *row = exit_rows; row->word; row++)
        fprintf(out, ".TP\n\\fB%d\\fR %s\n%s\n", (int)row->code, row->word, row->what);
    fputs(".SH FILES\n.TP\n" CLIENT_SOCKET "\nthe controller's socket\n.TP\n" FASTPATH_SOCKET
          "\nthe data plane's\n.SH SEE ALSO\n/usr/share/doc/duopoly/docs/operate/cli.md\n",
          out);
}

const struct manual_form manual_forms[] = {
    {"man", man_print}, {"bash", manual_bash}, {"zsh", manual_zsh}, {NULL, NULL}};

int manual_print(const char *form, const struct argp_option *options, FILE *out, struct err *err)
{
    char names[64] = "";
    for (const struct manual_form *f = manual_forms; f->name; f++) {
        if (strcmp(f->name, form) == 0) {
            f->print(options, out);
            return 0;
        }
        join_word(names, sizeof(names), ", ", f->name);
    }
    return err_set(err, EINVAL, "there is no form '%s' to print; there are: %s", form, names);
}
