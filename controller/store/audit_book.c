#include "controller/store/audit_book.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool audit_is_refused(const char *result)
{
    static const char word[] = "refused, ";
    return strncmp(result, word, sizeof(word) - 1) == 0;
}

bool audit_admits(struct audit_book *book, const char *who, uint64_t now_ms, uint32_t *ret_left_out)
{
    return log_limit_admit_of(&book->askers, book, who, now_ms, ret_left_out);
}

int audit_take(struct audit_book *book, uint64_t n, int64_t at_ns, const char *who,
               const char *what, const char *result, uint64_t *ret_gone)
{
    bool refused = audit_is_refused(result);
    struct audit_line *line = refused ? &book->refused[book->n_refused % AUDIT_REFUSED]
                                      : &book->changes[book->n_changes % AUDIT_CHANGES];
    size_t room = strlen(who) + strlen(what) + strlen(result) + 3;
    char *text = malloc(room);
    *ret_gone = 0;
    if (!text)
        return -ENOMEM;
    snprintf(text, room, "%s%c%s%c%s", who, 0, what, 0, result);
    *ret_gone = refused ? line->n : 0;
    free(line->text);
    *line = (struct audit_line){n, at_ns, text};
    book->n_refused += refused;
    book->n_changes += !refused;
    book->newest = n;
    return 0;
}

static const struct audit_line *first_after(const struct audit_line *lines, size_t n,
                                            uint64_t after, const struct audit_line *first)
{
    for (size_t i = 0; i < n; i++)
        if (lines[i].n > after && (!first || lines[i].n < first->n))
            first = &lines[i];
    return first;
}

const struct audit_line *audit_after(const struct audit_book *book, uint64_t after)
{
    return first_after(book->refused, AUDIT_REFUSED, after,
                       first_after(book->changes, AUDIT_CHANGES, after, NULL));
}

static void lines_free(struct audit_line *lines, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(lines[i].text);
}

void audit_done(struct audit_book *book)
{
    lines_free(book->changes, AUDIT_CHANGES);
    lines_free(book->refused, AUDIT_REFUSED);
}
