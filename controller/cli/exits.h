/* Exit codes of duopolyctl: one table, which help and tests read. docs/operate/cli.md lists it. */
#pragma once

#include "lib/err.h"
#include "schemas/duopoly.pb.h"

enum exit_code {
    EXIT_DONE,
    EXIT_REFUSED,     /* also what fails in any other way */
    EXIT_ARGUMENTS,   /* nothing was asked */
    EXIT_UNREACHABLE, /* nobody answers there, or went away */
    EXIT_FORBIDDEN,
    EXIT_UNKNOWN,   /* what was named is not there */
    EXIT_LATE,      /* it may have happened */
    EXIT_PARTIAL,   /* some was done; the answer says what */
    EXIT_UNHEALTHY, /* asked for and answered: not well */
};

struct exit_row {
    enum exit_code code;
    const char *word, *what;
    const char *reason; /* for programs: a word of the error in JSON */
    const char *hint;   /* what to do; NULL: what the error's sentence says */
};

/* In the order of codes, each at its code; NULL word at the end. */
extern const struct exit_row exit_rows[];

/* For a command that failed: by the error, and, where it is a refusal (−EREMOTEIO), its reason. */
enum exit_code exit_of(const struct err *err, duopoly_Reason refusal);
/* For a connection that was not made: over TCP a key's file may be missing. */
enum exit_code exit_of_connection(const struct err *err, bool remote);

/* Why, for programs: what the controller refuses by has words of its own. */
const char *exit_reason(enum exit_code code, duopoly_Reason refusal);
