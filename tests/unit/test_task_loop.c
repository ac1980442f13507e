/* The loop of statically linked tasks does what sd-event does, as far as tasks use it: the same
 * cases hold with either library. */
#include "tests/unit/test.h"

#include <errno.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <systemd/sd-event.h>

struct scene {
    sd_event *event;
    sd_event_source *source, *other;
    int pipe[2];
    char told[32];
    size_t n;
};

static void tell(struct scene *scene, char what)
{
    if (scene->n < sizeof(scene->told) - 1)
        scene->told[scene->n++] = what;
}

static void begin(struct scene *scene)
{
    *scene = (struct scene){0};
    assert_int_equal(sd_event_new(&scene->event), 0);
    assert_int_equal(pipe(scene->pipe), 0);
}

static void end(struct scene *scene)
{
    sd_event_source_disable_unref(scene->source);
    sd_event_source_disable_unref(scene->other);
    assert_null(sd_event_unref(scene->event));
    close(scene->pipe[0]);
    close(scene->pipe[1]);
}

static int on_late(sd_event_source *s, uint64_t usec, void *context)
{
    struct scene *scene = context;
    uint64_t now;
    (void)s;
    assert_int_equal(sd_event_now(scene->event, CLOCK_MONOTONIC, &now), 0);
    assert_true(now >= usec);
    tell(scene, 'l');
    return sd_event_exit(scene->event, 3);
}

static int on_early(sd_event_source *s, uint64_t usec, void *context)
{
    (void)s;
    (void)usec;
    tell(context, 'e');
    return 0;
}

static void test_timers_fire_once_in_their_order(void **state)
{
    struct scene scene;
    struct timespec before, after;
    (void)state;
    begin(&scene);
    clock_gettime(CLOCK_MONOTONIC, &before);
    assert_true(sd_event_add_time_relative(scene.event, &scene.source, CLOCK_MONOTONIC, 20000, 1,
                                           on_late, &scene) >= 0);
    assert_true(sd_event_add_time_relative(scene.event, &scene.other, CLOCK_MONOTONIC, 2000, 1,
                                           on_early, &scene) >= 0);
    assert_int_equal(sd_event_loop(scene.event), 3);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_string_equal(scene.told, "el");
    assert_true((after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec >=
                20000000L);
    end(&scene);
}

/* Works for 1 s, and sets a timer of 100 ms then. */
static int on_work(sd_event_source *s, uint64_t usec, void *context)
{
    struct scene *scene = context;
    (void)s;
    (void)usec;
    sleep(1);
    tell(scene, 'w');
    assert_true(sd_event_add_time_relative(scene->event, &scene->source, CLOCK_MONOTONIC, 100000, 1,
                                           on_late, scene) >= 0);
    return 0;
}

static void test_a_handler_s_own_time_delays_no_timer(void **state)
{
    struct scene scene;
    struct timespec before, after;
    (void)state;
    begin(&scene);
    assert_true(sd_event_add_time_relative(scene.event, &scene.other, CLOCK_MONOTONIC, 0, 1,
                                           on_work, &scene) >= 0);
    clock_gettime(CLOCK_MONOTONIC, &before);
    assert_int_equal(sd_event_loop(scene.event), 3);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_string_equal(scene.told, "wl");
    assert_true((after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec <
                2000000000L);
    end(&scene);
}

static int on_again(sd_event_source *s, uint64_t usec, void *context)
{
    struct scene *scene = context;
    tell(scene, 'a');
    if (scene->n == 3)
        return sd_event_exit(scene->event, 0);
    assert_true(sd_event_source_set_time(s, usec + 1000) >= 0);
    return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static void test_a_timer_can_be_set_again(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    assert_true(sd_event_add_time_relative(scene.event, &scene.source, CLOCK_MONOTONIC, 0, 1,
                                           on_again, &scene) >= 0);
    assert_true(sd_event_add_time_relative(scene.event, &scene.other, CLOCK_MONOTONIC, 500, 1,
                                           on_early, &scene) >= 0);
    assert_true(sd_event_source_set_enabled(scene.other, SD_EVENT_OFF) >= 0);
    assert_int_equal(sd_event_loop(scene.event), 0);
    assert_string_equal(scene.told, "aaa");
    end(&scene);
}

/* Drops the source whose handler runs, and the other one, whose event waits as well. */
static int on_either(sd_event_source *s, int fd, uint32_t events, void *context)
{
    struct scene *scene = context;
    (void)s;
    (void)fd;
    assert_true(events & (EPOLLIN | EPOLLOUT));
    tell(scene, 'x');
    scene->source = sd_event_source_disable_unref(scene->source);
    scene->other = sd_event_source_disable_unref(scene->other);
    return 0;
}

static void test_sources_may_be_dropped_by_a_handler(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    assert_int_equal(write(scene.pipe[1], "!", 1), 1);
    assert_true(sd_event_add_io(scene.event, &scene.source, scene.pipe[0], EPOLLIN, on_either,
                                &scene) >= 0);
    assert_true(sd_event_add_io(scene.event, &scene.other, scene.pipe[1], EPOLLOUT, on_either,
                                &scene) >= 0);
    sd_event_source *timer = NULL;
    assert_true(sd_event_add_time_relative(scene.event, &timer, CLOCK_MONOTONIC, 10000, 1, on_late,
                                           &scene) >= 0);
    assert_int_equal(sd_event_loop(scene.event), 3);
    assert_string_equal(scene.told, "xl");
    sd_event_source_disable_unref(timer);
    end(&scene);
}

static int on_readable(sd_event_source *s, int fd, uint32_t events, void *context)
{
    struct scene *scene = context;
    (void)fd;
    if (events & EPOLLOUT) {
        tell(scene, 'o');
        return sd_event_source_set_io_events(s, EPOLLIN);
    }
    tell(scene, 'i');
    return sd_event_exit(scene->event, 0);
}

static int on_write(sd_event_source *s, uint64_t usec, void *context)
{
    struct scene *scene = context;
    (void)s;
    (void)usec;
    return write(scene->pipe[1], "!", 1) == 1 ? 0 : -EIO;
}

static void test_what_is_waited_for_can_change(void **state)
{
    struct scene scene;
    int fds[2];
    (void)state;
    begin(&scene);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(sd_event_add_io(scene.event, &scene.other, -1, EPOLLIN, on_readable, &scene),
                     -EBADF);
    assert_true(sd_event_add_io(scene.event, &scene.source, scene.pipe[0], EPOLLIN, on_readable,
                                &scene) >= 0);
    assert_true(sd_event_add_io(scene.event, &scene.other, fds[1], EPOLLOUT, on_readable, &scene) >=
                0);
    sd_event_source *timer = NULL;
    assert_true(sd_event_add_time_relative(scene.event, &timer, CLOCK_MONOTONIC, 5000, 1, on_write,
                                           &scene) >= 0);
    assert_int_equal(sd_event_loop(scene.event), 0);
    assert_string_equal(scene.told, "oi");
    sd_event_source_disable_unref(timer);
    end(&scene);
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers_fire_once_in_their_order),
        cmocka_unit_test(test_a_handler_s_own_time_delays_no_timer),
        cmocka_unit_test(test_a_timer_can_be_set_again),
        cmocka_unit_test(test_sources_may_be_dropped_by_a_handler),
        cmocka_unit_test(test_what_is_waited_for_can_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
