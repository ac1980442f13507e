#include "lib/nearest.h"

#include <string.h>

enum { LONGEST = 64 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* One row of the table at a time. */
static size_t distance_of(const char *a, const char *b)
{
    size_t row[LONGEST + 1], length = strlen(b);
    if (length > LONGEST)
        return SIZE_MAX;
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 1; *a; a++, i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t above = row[j];
            row[j] = smaller(smaller(above, row[j - 1]) + 1, diagonal + (*a != b[j - 1]));
            diagonal = above;
        }
    }
    return row[length];
}

void nearest_take(struct nearest *nearest, const char *word)
{
    size_t distance = distance_of(word, nearest->word);
    if (distance < nearest->distance) {
        nearest->distance = distance;
        nearest->found = word;
    }
}
