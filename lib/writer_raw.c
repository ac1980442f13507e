#include "lib/writer_raw.h"

#include <time.h>

#define SECOND_NS UINT64_C(1000000000)

static void time_put(struct text *out, uint64_t ns)
{
    const time_t seconds = (time_t)(ns / SECOND_NS);
    struct tm utc;
    char second[32], words[48];
    strftime(second, sizeof(second), "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &utc));
    snprintf(words, sizeof(words), "%s.%03uZ", second,
             (unsigned)(ns % SECOND_NS / (SECOND_NS / 1000)));
    text_word(out, words);
}

void raw_put(struct text *out, const struct value *value)
{
    switch (value->kind) {
    case VALUE_NUMBER:
    case VALUE_BYTES:
    case VALUE_PERMILLE:
    case VALUE_BIT_RATE:
    case VALUE_ID:
        text_number(out, value->number);
        break;
    case VALUE_SIGNED:
    case VALUE_DURATION:
        text_signed(out, value->signed_number);
        break;
    case VALUE_BOOL:
        text_word(out, value->number ? "true" : "false");
        break;
    case VALUE_TIME:
        time_put(out, value->number);
        break;
    case VALUE_TEXT:
    case VALUE_ABSENT:
        break;
    }
}

bool raw_is_quoted(const struct value *value)
{
    return value->kind == VALUE_ID || value->kind == VALUE_TIME;
}
