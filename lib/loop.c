#include "lib/loop.h"

#include "lib/log.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

static int on_log_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *user)
{
    bool everything = info->ssi_signo == SIGUSR1;
    (void)source, (void)user;
    log_everything(true);
    log_note("%s of process %u: from here on %s", everything ? "SIGUSR1" : "SIGUSR2", info->ssi_pid,
             everything ? "everything is logged" : "what was logged at the start");
    log_everything(everything);
    return 0;
}

int loop_open(sd_event **ret_loop, struct err *err)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGUSR2);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    *ret_loop = NULL;
    int r = sd_event_new(ret_loop);
    if (r >= 0)
        r = sd_event_add_signal(*ret_loop, NULL, SIGTERM, NULL, NULL);
    if (r >= 0)
        r = sd_event_add_signal(*ret_loop, NULL, SIGINT, NULL, NULL);
    if (r >= 0)
        r = sd_event_add_signal(*ret_loop, NULL, SIGUSR1, on_log_signal, NULL);
    if (r >= 0)
        r = sd_event_add_signal(*ret_loop, NULL, SIGUSR2, on_log_signal, NULL);
    if (r >= 0)
        r = sd_event_set_watchdog(*ret_loop, true);
    return r < 0 ? err_sys(err, -r, "no event loop") : 0;
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *how)
{
    (void)source;
    log_warning(LOG_FAULT_CONFIGURATION,
                "SIGHUP of process %u: nothing is reloaded, the configuration is read at the start "
                "alone: %s",
                info->ssi_pid, (const char *)how);
    return 0;
}

int loop_say_reload(sd_event *loop, const char *how, struct err *err)
{
    int r = sd_event_add_signal(loop, NULL, SIGHUP | SD_EVENT_SIGNAL_PROCMASK, on_hangup,
                                (void *)(uintptr_t)how);
    return r < 0 ? err_sys(err, -r, "no event loop") : 0;
}
