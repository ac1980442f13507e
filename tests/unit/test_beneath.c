/* Removing below a folder that others may write: all of it goes, nothing outside of it does,
 * however deep it is and whatever is swapped meanwhile. */
#include "tests/unit/removal.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define DEEP 2100 /* more than a path can say */

static char directory[64];
static int top = -1; /* directory/top */

static void make(int folder, const char *name)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    close(fd);
}

static bool is_there(int folder, const char *name)
{
    return faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void make_full(int folder, const char *name)
{
    assert_int_equal(mkdirat(folder, name, 0755), 0);
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    make(fd, "a");
    assert_int_equal(mkdirat(fd, "b", 0755), 0);
    close(fd);
}

/* Folders in folders, deeper than a path can say. */
static void make_deep(int folder, const char *name, int deep)
{
    int fd = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    for (int i = 0; i < deep; i++, name = "d") {
        assert_int_equal(mkdirat(fd, name, 0755), 0);
        int next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = next;
        make(fd, "f");
    }
    close(fd);
}

static void test_all_with_a_prefix_goes(void **state)
{
    (void)state;
    make_full(top, "gone-1");
    make_full(top, "kept");
    make(top, "gone-2");
    make(top, "gone");
    assert_int_equal(symlinkat("kept", top, "gone-3"), 0);
    assert_int_equal(beneath_clear(top, "gone-", 1000, NULL), 0);
    assert_false(is_there(top, "gone-1") || is_there(top, "gone-2") || is_there(top, "gone-3"));
    assert_true(is_there(top, "kept/b") && is_there(top, "gone"));
    assert_int_equal(beneath_clear(top, "", 1000, NULL), 0);
    assert_false(is_there(top, "kept") || is_there(top, "gone"));
    assert_int_equal(beneath_remove(top, "never-there", 1000, NULL), 0);
}

static void test_what_is_too_deep_for_a_path_goes(void **state)
{
    (void)state;
    make_deep(top, "gone-deep", DEEP);
    assert_int_equal(beneath_clear(top, "gone-", 10 * DEEP, NULL), 0);
    assert_false(is_there(top, "gone-deep"));
    make_deep(top, "deep", DEEP);
    assert_int_equal(beneath_remove(top, "deep", 10 * DEEP, NULL), 0);
    assert_false(is_there(top, "deep"));
}

static double seconds_to_clear(int deep)
{
    struct timespec from, to;
    make_deep(top, "gone-deep", deep);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    assert_int_equal(beneath_clear(top, "gone-", 100000, NULL), 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    assert_false(is_there(top, "gone-deep"));
    return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

/* A deep one costs no pass over all that is beside it for each of its folders. */
static void test_what_stays_is_not_looked_at_again_and_again(void **state)
{
    (void)state;
    char name[32];
    double alone_s = seconds_to_clear(1000);
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "stays-%d", i);
        make(top, name);
    }
    double beside_s = seconds_to_clear(1000);
    printf("# 1000 folders in one another: %.3f s, beside 5000 files %.3f s\n", alone_s, beside_s);
    assert_true(is_there(top, "stays-4999"));
    assert_true(beside_s < 4 * alone_s);
    assert_int_equal(beneath_clear(top, "", 100000, NULL), 0);
}

/* The steps are the bound, and the next ones go on. */
static void test_it_goes_in_portions(void **state)
{
    (void)state;
    int portions = 0, r;
    make_deep(top, "gone-deep", 100);
    while ((r = beneath_clear(top, "gone-", 20, NULL)) == 1)
        assert_true(++portions < 100);
    assert_int_equal(r, 0);
    assert_true(portions > 2 * 100 / 20);
    assert_int_equal(beneath_clear(top, "", 1, NULL), 0);
}

static void test_links_and_other_file_systems_are_not_entered(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(top, "folder", 0755), 0);
    assert_int_equal(symlinkat("folder", top, "link"), 0);
    assert_int_equal(beneath_open(top, "link", O_RDONLY, 0), -ELOOP);
    int way = beneath_open(top, "link/x", O_WRONLY | O_CREAT, 0600);
    assert_true(way == -ELOOP || way == -ENOSYS);
    assert_int_equal(beneath_open(top, "../x", O_WRONLY | O_CREAT, 0600), -EXDEV);
    assert_int_equal(beneath_open(top, "/etc/passwd", O_RDONLY, 0), -EXDEV);
    assert_true(beneath_is_folder(top, "folder"));
    assert_false(beneath_is_folder(top, "link") || beneath_is_folder(top, "none"));
    assert_int_equal(beneath_put_aside(top, "link", "gone-"), 0);
    assert_int_equal(beneath_put_aside(top, "link", "gone-"), 0);
    assert_int_equal(beneath_put_aside(top, "folder", "gone-"), 1);
    assert_false(is_there(top, "folder") || is_there(top, "link"));
    assert_int_equal(beneath_clear(top, "", 1000, NULL), 0);
}

