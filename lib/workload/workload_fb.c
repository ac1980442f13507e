#include "lib/workload/workload_fb.h"
#include "lib/number.h"
#include "lib/text_mark.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The trace while it is built; `view` is first, so that its address is the object's. */
struct building {
    struct workload_fb view;
    struct workload_fb_coflow *coflows;
    uint32_t *mappers;
    struct workload_fb_reducer *reducers;
    size_t mappers_allocated, reducers_allocated;
};

struct reader {
    const char *at; /* NUL ends the text */
    size_t line;
    const char *name;
    struct err *err;
};

static int reader_fail(struct reader *reader, const char *what, const char *why)
{
    return err_set(reader->err, EINVAL, "%s:%zu: %s %s", reader->name, reader->line, what, why);
}

static void reader_skip_blanks(struct reader *reader)
{
    while (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\r')
        reader->at++;
}

/* The next whole number of this line, ended by a blank, `stop` or the line's end. */
static int reader_number(struct reader *reader, const char *what, uint64_t max, char stop,
                         uint64_t *ret)
{
    reader_skip_blanks(reader);
    if (*reader->at == '\n' || !*reader->at)
        return reader_fail(reader, what, "is missing: the line ends too early");
    if (!isdigit((unsigned char)*reader->at))
        return reader_fail(reader, what, "is not a number from 0 on");
    const char *end = number_take(reader->at, max, ret);
    if (!end) {
        char why[64];
        snprintf(why, sizeof(why), "is more than %llu", (unsigned long long)max);
        return reader_fail(reader, what, why);
    }
    if (*end && !isspace((unsigned char)*end) && *end != stop)
        return reader_fail(reader, what, "is not a whole number");
    reader->at = end;
    return 0;
}

static int reader_megabytes(struct reader *reader, int64_t *ret_bytes)
{
    char *end;
    if (*reader->at != ':' || isspace((unsigned char)reader->at[1]) || !reader->at[1])
        return reader_fail(reader, "a reducer", "is not LOCATION:MB");
    double mb = strtod(++reader->at, &end);
    if (end == reader->at || (*end && !isspace((unsigned char)*end)))
        return reader_fail(reader, "a reducer's MB", "is not a number");
    if (!(mb >= 0 && mb <= WORKLOAD_FB_MB_MAX))
        return reader_fail(reader, "a reducer's MB", "is not between 0 and 10^9");
    reader->at = end;
    *ret_bytes = (int64_t)llround(mb * 1048576);
    return 0;
}

static int reader_end_line(struct reader *reader)
{
    reader_skip_blanks(reader);
    if (*reader->at && *reader->at != '\n')
        return reader_fail(reader, "the line", "goes on after what its counts announce");
    if (*reader->at) {
        reader->at++;
        reader->line++;
    }
    return 0;
}

static int room_for(void **table, size_t *allocated, size_t need, size_t size)
{
    if (need <= *allocated)
        return 0;
    size_t wanted = *allocated * 2 > need ? *allocated * 2 : need;
    void *grown = realloc(*table, wanted * size);
    if (!grown)
        return -ENOMEM;
    *table = grown;
    *allocated = wanted;
    return 0;
}

static int out_of_memory(struct reader *reader)
{
    return err_set(reader->err, ENOMEM, "%s:%zu: not enough memory for this trace", reader->name,
                   reader->line);
}

/* How many tasks of one kind a Coflow has; the trace has had `so_far` of them. */
static int read_count(struct reader *reader, const char *what, uint64_t so_far, uint32_t *ret_count)
{
    uint64_t count;
    int r = reader_number(reader, what, WORKLOAD_FB_TASKS_MAX, 0, &count);
    if (r)
        return r;
    if (!count || so_far + count > WORKLOAD_FB_TASKS_MAX)
        return reader_fail(reader, what, count ? "is too large" : "is 0");
    *ret_count = (uint32_t)count;
    return 0;
}

static int read_mappers(struct reader *reader, struct building *b, struct workload_fb_coflow *c)
{
    uint64_t port;
    int r = read_count(reader, "the number of mappers", b->view.n_mappers, &c->n_mappers);
    for (uint32_t i = 0; !r && i < c->n_mappers; i++) {
        r = reader_number(reader, "a mapper's location", b->view.n_ports - 1, 0, &port);
        if (r)
            return r;
        if (room_for((void **)&b->mappers, &b->mappers_allocated, b->view.n_mappers + 1,
                     sizeof(*b->mappers)))
            return out_of_memory(reader);
        b->mappers[b->view.n_mappers++] = (uint32_t)port;
    }
    return r;
}

static int read_reducers(struct reader *reader, struct building *b, struct workload_fb_coflow *c)
{
    uint64_t port;
    int r = read_count(reader, "the number of reducers", b->view.n_reducers, &c->n_reducers);
    for (uint32_t i = 0; !r && i < c->n_reducers; i++) {
        struct workload_fb_reducer reducer;
        r = reader_number(reader, "a reducer's location", b->view.n_ports - 1, ':', &port);
        if (!r)
            r = reader_megabytes(reader, &reducer.bytes);
        if (r)
            return r;
        reducer.port = (uint32_t)port;
        if (room_for((void **)&b->reducers, &b->reducers_allocated, b->view.n_reducers + 1,
                     sizeof(*b->reducers)))
            return out_of_memory(reader);
        b->reducers[b->view.n_reducers++] = reducer;
    }
    return r;
}

static int read_coflow(struct reader *reader, struct building *b, struct workload_fb_coflow *c)
{
    uint64_t arrival_ms;
    int r = reader_number(reader, "the coflow's id", INT64_MAX, 0, &c->id);
    if (!r)
        r = reader_number(reader, "the arrival", WORKLOAD_FB_ARRIVAL_MAX, 0, &arrival_ms);
    if (!r) {
        c->arrival_ms = (int64_t)arrival_ms;
        r = read_mappers(reader, b, c);
    }
    if (!r)
        r = read_reducers(reader, b, c);
    return r ? r : reader_end_line(reader);
}

/* A byte order mark, and empty lines. */
static void reader_skip_beginning(struct reader *reader, size_t size)
{
    reader->at += text_mark(reader->at, size);
    reader_skip_blanks(reader);
    for (; *reader->at == '\n'; reader_skip_blanks(reader)) {
        reader->at++;
        reader->line++;
    }
}

static int read_header(struct reader *reader, struct building *b)
{
    uint64_t ports, coflows;
    int r = reader_number(reader, "the number of ports", WORKLOAD_FB_PORTS_MAX, 0, &ports);
    if (!r)
        r = reader_number(reader, "the number of coflows", WORKLOAD_FB_COFLOWS_MAX, 0, &coflows);
    if (!r)
        r = reader_end_line(reader);
    if (r)
        return r;
    if (!ports || !coflows) {
        reader->line = 1;
        return reader_fail(reader, ports ? "the number of coflows" : "the number of ports", "is 0");
    }
    b->view.n_ports = (uint32_t)ports;
    b->view.n_coflows = (size_t)coflows;
    return 0;
}

static int read_coflows(struct reader *reader, struct building *b)
{
    size_t allocated = 0;
    for (size_t i = 0; i < b->view.n_coflows; i++) {
        reader_skip_blanks(reader);
        if (!*reader->at)
            return err_set(reader->err, EINVAL, "%s:%zu: the trace ends after %zu of %zu coflows",
                           reader->name, reader->line, i, b->view.n_coflows);
        if (room_for((void **)&b->coflows, &allocated, i + 1, sizeof(*b->coflows)))
            return out_of_memory(reader);
        int r = read_coflow(reader, b, &b->coflows[i]);
        if (r)
            return r;
    }
    while (isspace((unsigned char)*reader->at))
        reader->line += *reader->at++ == '\n';
    return *reader->at
               ? reader_fail(reader, "the trace", "has more coflows than its first line says")
               : 0;
}

/* The tables move while they grow, so the coflows' pointers are set when all are there. */
static void set_pointers(struct building *b)
{
    const uint32_t *mapper = b->mappers;
    const struct workload_fb_reducer *reducer = b->reducers;
    for (size_t i = 0; i < b->view.n_coflows; i++) {
        b->coflows[i].mappers = mapper;
        b->coflows[i].reducers = reducer;
        mapper += b->coflows[i].n_mappers;
        reducer += b->coflows[i].n_reducers;
    }
    b->view.coflows = b->coflows;
}

static int by_id(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int check_unique(struct reader *reader, const struct building *b)
{
    uint64_t *ids = malloc(b->view.n_coflows * sizeof(*ids));
    if (!ids)
        return out_of_memory(reader);
    for (size_t i = 0; i < b->view.n_coflows; i++)
        ids[i] = b->coflows[i].id;
    qsort(ids, b->view.n_coflows, sizeof(*ids), by_id);
    int r = 0;
    for (size_t i = 1; i < b->view.n_coflows && !r; i++)
        if (ids[i] == ids[i - 1])
            r = err_set(reader->err, EINVAL, "%s: two coflows have the id %llu", reader->name,
                        (unsigned long long)ids[i]);
    free(ids);
    return r;
}

static int parse_owned(char *text, size_t size, const char *name, struct workload_fb **ret_trace,
                       struct err *err)
{
    struct reader reader = {.at = text, .line = 1, .name = name, .err = err};
    struct building *b = calloc(1, sizeof(*b));
    if (!b)
        return out_of_memory(&reader);
    int r = strlen(text) == size ? 0 : reader_fail(&reader, "the text", "holds a NUL byte");
    reader_skip_beginning(&reader, size);
    if (!r)
        r = read_header(&reader, b);
    if (!r)
        r = read_coflows(&reader, b);
    if (!r)
        r = check_unique(&reader, b);
    if (r) {
        workload_fb_destroy(&b->view);
        return r;
    }
    set_pointers(b);
    *ret_trace = &b->view;
    return 0;
}

int workload_fb_parse(const char *text, size_t size, const char *name,
                      struct workload_fb **ret_trace, struct err *err)
{
    char *copy = malloc(size + 1);
    if (!copy)
        return err_set(err, ENOMEM, "%s: not enough memory for this trace", name);
    if (size)
        memcpy(copy, text, size);
    copy[size] = 0;
    int reader = parse_owned(copy, size, name, ret_trace, err);
    free(copy);
    return reader;
}

static int read_all(FILE *file, char **ret_text, size_t *ret_size)
{
    size_t size = 0, allocated = 0;
    char *text = NULL;
    do {
        if (room_for((void **)&text, &allocated, size + 65536 + 1, 1)) {
            free(text);
            return -ENOMEM;
        }
        size += fread(text + size, 1, allocated - size - 1, file);
    } while (!feof(file) && !ferror(file));
    text[size] = 0;
    *ret_text = text;
    *ret_size = size;
    return ferror(file) ? -EIO : 0;
}

int workload_fb_load(const char *path, struct workload_fb **ret_trace, struct err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return err_sys(err, errno, "cannot open the trace %s", path);
    int reader = read_all(file, &text, &size);
    fclose(file);
    reader = reader ? err_sys(err, -reader, "cannot read the trace %s", path)
                    : parse_owned(text, size, path, ret_trace, err);
    free(text);
    return reader;
}

void workload_fb_destroy(struct workload_fb *trace)
{
    struct building *b = (struct building *)trace;
    if (!b)
        return;
    free(b->coflows);
    free(b->mappers);
    free(b->reducers);
    free(b);
}
