#include "testbed/replay/input.h"

#include "lib/number.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 8, FILE_MAX = 128 << 20 };

static int read_number32(const char *word, uint32_t *ret_number)
{
    uint64_t number;
    int r = number_read(word, 0, UINT32_MAX, &number);
    if (r == 0)
        *ret_number = (uint32_t)number;
    return r;
}

static bool is_address(const char *word)
{
    struct in6_addr address;
    return inet_pton(AF_INET, word, &address) == 1 || inet_pton(AF_INET6, word, &address) == 1;
}

/* "input ADDRESS BYTES map STAGE TASK ATTEMPT" or "input ADDRESS BYTES block". */
static int read_part(char **words, unsigned n, struct input_part *part)
{
    if (n < 4 || !is_address(words[1]) || number_read(words[2], 0, INT64_MAX, &part->bytes) < 0)
        return -EINVAL;
    snprintf(part->address, sizeof(part->address), "%s", words[1]);
    part->block = strcmp(words[3], "block") == 0;
    if (part->block)
        return 0;
    if (n < 7 || strcmp(words[3], "map") != 0 || read_number32(words[4], &part->stage) < 0 ||
        read_number32(words[5], &part->task) < 0 ||
        number_read(words[6], 0, UINT64_MAX, &part->attempt) < 0)
        return -EINVAL;
    return 0;
}

static int add_part(struct input *input, char **words, unsigned n)
{
    /* Grows at powers of two. */
    if ((input->n_parts & (input->n_parts - 1)) == 0) {
        size_t room = input->n_parts ? input->n_parts * 2 : 1;
        struct input_part *grown = reallocarray(input->parts, room, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        input->parts = grown;
    }
    if (input->n_parts == INPUT_PARTS_MAX)
        return -E2BIG;
    struct input_part *part = &input->parts[input->n_parts];
    *part = (struct input_part){0};
    int r = read_part(words, n, part);
    input->n_parts += r == 0;
    return r;
}

/* "profile BYTES BYTES_S BEFORE COMPUTE_NS". */
static int read_profile(struct input *input, char **words, unsigned n)
{
    struct profile profile;
    struct err err;
    if (n < 5 || number_read(words[1], 0, UINT64_MAX, &profile.read_bytes) < 0 ||
        number_read(words[2], 0, UINT64_MAX, &profile.read_bytes_s) < 0 ||
        number_read(words[3], 0, 1, &profile.before) < 0 ||
        number_read(words[4], 0, UINT64_MAX, &profile.compute_ns) < 0 ||
        profile_check(&profile, &err) < 0)
        return -EINVAL;
    input->profile = profile;
    return 0;
}

/* "device NAME BYTES AT". */
static int add_device(struct input *input, char **words, unsigned n)
{
    struct input_device *device = &input->devices[input->n_devices];
    if (n < 4 || input->n_devices == INPUT_DEVICES_MAX ||
        strlen(words[1]) >= sizeof(device->name) ||
        number_read(words[2], 0, INT64_MAX, &device->bytes) < 0)
        return -EINVAL;
    strcpy(device->name, words[1]);
    input->n_devices++;
    return 0;
}

static int read_line(struct input *input, char *line, unsigned *version)
{
    char *words[WORDS_MAX], *save = NULL;
    unsigned n = 0;
    for (char *word = strtok_r(line, " \t\r", &save); word && n < WORDS_MAX;
         word = strtok_r(NULL, " \t\r", &save))
        words[n++] = word;
    if (n == 0)
        return 0;
    if (strcmp(words[0], "input") == 0)
        return add_part(input, words, n);
    if (strcmp(words[0], "device") == 0)
        return add_device(input, words, n);
    if (strcmp(words[0], "profile") == 0)
        return read_profile(input, words, n);
    const struct {
        const char *name;
        uint64_t *number;
        uint32_t *number32;
    } rows[] = {{"duopoly-task-input", NULL, version},
                {"job", &input->job, NULL},
                {"stage", NULL, &input->stage},
                {"task", NULL, &input->task},
                {"attempt", &input->attempt, NULL},
                {"compute_ns", &input->compute_ns, NULL},
                {"output_bytes", &input->output_bytes, NULL},
                {"stall_ms", NULL, &input->stall_ms},
                {"gpu_milli", &input->gpu_milli, NULL},
                {"gpu_mem_bytes", &input->gpu_mem_bytes, NULL}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(words[0], rows[i].name) != 0)
            continue;
        if (n < 2)
            return -EINVAL;
        return rows[i].number ? number_read(words[1], 0, UINT64_MAX, rows[i].number)
                              : read_number32(words[1], rows[i].number32);
    }
    return 0;
}

