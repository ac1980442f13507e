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

/* The array doubles: it is full when its length is a power of two. */
static int make_room(void **array, uint32_t n, size_t size, struct err *err)
{
    if ((n & (n - 1)) != 0)
        return 0;
    void *grown = reallocarray(*array, n ? 2 * n : 1, size);
    if (!grown)
        return err_sys(err, ENOMEM, "a plan of %u steps", n);
    *array = grown;
    return 0;
}

static bool begins_with_name(const char *text, const char *port)
{
    size_t n = strlen(port);
    return strncmp(text, port, n) == 0 && (text[n] == ' ' || text[n] == ':');
}

int switch_trouble_add(struct switch_plan *plan, const char *port, const struct err *why, bool left,
                       struct err *err)
{
    int r = make_room((void **)&plan->troubles, plan->troubles_n, sizeof(*plan->troubles), err);
    if (r < 0)
        return r;
    struct switch_trouble *trouble = &plan->troubles[plan->troubles_n++];
    bool named = begins_with_name(why->text, port);
    *trouble = (struct switch_trouble){.code = why->code, .left = left};
    snprintf(trouble->port, sizeof(trouble->port), "%s", port);
    snprintf(trouble->text, sizeof(trouble->text), "%.63s%s%.250s", named ? "" : port,
             named ? "" : ": ", why->text);
    return 0;
}

bool switch_is_yielded(const struct switch_config *config, const char *port, struct err *why)
{
    if (!config->yielded || !config->yielded(config->user, port))
        return false;
    err_set(
        why, EBUSY,
        "%s: what somebody made of our queues is left as it is until a stance is set or we start "
        "again",
        port);
    return true;
}

int switch_want(const struct port_wish *wish, const char *port, const struct port_facts *facts,
                struct switch_plan *plan, struct port *ret_want, struct err *err)
{
    struct err why = {0};
    char text[PORT_TEXT];
    if (port_want(wish, facts, ret_want, &why) < 0)
        return switch_trouble_add(plan, port, &why, true, err);
    if (!ret_want->lacks_bps)
        return 1;
    err_set(&why, ERANGE, "%s", port_compromises(ret_want, text, sizeof(text)));
    int r = switch_trouble_add(plan, port, &why, false, err);
    return r < 0 ? r : 1;
}

const struct switch_trouble *switch_trouble_of(const struct switch_plan *plan, const char *port)
{
    for (uint32_t i = 0; i < plan->troubles_n; i++)
        if (strcmp(plan->troubles[i].port, port) == 0)
            return &plan->troubles[i];
    return NULL;
}

void switch_plan_done(struct switch_plan *plan)
{
    free(plan->steps);
    free(plan->troubles);
}

int switch_step_add(struct switch_plan *plan, enum switch_verb verb, const char *port,
                    struct err *err, const char *format, ...)
{
    uint32_t n = plan->steps_n;
    if (n == SWITCH_STEPS)
        return err_set(err, E2BIG, "more than %d steps for one switch", SWITCH_STEPS);
    int r = make_room((void **)&plan->steps, n, sizeof(*plan->steps), err);
    if (r < 0)
        return r;
    struct switch_step *step = &plan->steps[plan->steps_n++];
    step->verb = verb;
    snprintf(step->port, sizeof(step->port), "%s", port);
    va_list ap;
    va_start(ap, format);
    vsnprintf(step->text, sizeof(step->text), format, ap);
    va_end(ap);
    return 0;
}
