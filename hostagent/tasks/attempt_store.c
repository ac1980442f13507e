#include "hostagent/tasks/attempt_store.h"

#include "lib/address.h"
#include "lib/beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Lines of a record that are overwritten have a constant length. */
#define STOPPED_AT   (ATTEMPT_STATUS_AT + ATTEMPT_STATUS_SIZE)
#define STOPPED_SIZE 10 /* "stopped 0\n" */
#define LEVELS_AT    (STOPPED_AT + STOPPED_SIZE)
#define LEVELS_SIZE  29   /* "levels " and two numbers */
#define HEAD_MAX     4096 /* all that comes before the inputs */

static void attempts_path(const char *directory, char path[FILES_PATH])
{
    files_path(path, "%.*s/attempts", FILES_PATH - 16, directory);
}

static void outputs_path(const char *directory, char path[FILES_PATH])
{
    files_path(path, "%.*s/outputs", FILES_PATH - 16, directory);
}

static int open_outputs(const struct attempt_store *store, struct err *err)
{
    char path[FILES_PATH];
    outputs_path(store->directory, path);
    return beneath_root(path, err);
}

static int open_attempts(const struct attempt_store *store, struct err *err)
{
    char path[FILES_PATH];
    attempts_path(store->directory, path);
    return beneath_root(path, err);
}

/* Does nothing if it is so already: a service manager may forbid changes of owners. */
static int give_to_group(const struct attempt_store *store, struct err *err)
{
    struct stat st;
    gid_t group = store->owner.gid;
    int fd = open_outputs(store, err), r = 0;
    if (fd < 0)
        return fd;
    bool is_so = fstat(fd, &st) == 0 && st.st_uid == geteuid() && st.st_gid == group &&
                 (st.st_mode & 07777) == 0775;
    if (!is_so && (fchown(fd, geteuid(), group) < 0 || fchmod(fd, 0775) < 0))
        r = err_sys(err, errno, "giving %s/outputs to the group of tasks.user", store->directory);
    close(fd);
    return r;
}

static bool parse_output(const char *name, duopoly_OutputHeld *output)
{
    return attempt_parse_output(name, &output->job, &output->stage, &output->task,
                                &output->attempt);
}

/* Older agents kept the list in `outputs`. */
static int take_over_outputs(const struct attempt_store *store, int attempts, struct err *err)
{
    int outputs = open_outputs(store, err), r = 0;
    DIR *dir = outputs < 0 ? NULL : fdopendir(outputs);
    if (!dir)
        return -EIO;
    struct dirent *entry;
    for (int looks = 0; r >= 0 && looks < ATTEMPT_STORE_LOOKS && (entry = readdir(dir)); looks++) {
        duopoly_OutputHeld output;
        if (!parse_output(entry->d_name, &output) || !beneath_is_folder(outputs, entry->d_name))
            continue;
        int fd = beneath_open(attempts, entry->d_name, O_WRONLY | O_CREAT, 0644);
        if (fd < 0)
            r = err_sys(err, -fd, "keeping the outputs in %s", store->directory);
        else
            close(fd);
    }
    closedir(dir);
    return r;
}

/* Once: the first agent that keeps a list takes over what is there. WHY a full disk is no error:
 * the next agent tries again. */
static int begin_list(const struct attempt_store *store, struct err *err)
{
    char path[FILES_PATH];
    files_path(path, "%s/" ATTEMPT_LISTED, store->directory);
    if (access(path, F_OK) == 0)
        return 0;
    int attempts = open_attempts(store, err);
    int r = attempts < 0 ? attempts : take_over_outputs(store, attempts, err);
    if (attempts >= 0)
        close(attempts);
    if (r >= 0)
        r = files_write(path, "", 0, 0644, err);
    return r == -ENOSPC ? 0 : r;
}

int attempt_store_init(struct attempt_store *store, const char *directory,
                       const struct attempt_store_owner *owner, struct err *err)
{
    char path[FILES_PATH];
    store->owner = *owner;
    files_path(store->directory, "%s", directory);
    attempts_path(directory, path);
    int r = files_make_dirs(path, 0755, err);
    if (r < 0)
        return r;
    outputs_path(directory, path);
    r = files_make_dirs(path, 0755, err);
    if (r >= 0)
        r = give_to_group(store, err);
    return r < 0 ? r : begin_list(store, err);
}

