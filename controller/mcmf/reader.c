#include "controller/mcmf/reader.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/mincost/mincost.h"

static int fail(const struct reader *reader, struct err *err, const char *what)
{
    return err_set(err, EINVAL, "%s:%lu: %s", reader->name, reader->line, what);
}

/* The next line that is no comment. 1, 0 at the end, −errno. */
static int next_line(struct reader *reader, struct err *err)
{
    while (fgets(reader->text, sizeof reader->text, reader->file)) {
        reader->line++;
        size_t length = strlen(reader->text);
        if (length == READER_LINE_MAX && reader->text[length - 1] != '\n')
            return fail(reader, err, "the line is longer than 1024 bytes");
        const char *text = reader->text + strspn(reader->text, " \t\r\n");
        if (*text && *text != 'c')
            return 1;
    }
    return ferror(reader->file) ? err_sys(err, EIO, "cannot read %s", reader->name) : 0;
}

static int parse_number(struct reader *reader, char **text, int64_t *ret_number, struct err *err)
{
    char *end;
    errno = 0;
    long long number = strtoll(*text, &end, 10);
    if (end == *text || (*end && !isspace((unsigned char)*end)))
        return fail(reader, err, "expected whole numbers separated by blanks");
    if (errno == ERANGE)
        return fail(reader, err, "a number does not fit in 64 bits");
    *ret_number = number;
    *text = end;
    return 0;
}

static int parse_numbers(struct reader *reader, char *text, struct reader_line *line,
                         struct err *err)
{
    for (line->count = 0;; line->count++) {
        text += strspn(text, " \t\r\n");
        if (!*text)
            return 0;
        if (line->count == READER_NUMBERS_MAX)
            return fail(reader, err, "too many numbers");
        int r = parse_number(reader, &text, &line->numbers[line->count], err);
        if (r)
            return r;
    }
}

static int parse_line(struct reader *reader, struct reader_line *line, struct err *err)
{
    char *text = reader->text + strspn(reader->text, " \t\r\n");
    *line = (struct reader_line){.kind = *text++};
    if (*text && !isspace((unsigned char)*text))
        return fail(reader, err, "expected a letter and numbers");
    if (line->kind == 'p') {
        text += strspn(text, " \t");
        if (strncmp(text, "min", 3) != 0)
            return fail(reader, err, "expected 'p min NODES ARCS'");
        text += 3;
    }
    return parse_numbers(reader, text, line, err);
}

static int explain(const struct reader *reader, int r, struct err *err)
{
    switch (r) {
    case 0:
        return 0;
    case -ERANGE:
        return fail(reader, err, "a number is out of range (see mincost.h for the limits)");
    case -EEXIST:
        return fail(reader, err, "the arc is there already");
    case -ENOENT:
        return fail(reader, err, "no such node or arc");
    case -EBUSY:
        return fail(reader, err, "the node still has arcs");
    case -EINVAL:
        return fail(reader, err, "an arc cannot lead from a node to itself");
    default:
        return err_sys(err, -r, "%s:%lu", reader->name, reader->line);
    }
}

/* Numbers of nodes and arcs; what does not fit becomes 0, which nothing has. */
static uint32_t id(int64_t number)
{
    return number >= 1 && number <= MINCOST_ID_MAX ? (uint32_t)number : 0;
}

static int add_nodes(struct reader *reader, struct mincost *problem, int64_t count, struct err *err)
{
    if (count < 0 || count > MINCOST_ID_MAX)
        return fail(reader, err, "the number of nodes is out of range");
    for (uint32_t v = 1; v <= (uint32_t)count; v++) {
        int r = mincost_set_node(problem, v, 0);
        if (r)
            return explain(reader, r, err);
    }
    return 0;
}

