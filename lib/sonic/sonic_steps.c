#include "lib/sonic/sonic_steps.h"
#include "lib/grow.h"

#include <errno.h>
#include <stdlib.h>

struct steps {
    struct sonic_step *step;
    uint32_t n, allocated;
};

static int add(struct steps *steps, struct sonic_step step)
{
    if (!array_grow(steps->step, steps->n, steps->allocated, 64))
        return -ENOMEM;
    steps->step[steps->n++] = step;
    return 0;
}

static int add_gone(struct steps *steps, const char *table, const json_t *from, const json_t *to)
{
    struct sonic_step step = {.table = table};
    json_object_foreach(json_object_get(from, table), step.key, step.from)
    {
        if (!sonic_row(to, table, step.key) && add(steps, step) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int add_changed(struct steps *steps, const char *table, const json_t *from, const json_t *to)
{
    struct sonic_step step = {.table = table};
    json_object_foreach(json_object_get(to, table), step.key, step.to)
    {
        step.from = sonic_row(from, table, step.key);
        if (!(step.from && json_equal(step.from, step.to)) && add(steps, step) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Rows that refer to others: a range makes room before its parts come. */
static bool refers(uint32_t table)
{
    return sonic_ours[table][0] == 'Q' || sonic_ours[table][0] == 'P';
}

int sonic_steps(const json_t *from, const json_t *to, struct sonic_step **ret_steps,
                uint32_t *ret_n)
{
    struct steps steps = {0};
    int r = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; r >= 0 && sonic_ours[i]; i++, n++) {
        if (refers(i))
            r = add_gone(&steps, sonic_ours[i], from, to);
        if (r >= 0)
            r = add_changed(&steps, sonic_ours[i], from, to);
    }
    while (r >= 0 && n-- > 0)
        if (!refers(n))
            r = add_gone(&steps, sonic_ours[n], from, to);
    if (r < 0) {
        free(steps.step);
        return r;
    }
    *ret_steps = steps.step;
    *ret_n = steps.n;
    return 0;
}
