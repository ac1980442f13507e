#include "hostagent/attempt_store.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int attempt_store_init(struct attempt_store *store, const char *directory, uint32_t uid,
                       uint32_t gid, struct err *err)
{
    char path[FILES_PATH];
    files_path(store->directory, "%s", directory);
    store->uid = uid;
    store->gid = gid;
    files_path(path, "%s/attempts", directory);
    int r = files_make_dirs(path, 0755, err);
    if (r < 0)
        return r;
    files_path(path, "%s/outputs", directory);
    return files_make_dirs(path, 0755, err);
}

void attempt_store_path(const struct attempt_store *store, uint64_t attempt, const char *name,
                        char path[FILES_PATH])
{
    files_path(path, "%s/attempts/%016" PRIx64 "%s%s", store->directory, attempt,
               name[0] ? "/" : "", name);
}

static void output_place(const struct attempt_store *store, const duopoly_Start *start,
                         char path[FILES_PATH])
{
    files_path(path, "%s/outputs/%" PRIu64 "-%" PRIu32 "-%" PRIu32 "-%" PRIu64, store->directory,
               start->job, start->stage, start->task, start->attempt);
}

void attempt_store_output_path(const struct attempt_store *store, const duopoly_Start *start,
                               char path[FILES_PATH])
{
    char place[FILES_PATH];
    output_place(store, start, place);
    files_path(path, "%.*s/out", FILES_PATH - 5, place);
}

/* ---- start ---- */

int attempt_store_write_start(const struct attempt_store *store, const duopoly_Start *start,
                              struct err *err)
{
    char path[FILES_PATH], text[512];
    const duopoly_Resources *r = &start->resources;
    int n = snprintf(text, sizeof(text),
                     "duopoly-attempt 1\n%" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu32
                     " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
                     " %" PRIu32 " %" PRIu32 " %s\n",
                     start->attempt, start->job, start->stage, start->task, start->unit, r->slots,
                     r->cpu_milli, r->mem_bytes, r->gpu_milli, r->gpu_mem_bytes, r->io_bytes_s,
                     start->coflow_level, start->macroflow_level, start->command);
    attempt_store_path(store, start->attempt, "start", path);
    return files_write(path, text, (size_t)n, 0600, err);
}

int attempt_store_read_start(const struct attempt_store *store, uint64_t attempt,
                             duopoly_Start *ret_start, struct err *err)
{
    char path[FILES_PATH], text[512];
    duopoly_Start start = duopoly_Start_init_zero;
    duopoly_Resources *r = &start.resources;
    attempt_store_path(store, attempt, "start", path);
    int got = files_read(path, text, sizeof(text), NULL, err);
    if (got < 0)
        return got;
    if (sscanf(text,
               "duopoly-attempt 1\n%" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu32
               " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNu32
               " %" SCNu32 " %63s",
               &start.attempt, &start.job, &start.stage, &start.task, &start.unit, &r->slots,
               &r->cpu_milli, &r->mem_bytes, &r->gpu_milli, &r->gpu_mem_bytes, &r->io_bytes_s,
               &start.coflow_level, &start.macroflow_level, start.command) != 14 ||
        start.attempt != attempt)
        return err_set(err, EBADMSG, "%s is not an attempt's", path);
    start.has_resources = true;
    *ret_start = start;
    return 0;
}

/* ---- input ---- */

static void print_input(FILE *file, const duopoly_Input *input)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    char address[INET6_ADDRSTRLEN];
    bool v4 = memcmp(input->address, mapped, sizeof(mapped)) == 0;
    inet_ntop(v4 ? AF_INET : AF_INET6, input->address + (v4 ? 12 : 0), address, sizeof(address));
    if (input->block)
        fprintf(file, "input %s %" PRIu64 " block\n", address, input->bytes);
    else
        fprintf(file, "input %s %" PRIu64 " map %" PRIu32 " %" PRIu32 " %" PRIu64 "\n", address,
                input->bytes, input->stage, input->task, input->attempt);
}

static int write_input(const struct attempt_store *store, const duopoly_Start *start,
                       const duopoly_Input *inputs, uint32_t n, struct err *err)
{
    char path[FILES_PATH];
    attempt_store_path(store, start->attempt, "input", path);
    FILE *file = fopen(path, "we");
    if (!file)
        return err_sys(err, errno, "writing %s", path);
    fprintf(file,
            "duopoly-task-input 1\njob %" PRIu64 "\nstage %" PRIu32 "\ntask %" PRIu32
            "\nattempt %" PRIu64 "\ncompute_ns %" PRIu64 "\noutput_bytes %" PRIu64 "\n",
            start->job, start->stage, start->task, start->attempt, start->compute_ns,
            start->output_bytes);
    for (uint32_t i = 0; i < n; i++)
        print_input(file, &inputs[i]);
    fchmod(fileno(file), 0644);
    bool failed = ferror(file);
    if (fclose(file) != 0 || failed)
        return err_sys(err, errno ? errno : EIO, "writing %s", path);
    return 0;
}

int attempt_store_make(const struct attempt_store *store, const duopoly_Start *start,
                       const duopoly_Input *inputs, uint32_t n, struct err *err)
{
    char path[FILES_PATH];
    attempt_store_path(store, start->attempt, "", path);
    if (mkdir(path, 0755) < 0)
        return err_sys(err, errno, "making %s", path);
    int r = write_input(store, start, inputs, n, err);
    if (r >= 0)
        r = attempt_store_write_start(store, start, err);
    output_place(store, start, path);
    if (r >= 0 && (mkdir(path, 0755) < 0 || chown(path, store->uid, store->gid) < 0))
        r = err_sys(err, errno, "making %s", path);
    if (r < 0)
        attempt_store_remove(store, start->attempt);
    return r;
}