int attempt_store_plan(const char *directory, struct changes *changes, struct err *err)
{
    char path[FILES_PATH];
    attempts_path(directory, path);
    int r = changes_path(changes, "folder", path, "attempts that run", err);
    outputs_path(directory, path);
    r = r < 0 ? r : changes_path(changes, "folder", path, "what they left", err);
    files_path(path, "%s/" ATTEMPT_LISTED, directory);
    return r < 0 ? r : changes_path(changes, "file", path, "what they left is listed", err);
}

/* A file system without a bound has no blocks, or no files, to count. */
int attempt_store_room(const struct attempt_store *store, struct err *err)
{
    struct statvfs fs;
    if (statvfs(store->directory, &fs) < 0)
        return err_sys(err, errno, "looking for room in %s", store->directory);
    if (fs.f_flag & ST_RDONLY)
        return err_sys(err, EROFS, "no attempt can be recorded in %s", store->directory);
    bool bytes = fs.f_blocks == 0 || fs.f_bavail * fs.f_frsize >= ATTEMPT_STORE_SPARE;
    bool files = fs.f_files == 0 || fs.f_favail >= ATTEMPT_STORE_FILES;
    return bytes && files
               ? 0
               : err_sys(err, ENOSPC, "no room for another attempt in %s", store->directory);
}

int attempt_store_try(const struct attempt_store *store, struct err *err)
{
    static const char bytes[4096];
    char path[FILES_PATH];
    files_path(path, "%s/room", store->directory);
    int r = files_write(path, bytes, sizeof(bytes), 0600, err);
    unlink(path);
    return r;
}

void attempt_store_path(const struct attempt_store *store, uint64_t attempt, char path[FILES_PATH])
{
    files_path(path, "%s/attempts/%016" PRIx64, store->directory, attempt);
}

static void output_name(const duopoly_Start *start, char name[FILES_PATH])
{
    files_path(name, "%" PRIu64 "-%" PRIu32 "-%" PRIu32 "-%" PRIu64, start->job, start->stage,
               start->task, start->attempt);
}

void attempt_store_output_path(const struct attempt_store *store, const duopoly_Start *start,
                               char path[FILES_PATH])
{
    char name[FILES_PATH];
    output_name(start, name);
    files_path(path, "%.*s/outputs/%.100s", FILES_PATH - 128, store->directory, name);
}

static void print_input(FILE *file, const duopoly_Input *input)
{
    char address[INET6_ADDRSTRLEN];
    address_print(input->address, address);
    if (input->block)
        fprintf(file, "input %s %" PRIu64 " block\n", address, input->bytes);
    else
        fprintf(file, "input %s %" PRIu64 " map %" PRIu32 " %" PRIu32 " %" PRIu64 "\n", address,
                input->bytes, input->stage, input->task, input->attempt);
}

static void format_levels(const duopoly_Start *start, char text[LEVELS_SIZE + 1])
{
    snprintf(text, LEVELS_SIZE + 1, "levels %10" PRIu32 " %10" PRIu32 "\n", start->coflow_level,
             start->macroflow_level);
}

static void print_start(FILE *file, const duopoly_Start *start)
{
    const duopoly_Resources *resources = &start->resources;
    char status[ATTEMPT_STATUS_SIZE + 1], levels[LEVELS_SIZE + 1];
    attempt_format_status(NULL, status);
    format_levels(start, levels);
    fprintf(file, ATTEMPT_RECORD "%sstopped 0\n%s", status, levels);
    fprintf(file,
            "unit %" PRIu32 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
            "\ncommand %s\n",
            start->unit, resources->slots, resources->cpu_milli, resources->mem_bytes,
            resources->gpu_milli, resources->gpu_mem_bytes, resources->io_bytes_s, start->command);
    fprintf(file,
            "job %" PRIu64 "\nstage %" PRIu32 "\ntask %" PRIu32 "\nattempt %" PRIu64
            "\ncompute_ns %" PRIu64 "\noutput_bytes %" PRIu64 "\nstall_ms %" PRIu32 "\n",
            start->job, start->stage, start->task, start->attempt, start->compute_ns,
            start->output_bytes, start->stall_ms);
    if (start->proof)
        fprintf(file, "proof %" PRIu64 "\n", start->proof);
    if (start->variant)
        fprintf(file, "variant %" PRIu32 "\n", start->variant);
    if (start->has_profile)
        fprintf(file, "profile %" PRIu64 " %" PRIu64 " %d %" PRIu64 "\n", start->profile.read_bytes,
                start->profile.read_bytes_s, start->profile.before, start->profile.compute_ns);
}

