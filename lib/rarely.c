#include "lib/rarely.h"

#include "lib/fnv1a.h"

#include <string.h>

#define SECOND_USEC UINT64_C(1000000)

bool rarely_say(struct rarely *rarely, const char *words, uint64_t now_usec)
{
    const uint64_t most_usec = RARELY_MOST_S * SECOND_USEC;
    uint64_t hash = fnv1a(FNV1A_NOTHING, words, strlen(words));
    bool is_news = hash != rarely->words;
    if (!is_news && now_usec < rarely->next_usec)
        return false;
    uint64_t wait_usec = is_news ? RARELY_FIRST_S * SECOND_USEC : 2 * rarely->wait_usec;
    rarely->wait_usec = wait_usec < most_usec ? wait_usec : most_usec;
    rarely->next_usec = now_usec + rarely->wait_usec;
    rarely->words = hash;
    return true;
}

void rarely_right(struct rarely *rarely)
{
    *rarely = (struct rarely){0};
}
