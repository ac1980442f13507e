#include "controller/cli/daemon_check.h"

#include "controller/cli/beside.h"
#include "lib/grow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAULT "error: configuration: "

static int program_find(char program[PATH_MAX], struct err *err)
{
    static const char *const places[] = {"duopolyd", "../sbin/duopolyd", NULL};
    return beside_find(places, program) == 0
               ? 0
               : err_set(err, ENOENT,
                         "duopolyd is not installed beside this program: it judges "
                         "configurations");
}

/* The last line, without what stands before a sentence in a log. */
static int complaint_take(FILE *complaints, int status, struct err *err)
{
    char last[1024];
    beside_complaint(complaints, last, sizeof(last));
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

int daemon_check(const char *path, struct conf_keys *ret_keys, struct err *err)
{
    const char *const words[] = {"duopolyd", "--check", "--keys", "--config", path, NULL};
    char program[PATH_MAX];
    *ret_keys = (struct conf_keys){0};
    if (access(path, R_OK) < 0)
        return err_sys(err, errno, "%s cannot be read", path);
    int r = program_find(program, err);
    if (r < 0)
        return r;
    struct beside_files files = {.out = beside_file("duopolyd"),
                                 .complaints = beside_file("duopolyd")};
    r = files.out && files.complaints ? beside_run(program, words, &files, err)
                                      : err_sys(err, errno, "a file in memory");
    if (r > 0)
        r = complaint_take(files.complaints, r, err);
    else if (r == 0)
        r = keys_take(files.out, ret_keys, err);
    if (r < 0)
        conf_keys_done(ret_keys);
    if (files.out)
        fclose(files.out);
    if (files.complaints)
        fclose(files.complaints);
    return r;
}
