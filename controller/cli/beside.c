#include "controller/cli/beside.h"

#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int beside_find(const char *const *places, char ret_program[PATH_MAX])
{
    char folder[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
    folder[n < 0 ? 0 : n] = '\0';
    const char *slash = strrchr(folder, '/');
    for (; slash && *places; places++) {
        int length =
            snprintf(ret_program, PATH_MAX, "%.*s/%s", (int)(slash - folder), folder, *places);
        if (length > 0 && length < PATH_MAX && access(ret_program, X_OK) == 0)
            return 0;
    }
    return -ENOENT;
}

FILE *beside_file(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");
    if (!file && fd >= 0)
        close(fd);
    return file;
}

/* 0 or an errno. */
static int begin(const char *program, const char *const *words, const struct beside_files *files,
                 pid_t *ret_child)
{
    posix_spawn_file_actions_t actions;
    int r = posix_spawn_file_actions_init(&actions);
    if (r)
        return r;
    if (files->in)
        r = posix_spawn_file_actions_adddup2(&actions, fileno(files->in), STDIN_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, fileno(files->out), STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, fileno(files->complaints), STDERR_FILENO);
    if (r == 0)
        r = posix_spawn(ret_child, program, &actions, NULL, (char *const *)(uintptr_t)words,
                        environ);
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

int beside_run(const char *program, const char *const *words, const struct beside_files *files,
               struct err *err)
{
    pid_t child;
    int status = 0;
    if (files->in)
        rewind(files->in);
    int r = begin(program, words, files, &child);
    if (r)
        return err_sys(err, r, "%s", program);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return err_sys(err, errno, "%s", program);
    rewind(files->out);
    rewind(files->complaints);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void beside_complaint(FILE *complaints, char *line, size_t size)
{
    char next[1024];
    *line = '\0';
    while (fgets(next, sizeof(next), complaints))
        snprintf(line, size, "%s", next);
    line[strcspn(line, "\n")] = '\0';
}
