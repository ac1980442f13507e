#include "hostagent/check.h"

#include "lib/keys.h"
#include "lib/log.h"
#include "schemas/duopoly.pb.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEARCHED "/usr/bin:/bin" /* where PATH is not set; as duopoly-task does it */

/* Whether it is an executable file, with the rights of the file system's user; 0 or −errno. */
static int is_executable(const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -EACCES;
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

/* The file that execvp(3) would take in the folder /. */
static int find(const char *word, char path[FILES_PATH])
{
    const char *folders = getenv("PATH");
    int why = -ENOENT;
    if (strchr(word, '/')) {
        files_path(path, "%s%s", word[0] == '/' ? "" : "/", word);
        return is_executable(path);
    }
    for (folders = folders ? folders : SEARCHED; *folders; folders += *folders == ':') {
        const size_t n = strcspn(folders, ":");
        files_path(path, "%.*s/%s", (int)n, folders, word);
        int r = is_executable(path);
        if (r == 0)
            return 0;
        if (access(path, F_OK) == 0)
            why = r; /* it is there, and no program */
        folders += n;
    }
    return why;
}

/* The program that a script's first line names; "": it is no script, or its reader alone may not
 * look. */
static void interpreter_of(const char *path, char ret_path[FILES_PATH])
{
    char line[FILES_PATH] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
    if (fd >= 0)
        close(fd);
    line[n > 0 ? n : 0] = 0;
    const char *begin = strncmp(line, "#!", 2) == 0 ? line + 2 + strspn(line + 2, " \t") : "";
    files_path(ret_path, "%.*s", (int)strcspn(begin, " \t\r\n"), begin);
}

static int command_look(const struct command *command, struct err *err)
{
    char path[FILES_PATH], interpreter[FILES_PATH];
    int r = find(command->words[0], path);
    if (r < 0)
        return err_sys(err, -r, "tasks.commands: %s: %s cannot be run", command->name,
                       command->words[0]);
    interpreter_of(path, interpreter);
    r = interpreter[0] ? is_executable(interpreter) : 0;
    return r < 0 ? err_sys(err, -r, "tasks.commands: %s: %s cannot be run by %s, which it names",
                           command->name, path, interpreter)
                 : 0;
}

/* WHY: only the file system's user changes, which root alone can do, and which determines the
 * rights on paths: so the commands' user's view is checked. */
static int command_check(const struct command *command, const struct passwd *user, struct err *err)
{
    const bool as_user = geteuid() == 0 && user;
    if (as_user) {
        setfsgid(user->pw_gid);
        setfsuid(user->pw_uid);
    }
    int r = command_look(command, err);
    if (as_user) {
        setfsuid(0);
        setfsgid(getegid());
    }
    return r;
}

static int commands_check(const struct agent_settings *settings, struct err *err)
{
    const struct passwd *user = getpwnam(settings->tasks.user);
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < settings->tasks.commands_n; i++)
        r = command_check(&settings->tasks.commands[i], user, err);
    return r;
}

void check_say_commands(const struct agent_settings *settings)
{
    const struct passwd *user = getpwnam(settings->tasks.user);
    struct err err;
    for (uint32_t i = 0; i < settings->tasks.commands_n; i++)
        if (command_check(&settings->tasks.commands[i], user, &err) < 0)
            log_warning(LOG_FAULT_CONFIGURATION, "%s", err.text);
}

/* A switch's certificate and what belongs to it. */
static int file_check(const char *key, const char *path, struct err *err)
{
    return !*path || access(path, R_OK) == 0 ? 0 : err_sys(err, errno, "%s: %s", key, path);
}

static int switch_check(const struct switch_settings *settings, struct err *err)
{
    int r = file_check("switch.ca", settings->ca, err);
    if (r == 0)
        r = file_check("switch.certificate", settings->certificate, err);
    return r < 0 ? r : file_check("switch.private_key", settings->private_key, err);
}

int check_agent(const struct agent_settings *settings, struct err *err)
{
    int r = files_check_writable(settings->state, err);
    if (r == 0 && *settings->key)
        r = key_file_check(settings->key, ROLE_AGENT, settings->name, err);
    if (r == 0 && *settings->frameworks.key)
        r = key_file_check(settings->frameworks.key, ROLE_FRAMEWORK, NULL, err);
    if (r == 0)
        r = switch_check(&settings->switch_settings, err);
    return r < 0 || settings->role == duopoly_Role_ROLE_SWITCH ? r : commands_check(settings, err);
}
