#include "lib/confine.h"

#include "lib/log.h"
#include "lib/sanitized.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Since Linux 6.2, in no header of Debian 12. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (UINT64_C(1) << 14)
#endif

#define READ    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define ON_FILE (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE)
#define WRITE                                                                                      \
    (READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                        \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |  \
     LANDLOCK_ACCESS_FS_MAKE_SOCK)
#define NEVER                                                                                      \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK |   \
     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM)

/* Libraries, users, names of hosts, time zones, what the kernel tells. */
static const struct confine_path system_paths[] = {
    {"/etc", false}, {"/usr", false},  {"/lib", false},     {"/lib64", false},
    {"/sys", false}, {"/proc", false}, {"/dev/null", true}, {"/dev/urandom", false},
};

static int path_add(int rules, uint64_t handled, const struct confine_path *path, struct err *err)
{
    struct stat st;
    struct landlock_path_beneath_attr below = {.parent_fd = open(path->path, O_PATH | O_CLOEXEC)};
    if (below.parent_fd < 0)
        return errno == ENOENT ? 0 : err_sys(err, errno, "fencing %s in", path->path);
    below.allowed_access = handled & ((path->write ? WRITE : READ) | LANDLOCK_ACCESS_FS_TRUNCATE);
    if (fstat(below.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
        below.allowed_access &= ON_FILE | LANDLOCK_ACCESS_FS_TRUNCATE;
    if (!path->write)
        below.allowed_access &= ~LANDLOCK_ACCESS_FS_TRUNCATE;
    long r = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
    int code = errno;
    close(below.parent_fd);
    return r < 0 ? err_sys(err, code, "fencing %s in", path->path) : 0;
}

static int paths_add(int rules, uint64_t handled, const struct confine_path *paths, size_t n,
                     struct err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = path_add(rules, handled, &paths[i], err);
    return r;
}

int confine_files(const struct confine_path *paths, size_t n, struct err *err)
{
    struct landlock_ruleset_attr wanted = {.handled_access_fs = WRITE | NEVER};
    if (SANITIZED)
        return err_set(err, EOPNOTSUPP, "built with a sanitizer, which reads the program");
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1)
        return err_set(err, EOPNOTSUPP, "this kernel has no landlock, or keeps it from us: %s",
                       strerror(errno));
    if (version >= 3)
        wanted.handled_access_fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
    int rules = (int)syscall(SYS_landlock_create_ruleset, &wanted, sizeof(wanted), 0);
    if (rules < 0)
        return err_sys(err, errno, "landlock");
    int r = paths_add(rules, wanted.handled_access_fs, system_paths,
                      sizeof(system_paths) / sizeof(system_paths[0]), err);
    if (r >= 0)
        r = paths_add(rules, wanted.handled_access_fs, paths, n, err);
    if (r >= 0 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
                   syscall(SYS_landlock_restrict_self, rules, 0) < 0))
        r = err_sys(err, errno, "landlock");
    close(rules);
    return r;
}

/* Used by our daemons, their libraries and the C library. */
static const char on_files[] =
    "access chmod chown close close_range copy_file_range dup dup2 dup3 faccessat faccessat2 "
    "fadvise64 fallocate fchmod fchmodat fchown fchownat fcntl fdatasync flock fstat fstatfs "
    "fsync ftruncate getcwd getdents getdents64 ioctl link linkat lseek lstat mkdir mkdirat "
    "newfstatat open openat openat2 pread64 preadv pwrite64 pwritev read readlink readlinkat "
    "readv rename renameat renameat2 rmdir stat statfs statx sync_file_range truncate umask "
    "unlink unlinkat utimensat write writev ";
static const char on_sockets[] =
    "accept accept4 bind connect epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 "
    "epoll_wait eventfd eventfd2 getpeername getsockname getsockopt inotify_add_watch "
    "inotify_init1 inotify_rm_watch listen pipe pipe2 poll ppoll pselect6 recvfrom recvmmsg "
    "recvmsg select sendmmsg sendmsg sendto setsockopt shutdown signalfd signalfd4 socket "
    "socketpair timerfd_create timerfd_gettime timerfd_settime ";
