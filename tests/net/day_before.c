/* Loaded into a daemon (LD_PRELOAD): its wall clock is a day behind. */
#include <dlfcn.h>
#include <time.h>

enum { DAY_S = 86400 };

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int r = real(clock, now);
    if (r == 0 && clock == CLOCK_REALTIME)
        now->tv_sec -= DAY_S;
    return r;
}

time_t time(time_t *ret_now)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret_now)
        *ret_now = now.tv_sec;
    return now.tv_sec;
}
