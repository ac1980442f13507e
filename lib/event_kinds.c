#include "lib/event_kinds.h"

#include "lib/join.h"

#include <errno.h>
#include <string.h>

const char *const event_kind_words[EVENT_KIND_COUNT] = {
    [duopoly_EventKind_KIND_JOB] = "job",
    [duopoly_EventKind_KIND_TASK] = "task",
    [duopoly_EventKind_KIND_HOST] = "host",
    [duopoly_EventKind_KIND_MODE] = "mode",
    [duopoly_EventKind_KIND_HOLD] = "hold",
    [duopoly_EventKind_KIND_POLICY] = "policy",
    [duopoly_EventKind_KIND_STANCE] = "stance",
    [duopoly_EventKind_KIND_KEY] = "key",
    [duopoly_EventKind_KIND_FRAMEWORK] = "framework",
};

static int kind_refuse(const char *word, size_t length, struct err *err)
{
    char all[128] = "";
    for (int kind = 0; kind < EVENT_KIND_COUNT; kind++)
        join_word(all, sizeof(all), ", ", event_kind_words[kind]);
    return err_set(err, EINVAL, "there is no kind '%.*s'; there are: %s", (int)length, word, all);
}

int event_kinds_parse(const char *words, uint32_t *ret_kinds, struct err *err)
{
    uint32_t kinds = 0;
    for (const char *word = words;; word++) {
        const size_t length = strcspn(word, ",");
        int kind = 0;
        while (kind < EVENT_KIND_COUNT && (strlen(event_kind_words[kind]) != length ||
                                           strncmp(event_kind_words[kind], word, length) != 0))
            kind++;
        if (kind == EVENT_KIND_COUNT)
            return kind_refuse(word, length, err);
        kinds |= UINT32_C(1) << kind;
        word += length;
        if (!*word)
            break;
    }
    *ret_kinds = kinds;
    return 0;
}
