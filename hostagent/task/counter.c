#include "hostagent/task/counter.h"

#include "hostagent/task/rights.h"
#include "lib/attempt.h"
#include "lib/log.h"
#include "lib/number.h"
#include "lib/process_io.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* False: it is no request, or the agent is gone. */
static bool answer(int fd, const char *request)
{
    char text[ATTEMPT_MESSAGE];
    uint64_t attempt, bytes;
    const char *pids = number_take(request, UINT64_MAX, &attempt);
    if (!pids || *pids != '\n')
        return false;
    if (!process_io_sum(pids + 1, &bytes))
        return true;
    int n = snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64, attempt, bytes);
    return send(fd, text, (size_t)n, MSG_NOSIGNAL) >= 0;
}

void counter_serve(int fd, uint32_t uid, uint32_t gid)
{
    static char request[ATTEMPT_COUNT_REQUEST];
    int r = rights_look_as(uid, gid);
    if (r < 0)
        log_error(LOG_FAULT_CONFIGURATION, "looking at what commands' processes read: %s",
                  strerror(-r));
    while (r >= 0) {
        ssize_t n = recv(fd, request, sizeof(request) - 1, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        request[n] = '\0';
        if (!answer(fd, request))
            return;
    }
}
