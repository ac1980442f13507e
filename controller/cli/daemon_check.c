#include "controller/cli/daemon_check.h"

#include "lib/grow.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAULT "error: configuration: "

/* From this program's folder: where the tree builds both, and where packages put them. */
static int program_find(char program[PATH_MAX], struct err *err)
{
    static const char *const places[] = {"duopolyd", "../sbin/duopolyd"};
    char folder[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
    folder[n < 0 ? 0 : n] = '\0';
    char *slash = strrchr(folder, '/');
    for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
        int length =
            snprintf(program, PATH_MAX, "%.*s/%s", (int)(slash - folder), folder, places[i]);
        if (length > 0 && length < PATH_MAX && access(program, X_OK) == 0)
            return 0;
    }
    return err_set(err, ENOENT,
                   "duopolyd is not installed beside this program: it judges configurations");
}

/* Its exit status, or −errno; what it writes goes into these files. */
static int program_run(const char *program, const char *path, FILE *out, FILE *complaints,
                       struct err *err)
{
    const char *const words[] = {"duopolyd", "--check", "--keys", "--config", path, NULL};
    posix_spawn_file_actions_t actions;
    int status = 0, r = posix_spawn_file_actions_init(&actions);
    pid_t child;
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, fileno(complaints), STDERR_FILENO);
    if (r == 0)
        r = posix_spawn(&child, program, &actions, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (r)
        return err_sys(err, r, "%s", program);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return err_sys(err, errno, "%s", program);
    rewind(out);
    rewind(complaints);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The last line, without what stands before a sentence in a log. */
static int complaint_take(FILE *complaints, int status, struct err *err)
{
    char line[1024], last[1024] = "";
    while (fgets(line, sizeof(line), complaints))
        strcpy(last, line);
    last[strcspn(last, "\n")] = '\0';
    const char *fault = strstr(last, FAULT);
    return *last ? err_set(err, EBADMSG, "%s", fault ? fault + strlen(FAULT) : last)
                 : err_set(err, EBADMSG, "duopolyd --check ended with status %d", status);
}

/* "policy.turn 12 9 1 sjf" */
static int keys_take(FILE *out, struct conf_keys *keys, struct err *err)
{
    char line[CONF_KEY_MAX + CONF_VALUE_MAX + 64];
    size_t size = 0;
    while (fgets(line, sizeof(line), out)) {
        struct conf_key key = {.name = NULL};
        int live, value = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%63s %" SCNu32 " %" SCNu32 " %d %n", key.path, &key.at.line,
                   &key.at.column, &live, &value) < 4 ||
            !value)
            return err_set(err, EBADMSG, "duopolyd of another version: '%s' is no key", line);
        key.live = live;
        snprintf(key.value, sizeof(key.value), "%s", line + value);
        if (!array_grow(keys->at, keys->n, size, 256))
            return err_sys(err, ENOMEM, "the keys of a configuration");
        keys->at[keys->n++] = key;
    }
    return 0;
}

static FILE *scratch_open(void)
{
    int fd = memfd_create("duopolyd", MFD_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");
    if (!file && fd >= 0)
        close(fd);
    return file;
}

int daemon_check(const char *path, struct conf_keys *ret_keys, struct err *err)
{
    char program[PATH_MAX];
    *ret_keys = (struct conf_keys){0};
    if (access(path, R_OK) < 0)
        return err_sys(err, errno, "%s cannot be read", path);
    int r = program_find(program, err);
    if (r < 0)
        return r;
    FILE *out = scratch_open(), *complaints = scratch_open();
    r = out && complaints ? program_run(program, path, out, complaints, err)
                          : err_sys(err, errno, "a file in memory");
    if (r > 0)
        r = complaint_take(complaints, r, err);
    else if (r == 0)
        r = keys_take(out, ret_keys, err);
    if (r < 0)
        conf_keys_done(ret_keys);
    if (out)
        fclose(out);
    if (complaints)
        fclose(complaints);
    return r;
}
