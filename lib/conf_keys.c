#include "lib/conf_keys.h"

#include "lib/grow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct walk {
    yaml_document_t document;
    struct conf_keys *keys;
    size_t size;
    bool failed;
};

static const char *text_of(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

/* The value of a key; NULL: it is not there, or there is no such section. */
static const yaml_node_t *value_of(struct walk *walk, const yaml_node_t *map, const char *name)
{
    if (!map || map->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++)
        if (strcmp(text_of(yaml_document_get_node(&walk->document, p->key)), name) == 0)
            return yaml_document_get_node(&walk->document, p->value);
    return NULL;
}

static void words_of(const struct conf_field *field, const char *name, const char *text,
                     char words[CONF_VALUE_MAX])
{
    int64_t number;
    bool yes;
    bool is_number = field->type == CONF_INT || field->type == CONF_DURATION ||
                     field->type == CONF_RATE || field->type == CONF_BYTES ||
                     field->type == CONF_SHARE;
    if (is_number && conf_number(field->type, text, &number, NULL) == 0)
        conf_words(field->type, number, words, CONF_VALUE_MAX);
    else if (field->type == CONF_BOOL && conf_scalar(field, text, &yes, NULL) == 0)
        snprintf(words, CONF_VALUE_MAX, "%s", yes ? "yes" : "no");
    else if (field->type == CONF_WORDS && field->say)
        field->say(name, text, words, CONF_VALUE_MAX);
    else
        snprintf(words, CONF_VALUE_MAX, "%s", text);
}

static void key_add(struct walk *walk, const struct conf_field *field, const char *around,
                    const char *name, const yaml_node_t *node)
{
    struct conf_keys *keys = walk->keys;
    const char *text = node && node->type == YAML_SCALAR_NODE ? text_of(node) : field->preset;
    struct conf_key key = {.name = name, .type = field->type, .live = field->live};
    if (!array_grow(keys->at, keys->n, walk->size, 64)) {
        walk->failed = true;
        return;
    }
    snprintf(key.path, sizeof(key.path), "%s%s", around, name);
    words_of(field, name, text ? text : "", key.value);
    if (node)
        key.at = (struct conf_place){(uint32_t)node->start_mark.line + 1,
                                     (uint32_t)node->start_mark.column + 1};
    keys->at[keys->n++] = key;
}

static void section_walk(struct walk *walk, const struct conf_section *section,
                         const yaml_node_t *map, const char *around)
{
    char inside[CONF_KEY_MAX];
    const char *word;
    for (const struct conf_field *f = section->fields; f->name; f++) {
        if (f->type == CONF_SECTION) {
            snprintf(inside, sizeof(inside), "%s%s.", around, f->name);
            section_walk(walk, f->section, value_of(walk, map, f->name), inside);
        } else if (f->type == CONF_WORDS) {
            for (unsigned i = 0; (word = f->word(i)); i++)
                key_add(walk, f, around, word, value_of(walk, map, word));
        } else if (f->type != CONF_LIST && f->type != CONF_PLACE && f->type != CONF_OTHERS) {
            key_add(walk, f, around, f->name, value_of(walk, map, f->name));
        }
    }
}

int conf_keys_read(const char *text, size_t length, const struct conf_section *section,
                   struct conf_keys *ret_keys, struct err *err)
{
    struct walk walk = {.keys = ret_keys};
    yaml_parser_t parser;
    *ret_keys = (struct conf_keys){0};
    if (!yaml_parser_initialize(&parser))
        return err_sys(err, ENOMEM, "the keys of a configuration");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    walk.failed = !yaml_parser_load(&parser, &walk.document);
    if (!walk.failed) {
        section_walk(&walk, section, yaml_document_get_root_node(&walk.document), "");
        yaml_document_delete(&walk.document);
    }
    yaml_parser_delete(&parser);
    return walk.failed ? err_sys(err, ENOMEM, "the keys of a configuration") : 0;
}

void conf_keys_done(struct conf_keys *keys)
{
    free(keys->at);
    *keys = (struct conf_keys){0};
}

const struct conf_key *conf_keys_find(const struct conf_keys *keys, const char *path)
{
    for (size_t i = 0; i < keys->n; i++)
        if (strcmp(keys->at[i].path, path) == 0)
            return &keys->at[i];
    return NULL;
}