static const char on_itself[] = /* memory, time, threads */
    "arch_prctl brk clock_getres clock_gettime clock_nanosleep exit exit_group futex "
    "get_robust_list getegid geteuid getgid getgroups getpgid getpgrp getpid getppid "
    "getpriority getrandom getresgid getresuid getrlimit getrusage getsid gettid gettimeofday "
    "getuid madvise membarrier mincore mlock mremap msync munlock munmap nanosleep pause "
    "pidfd_open prctl "
    "prlimit64 restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn "
    "rt_sigsuspend rt_sigtimedwait sched_get_priority_max sched_get_priority_min "
    "sched_getaffinity sched_getparam sched_getscheduler sched_setaffinity sched_setscheduler "
    "sched_yield set_robust_list set_tid_address sigaltstack sysinfo tgkill time times uname "
    "wait4 waitid ";

/* None of our daemons ever does this. */
static const char deadly[] =
    "execve execveat fork vfork ptrace process_vm_readv process_vm_writev pidfd_getfd mount "
    "pivot_root chroot setns unshare init_module finit_module kexec_load keyctl add_key "
    "request_key io_uring_setup userfaultfd personality memfd_create ";

/* Names with blanks between them. */
static int calls_add(scmp_filter_ctx filter, uint32_t action, const char *names)
{
    char name[32];
    int r = 0;
    for (size_t n; r == 0 && (n = strcspn(names, " ")); names += n + (names[n] == ' ')) {
        snprintf(name, sizeof(name), "%.*s", (int)n, names);
        int call = seccomp_syscall_resolve_name(name);
        if (call != __NR_SCMP_ERROR) /* not on every architecture */
            r = seccomp_rule_add(filter, action, call, 0);
    }
    return r;
}

/* Threads, and children where they are wanted, in our own namespaces (clone3's flags cannot be
 * seen: the C library then takes clone); memory that is written or executed. */
static int calls_add_partly(scmp_filter_ctx filter, bool fork)
{
    const scmp_datum_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    const struct scmp_arg_cmp flags = fork
                                          ? SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces, 0)
                                          : SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD);
    int r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    if (r == 0)
        r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, &flags);
    if (r == 0)
        r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                             SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    /* Libraries that are loaded late come from a file. */
    if (r == 0)
        r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                             SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_WRITE | PROT_EXEC, PROT_WRITE));
    if (r == 0)
        r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                             SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_WRITE, 0));
    return r;
}

int confine_calls(unsigned more, struct err *err)
{
    if (SANITIZED)
        return err_set(err, EOPNOTSUPP, "built with a sanitizer, which needs more system calls");
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!filter)
        return err_set(err, EOPNOTSUPP, "this kernel has no seccomp");
    int r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    if (r == 0)
        r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (r == 0)
        r = calls_add(filter, SCMP_ACT_ALLOW, on_files);
    if (r == 0)
        r = calls_add(filter, SCMP_ACT_ALLOW, on_sockets);
    if (r == 0)
        r = calls_add(filter, SCMP_ACT_ALLOW, on_itself);
    if (r == 0)
        r = calls_add(filter, SCMP_ACT_ALLOW, more & CONFINE_BPF ? "bpf" : "");
    if (r == 0)
        r = calls_add(filter, SCMP_ACT_ALLOW, more & CONFINE_FORK ? "kill setpriority" : "");
    if (r == 0)
        r = calls_add(filter, SCMP_ACT_KILL_PROCESS, deadly);
    if (r == 0)
        r = calls_add_partly(filter, more & CONFINE_FORK);
    if (r == 0)
        r = seccomp_load(filter);
    seccomp_release(filter);
    return r < 0 ? err_sys(err, -r, "seccomp") : 0;
}

int confine_or_say(int r, const struct err *err)
{
    if (r != -EOPNOTSUPP)
        return r;
    log_note("not fully confined: %s", err->text);
    return 0;
}
