/* The commands of duopolyctl: one const table. A command checks its arguments before it connects,
 * asks the controller through lib/client.h, and hands the result to a writer; it never prints.
 * Exit codes are in exits.h. */
#pragma once

#include "lib/client.h"
#include "lib/err.h"
#include "lib/writer.h"

/* The command line's content. Strings are borrowed. */
struct request {
    const char *words[18]; /* the command's arguments */
    int n_words;
    bool all;                                            /* -a: finished ones too */
    bool undo;                                           /* --undo */
    bool dry_run;                                        /* --dry-run */
    const char *role, *folder, *lasting;                 /* --role, --out, --for; NULL: not given */
    uint64_t id, if_version;                             /* --id, --if-version; 0: not given */
    const char *host, *rack;                             /* --host, --rack; NULL: not given */
    const char *confirm;                                 /* --confirm; NULL: not given */
    const char *wait;                                    /* --wait; "": without a time */
    const char *as, *from;                               /* --as, --from; NULL: not given */
    const char *svg;                                     /* --svg; NULL: not given */
    const char *who, *what, *result, *kind;              /* by their names; NULL: not given */
    const char *filter, *columns, *sort, *since, *limit; /* of lists, likewise */
    const char *controller;                              /* --controller; NULL: on this machine */
    const char *unreached; /* why no controller answers; NULL: one does, or none is asked */
};

/* Reads a decimal number from 1 to 2⁶⁴−1. −EINVAL with a sentence. */
int number_parse(const char *text, const char *what, uint64_t *ret_number, struct err *err);

struct cell;

struct command {
    const char *name;
    const char *arguments; /* as in a synopsis, "" for none */
    const char *help;
    int least_words, most_words;
    const char *options; /* which of "a" (--all), "u" (--undo), "i" (--id), "k" (--role, --out,
                            --for), "h" (--host, --rack), "c" (--confirm), "r" (--as), "m" (--from),
                            "s" (--svg), "d" (--dry-run, --if-version), "w" (--wait), "f" (--who,
                            --what, --result), "l" (--filter, --columns, --sort, --since, --limit),
                            "e" (--kind, --since, --limit), "t" (--filter) it takes */
    /* Checks the request without the controller; NULL: only the number of words is checked.
     * −EINVAL: a wrong argument. */
    int (*check)(const struct request *request, struct err *err);
    /* 0; −errno; or EXIT_PARTIAL, with a sentence, or EXIT_UNHEALTHY, both with an answer. */
    int (*run)(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
};

/* Calls with the request as filled in, and writes the controller's words; `writer` NULL: it is not
 * the last of several requests. Errors as client_call. */
int accepted_write(struct client *client, struct writer *writer, struct err *err);

/* NULL name at the end. */
extern const struct command cli_commands[];

/* The command of this name; −EINVAL with the nearest one. */
int command_find(const char *name, const struct command **ret_command, struct err *err);

/* Whether the request fits the command. −EINVAL. */
int command_check(const struct command *command, const struct request *request, struct err *err);

/* Whether it needs no controller: `run` then gets no client. */
bool command_alone(const struct command *command, const struct request *request);

/* Whether it goes on where no controller answers: `run` then gets no client either, and the request
 * says why. */
bool command_copes(const struct command *command);

/* Whether the controller is to undo what it changes unless that is confirmed. */
bool command_tries(const struct command *command, const struct request *request);

/* Whether its answer goes on until somebody ends it: then JSON is lines. */
bool command_streams(const struct command *command);

/* Whether it shows its answer on a terminal alone. */
bool command_draws(const struct command *command);

/* Whether the controller is to leave out rows of its list. */
bool command_filters(const struct command *command, const struct request *request);
/* The columns that --columns and --sort may name, of its n-th list; NULL: it has no such list. */
const struct cell *command_columns(const struct command *command, unsigned n);

/* Whether it asks this machine's data plane instead of a controller. */
bool command_of_fastpath(const struct command *command);
