/* The man page and the shells' completions, made of the same tables as the commands: nothing is
 * written twice, so nothing is forgotten. */
#pragma once

#include "lib/err.h"

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

struct manual_form {
    const char *name;
    void (*print)(const struct argp_option *options, FILE *out);
};
/* man, bash, zsh; NULL name at the end. */
extern const struct manual_form manual_forms[];

/* Writes one of them; `options` are the program's. −EINVAL: there is no such form. */
int manual_print(const char *form, const struct argp_option *options, FILE *out, struct err *err);

/* Whether a command with these option letters (commands.h) takes the option; each takes those that
 * have no letter. */
bool manual_takes(const char *letters, const struct argp_option *option);
/* What a command's first argument can be, with blanks between; "": anything. */
const char *manual_words(const char *command);
/* What the option's value can be, likewise. */
const char *manual_values(const struct argp_option *option);

void manual_bash(const struct argp_option *options, FILE *out);
void manual_zsh(const struct argp_option *options, FILE *out);
