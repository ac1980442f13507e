/* What an agent would change on its host, before it does: a list that each of its parts fills with
 * what it would make, change or take away, and with the reasons for which it would not do something.
 *
 * Filling changes nothing. The strings are copied; one thread; bounded by CHANGES_MOST. */
#pragma once

#include "lib/err.h"

#include <stdint.h>

#define CHANGES_MOST   131072
#define CHANGES_REFUSE 32 /* reasons that are kept */

enum change_verb { CHANGE_ADD, CHANGE_CHANGE, CHANGE_REMOVE };

struct changes {
    uint32_t n, refusals_n;
    struct change {
        enum change_verb verb;
        const char *kind; /* a constant word: "file", "mount", … */
        char *where;      /* a path, a port, "" */
        char *what;
    } * items;
    struct err refusals[CHANGES_REFUSE];
    uint32_t notes_n;
    struct err notes[CHANGES_REFUSE]; /* what will not be as it is wished; the text alone */
};

/* −E2BIG, −ENOMEM. `kind` is borrowed. */
__attribute__((format(printf, 6, 7))) int changes_tell(struct changes *changes,
                                                       enum change_verb verb, const char *kind,
                                                       const char *where, struct err *err,
                                                       const char *format, ...);

/* A file or folder that is made where there is none. Refused where this process may not. */
int changes_path(struct changes *changes, const char *kind, const char *path, const char *what,
                 struct err *err);

/* Why something would not be done; told once, and those beyond CHANGES_REFUSE are left out. */
void changes_refuse(struct changes *changes, const struct err *why);
/* The same for what would be done, but not as it is wished. */
void changes_note(struct changes *changes, const struct err *what);

/* Refused when this process has not got the capability (capabilities(7)), which it needs `to` do
 * something: "change queues". */
void changes_need(struct changes *changes, int capability, const char *name, const char *to);

/* Why nothing would be done, as `more` has it; its changes are left out. */
void changes_refuse_all(struct changes *changes, const struct changes *more);

/* Moves the changes and refusals of `more`, which is empty afterwards, also after an error. −E2BIG,
 * −ENOMEM. */
int changes_join(struct changes *changes, struct changes *more, struct err *err);

void changes_free(struct changes *changes); /* takes {0}; `changes` itself is the caller's */
