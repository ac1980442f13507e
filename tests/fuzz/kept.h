/* Memory of a fuzz target that makes its world anew for each input: what is large is kept for the
 * next one of its size, which the sanitizer's allocator would map and unmap each time. Freed, it is
 * poisoned as any other.
 *
 * Include it once in a target that is linked with --wrap=malloc,--wrap=calloc,--wrap=free. */
#pragma once

#include <sanitizer/asan_interface.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_PLACES = 8, KEPT_BYTES = 64 * 1024 /* or more */ };

static struct kept {
    void *at;
    size_t size;
    bool taken;
} kept_blocks[KEPT_PLACES];

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void __real_free(void *at);
void __wrap_free(void *at);

/* NULL: all places are taken, or memory is short. */
static void *kept_take(size_t size)
{
    struct kept *place = kept_blocks;
    while (place < kept_blocks + KEPT_PLACES && place->at && (place->taken || place->size != size))
        place++;
    if (place == kept_blocks + KEPT_PLACES || (!place->at && !(place->at = __real_malloc(size))))
        return NULL;
    place->size = size;
    place->taken = true;
    ASAN_UNPOISON_MEMORY_REGION(place->at, size);
    return place->at;
}

void *__wrap_malloc(size_t size)
{
    void *at = size < (size_t)KEPT_BYTES ? NULL : kept_take(size);
    return at ? at : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    void *at = n != 1 || size < (size_t)KEPT_BYTES ? NULL : kept_take(size);
    return at ? memset(at, 0, size) : __real_calloc(n, size);
}

void __wrap_free(void *at)
{
    for (struct kept *place = kept_blocks; place < kept_blocks + KEPT_PLACES; place++)
        if (at && place->at == at) {
            if (!place->taken)
                abort();
            place->taken = false;
            ASAN_POISON_MEMORY_REGION(at, place->size);
            return;
        }
    __real_free(at);
}
