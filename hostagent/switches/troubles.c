#include "hostagent/switches/troubles.h"

#include "lib/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void troubles_done(struct troubles *troubles)
{
    free(troubles->items);
    *troubles = (struct troubles){0};
}

static int by_port(const void *a, const void *b)
{
    return strcmp(((const struct switch_trouble *)a)->port,
                  ((const struct switch_trouble *)b)->port);
}

int troubles_set(struct troubles *troubles, const struct switch_trouble *items, uint32_t n,
                 struct err *err)
{
    struct switch_trouble *own = calloc(n + 1, sizeof(*own));
    if (!own)
        return err_sys(err, ENOMEM, "%u ports in trouble", n);
    if (n)
        memcpy(own, items, n * sizeof(*own));
    troubles_done(troubles);
    *troubles = (struct troubles){.n = n, .items = own};
    for (uint32_t i = 0; i < n; i++)
        troubles->left_n += own[i].left;
    qsort(own, n, sizeof(*own), by_port);
    return 0;
}

int troubles_take(struct troubles *troubles, const struct switch_plan *plan, struct err *err)
{
    return troubles_set(troubles, plan->troubles, plan->troubles_n, err);
}

const struct switch_trouble *troubles_of(const struct troubles *troubles, const char *port)
{
    struct switch_trouble key;
    if (!troubles->n)
        return NULL;
    snprintf(key.port, sizeof(key.port), "%s", port);
    return bsearch(&key, troubles->items, troubles->n, sizeof(key), by_port);
}

static void log_one(const struct switch_trouble *trouble)
{
    log_warning(LOG_FAULT_CONFIGURATION, "%s%s", trouble->text,
                trouble->left ? "; nothing is done on this port" : "");
}

bool troubles_log(const struct troubles *troubles, struct troubles *told)
{
    bool any = false;
    for (uint32_t i = 0; i < troubles->n; i++) {
        const struct switch_trouble *now = &troubles->items[i], *was = troubles_of(told, now->port);
        if (was && was->left == now->left && strcmp(was->text, now->text) == 0)
            continue;
        log_one(now);
        any = true;
    }
    for (uint32_t i = 0; i < told->n; i++)
        if (!troubles_of(troubles, told->items[i].port)) {
            log_note("%s is in no trouble any more", told->items[i].port);
            any = true;
        }
    if (any)
        troubles_set(told, troubles->items, troubles->n, NULL);
    return any;
}

const char *troubles_say(const struct troubles *troubles, uint32_t ports_n, char *text, size_t size)
{
    const struct switch_trouble *first = troubles->items;
    uint32_t n = troubles->left_n;
    text[0] = 0;
    if (!troubles->n)
        return text;
    while (n && !first->left)
        first++;
    if (!n) {
        snprintf(text, size, "%s%s", first->text, troubles->n > 1 ? "; others, too" : "");
        return text;
    }
    snprintf(text, size, "%u of %u ports %s no queues of ours: %s", n, ports_n,
             n == 1 ? "has" : "have", first->text);
    return text;
}