/* By address, then by what it is: no two inputs are equal in all of it, so that the order is
 * total. */
static int by_source(const void *a, const void *b)
{
    const struct input_part *x = a, *y = b;
    int order = strcmp(x->address, y->address);
    if (order == 0 && x->block != y->block)
        order = x->block ? -1 : 1;
    if (order == 0 && x->stage != y->stage)
        order = x->stage < y->stage ? -1 : 1;
    if (order == 0 && x->task != y->task)
        order = x->task < y->task ? -1 : 1;
    return order ? order : (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

static int parse_lines(struct input *input, char *text, const char *name, struct err *err)
{
    unsigned version = 0, line_number = 0;
    for (char *next = text, *line; (line = strsep(&next, "\n"));) {
        line_number++;
        int r = read_line(input, line, &version);
        if (r == -E2BIG)
            return err_set(err, EINVAL, "%s:%u: over %d inputs", name, line_number,
                           INPUT_PARTS_MAX);
        if (r == -ENOMEM)
            return err_sys(err, ENOMEM, "%s", name);
        if (r < 0)
            return err_set(err, EINVAL, "%s:%u: not a line of a task's input file", name,
                           line_number);
    }
    if (version != 1)
        return err_set(err, EINVAL, "%s: no line \"duopoly-task-input 1\"", name);
    return 0;
}

int input_parse(const char *text, size_t size, const char *name, struct input *ret_input,
                struct err *err)
{
    struct input input = {0};
    char *copy = malloc(size + 1);
    if (!copy)
        return err_sys(err, ENOMEM, "%s", name);
    memcpy(copy, text, size);
    copy[size] = 0;
    int r = strlen(copy) == size ? parse_lines(&input, copy, name, err)
                                 : err_set(err, EINVAL, "%s: has a NUL byte", name);
    free(copy);
    if (r < 0) {
        input_done(&input);
        return r;
    }
    if (input.n_parts)
        qsort(input.parts, input.n_parts, sizeof(*input.parts), by_source);
    *ret_input = input;
    return 0;
}

int input_load(const char *path, struct input *ret_input, struct err *err)
{
    char *text = NULL;
    size_t size = 0;
    int r;
    FILE *in = fopen(path, "re");
    if (!in)
        return err_sys(err, errno, "cannot open %s", path);
    errno = 0;
    ssize_t length = getdelim(&text, &size, 0, in);
    if (ferror(in))
        r = err_sys(err, errno, "cannot read %s", path);
    else if (length > FILE_MAX)
        r = err_set(err, EINVAL, "%s is over %d MiB long", path, FILE_MAX >> 20);
    else
        r = input_parse(text, length > 0 ? (size_t)length : 0, path, ret_input, err);
    free(text);
    fclose(in);
    return r;
}

void input_done(struct input *input)
{
    if (!input)
        return;
    free(input->parts);
    *input = (struct input){0};
}

int input_open_notes(const char *folder, const struct input *task, struct err *err)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%" PRIu64 "-%u-%u-%" PRIu64, folder, task->job,
                     task->stage, task->task, task->attempt);
    if (n >= PATH_MAX)
        return err_sys(err, ENAMETOOLONG, "%s", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    return fd < 0 ? err_sys(err, errno, "cannot write %s", path) : fd;
}