/* ---- end ---- */

void attempt_store_set_stopped(const struct attempt_store *store, uint64_t attempt)
{
    char path[FILES_PATH];
    attempt_store_path(store, attempt, "stopped", path);
    files_write(path, "", 0, 0600, NULL);
}

bool attempt_store_stopped(const struct attempt_store *store, uint64_t attempt)
{
    char path[FILES_PATH];
    attempt_store_path(store, attempt, "stopped", path);
    return access(path, F_OK) == 0;
}

int attempt_store_status(const struct attempt_store *store, uint64_t attempt,
                         struct attempt_status *ret_status, struct err *err)
{
    char path[FILES_PATH], text[1024];
    attempt_store_path(store, attempt, ATTEMPT_STATUS_FILE, path);
    int r = files_read(path, text, sizeof(text), NULL, err);
    if (r < 0)
        return r;
    return attempt_parse_status(text, ret_status) < 0 ? err_set(err, EBADMSG, "%s is damaged", path)
                                                      : 0;
}

int attempt_store_write_status(const struct attempt_store *store, uint64_t attempt,
                               const struct attempt_status *status, struct err *err)
{
    char path[FILES_PATH], text[1024];
    size_t n = attempt_format_status(status, text, sizeof(text));
    attempt_store_path(store, attempt, ATTEMPT_STATUS_FILE, path);
    return files_write(path, text, n, 0600, err);
}

void attempt_store_write_counted(const struct attempt_store *store, uint64_t attempt,
                                 uint64_t cgroup, uint64_t received_bytes)
{
    char path[FILES_PATH], text[64];
    int n = snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 "\n", cgroup, received_bytes);
    attempt_store_path(store, attempt, "counted", path);
    files_write(path, text, (size_t)n, 0600, NULL);
}

void attempt_store_read_counted(const struct attempt_store *store, uint64_t attempt,
                                uint64_t *ret_cgroup, uint64_t *ret_received_bytes)
{
    char path[FILES_PATH], text[64];
    uint64_t cgroup = 0, bytes = 0;
    attempt_store_path(store, attempt, "counted", path);
    if (files_read(path, text, sizeof(text), NULL, NULL) < 0 ||
        sscanf(text, "%" SCNu64 " %" SCNu64, &cgroup, &bytes) != 2)
        cgroup = bytes = 0;
    *ret_cgroup = cgroup;
    *ret_received_bytes = bytes;
}

void attempt_store_remove(const struct attempt_store *store, uint64_t attempt)
{
    char path[FILES_PATH];
    attempt_store_path(store, attempt, "", path);
    files_remove_tree(path, NULL);
}

int attempt_store_list(const struct attempt_store *store,
                       void (*each)(void *user, uint64_t attempt), void *user, struct err *err)
{
    char path[FILES_PATH];
    files_path(path, "%.*s/attempts", FILES_PATH - 16, store->directory);
    return files_each_attempt(path, each, user, err);
}

/* ---- outputs ---- */

bool attempt_store_settle_output(const struct attempt_store *store, const duopoly_Start *start,
                                 bool success)
{
    char path[FILES_PATH];
    struct stat st;
    attempt_store_output_path(store, start, path);
    if (success && lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return true;
    output_place(store, start, path);
    files_remove_tree(path, NULL);
    return false;
}

static bool parse_output(const char *name, duopoly_OutputHeld *output)
{
    int end = 0;
    return sscanf(name, "%" SCNu64 "-%" SCNu32 "-%" SCNu32 "-%" SCNu64 "%n", &output->job,
                  &output->stage, &output->task, &output->attempt, &end) == 4 &&
           !name[end];
}

static DIR *open_outputs(const struct attempt_store *store, char path[FILES_PATH], struct err *err)
{
    files_path(path, "%.*s/outputs", FILES_PATH - 16, store->directory);
    DIR *dir = opendir(path);
    if (!dir)
        err_sys(err, errno, "reading %s", path);
    return dir;
}

int attempt_store_list_outputs(const struct attempt_store *store,
                               void (*each)(void *user, const duopoly_OutputHeld *output),
                               void *user, struct err *err)
{
    char path[FILES_PATH];
    DIR *dir = open_outputs(store, path, err);
    if (!dir)
        return -EIO;
    for (struct dirent *entry; (entry = readdir(dir));) {
        duopoly_OutputHeld output;
        char out[FILES_PATH];
        files_path(out, "%.200s/%.255s/out", path, entry->d_name);
        if (parse_output(entry->d_name, &output) && access(out, F_OK) == 0)
            each(user, &output);
    }
    closedir(dir);
    return 0;
}

int attempt_store_forget_job(const struct attempt_store *store, uint64_t job, struct err *err)
{
    char path[FILES_PATH];
    int r = 0;
    DIR *dir = open_outputs(store, path, err);
    if (!dir)
        return -EIO;
    for (struct dirent *entry; (entry = readdir(dir));) {
        duopoly_OutputHeld output;
        char place[FILES_PATH];
        if (!parse_output(entry->d_name, &output) || output.job != job)
            continue;
        files_path(place, "%.200s/%.255s", path, entry->d_name);
        int removed = files_remove_tree(place, err);
        r = removed < 0 ? removed : r;
    }
    closedir(dir);
    return r;
}
