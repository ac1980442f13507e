/* A confined daemon reaches its own folders only, and what an intruder would call kills or
 * fails. Each case is a process of its own: there is no way back. */
#include "tests/unit/removal.h"
#include "tests/unit/test.h"

#include "lib/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/duopoly-test-XXXXXX";
static char mine[64], other[64];

/* How a process that does this ends: its exit status, or −signal. */
static int outcome(int (*act)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(act());
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

#define HAS_NONE 77

static int limit_files(void)
{
    const struct confine_path paths[] = {{mine, true}, {"/no/such/folder", true}};
    int r = confine_files(paths, 2, NULL);
    if (r == -EOPNOTSUPP)
        _exit(HAS_NONE);
    return r;
}

static int make(const char *folder_, const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder_, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    close(fd);
    return unlink(path) < 0 ? -errno : 0;
}

static int reaches_its_files_only(void)
{
    char byte;
    int open_before = open(other, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (limit_files() < 0)
        return 1;
    if (make(mine, "a") != 0)
        return 2;
    if (make(other, "a") != -EACCES || make("/etc", "duopoly-test") != -EACCES)
        return 3;
    int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, &byte, 1) != 1)
        return 4;
    if (open("/root", O_RDONLY | O_CLOEXEC) >= 0 || open(folder, O_RDONLY | O_CLOEXEC) >= 0)
        return 5;
    return openat(open_before, "b", O_RDONLY | O_CREAT | O_CLOEXEC, 0600) < 0 ? 0 : 6;
}

static int executes_nothing(void)
{
    if (limit_files() < 0)
        return 1;
    execl("/bin/true", "true", NULL);
    return errno == EACCES ? 0 : 2;
}

static void test_files(void **state)
{
    (void)state;
    int r = outcome(reaches_its_files_only);
    if (r == HAS_NONE)
        skip_since("this kernel cannot confine a program so");
    assert_int_equal(r, 0);
    assert_int_equal(outcome(executes_nothing), 0);
}

static void limit_calls(unsigned more)
{
    int r = confine_calls(more, NULL);
    if (r < 0)
        _exit(r == -EOPNOTSUPP ? HAS_NONE : 99);
}

static void *nothing(void *arg)
{
    return arg;
}

static int works_on(void)
{
    pthread_t thread;
    limit_calls(0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || close(fd) < 0 || make(mine, "c") != 0)
        return 1;
    if (pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 2;
    void *pages = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages != MAP_FAILED && mprotect(pages, 4096, PROT_READ) == 0 ? 0 : 3;
}

/* 0 when each of these fails with EPERM. */
static int is_refused(void)
{
    limit_calls(0);
    if (fork() >= 0 || errno != EPERM)
        return 1;
    if (setuid(65534) == 0 || errno != EPERM)
        return 2;
    if (syscall(SYS_bpf, 0, NULL, 0) == 0 || errno != EPERM)
        return 3;
    if (mmap(NULL, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
            MAP_FAILED ||
        errno != EPERM)
        return 4;
    return kill(getppid(), 0) < 0 && errno == EPERM ? 0 : 5;
}

static int may_bpf(void)
{
    limit_calls(CONFINE_BPF);
    return syscall(SYS_bpf, -1, NULL, 0) < 0 && errno != EPERM ? 0 : 1;
}

static int may_fork(void)
{
    int status;
    limit_calls(CONFINE_FORK);
    pid_t pid = fork();
    if (pid == 0)
        pause();
    if (pid < 0 || kill(pid, SIGKILL) < 0 || waitpid(pid, &status, 0) != pid)
        return 1;
    return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0) < 0 && errno == EPERM
               ? 0
               : 2;
}

static int executes(void)
{
    limit_calls(CONFINE_FORK);
    return execl("/bin/true", "true", NULL);
}

static int traces(void)
{
    limit_calls(CONFINE_BPF);
    return (int)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}

static int mounts(void)
{
    limit_calls(CONFINE_BPF);
    return mount("none", mine, "tmpfs", 0, NULL);
}

static void *execute(void *arg)
{
    (void)arg;
    while (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0)
        sched_yield(); /* until the other thread has confined us */
    execl("/bin/true", "true", NULL);
    return NULL;
}

static int executes_in_an_older_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, execute, NULL) != 0)
        return 1;
    limit_calls(0);
    pthread_join(thread, NULL);
    return 2;
}

static void test_calls(void **state)
{
    (void)state;
    int r = outcome(works_on);
    if (r == HAS_NONE)
        skip_since("this kernel cannot confine a program so");
    assert_int_equal(r, 0);
    assert_int_equal(outcome(is_refused), 0);
    assert_int_equal(outcome(may_bpf), 0);
    assert_int_equal(outcome(may_fork), 0);
    assert_int_equal(outcome(executes), -SIGSYS);
    assert_int_equal(outcome(traces), -SIGSYS);
    assert_int_equal(outcome(mounts), -SIGSYS);
    assert_int_equal(outcome(executes_in_an_older_thread), -SIGSYS);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(mine, sizeof(mine), "%s/mine", folder);
    snprintf(other, sizeof(other), "%s/other", folder);
    return mkdir(mine, 0700) < 0 ? -1 : mkdir(other, 0700);
}

static int tear_down(void **state)
{
    (void)state;
    return removal_of(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files), cmocka_unit_test(test_calls)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
