/* An engine made from another one's dump. */
#pragma once

#include "tests/model/script.h"

struct lines {
    char *text;
    size_t used, size, at;
};

static inline int keep_line(void *context, const char *line, size_t length)
{
    struct lines *lines = context;
    if (lines->used + length + 2 > lines->size) {
        lines->size = 2 * (lines->used + length + 2);
        lines->text = realloc(lines->text, lines->size);
        assert_non_null(lines->text);
    }
    memcpy(lines->text + lines->used, line, length);
    lines->used += length;
    if (!length || line[length - 1] != '\n')
        lines->text[lines->used++] = '\n';
    lines->text[lines->used] = 0;
    return 0;
}

static inline int next_line(void *context, const char **ret_line)
{
    struct lines *lines = context;
    if (lines->at >= lines->used)
        return 0;
    *ret_line = lines->text + lines->at;
    size_t length = strcspn(*ret_line, "\n");
    lines->at += length + 1;
    return (int)length;
}

/* The engine that a dump of `engine` makes; its digest is the same. */
static inline struct engine *load_dump_of(const struct engine *engine)
{
    struct lines lines = {0};
    struct engine *twin = NULL;
    struct err err = {0};
    assert_int_equal(engine_dump(engine, keep_line, &lines), 0);
    if (engine_load(next_line, &lines, &twin, &err) < 0)
        fail_msg("engine_load: %s", err.text);
    free(lines.text);
    assert_true(engine_digest(engine) == engine_digest(twin));
    return twin;
}
