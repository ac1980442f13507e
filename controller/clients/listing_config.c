#include "controller/clients/listing_config.h"

#include "controller/clients/refusal.h"
#include "controller/reload.h"
#include "lib/wire.h"

#include <errno.h>
#include <string.h>

#define MOST (sizeof(((duopoly_ConfigPage *)0)->rows) / sizeof(duopoly_ConfigRow))

static void row_fill(const struct conductor_parts *parts, const struct conf_key *key,
                     duopoly_ConfigRow *row)
{
    static const char *const sources[] = {[RELOAD_OF_DEFAULT] = "default",
                                          [RELOAD_OF_FILE] = "file",
                                          [RELOAD_OF_PRESET] = "preset",
                                          [RELOAD_OF_COMMAND] = "command"};
    char words[CONF_VALUE_MAX];
    *row = (duopoly_ConfigRow){.line = key->at.line, .column = key->at.column, .live = key->live};
    wire_copy(row->from, sizeof(row->from), sources[reload_in_force(parts, key, words)]);
    wire_copy(row->value, sizeof(row->value), words);
    wire_copy(row->key, sizeof(row->key), key->path);
    wire_copy(row->configured, sizeof(row->configured), key->value);
}

static void next_fill(const struct conf_key *now, duopoly_ConfigRow *row)
{
    wire_copy(row->next, sizeof(row->next), now->value);
    row->next_line = now->at.line;
    row->next_column = now->at.column;
}

/* `now` NULL: all keys; else those that differ there. */
static void page_fill(const struct conductor_parts *parts, const struct conf_keys *now,
                      uint64_t from, struct sieve *sieve, duopoly_ConfigPage *page)
{
    const struct conf_keys *taken = &configuration_taken(parts->configuration)->keys;
    wire_copy(page->file, sizeof(page->file), configuration_path(parts->configuration));
    for (uint64_t i = from; i < taken->n; i++) {
        if (now && strcmp(now->at[i].value, taken->at[i].value) == 0)
            continue;
        if (page->rows_count == MOST || sieve_is_worn(sieve)) {
            page->cursor = i;
            return;
        }
        duopoly_ConfigRow *row = &page->rows[page->rows_count];
        row_fill(parts, &taken->at[i], row);
        if (now)
            next_fill(&now->at[i], row);
        page->rows_count += sieve_keeps(sieve, row);
    }
}

/* The page to fill; NULL: the answer is a refusal. */
static duopoly_ConfigPage *page_begin(const struct conductor_parts *parts, duopoly_Envelope *answer)
{
    if (parts->configuration)
        return &wire_begin(answer, duopoly_Envelope_config_page_tag)->body.config_page;
    refused_answer(answer, duopoly_Reason_REASON_UNSUPPORTED,
                   "this controller has no configuration to show");
    return NULL;
}

void listing_config(const struct conductor_parts *parts, const duopoly_List *list,
                    struct sieve *sieve, duopoly_Envelope *answer)
{
    duopoly_ConfigPage *page = page_begin(parts, answer);
    if (page)
        page_fill(parts, NULL, list->cursor, sieve, page);
}

void listing_config_changes(const struct conductor_parts *parts, const duopoly_List *list,
                            struct sieve *sieve, duopoly_Envelope *answer)
{
    duopoly_ConfigPage *page = page_begin(parts, answer);
    struct configured now;
    struct err err = {0};
    if (!page)
        return;
    if (configuration_look(parts->configuration, &now, &err) < 0) {
        refused_answer(answer,
                       err.code == EINVAL ? duopoly_Reason_REASON_MALFORMED
                                          : duopoly_Reason_REASON_STATE,
                       "%s", err.text);
        return;
    }
    page_fill(parts, &now.keys, list->cursor, sieve, page);
    configured_done(&now);
}