/* What is mounted there stays, with a sentence; the rest goes. */
static void test_what_resists_is_said_and_the_rest_goes(void **state)
{
    (void)state;
    char path[128];
    struct err err = {0};
    if (getuid() != 0)
        skip_since("another user is needed: only root can be one");
    make_full(top, "one");
    make_full(top, "two");
    snprintf(path, sizeof(path), "%s/top/one/b", directory);
    assert_int_equal(mount("none", path, "tmpfs", 0, "size=64k"), 0);
    make(top, "one/b/precious");
    int r = beneath_clear(top, "", 1000, &err);
    bool kept = is_there(top, "one/b/precious"), gone = !is_there(top, "two");
    umount(path);
    assert_int_equal(r, -EBUSY);
    assert_non_null(strstr(err.text, "cannot be removed"));
    assert_true(kept && gone);
    assert_int_equal(beneath_clear(top, "", 1000, NULL), 0);
}

static void in_a_fork(int (*check)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(setresuid(65534, 65534, 65534) < 0 ? 99 : check());
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

/* As whoever made them. */
static int closed_folders(void)
{
    if (mkdirat(top, "gone", 0755) < 0 || mkdirat(top, "gone/in", 0755) < 0 ||
        mkdirat(top, "gone/in/in", 0755) < 0 || fchmodat(top, "gone/in/in", 0555, 0) < 0 ||
        fchmodat(top, "gone/in", 0, 0) < 0 || fchmodat(top, "gone", 0111, 0) < 0)
        return 1;
    return beneath_clear(top, "gone", 1000, NULL) < 0 || is_there(top, "gone");
}

static void test_closed_folders_of_our_own_go(void **state)
{
    (void)state;
    if (getuid() != 0)
        skip_since("another user is needed: only root can be one");
    fchmod(top, 0777);
    in_a_fork(closed_folders);
}

/* Swaps top/one/in for a link to a folder of others', and moves top/one to it, for ever. */
_Noreturn static void attack(void)
{
    char other[128], link[128];
    snprintf(other, sizeof(other), "%s/other/moved", directory);
    snprintf(link, sizeof(link), "%s/other", directory);
    if (symlinkat(link, top, "swap") < 0)
        _exit(1);
    for (;;) {
        renameat2(top, "one/in", top, "swap", RENAME_EXCHANGE);
        renameat(top, "one", AT_FDCWD, other);
        renameat(AT_FDCWD, other, top, "one");
    }
}

static void fill(int other)
{
    char name[32];
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "precious-%d", i);
        make(other, name);
    }
}

static uint32_t count(int folder)
{
    char name[32];
    uint32_t n = 0;
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "precious-%d", i);
        n += is_there(folder, name);
    }
    return n;
}

static void test_nothing_outside_goes_whatever_is_swapped_meanwhile(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof(path), "%s/other", directory);
    assert_int_equal(mkdir(path, 0777), 0);
    int other = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fill(other);
    pid_t pid = fork();
    if (pid == 0)
        attack();
    for (int i = 0; i < 100; i++) {
        mkdirat(top, "one", 0755);
        mkdirat(top, "one/in", 0755);
        mkdirat(top, "one/in/in", 0755);
        beneath_clear(top, "one", 1000, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(count(other), 200);
    close(other);
    assert_int_equal(beneath_clear(top, "", 100000, NULL), 0);
}

static int set_up(void **state)
{
    char path[128];
    (void)state;
    /* WHY memory: ext4 searches past what was removed within seconds for each new entry. */
    strcpy(directory, access("/dev/shm", W_OK) == 0 ? "/dev/shm/duopoly-test-XXXXXX"
                                                    : "/tmp/duopoly-test-XXXXXX");
    if (!mkdtemp(directory) || chmod(directory, 0755) < 0)
        return -1;
    snprintf(path, sizeof(path), "%s/top", directory);
    if (mkdir(path, 0755) < 0)
        return -1;
    top = beneath_root(path, NULL);
    return top < 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(top);
    return removal_of(directory);
}

/* As systemd does by RestrictSUIDSGID=. */
static int forbid_openat2(void **state)
{
    int r = set_up(state);
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (r == 0)
        r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0);
    if (r == 0)
        r = seccomp_load(filter);
    seccomp_release(filter);
    return r;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_with_a_prefix_goes),
        cmocka_unit_test(test_what_is_too_deep_for_a_path_goes),
        cmocka_unit_test(test_what_stays_is_not_looked_at_again_and_again),
        cmocka_unit_test(test_it_goes_in_portions),
        cmocka_unit_test(test_links_and_other_file_systems_are_not_entered),
        cmocka_unit_test(test_what_resists_is_said_and_the_rest_goes),
        cmocka_unit_test(test_closed_folders_of_our_own_go),
        cmocka_unit_test(test_nothing_outside_goes_whatever_is_swapped_meanwhile),
    };
    int with = cmocka_run_group_tests_name("with openat2", tests, set_up, tear_down);
    int without = cmocka_run_group_tests_name("without openat2", tests, forbid_openat2, tear_down);
    return with + without;
}