/* Of the first there is no line. */
static uint32_t variant_of(const char *head)
{
    const char *line = strstr(head, "\nvariant ");
    uint32_t variant = 0;
    if (line)
        sscanf(line, "\nvariant %" SCNu32, &variant);
    return variant;
}

/* Where none is known there is no line. */
static void read_profile(const char *head, duopoly_Start *start)
{
    const char *line = strstr(head, "\nprofile ");
    duopoly_Profile *profile = &start->profile;
    int before = 0;
    start->has_profile =
        line && sscanf(line, "\nprofile %" SCNu64 " %" SCNu64 " %d %" SCNu64, &profile->read_bytes,
                       &profile->read_bytes_s, &before, &profile->compute_ns) == 4;
    if (start->has_profile)
        profile->before = before == 1;
}

static void print_place(FILE *file, const duopoly_Start *start, const struct attempt_place *place)
{
    if (*place->unit)
        fprintf(file, "unit_name %s\n", place->unit);
    if (place->devices_n)
        fprintf(file, "gpu_milli %" PRId64 "\ngpu_mem_bytes %" PRId64 "\n",
                start->resources.gpu_milli, start->resources.gpu_mem_bytes);
    for (uint32_t d = 0; d < place->devices_n; d++)
        fprintf(file, "device %s %" PRId64 " %s\n", place->devices[d].name,
                place->devices[d].mem_bytes, *place->devices[d].at ? place->devices[d].at : "-");
}

/* By one write if possible: a record with an incomplete head is invalid. */
static int write_new(const char *path, const char *text, size_t n, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_sys(err, errno, "making %s", path);
    ssize_t done = 0;
    for (size_t at = 0; at < n; at += (size_t)done)
        if ((done = write(fd, text + at, n - at)) <= 0)
            break;
    int code = done > 0 ? 0 : done < 0 ? errno : ENOSPC;
    close(fd);
    if (code) {
        unlink(path);
        return err_sys(err, code, "writing %s", path);
    }
    return 0;
}

int attempt_store_make(const struct attempt_store *store, const duopoly_Start *start,
                       const struct attempt_place *place, const duopoly_Input *inputs, uint32_t n,
                       struct err *err)
{
    char path[FILES_PATH], *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        return err_sys(err, errno, "an attempt's record");
    print_start(file, start);
    print_place(file, start, place);
    for (uint32_t i = 0; i < n; i++)
        print_input(file, &inputs[i]);
    attempt_store_path(store, start->attempt, path);
    int r = fclose(file) == 0 ? write_new(path, text, size, err)
                              : err_sys(err, ENOMEM, "an attempt's record");
    free(text);
    return r;
}

static int read_head(const char *path, char head[HEAD_MAX + 1], struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "reading %s", path);
    ssize_t n = read(fd, head, HEAD_MAX);
    int code = errno;
    close(fd);
    if (n < 0)
        return err_sys(err, code, "reading %s", path);
    head[n] = 0;
    return n > LEVELS_AT && strncmp(head, ATTEMPT_RECORD, ATTEMPT_STATUS_AT) == 0
               ? 0
               : err_set(err, EBADMSG, "%s is not the record of an attempt", path);
}

static void read_device(const char *line, struct attempt_place *place)
{
    struct device *device = &place->devices[place->devices_n];
    if (place->devices_n == DEVICES_MAX ||
        sscanf(line, "device %31s %" SCNd64 " %63s", device->name, &device->mem_bytes,
               device->at) != 3)
        return;
    if (strcmp(device->at, "-") == 0)
        *device->at = '\0';
    place->devices_n++;
}

/* Older records say nothing of it. */
static void read_place(const char *head, struct attempt_place *place)
{
    *place = (struct attempt_place){0};
    for (const char *line = head; line; line = (line = strchr(line, '\n')) ? line + 1 : NULL) {
        if (sscanf(line, "unit_name %31s", place->unit) == 1)
            continue;
        read_device(line, place);
    }
}

