#include "controller/cli/exits.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

const struct exit_row exit_rows[] = {
    {EXIT_DONE, "done", "what was asked for is done", "done", NULL},
    {EXIT_REFUSED, "refused", "the controller refused it, or it failed; nothing was changed",
     "refused", NULL},
    {EXIT_ARGUMENTS, "wrong arguments", "nothing was asked", "arguments",
     "duopolyctl --help lists commands and options"},
    {EXIT_UNREACHABLE, "unreachable", "no controller answers, or it went away: it may be done",
     "unreachable",
     "see whether the daemon runs, and whether this is its socket (--socket) or address "
     "(--controller)"},
    {EXIT_FORBIDDEN, "not permitted", "your user or key may not do this", "permission",
     "ask as a user who may, or with a key of another role"},
    {EXIT_UNKNOWN, "not found", "what was named is not there: a job, a host, a file", "unknown",
     "list what is there: duopolyctl jobs -a, hosts, switches, users, keys list"},
    {EXIT_LATE, "timed out", "no answer in time; it may be done all the same", "late",
     "look whether it was done before you ask for it again"},
    {EXIT_PARTIAL, "partial", "some was done, some was not; the answer says which", "partial",
     "items has what came, or what was done: ask for the rest again"},
    {EXIT_UNHEALTHY, "unhealthy", "the answer to status: something is wrong", "unhealthy", NULL},
    {0},
};

static const char *const refusal_reasons[] = {
    [duopoly_Reason_REASON_VERSION] = "version",
    [duopoly_Reason_REASON_IDENTITY] = "identity",
    [duopoly_Reason_REASON_EPOCH] = "epoch",
    [duopoly_Reason_REASON_MALFORMED] = "malformed",
    [duopoly_Reason_REASON_LIMIT] = "limit",
    [duopoly_Reason_REASON_UNKNOWN] = "unknown",
    [duopoly_Reason_REASON_CONFLICT] = "conflict",
    [duopoly_Reason_REASON_UNSUPPORTED] = "unsupported",
    [duopoly_Reason_REASON_STATE] = "state",
    [duopoly_Reason_REASON_PERMISSION] = "permission",
};

const char *exit_reason(enum exit_code code, duopoly_Reason refusal)
{
    const size_t n = sizeof(refusal_reasons) / sizeof(refusal_reasons[0]);
    const char *reason = (size_t)refusal < n ? refusal_reasons[refusal] : NULL;
    return code == EXIT_REFUSED && reason ? reason : exit_rows[code].reason;
}

static enum exit_code exit_of_refusal(duopoly_Reason refusal)
{
    switch (refusal) {
    case duopoly_Reason_REASON_PERMISSION:
        return EXIT_FORBIDDEN;
    case duopoly_Reason_REASON_UNKNOWN:
        return EXIT_UNKNOWN;
    default:
        return EXIT_REFUSED;
    }
}

enum exit_code exit_of(const struct err *err, duopoly_Reason refusal)
{
    switch (err->code) {
    case EREMOTEIO:
        return exit_of_refusal(refusal);
    case EACCES:
    case EPERM:
        return EXIT_FORBIDDEN;
    case ENOENT:
        return EXIT_UNKNOWN;
    case ETIMEDOUT:
        return EXIT_LATE;
    case ECONNRESET:
    case EPIPE:
        return EXIT_UNREACHABLE;
    default:
        return EXIT_REFUSED;
    }
}

enum exit_code exit_of_connection(const struct err *err, bool remote)
{
    switch (err->code) {
    case EACCES:
    case EPERM:
    case EREMOTEIO: /* the first question is refused: a role that is no client */
        return EXIT_FORBIDDEN;
    case ENOENT:
        return remote ? EXIT_UNKNOWN : EXIT_UNREACHABLE;
    case EINVAL: /* of a key's file */
        return EXIT_REFUSED;
    default:
        return EXIT_UNREACHABLE;
    }
}
