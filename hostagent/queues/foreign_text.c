#include "hostagent/queues/foreign.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 80 /* all before the options */

static const char *const words[] = {"", "class ", "filter "};

static void write_part(const struct foreign_part *part, FILE *out)
{
    fprintf(out, "%s%s %08x %08x ", words[part->what], part->kind, part->handle, part->parent);
    if (part->what == FOREIGN_FILTER)
        fprintf(out, "%08x %08x ", part->info, part->chain);
    for (uint32_t i = 0; i < part->options_bytes; i++)
        fprintf(out, "%02x", part->options[i]);
    fputs(part->options_bytes ? "\n" : "-\n", out);
}

int foreign_write(const struct foreign *foreign, char **ret_text, struct err *err)
{
    size_t size;
    char *text = NULL;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return err_sys(err, ENOMEM, "what stands on a port");
    for (uint32_t i = 0; i < foreign->n; i++)
        write_part(&foreign->parts[i], out);
    if (fclose(out) != 0) {
        free(text);
        return err_sys(err, ENOMEM, "what stands on a port");
    }
    *ret_text = text;
    return 0;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads the line's beginning; returns what follows it, NULL: it is invalid. */
static const char *read_head(const char *text, struct foreign_part *part)
{
    char head[HEAD_BYTES];
    const char *line = head;
    int at = 0;
    snprintf(head, sizeof(head), "%.*s", (int)sizeof(head) - 1, text);
    for (int what = FOREIGN_CLASS; what <= FOREIGN_FILTER; what++)
        if (strncmp(line, words[what], strlen(words[what])) == 0)
            part->what = (enum foreign_what)what;
    line += strlen(words[part->what]);
    if (sscanf(line, "%15s %8x %8x %n", part->kind, &part->handle, &part->parent, &at) != 3 || !at)
        return NULL;
    line += at;
    at = 0;
    if (part->what == FOREIGN_FILTER &&
        (sscanf(line, "%8x %8x %n", &part->info, &part->chain, &at) != 2 || !at))
        return NULL;
    return text + (line + at - head);
}

/* Returns what follows the options; NULL: they are none. */
static const char *read_options(const char *text, uint8_t *options, uint32_t *ret_bytes)
{
    uint32_t n = 0;
    if (*text == '-')
        text++;
    for (; hex_digit(text[0]) >= 0 && hex_digit(text[1]) >= 0; text += 2) {
        if (n == FOREIGN_OPTIONS)
            return NULL;
        options[n++] = (uint8_t)(hex_digit(text[0]) * 16 + hex_digit(text[1]));
    }
    *ret_bytes = n;
    return *text == '\n' ? text + 1 : NULL;
}

int foreign_read(const char *text, struct foreign *ret_foreign, struct err *err)
{
    struct foreign foreign = {0};
    uint8_t options[FOREIGN_OPTIONS];
    int r = 0;
    while (r >= 0 && *text) {
        struct foreign_part part = {.options = options};
        text = read_head(text, &part);
        if (text)
            text = read_options(text, options, &part.options_bytes);
        r = text ? foreign_add(&foreign, &part, err)
                 : err_set(err, EINVAL, "this is no record of what stood on a port");
    }
    if (r < 0)
        foreign_done(&foreign);
    else
        *ret_foreign = foreign;
    return r;
}
