#include "controller/store/division_setting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(struct store *store, const char *kind, const char *name, const char *value)
{
    const char *kept = store_setting(store, kind, name);
    if (!kept || strcmp(kept, value) != 0)
        store_set(store, kind, name, value);
}

static bool parse(const char *name, const char *value, struct debt_view *ret_debt)
{
    return sscanf(name, "%" SCNu32 " %" SCNu32, &ret_debt->borrower, &ret_debt->lender) == 2 &&
           sscanf(value, "%" SCNu64 " %" SCNd64, &ret_debt->amount, &ret_debt->since_ns) == 2;
}

/* Debts that are kept and are no more. */
struct gone {
    const struct engine *engine;
    struct debt_view *at;
    size_t n, room;
};

static void look(void *context, const struct debt_view *debt)
{
    struct gone *gone = context;
    struct debt_view now;
    if (engine_debt_from(gone->engine, debt->borrower, debt->lender, &now) == 0 &&
        now.borrower == debt->borrower && now.lender == debt->lender)
        return;
    if (gone->n == gone->room) {
        size_t room = 2 * gone->room + 16;
        struct debt_view *at = reallocarray(gone->at, room, sizeof(*at));
        if (!at)
            return; /* it is looked at again */
        gone->at = at;
        gone->room = room;
    }
    gone->at[gone->n++] = *debt;
}

static const char *name_of(const struct debt_view *debt, char *name, size_t size)
{
    snprintf(name, size, "%" PRIu32 " %" PRIu32, debt->borrower, debt->lender);
    return name;
}

static void remove_gone(struct store *store, const struct engine *engine)
{
    struct gone gone = {.engine = engine};
    char name[32];
    division_setting_debts(store, look, &gone);
    for (size_t i = 0; i < gone.n; i++)
        store_set(store, "debt", name_of(&gone.at[i], name, sizeof(name)), NULL);
    free(gone.at);
}

void division_setting_put(struct store *store, const struct engine *engine, int64_t offset_ns)
{
    const struct division_view division = engine_division(engine);
    char name[32], value[64];
    uint64_t at = 0;
    struct debt_view debt;
    /* WHY not always: where nobody ever divided nothing is kept. */
    if (division.position || engine_debt_from(engine, 0, 0, &debt) == 0 ||
        store_setting(store, "turn", "charged")) {
        snprintf(value, sizeof(value), "%" PRIu64, division.position);
        put(store, "turn", "position", value);
        snprintf(value, sizeof(value), "%" PRIu64, division.charged);
        put(store, "turn", "charged", value);
    }
    remove_gone(store, engine);
    while (engine_debt_from(engine, (uint32_t)(at >> 32), (uint32_t)at, &debt) == 0) {
        snprintf(value, sizeof(value), "%" PRIu64 " %" PRId64, debt.amount,
                 debt.since_ns + offset_ns);
        put(store, "debt", name_of(&debt, name, sizeof(name)), value);
        at = ((uint64_t)debt.borrower << 32 | debt.lender) + 1;
    }
}

static uint64_t number_of(const struct store *store, const char *name)
{
    const char *value = store_setting(store, "turn", name);
    return value ? strtoull(value, NULL, 10) : 0;
}

void division_setting_turn(const struct store *store, uint64_t *ret_position, uint64_t *ret_charged)
{
    *ret_position = number_of(store, "position");
    *ret_charged = number_of(store, "charged");
}

struct telling {
    void (*each)(void *context, const struct debt_view *debt);
    void *context;
};

static void tell(void *context, const char *name, const char *value)
{
    const struct telling *telling = context;
    struct debt_view debt = {0};
    if (parse(name, value, &debt))
        telling->each(telling->context, &debt);
}

void division_setting_debts(const struct store *store,
                            void (*each)(void *context, const struct debt_view *debt),
                            void *context)
{
    struct telling telling = {each, context};
    store_settings(store, "debt", tell, &telling);
}
