#include "hostagent/task/settings.h"

#include "lib/conf_table.h"

#include <errno.h>
#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct tasks_part {
    char user[64];
    struct command commands[COMMANDS_MAX];
    uint32_t commands_n;
};

static const struct conf_section command_section = {.fields = command_fields,
                                                    .bytes = sizeof(struct command)};
static const struct conf_field command_item = {.type = CONF_SECTION, .section = &command_section};
static const struct conf_field tasks_fields[] = {
    STRING(tasks_part, user, "nobody"),
    LIST(tasks_part, commands, commands_n, &command_item),
    {.name = "others", .type = CONF_OTHERS},
    END,
};
static const struct conf_section tasks_section = {.fields = tasks_fields,
                                                  .bytes = sizeof(struct tasks_part)};
static const struct conf_field fields[] = {
    {.name = "tasks", .type = CONF_SECTION, .section = &tasks_section},
    {.name = "others", .type = CONF_OTHERS},
    {.name = NULL},
};
static const struct conf_section section = {.fields = fields, .bytes = sizeof(struct tasks_part)};

static int find_user(const char *name, struct task_settings *settings, struct err *err)
{
    const struct passwd *user = NULL;
    FILE *file = fopen("/etc/passwd", "re");
    if (!file)
        return err_sys(err, errno, "reading /etc/passwd");
    while ((user = fgetpwent(file)) && strcmp(user->pw_name, name) != 0)
        ;
    fclose(file);
    if (!user)
        return err_set(err, ENOENT, "there is no user '%s' (tasks.user) in /etc/passwd", name);
    if (user->pw_uid == 0 || user->pw_gid == 0)
        return err_set(err, EINVAL, "commands never run as root: tasks.user is '%s'", name);
    settings->uid = user->pw_uid;
    settings->gid = user->pw_gid;
    return 0;
}

int task_settings_read(const char *path, struct task_settings *ret_settings, struct err *err)
{
    struct tasks_part part;
    int r = conf_read(path, &section, &part, err);
    if (r < 0)
        return r;
    memcpy(ret_settings->commands, part.commands, sizeof(part.commands));
    ret_settings->commands_n = part.commands_n;
    return find_user(part.user, ret_settings, err);
}
