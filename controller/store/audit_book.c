#include "controller/store/audit_book.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

enum audit_kind audit_kind_of(const char *what, const char *result)
{
    if (begins(result, "refused, "))
        return AUDIT_REFUSED;
    return begins(what, "submit ") || begins(what, "cancel ") ? AUDIT_JOB : AUDIT_CHANGE;
}

bool audit_admits(struct audit_book *book, const char *who, uint64_t now_ms, uint32_t *ret_left_out)
{
    return log_limit_admit_of(&book->askers, book, who, now_ms, ret_left_out);
}

int audit_take(struct audit_book *book, uint64_t n, int64_t at_ns, const char *who,
               const char *what, const char *result, uint64_t *ret_gone)
{
    enum audit_kind kind = audit_kind_of(what, result);
    struct audit_line *line = &book->lines[kind][book->n[kind] % AUDIT_SHOWN];
    size_t room = strlen(who) + strlen(what) + strlen(result) + 3;
    char *text = malloc(room);
    *ret_gone = 0;
    if (!text)
        return -ENOMEM;
    snprintf(text, room, "%s%c%s%c%s", who, 0, what, 0, result);
    *ret_gone = kind == AUDIT_REFUSED ? line->n : 0;
    free(line->text);
    *line = (struct audit_line){n, at_ns, text};
    book->n[kind]++;
    book->newest = n;
    return 0;
}

const struct audit_line *audit_after(const struct audit_book *book, uint64_t after)
{
    const struct audit_line *first = NULL;
    for (int kind = 0; kind < AUDIT_KINDS; kind++)
        for (int i = 0; i < AUDIT_SHOWN; i++) {
            const struct audit_line *line = &book->lines[kind][i];
            if (line->n > after && (!first || line->n < first->n))
                first = line;
        }
    return first;
}

uint64_t audit_newest(const struct audit_book *book, enum audit_kind kind)
{
    const uint64_t n = book->n[kind];
    return n ? book->lines[kind][(n - 1) % AUDIT_SHOWN].n : 0;
}

void audit_done(struct audit_book *book)
{
    for (int kind = 0; kind < AUDIT_KINDS; kind++)
        for (int i = 0; i < AUDIT_SHOWN; i++)
            free(book->lines[kind][i].text);
}
