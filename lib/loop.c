#include "lib/loop.h"

#include <signal.h>
#include <stdbool.h>

int loop_open(sd_event **ret_loop, struct err *err)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    *ret_loop = NULL;
    int r = sd_event_new(ret_loop);
    if (r >= 0)
        r = sd_event_add_signal(*ret_loop, NULL, SIGTERM, NULL, NULL);
    if (r >= 0)
        r = sd_event_add_signal(*ret_loop, NULL, SIGINT, NULL, NULL);
    if (r >= 0)
        r = sd_event_set_watchdog(*ret_loop, true);
    return r < 0 ? err_sys(err, -r, "no event loop") : 0;
}
