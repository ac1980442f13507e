/* The changes that an agent would make on its host, listed before it makes them. Each part adds
 * what it would add, change or remove, and the reasons why it would refuse.
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
    struct err notes[CHANGES_REFUSE]; /* what will not be as wished; the text alone */
};

/* −E2BIG, −ENOMEM. `kind` is borrowed. */
__attribute__((format(printf, 6, 7))) int changes_tell(struct changes *changes,
                                                       enum change_verb verb, const char *kind,
                                                       const char *where, struct err *err,
                                                       const char *format, ...);

/* A file or folder that would be made if it is missing. Refused if this process may not make it. */
int changes_path(struct changes *changes, const char *kind, const char *path, const char *what,
                 struct err *err);

/* Adds a reason for a refusal; each is listed once, and those beyond CHANGES_REFUSE are left
 * out. */
void changes_refuse(struct changes *changes, const struct err *why);
/* The same for what would be done, but not as wished. */
void changes_note(struct changes *changes, const struct err *what);

/* Adds a refusal if this process lacks the capability (capabilities(7)) that it needs `to` do
 * something: "change queues". */
void changes_need(struct changes *changes, int capability, const char *name, const char *to);

/* Adds the refusals of `more`, without its changes: nothing would be done. */
void changes_refuse_all(struct changes *changes, const struct changes *more);

/* Moves the changes and refusals of `more`, which is empty afterwards, also after an error. −E2BIG,
 * −ENOMEM. */
int changes_join(struct changes *changes, struct changes *more, struct err *err);

void changes_free(struct changes *changes); /* takes {0}; `changes` itself is the caller's */
