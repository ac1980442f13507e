/* What shells ask when somebody types a tab: commands, their first words, options, columns of
 * lists; else files. */
#include "controller/cli/commands.h"
#include "controller/cli/manual.h"
#include "controller/lists/cell.h"

#include <ctype.h>
#include <string.h>

static bool is_letter(const struct argp_option *option)
{
    return option->key < 256 && isalpha(option->key);
}

/* Options whose next word is theirs, as patterns of `case`. */
static void with_values_put(const struct argp_option *options, FILE *out)
{
    const char *between = "";
    for (; options->name; options++) {
        if (!options->arg || options->flags & OPTION_ARG_OPTIONAL)
            continue;
        fprintf(out, "%s--%s", between, options->name);
        between = "|";
        if (is_letter(options))
            fprintf(out, "|-%c", options->key);
    }
}

static void options_put(const char *letters, const struct argp_option *options, FILE *out)
{
    for (; options->name; options++)
        if (manual_takes(letters, options))
            fprintf(out, " --%s", options->name);
    fputs(" --help --version", out);
}

static void cells_put(const struct cell *cell, FILE *out)
{
    for (; cell && cell->key; cell++)
        fprintf(out, " %s", cell->key);
}

/* Values of options: words that are known, and of each list the columns, which stand between
 * commas, the largest first with a minus. */
static void values_put(const struct argp_option *options, FILE *out)
{
    fputs("    if [[ $value ]]; then\n        case $value:$command in\n", out);
    for (; options->name; options++)
        if (*manual_values(options))
            fprintf(out, "        --%s:*) words='%s' ;;\n", options->name, manual_values(options));
    for (const struct command *c = cli_commands; c->name; c++) {
        if (!command_columns(c, 0))
            continue;
        fprintf(out, "        --columns:%s | --sort:%s) words='", c->name, c->name);
        cells_put(command_columns(c, 0), out);
        cells_put(command_columns(c, 1), out);
        fputs("' ;;\n", out);
    }
    fputs("        esac\n"
          "        local last=${word##*,}\n"
          "        [[ $value == --sort ]] && last=${last#-}\n"
          "        COMPREPLY=($(compgen -P \"${word%\"$last\"}\" -W \"$words\" -- \"$last\"))\n"
          "        return\n    fi\n",
          out);
}

void manual_bash(const struct argp_option *options, FILE *out)
{
    fputs("# bash completion of duopolyctl; `duopolyctl --print bash` made it.\n"
          "_duopolyctl() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} command= value= at=0 i words=\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
          "        case ${COMP_WORDS[i]} in\n"
          "        ",
          out);
    with_values_put(options, out);
    fputs(")\n            ((++i == COMP_CWORD)) && value=${COMP_WORDS[i - 1]} ;;\n"
          "        -*) ;;\n"
          "        *) [[ $command ]] || { command=${COMP_WORDS[i]} at=$i; } ;;\n"
          "        esac\n"
          "    done\n",
          out);
    values_put(options, out);
    fputs("    case $command in\n    '') words='", out);
    for (const struct command *c = cli_commands; c->name; c++)
        fprintf(out, "%s%s", c == cli_commands ? "" : " ", c->name);
    fputs("' ;;\n", out);
    for (const struct command *c = cli_commands; c->name; c++)
        if (*manual_words(c->name))
            fprintf(out, "    %s) ((at + 1 == COMP_CWORD)) && words='%s' ;;\n", c->name,
                    manual_words(c->name));
    fputs("    esac\n    if [[ $word == -* ]]; then\n        case $command in\n", out);
    for (const struct command *c = cli_commands; c->name; c++) {
        fprintf(out, "        %s) words='", c->name);
        options_put(c->options, options, out);
        fputs("' ;;\n", out);
    }
    fputs("        *) words='", out);
    options_put("", options, out);
    fputs("' ;;\n        esac\n    fi\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "}\n"
          "complete -o default -F _duopolyctl duopolyctl\n",
          out);
}

/* A word between apostrophes, in which zsh's own signs are escaped. */
static void zsh_put(const char *text, const char *signs, FILE *out)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\'", out);
        else if (strchr(signs, *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

static bool is_path(const char *argument)
{
    return strcmp(argument, "PATH") == 0 || strcmp(argument, "FILE") == 0 ||
           strcmp(argument, "FOLDER") == 0;
}

/* What completes the option's value. */
static void zsh_values_put(const struct argp_option *option, FILE *out)
{
    if (strcmp(option->name, "columns") == 0 || strcmp(option->name, "sort") == 0)
        fputs(":->columns", out);
    else if (strcmp(option->name, "kind") == 0)
        fprintf(out, ":_sequence compadd - %s", manual_values(option));
    else if (*manual_values(option))
        fprintf(out, ":(%s)", manual_values(option));
    else
        fputs(is_path(option->arg) ? ":_files" : ": ", out);
}

static void zsh_option_put(const struct argp_option *option, FILE *out)
{
    bool optional = option->flags & OPTION_ARG_OPTIONAL;
    fputs("    '", out);
    if (is_letter(option))
        fprintf(out, "(-%c --%s)'{-%c,--%s%s}'[", option->key, option->name, option->key,
                option->name, option->arg ? "=" : "");
    else
        fprintf(out, "--%s%s[", option->name, optional ? "=-" : option->arg ? "=" : "");
    zsh_put(option->doc, "[]:\\", out);
    fputc(']', out);
    if (option->arg) {
        fputs(optional ? "::" : ":", out);
        zsh_put(option->arg, ":\\", out);
        zsh_values_put(option, out);
    }
    fputs("' \\\n", out);
}

/* The columns of each command's lists. */
static void zsh_columns_put(FILE *out)
{
    fputs("    columns)\n        case $line[1] in\n", out);
    for (const struct command *c = cli_commands; c->name; c++) {
        if (!command_columns(c, 0))
            continue;
        fprintf(out, "        %s) _sequence compadd -", c->name);
        cells_put(command_columns(c, 0), out);
        cells_put(command_columns(c, 1), out);
        fputs(" ;;\n", out);
    }
    fputs("        esac ;;\n", out);
}

void manual_zsh(const struct argp_option *options, FILE *out)
{
    fputs("#compdef duopolyctl\n# zsh completion of duopolyctl; `duopolyctl --print zsh` made it.\n"
          "_duopolyctl() {\n    local state line\n    local -a commands=(\n",
          out);
    for (const struct command *c = cli_commands; c->name; c++) {
        fprintf(out, "        '%s:", c->name);
        zsh_put(c->help, ":\\", out);
        fputs("'\n", out);
    }
    fputs("    )\n    _arguments -C \\\n", out);
    for (; options->name; options++)
        zsh_option_put(options, out);
    fputs("    '--help[help]' '--version[version]' '1:command:->command' '*:argument:->argument'\n"
          "    case $state in\n    command) _describe -t commands command commands ;;\n",
          out);
    zsh_columns_put(out);
    fputs("    argument)\n        case $line[1]:$CURRENT in\n", out);
    for (const struct command *c = cli_commands; c->name; c++)
        if (*manual_words(c->name))
            fprintf(out, "        %s:3) compadd -- %s ;;\n", c->name, manual_words(c->name));
    fputs("        *) _files ;;\n        esac ;;\n    esac\n}\n_duopolyctl \"$@\"\n", out);
}