int attempt_store_read(const struct attempt_store *store, uint64_t attempt,
                       duopoly_Start *ret_start, struct attempt_place *ret_place,
                       enum attempt_stopped *ret_stopped, struct err *err)
{
    char path[FILES_PATH], head[HEAD_MAX + 1];
    duopoly_Start start = duopoly_Start_init_zero;
    duopoly_Resources *resources = &start.resources;
    unsigned stopped;
    attempt_store_path(store, attempt, path);
    int r = read_head(path, head, err);
    if (r < 0)
        return r;
    if (sscanf(head + STOPPED_AT,
               "stopped %u\nlevels %" SCNu32 " %" SCNu32 "\nunit %" SCNu32 " %" SCNd64 " %" SCNd64
               " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 "\ncommand %63s\njob %" SCNu64
               "\nstage %" SCNu32 "\ntask %" SCNu32 "\nattempt %" SCNu64 "\ncompute_ns %" SCNu64
               "\noutput_bytes %" SCNu64 "\nstall_ms %" SCNu32 "\nproof %" SCNu64,
               &stopped, &start.coflow_level, &start.macroflow_level, &start.unit,
               &resources->slots, &resources->cpu_milli, &resources->mem_bytes,
               &resources->gpu_milli, &resources->gpu_mem_bytes, &resources->io_bytes_s,
               start.command, &start.job, &start.stage, &start.task, &start.attempt,
               &start.compute_ns, &start.output_bytes, &start.stall_ms,
               &start.proof) < 18 || /* older records end before the proof */
        start.attempt != attempt)
        return err_set(err, EBADMSG, "%s is not the record of an attempt", path);
    start.has_resources = true;
    start.variant = variant_of(head);
    read_profile(head, &start);
    read_place(head + LEVELS_AT, ret_place);
    *ret_start = start;
    *ret_stopped =
        stopped <= ATTEMPT_STOPPED_BY_HOST ? (enum attempt_stopped)stopped : ATTEMPT_STOPPED;
    return 0;
}

static int write_at(const struct attempt_store *store, uint64_t attempt, const char *text, size_t n,
                    off_t at, struct err *err)
{
    char path[FILES_PATH];
    attempt_store_path(store, attempt, path);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int r = fd < 0 || pwrite(fd, text, n, at) != (ssize_t)n ? -1 : 0;
    int code = errno;
    if (fd >= 0)
        close(fd);
    return r < 0 ? err_sys(err, code, "writing %s", path) : 0;
}

int attempt_store_write_levels(const struct attempt_store *store, const duopoly_Start *start,
                               struct err *err)
{
    char text[LEVELS_SIZE + 1];
    format_levels(start, text);
    return write_at(store, start->attempt, text, LEVELS_SIZE, LEVELS_AT, err);
}

void attempt_store_set_stopped(const struct attempt_store *store, uint64_t attempt,
                               enum attempt_stopped stopped)
{
    const char text[STOPPED_SIZE + 1] = {
        's', 't', 'o', 'p', 'p', 'e', 'd', ' ', (char)('0' + stopped), '\n'};
    write_at(store, attempt, text, STOPPED_SIZE, STOPPED_AT, NULL);
}

int attempt_store_status(const struct attempt_store *store, uint64_t attempt,
                         struct attempt_status *ret_status, struct err *err)
{
    char path[FILES_PATH], head[HEAD_MAX + 1];
    attempt_store_path(store, attempt, path);
    int r = read_head(path, head, err);
    if (r < 0)
        return r;
    r = attempt_parse_status(head + ATTEMPT_STATUS_AT, ret_status);
    return r < 0 ? err_sys(err, -r, "the status in %s", path) : 0;
}

int attempt_store_write_status(const struct attempt_store *store, uint64_t attempt,
                               const struct attempt_status *status, struct err *err)
{
    char text[ATTEMPT_STATUS_SIZE + 1];
    attempt_format_status(status, text);
    return write_at(store, attempt, text, ATTEMPT_STATUS_SIZE, ATTEMPT_STATUS_AT, err);
}

static void remove_listener(const char *record)
{
    char listener[FILES_PATH];
    files_path(listener, "%.*s" ATTEMPT_SOCKET_END, FILES_PATH - 4, record);
    unlink(listener);
}

