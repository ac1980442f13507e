/* The files that truth.h is read from. */
#include "testbed/verify/truth.h"

#include "lib/text_mark.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int (*take_line)(struct truth *truth, uint64_t attempt, const char *line, struct err *err);

/* Every whole line; a last one without newline is a writer's that died. */
static int each_line(struct truth *truth, const char *path, uint64_t attempt, take_line take,
                     struct err *err)
{
    char *line = NULL;
    size_t size = 0, number = 0;
    ssize_t length;
    int r = 0;
    FILE *in = fopen(path, "re");
    if (!in)
        return err_sys(err, errno, "cannot open %s", path);
    while (r == 0 && (length = getline(&line, &size, in)) > 0) {
        number++;
        if (line[length - 1] != '\n')
            break;
        line[length - 1] = 0;
        if (number == 1)
            text_mark_cut(line, (size_t)length);
        if ((r = take(truth, attempt, line, err)) < 0)
            err_prefix(err, "%s:%zu", path, number);
    }
    if (r == 0 && ferror(in))
        r = err_sys(err, EIO, "cannot read %s", path);
    free(line);
    fclose(in);
    return r;
}

static int take_recording_line(struct truth *truth, uint64_t attempt, const char *line,
                               struct err *err)
{
    (void)attempt;
    return truth_recording_line(truth, line, err);
}

/* The files of a folder are numbered with their age, the one that is written has no number. */
static int load_folder(struct truth *truth, const char *folder, struct err *err)
{
    char path[PATH_MAX + 32];
    unsigned older = 0;
    do
        snprintf(path, sizeof(path), "%s/duopoly.log.%u", folder, ++older);
    while (access(path, F_OK) == 0);
    for (int r = 0; --older > 0;) {
        snprintf(path, sizeof(path), "%s/duopoly.log.%u", folder, older);
        if ((r = each_line(truth, path, 0, take_recording_line, err)) < 0)
            return r;
    }
    snprintf(path, sizeof(path), "%s/duopoly.log", folder);
    return each_line(truth, path, 0, take_recording_line, err);
}

int truth_load_recording(struct truth *truth, const char *path, struct err *err)
{
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return load_folder(truth, path, err);
    return each_line(truth, path, 0, take_recording_line, err);
}

/* JOB-STAGE-TASK-ATTEMPT */
static bool attempt_of_name(const char *name, uint64_t *ret_attempt)
{
    int end = -1;
    if (sscanf(name, "%*u-%*u-%*u-%" SCNu64 "%n", ret_attempt, &end) != 1)
        return false;
    return end >= 0 && name[end] == 0;
}

int truth_load_ports(struct truth *truth, const char *directory, struct err *err)
{
    char path[PATH_MAX];
    uint64_t attempt;
    int r = 0;
    DIR *folder = opendir(directory);
    if (!folder)
        return err_sys(err, errno, "cannot open %s", directory);
    for (struct dirent *entry; r == 0 && (entry = readdir(folder));) {
        if (!attempt_of_name(entry->d_name, &attempt))
            continue;
        snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        r = each_line(truth, path, attempt, truth_ports_line, err);
    }
    closedir(folder);
    return r;
}
