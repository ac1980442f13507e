#include "controller/engine/share/weights.h"

#include <errno.h>
#include <stdlib.h>

int weights_init(struct weights *weights, uint32_t n)
{
    *weights = (struct weights){
        .of = calloc(n, sizeof(*weights->of)), .sums = calloc(n, sizeof(*weights->sums)), .n = n};
    return weights->of && weights->sums ? 0 : -ENOMEM;
}

void weights_done(struct weights *weights)
{
    free(weights->of);
    free(weights->sums);
    *weights = (struct weights){0};
}

void weights_set(struct weights *weights, uint32_t user, int64_t weight)
{
    int64_t more = weight - weights->of[user];
    if (!more)
        return;
    weights->of[user] = weight;
    weights->total += more;
    for (uint32_t k = user + 1; k <= weights->n; k += k & -k)
        weights->sums[k - 1] += more;
}

int64_t weights_upto(const struct weights *weights, uint32_t user)
{
    int64_t sum = 0;
    for (uint32_t k = user + 1; k; k -= k & -k)
        sum += weights->sums[k - 1];
    return sum;
}

uint32_t weights_at(const struct weights *weights, int64_t sum)
{
    uint32_t passed = 0, half = 1;
    while (half <= weights->n / 2)
        half *= 2;
    for (; half; half /= 2) {
        if (passed + half > weights->n || weights->sums[passed + half - 1] >= sum)
            continue;
        passed += half;
        sum -= weights->sums[passed - 1];
    }
    return passed;
}