int reader_load_dimacs(struct reader *reader, struct mincost *problem, struct err *err)
{
    struct reader_line line;
    const int64_t *n = line.numbers;
    int64_t nodes = -1;
    uint32_t arcs = 0;
    int more;
    while ((more = next_line(reader, err)) == 1) {
        int r = parse_line(reader, &line, err);
        if (r)
            return r;
        if (line.kind == 'p' && line.count == 2 && nodes < 0)
            r = add_nodes(reader, problem, nodes = n[0], err);
        else if (line.kind == 'n' && line.count == 2 && n[0] >= 1 && n[0] <= nodes)
            r = explain(reader, mincost_set_node(problem, id(n[0]), n[1]), err);
        else if (line.kind == 'a' && line.count == 5)
            r = explain(reader,
                        mincost_add_arc(problem, ++arcs, id(n[0]), id(n[1]), n[2], n[3], n[4]),
                        err);
        else
            r = fail(reader, err,
                     "expected 'p min N M' once, then 'n ID SUPPLY' or "
                     "'a U V LO CAP COST' with nodes from 1 to N");
        if (r)
            return r;
    }
    return more < 0 ? more : nodes < 0 ? fail(reader, err, "there is no line 'p min N M'") : 0;
}

static int parse_change(const struct reader *reader, const struct reader_line *line,
                        struct mincost_change *ret_change, struct err *err)
{
    const int64_t *n = line->numbers;
    struct mincost_change change = {.id = id(n[0])};
    if (line->kind == 'n' && line->count == 2) {
        change.kind = MINCOST_NODE;
        change.cost = n[1];
    } else if (line->kind == 'x' && line->count == 1) {
        change.kind = MINCOST_NODE_GONE;
    } else if (line->kind == 'a' && line->count == 6) {
        change =
            (struct mincost_change){MINCOST_ARC, id(n[0]), id(n[1]), id(n[2]), n[3], n[4], n[5]};
    } else if (line->kind == 'm' && line->count == 4) {
        change = (struct mincost_change){MINCOST_ARC_MODIFIED, id(n[0]), 0, 0, n[1], n[2], n[3]};
    } else if (line->kind == 'd' && line->count == 1) {
        change.kind = MINCOST_ARC_GONE;
    } else {
        return fail(reader, err,
                    "expected r, 'n ID SUPPLY', 'x ID', 'a ARC U V LO CAP COST', "
                    "'m ARC LO CAP COST' or 'd ARC'");
    }
    *ret_change = change;
    return 0;
}

static int keep_change(struct reader *reader, const struct mincost_change *change, struct err *err)
{
    if (reader->round_count == reader->round_allocated) {
        size_t allocated = reader->round_allocated * 2 + 256;
        void *grown = realloc(reader->round, allocated * sizeof *reader->round);
        if (grown)
            reader->round = grown;
        void *lines = grown ? realloc(reader->lines, allocated * sizeof *reader->lines) : NULL;
        if (!lines)
            return err_sys(err, ENOMEM, "%s:%lu", reader->name, reader->line);
        reader->lines = lines;
        reader->round_allocated = allocated;
    }
    reader->lines[reader->round_count] = reader->line;
    reader->round[reader->round_count++] = *change;
    return 0;
}

int reader_read_round(struct reader *reader, bool *ret_more, struct err *err)
{
    struct reader_line line;
    struct mincost_change change;
    int more;
    reader->round_count = 0;
    while ((more = next_line(reader, err)) == 1) {
        int r = parse_line(reader, &line, err);
        if (r)
            return r;
        if (line.kind == 'r' && line.count == 0)
            break;
        r = parse_change(reader, &line, &change, err);
        if (!r)
            r = keep_change(reader, &change, err);
        if (r)
            return r;
    }
    *ret_more = more == 1;
    return more < 0 ? more : 0;
}

int reader_apply_round(struct reader *reader, struct mincost *problem, struct err *err)
{
    size_t done;
    int r = mincost_apply(problem, reader->round, reader->round_count, &done);
    if (r)
        reader->line = reader->lines[done];
    return explain(reader, r, err);
}

void reader_done(struct reader *reader)
{
    free(reader->round);
    free(reader->lines);
    if (reader->file)
        fclose(reader->file);
}