void attempt_store_remove(const struct attempt_store *store, uint64_t attempt)
{
    char path[FILES_PATH];
    attempt_store_path(store, attempt, path);
    remove_listener(path);
    unlink(path);
}

int attempt_store_keep(const struct attempt_store *store, const duopoly_Start *start,
                       struct err *err)
{
    char path[FILES_PATH], kept[FILES_PATH], name[FILES_PATH];
    attempt_store_path(store, start->attempt, path);
    output_name(start, name);
    files_path(kept, "%.*s/attempts/%.100s", FILES_PATH - 128, store->directory, name);
    remove_listener(path);
    /* It may be long, and is not needed any more. */
    if (truncate(path, 0) < 0 || rename(path, kept) < 0)
        return err_sys(err, errno, "keeping the output %s", name);
    return 0;
}

int attempt_store_list(const struct attempt_store *store,
                       void (*each)(void *user, uint64_t attempt), void *user, struct err *err)
{
    char path[FILES_PATH];
    attempts_path(store->directory, path);
    return files_each_attempt(path, each, user, err);
}

static void ask_to_clear(const struct attempt_store *store)
{
    char path[FILES_PATH];
    outputs_path(store->directory, path);
    store->owner.clear(store->owner.user, path);
}

/* Whether to clear it; −errno. */
static int let_go(const struct attempt_store *store, int outputs, const char *name, struct err *err)
{
    int r = beneath_put_aside(outputs, name, ATTEMPT_GONE);
    return r < 0 ? err_sys(err, -r, "renaming %s/outputs/%s", store->directory, name) : r;
}

bool attempt_store_settle_output(const struct attempt_store *store, const duopoly_Start *start,
                                 bool success)
{
    char name[FILES_PATH];
    int outputs = open_outputs(store, NULL);
    if (outputs < 0)
        return false;
    output_name(start, name);
    bool there = success && beneath_is_folder(outputs, name);
    bool to_clear = !there && let_go(store, outputs, name, NULL) > 0;
    close(outputs);
    if (to_clear)
        ask_to_clear(store);
    return there;
}

static DIR *list_attempts(const struct attempt_store *store, struct err *err)
{
    int fd = open_attempts(store, err);
    return fd < 0 ? NULL : fdopendir(fd);
}

int attempt_store_list_outputs(const struct attempt_store *store,
                               void (*each)(void *user, const duopoly_OutputHeld *output),
                               void *user, struct err *err)
{
    int outputs = open_outputs(store, err);
    DIR *dir = outputs < 0 ? NULL : list_attempts(store, err);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        duopoly_OutputHeld output;
        if (parse_output(entry->d_name, &output) && beneath_is_folder(outputs, entry->d_name))
            each(user, &output);
    }
    if (outputs >= 0)
        close(outputs);
    if (!dir)
        return -EIO;
    closedir(dir);
    return 0;
}

/* Of a job: whether there is something to clear, or −errno. The entry stays where its output
 * does. */
static int forget_output(const struct attempt_store *store, int outputs, DIR *attempts,
                         const char *name, struct err *err)
{
    int r = let_go(store, outputs, name, err);
    if (r >= 0)
        unlinkat(dirfd(attempts), name, 0);
    return r;
}

int attempt_store_forget_job(const struct attempt_store *store, uint64_t job, struct err *err)
{
    bool any = false;
    int r = 0, outputs = open_outputs(store, err);
    DIR *dir = outputs < 0 ? NULL : list_attempts(store, err);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        duopoly_OutputHeld output;
        if (!parse_output(entry->d_name, &output) || output.job != job)
            continue;
        int other = forget_output(store, outputs, dir, entry->d_name, err);
        r = other < 0 ? other : r;
        any = any || other > 0;
    }
    if (outputs >= 0)
        close(outputs);
    if (!dir)
        return -EIO;
    closedir(dir);
    if (any)
        ask_to_clear(store);
    return r;
}

/* WHY not always: the process that clears is started for it. */
void attempt_store_clear(const struct attempt_store *store)
{
    int fd = open_outputs(store, NULL);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    bool any = false;
    if (!dir)
        return;
    for (struct dirent *entry; !any && (entry = readdir(dir));)
        any = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    if (any)
        ask_to_clear(store);
}
