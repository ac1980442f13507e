#include "hostagent/switches/switch.h"

#include "hostagent/files.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct switch_driver *const switch_all[] = {&switch_linux, &switch_ovs, &switch_sonic,
                                                  &switch_fastpath, NULL};

const struct switch_driver *switch_find(const char *name)
{
    for (size_t i = 0; switch_all[i]; i++)
        if (strcmp(switch_all[i]->name, name) == 0)
            return switch_all[i];
    return NULL;
}

bool switch_selects(const struct switch_settings *settings, const char *port)
{
    for (uint32_t i = 0; i < settings->ports_n; i++)
        if (port_pattern_matches(settings->ports[i].glob, port))
            return true;
    return settings->ports_n == 0;
}

static void kept_path(const char *state_dir, char path[FILES_PATH])
{
    files_path(path, SWITCH_KEPT_FILE, state_dir);
}

int switch_keep(const char *state_dir, const char *text, struct err *err)
{
    char path[FILES_PATH];
    size_t n = strlen(text);
    kept_path(state_dir, path);
    if (n >= SWITCH_KEPT)
        return err_set(err, EFBIG, "%s: what stands on the switch is more than %u bytes", path,
                       SWITCH_KEPT);
    return files_write(path, text, n, 0600, err);
}

int switch_kept(const char *state_dir, char **ret_text, struct err *err)
{
    char path[FILES_PATH];
    struct stat stat_of;
    kept_path(state_dir, path);
    if (stat(path, &stat_of) < 0 && errno == ENOENT) {
        *ret_text = NULL;
        return 0;
    }
    char *text = malloc(SWITCH_KEPT);
    if (!text)
        return err_sys(err, ENOMEM, "%s", path);
    int r = files_read(path, text, SWITCH_KEPT, NULL, err);
    if (r < 0)
        free(text);
    else
        *ret_text = text;
    return r < 0 ? r : 0;
}

int switch_forget(const char *state_dir, struct err *err)
{
    char path[FILES_PATH];
    kept_path(state_dir, path);
    return unlink(path) < 0 && errno != ENOENT ? err_sys(err, errno, "removing %s", path) : 0;
}

/* The array's room doubles: it is full when its number is a power of two. */
int switch_step_add(struct switch_plan *plan, enum switch_verb verb, const char *port,
                    struct err *err, const char *format, ...)
{
    uint32_t n = plan->steps_n;
    if (n == SWITCH_STEPS)
        return err_set(err, E2BIG, "more than %d steps for one switch", SWITCH_STEPS);
    if ((n & (n - 1)) == 0) {
        struct switch_step *steps = reallocarray(plan->steps, n ? 2 * n : 1, sizeof(*steps));
        if (!steps)
            return err_sys(err, ENOMEM, "a plan of %u steps", n);
        plan->steps = steps;
    }
    struct switch_step *step = &plan->steps[plan->steps_n++];
    step->verb = verb;
    snprintf(step->port, sizeof(step->port), "%s", port);
    va_list ap;
    va_start(ap, format);
    vsnprintf(step->text, sizeof(step->text), format, ap);
    va_end(ap);
    return 0;
}
