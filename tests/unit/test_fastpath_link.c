/* The agent's connection to a data plane that does not answer: who hangs holds up nobody for longer
 * than the time of one call. What answers is tested with the program itself (test_switch.c). */
#include "tests/unit/folder.h"
#include "tests/unit/test.h"

#include "hostagent/fastpath_link.h"
#include "lib/now.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WAIT_MS 300

static char path[108];

/* Takes connections, and says nothing. */
static int listen_silently(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(path, sizeof(path), "%s/silent.sock", folder);
    strcpy(address.sun_path, path);
    unlink(path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

static uint64_t asked_for_ms(struct fastpath_link *link, int *ret_r, struct err *err)
{
    const duopoly_Envelope *answer;
    const uint64_t begin = now_ns(CLOCK_MONOTONIC);
    fastpath_link_request(link, duopoly_Envelope_get_dataplane_ports_tag);
    *ret_r = fastpath_link_call(link, duopoly_Envelope_dataplane_ports_tag, &answer, err);
    return (now_ns(CLOCK_MONOTONIC) - begin) / 1000000;
}

static void test_who_hangs_is_asked_once(void **state)
{
    struct fastpath_link *link;
    struct err err = {0};
    int r;
    (void)state;
    const int fd = listen_silently();
    assert_int_equal(fastpath_link_open(path, WAIT_MS, &link, &err), 0);
    assert_in_range(asked_for_ms(link, &r, &err), WAIT_MS - 1, 60 * WAIT_MS);
    assert_int_equal(r, -ETIMEDOUT);
    assert_non_null(strstr(err.text, "did not answer within 300 ms"));
    uint64_t all_ms = 0;
    for (int i = 0; i < 20; i++) {
        all_ms += asked_for_ms(link, &r, &err);
        assert_int_equal(r, -ETIMEDOUT);
    }
    assert_true(all_ms < 20 * WAIT_MS / 2);
    assert_int_equal(fastpath_link_notice(link, &err), 0);
    fastpath_link_close(link);
    close(fd);
    unlink(path);
}

/* Its backlog is full of those whom it does not take. */
static void test_a_full_backlog_is_not_waited_for(void **state)
{
    struct fastpath_link *links[16] = {NULL};
    struct err err = {0};
    int r = 0, n = 0;
    (void)state;
    const int fd = listen_silently();
    while (n < 16 && (r = fastpath_link_open(path, WAIT_MS, &links[n], &err)) == 0)
        n++;
    assert_int_equal(r, -ETIMEDOUT);
    assert_non_null(strstr(err.text, "does it hang?"));
    while (n > 0)
        fastpath_link_close(links[--n]);
    close(fd);
    unlink(path);
}

static void test_nobody_there_is_one_sentence(void **state)
{
    struct fastpath_link *link;
    struct err err = {0};
    (void)state;
    assert_int_equal(fastpath_link_open("/nonexistent/fastpath.sock", WAIT_MS, &link, &err),
                     -ENOENT);
    assert_string_equal(err.text, "no data plane listens on /nonexistent/fastpath.sock; is "
                                  "duopoly-fastpath running?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_hangs_is_asked_once),
        cmocka_unit_test(test_a_full_backlog_is_not_waited_for),
        cmocka_unit_test(test_nobody_there_is_one_sentence),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
