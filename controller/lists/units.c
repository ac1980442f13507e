#include "controller/lists/list.h"

#include "lib/join.h"

#include <inttypes.h>
#include <stdio.h>

#define ROW duopoly_UnitRow
static bool is_gone(const void *row)
{
    return ((const ROW *)row)->gone;
}

/* "slots 4, gpu_milli 500": the amounts that it has. */
static struct value amounts(const duopoly_Resources *of, const duopoly_Resources *has,
                            char words[CELL_WORDS])
{
    const struct {
        const char *name;
        int64_t amount, has;
    } all[] = {{"slots", of->slots, has->slots},
               {"cpu_milli", of->cpu_milli, has->cpu_milli},
               {"mem_bytes", of->mem_bytes, has->mem_bytes},
               {"gpu_milli", of->gpu_milli, has->gpu_milli},
               {"gpu_mem_bytes", of->gpu_mem_bytes, has->gpu_mem_bytes},
               {"io_bytes_s", of->io_bytes_s, has->io_bytes_s}};
    char word[48];
    *words = '\0';
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        snprintf(word, sizeof(word), "%s %" PRId64, all[i].name, all[i].amount);
        if (all[i].has)
            join_word(words, CELL_WORDS, ", ", word);
    }
    return value_text(words);
}

static struct value has(const void *row, char words[CELL_WORDS])
{
    const duopoly_Resources *total = &((const ROW *)row)->total;
    return amounts(total, total, words);
}

static struct value is_free(const void *row, char words[CELL_WORDS])
{
    return amounts(&((const ROW *)row)->free, &((const ROW *)row)->total, words);
}

static const struct cell cells[] = {
    CELL("host", "HOST", TEXT, host),
    CELL("unit", "UNIT", ID, unit),
    CELL("name", "NAME", TEXT, name, UNLESS_NOTHING),
    CELL("devices", "DEVICES", TEXT, devices, UNLESS_NOTHING),
    CELL_OF("has", "HAS", TEXT, has),
    CELL_OF("free", "FREE", TEXT, is_free, .lacks = is_gone),
    CELL("running", "RUNNING", NUMBER, running),
    CELL("tasks", "TASKS", TEXT, tasks, UNLESS_NOTHING),
    CELL("slots", NULL, SIGNED, total.slots),
    CELL("slots_free", NULL, SIGNED, free.slots, .lacks = is_gone),
    CELL("mem_bytes", NULL, SIGNED, total.mem_bytes),
    CELL("mem_bytes_free", NULL, SIGNED, free.mem_bytes, .lacks = is_gone),
    CELL("gpu_mem_bytes", NULL, SIGNED, total.gpu_mem_bytes),
    CELL("gpu_mem_bytes_free", NULL, SIGNED, free.gpu_mem_bytes, .lacks = is_gone),
    {0},
};
const struct list list_of_units = LIST_IN(LIST_UNITS, "units", cells, UnitRow, unit_page, rows);
