#include "controller/recording/recording_text.h"

#include <string.h>

static int put_word(struct recording_text *text, const char *word)
{
    return text->put(text->context, word, strlen(word));
}

static int put_number(struct recording_text *text, const char *word, uint64_t number)
{
    char digits[24], *at = digits + sizeof(digits);
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    int r = put_word(text, word);
    return r ? r : text->put(text->context, at, (size_t)(digits + sizeof(digits) - at));
}

static int put_number_line(struct recording_text *text, const char *word, uint64_t number)
{
    int r = put_number(text, word, number);
    return r ? r : put_word(text, "\n");
}

static int on_record(void *context, const char *line, size_t length)
{
    struct recording_text *text = context;
    int r = put_word(text, "dump ");
    r = r ? r : text->put(text->context, line, length);
    return r ? r : put_word(text, "\n");
}

static int put_begin(struct recording_text *text)
{
    int r = put_word(text, "duopoly-log 1\n");
    r = r ? r : engine_dump_in(text->engine, text->scratch, on_record, text);
    return r ? r : put_number_line(text, "begin ", text->wall_ns);
}

int recording_text_head(struct recording_text *text, uint64_t dropped)
{
    int r = put_begin(text);
    return r || !dropped ? r : put_number_line(text, "dropped ", dropped);
}

/* What a dump does not have: when attempts had all their input. */
static int put_received(struct recording_text *text)
{
    struct attempt_view view = {0};
    int r = 0;
    while (!r && engine_attempt_after(text->engine, view.attempt, &view) == 0) {
        if (!view.received_ns)
            continue;
        r = put_number(text, "received ", view.attempt);
        r = r ? r : put_number_line(text, " ", (uint64_t)view.received_ns);
    }
    return r;
}

int recording_text_state(struct recording_text *text, int64_t now_ns)
{
    int r = put_begin(text);
    r = r ? r : put_number_line(text, "now ", (uint64_t)now_ns);
    r = r ? r : put_received(text);
    return r ? r : put_word(text, "end state\n");
}
