#include "controller/cli/exits.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

const struct exit_row exit_rows[] = {
    {EXIT_DONE, "done", "what was asked for is done"},
    {EXIT_REFUSED, "refused", "the controller refused it, or it failed; nothing was changed"},
    {EXIT_ARGUMENTS, "wrong arguments", "nothing was asked"},
    {EXIT_UNREACHABLE, "unreachable", "no controller answers there"},
    {EXIT_FORBIDDEN, "not permitted", "your user or key may not do this"},
    {EXIT_UNKNOWN, "not found", "what was named is not there: a job, a host, a file"},
    {EXIT_LATE, "timed out", "no answer in time; it may be done all the same"},
    {EXIT_PARTIAL, "partial", "some was done, some was not; the answer says which"},
    {EXIT_UNHEALTHY, "unhealthy", "the answer to status: something is wrong"},
    {0, NULL, NULL},
};

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
