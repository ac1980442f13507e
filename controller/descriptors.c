#include "controller/descriptors.h"

#include "lib/wire_unix.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/resource.h>

/* The daemon's own: state, recording and their successors, loop, timers, ZeroMQ's threads. */
#define OWN         64u
#define SPARE_MAX   1024u
#define AGENTS_MIN  16u
#define AGENTS_MAX  1000000u
#define CLIENTS_TOO 8u /* accepted, told that there are too many, closed */

int descriptors_share(uint64_t limit, uint32_t others, struct descriptors *ret_descriptors,
                      struct err *err)
{
    uint64_t spare = limit / 4 < SPARE_MAX ? limit / 4 : SPARE_MAX;
    uint64_t taken = OWN + UNIX_CLIENTS + CLIENTS_TOO + spare + others;
    if (limit < taken + AGENTS_MIN)
        return err_set(err, EMFILE,
                       "only %" PRIu64 " files may be open, too few for clients and agents; allow "
                       "512 or more (ulimit -n, LimitNOFILE=)",
                       limit);
    uint64_t agents = limit - taken;
    *ret_descriptors =
        (struct descriptors){.limit = limit,
                             .agents = (uint32_t)(agents < AGENTS_MAX ? agents : AGENTS_MAX),
                             .clients = UNIX_CLIENTS};
    return 0;
}

int descriptors_take(uint32_t others, struct descriptors *ret_descriptors, struct err *err)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return err_sys(err, errno, "how many files may be open is not known");
    rlim_t before = files.rlim_cur;
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) < 0)
        files.rlim_cur = before;
    return descriptors_share(files.rlim_cur, others, ret_descriptors, err);
}
