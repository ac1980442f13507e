#include "controller/portions.h"

#include "controller/cost.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* Between portions; sources of a lower priority get their turn then, too. */
#define PAUSE_US 200

/* WHY a timer instead of a source that is always pending: such a source is always the one that has
 * waited longest, and others of its priority would not be served. */
struct portions {
    sd_event_source *source;
    bool (*go_on)(void *user);
    void *user;
};

static int next(sd_event_source *source, uint64_t pause_us)
{
    int r = sd_event_source_set_time_relative(source, pause_us);
    return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_turn(sd_event_source *source, uint64_t time_us, void *user)
{
    const struct portions *portions = user;
    const int64_t until_ns = cost_now_ns() + PORTION_NS;
    bool more = true;
    (void)time_us;
    while (more && cost_now_ns() < until_ns)
        more = portions->go_on(portions->user);
    return more ? next(source, PAUSE_US) : 0;
}

int portions_open(sd_event *loop, bool (*go_on)(void *user), void *user,
                  struct portions **ret_portions, struct err *err)
{
    struct portions *portions = calloc(1, sizeof(*portions));
    int r = portions ? sd_event_add_time(loop, &portions->source, CLOCK_MONOTONIC, 0, 1, on_turn,
                                         portions)
                     : -ENOMEM;
    if (r >= 0)
        r = sd_event_source_set_enabled(portions->source, SD_EVENT_OFF);
    if (r < 0) {
        portions_close(portions);
        return err_sys(err, -r, "the loop");
    }
    portions->go_on = go_on;
    portions->user = user;
    *ret_portions = portions;
    return 0;
}

void portions_begin(struct portions *portions)
{
    if (sd_event_source_get_enabled(portions->source, NULL) == 0)
        next(portions->source, 0);
}

void portions_close(struct portions *portions)
{
    if (!portions)
        return;
    sd_event_source_disable_unref(portions->source);
    free(portions);
}
