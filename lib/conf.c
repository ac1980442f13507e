#include "lib/conf.h"
#include "lib/join.h"
#include "lib/nearest.h"
#include "lib/text_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#define FILE_MAX (1 << 20)

struct reader {
    const char *name;
    yaml_document_t *document;
    struct err *err;
};

/* Puts the position before the sentence that is in r->err. */
static int fail_at(const struct reader *r, const yaml_node_t *node, int code)
{
    err_prefix(r->err, "%s:%zu:%zu", r->name, node->start_mark.line + 1,
               node->start_mark.column + 1);
    return code;
}

static const char *nearest_key(const struct conf_field *fields, const char *word)
{
    struct nearest nearest = NEAREST_TO(word);
    const char *key;
    for (; fields->name; fields++) {
        if (fields->type != CONF_WORDS && fields->type != CONF_PLACE)
            nearest_take(&nearest, fields->name);
        for (unsigned i = 0; fields->type == CONF_WORDS && (key = fields->word(i)); i++)
            nearest_take(&nearest, key);
    }
    return nearest.found;
}

static const char *scalar_text(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

static int unknown_key(const struct reader *r, const struct conf_field *fields,
                       const yaml_node_t *key)
{
    const char *nearest = nearest_key(fields, scalar_text(key));
    if (nearest)
        err_set(r->err, EINVAL, "unknown key '%s'; did you mean '%s'?", scalar_text(key), nearest);
    else
        err_set(r->err, EINVAL, "unknown key '%s'", scalar_text(key));
    return fail_at(r, key, -EINVAL);
}

const char *conf_words(enum conf_type type, int64_t value, char *words, size_t size)
{
    static const struct {
        int64_t scale;
        const char *unit;
    } units[][4] = {
        [CONF_INT] = {{1, ""}},
        [CONF_DURATION] = {{1000000000, " s"}, {1000000, " ms"}, {1000, " us"}, {1, " ns"}},
        [CONF_RATE] = {{1000000000, " Gbps"}, {1000000, " Mbps"}, {1000, " kbps"}, {1, " bps"}},
        [CONF_BYTES] = {{1000000000, " GB"}, {1000000, " MB"}, {1000, " kB"}, {1, " B"}},
    };
    if (type == CONF_SHARE) {
        snprintf(words, size, "%" PRId64 ".%" PRId64 " %%", value / 10, value % 10);
        return words;
    }
    int i = 0;
    while (units[type][i].scale > 1 && (value == 0 || value % units[type][i].scale))
        i++;
    snprintf(words, size, "%" PRId64 "%s", value / units[type][i].scale, units[type][i].unit);
    return words;
}

static int number_set(const struct conf_field *field, const char *text, void *target,
                      struct err *err)
{
    int64_t value, most = field->min || field->max ? field->max : INT64_MAX;
    int r = conf_number(field->type, text, &value, err);
    if (r < 0)
        return r;
    char least_words[40], most_words[40];
    if (value < field->min || value > most)
        return err_set(err, EINVAL, "'%s' is out of range: from %s to %s", text,
                       conf_words(field->type, field->min, least_words, sizeof(least_words)),
                       conf_words(field->type, most, most_words, sizeof(most_words)));
    memcpy(target, &value, sizeof(value));
    return 0;
}

static int bool_set(const char *text, bool *target, struct err *err)
{
    static const char *const words[] = {"false", "no", "off", "true", "yes", "on"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(text, words[i]) == 0) {
            *target = i >= 3;
            return 0;
        }
    }
    return err_set(err, EINVAL, "'%s' is neither true nor false", text);
}

static int string_set(const struct conf_field *field, const char *text, char *target,
                      struct err *err)
{
    size_t length = strlen(text);
    if (length >= field->size)
        return err_set(err, EINVAL, "too long: %zu bytes, at most %zu", length, field->size - 1);
    if (!length && !(field->preset && !*field->preset))
        return err_set(err, EINVAL, "must not be empty");
    memcpy(target, text, length + 1);
    return field->check ? field->check(text, err) : 0;
}

static int choice_set(const struct conf_field *field, const char *text, int *target,
                      struct err *err)
{
    char words[256] = "";
    for (int i = 0; field->choices[i]; i++) {
        if (strcmp(field->choices[i], text) == 0) {
            *target = i;
            return 0;
        }
        join_word(words, sizeof(words), ", ", field->choices[i]);
    }
    return err_set(err, EINVAL, "'%s' is none of: %s", text, words);
}

int conf_scalar(const struct conf_field *field, const char *text, void *target, struct err *err)
{
    switch (field->type) {
    case CONF_BOOL:
        return bool_set(text, target, err);
    case CONF_STRING:
        return string_set(field, text, target, err);
    case CONF_CHOICE:
        return choice_set(field, text, target, err);
    case CONF_PARSED:
        return field->parse(text, target, err);
    default:
        return number_set(field, text, target, err);
    }
}

static int scalar_set(const struct reader *r, const struct conf_field *field,
                      const yaml_node_t *node, void *target)
{
    int code;
    if (node->type != YAML_SCALAR_NODE)
        code = err_set(r->err, EINVAL, "%s: one value is expected here", field->name);
    else if (strlen(scalar_text(node)) != node->data.scalar.length)
        code = err_set(r->err, EINVAL, "%s: a NUL byte has no place here", field->name);
    else if ((code = conf_scalar(field, scalar_text(node), target, r->err)) < 0)
        err_prefix(r->err, "%s", field->name);
    return code < 0 ? fail_at(r, node, code) : 0;
}

static int section_set(const struct reader *r, const struct conf_section *section,
                       const yaml_node_t *node, void *structure);

static int list_set(const struct reader *r, const struct conf_field *field, const yaml_node_t *node,
                    char *structure)
{
    uint32_t count = 0;
    int code = 0;
    if (node->type != YAML_SEQUENCE_NODE)
        code = err_set(r->err, EINVAL, "%s: a list is expected here", field->name);
    else if (node->data.sequence.items.top - node->data.sequence.items.start > field->max)
        code = err_set(r->err, EINVAL, "%s: more than %" PRId64 " items", field->name, field->max);
    else if (node->data.sequence.items.top - node->data.sequence.items.start < field->min)
        code = err_set(r->err, EINVAL, "%s: fewer than %" PRId64 " items", field->name, field->min);
    if (code < 0)
        return fail_at(r, node, code);
    struct conf_field item = *field->item;
    char *items = structure + field->offset;
    item.name = field->name;
    for (yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top;
         i++) {
        const yaml_node_t *child = yaml_document_get_node(r->document, *i);
        char *target = items + count * field->size;
        code = item.type == CONF_SECTION ? section_set(r, item.section, child, target)
                                         : scalar_set(r, &item, child, target);
        if (code < 0)
            return code;
        if (field->beside && (code = field->beside(items, count, r->err)) < 0)
            return fail_at(r, child, code);
        count++;
    }
    memcpy(structure + field->count_offset, &count, sizeof(count));
    return 0;
}

/* The value of the field's key, NULL if it is absent. −EINVAL if the key stands there twice. */
static int value_find(const struct reader *r, const yaml_node_t *map, const char *name,
                      const yaml_node_t **ret_value)
{
    *ret_value = NULL;
    if (!map)
        return 0;
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *key = yaml_document_get_node(r->document, p->key);
        if (strcmp(scalar_text(key), name) != 0)
            continue;
        if (*ret_value) {
            err_set(r->err, EINVAL, "'%s' stands here for the second time", name);
            return fail_at(r, key, -EINVAL);
        }
        *ret_value = yaml_document_get_node(r->document, p->value);
    }
    return 0;
}

static bool takes_key(const struct conf_field *field, const char *key)
{
    const char *word;
    if (field->type == CONF_OTHERS)
        return true;
    if (field->type != CONF_WORDS)
        return field->type != CONF_PLACE && strcmp(field->name, key) == 0;
    for (unsigned i = 0; (word = field->word(i)); i++)
        if (strcmp(word, key) == 0)
            return true;
    return false;
}

static int keys_check(const struct reader *r, const struct conf_field *fields,
                      const yaml_node_t *map)
{
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *key = yaml_document_get_node(r->document, p->key);
        if (key->type != YAML_SCALAR_NODE) {
            err_set(r->err, EINVAL, "a key must be one word");
            return fail_at(r, key, -EINVAL);
        }
        const struct conf_field *field = fields;
        while (field->name && !takes_key(field, scalar_text(key)))
            field++;
        if (!field->name)
            return unknown_key(r, fields, key);
    }
    return 0;
}

static bool node_is_empty(const yaml_node_t *node)
{
    return !node || (node->type == YAML_SCALAR_NODE && node->data.scalar.length == 0 &&
                     node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE);
}

/* `owner` is the position for a missing key; NULL in an empty file. */
static int absent_set(const struct reader *r, const struct conf_field *field,
                      const yaml_node_t *owner, char *target)
{
    int code;
    if (field->type == CONF_LIST && !field->min)
        return 0;
    if (field->preset && field->type != CONF_LIST)
        code = conf_scalar(field, field->preset, target, r->err);
    else
        code = err_set(r->err, EINVAL, "'%s' is missing", field->name);
    if (code < 0)
        return owner ? fail_at(r, owner, code) : err_prefix(r->err, "%s:1:1", r->name);
    return 0;
}

static int word_set(const struct reader *r, const struct conf_field *field, const char *word,
                    const yaml_node_t *node, void *target)
{
    int code;
    if (node->type != YAML_SCALAR_NODE || strlen(scalar_text(node)) != node->data.scalar.length)
        code = err_set(r->err, EINVAL, "%s: one value is expected here", word);
    else if ((code = field->take(word, scalar_text(node), target, r->err)) < 0)
        err_prefix(r->err, "%s", word);
    return code < 0 ? fail_at(r, node, code) : 0;
}

static int words_set(const struct reader *r, const struct conf_field *field,
                     const yaml_node_t *owner, void *target)
{
    const yaml_node_t *value;
    const char *word;
    int code = 0;
    for (unsigned i = 0; code == 0 && (word = field->word(i)); i++) {
        code = value_find(r, owner, word, &value);
        if (code == 0 && value)
            code = word_set(r, field, word, value, target);
    }
    return code;
}

static int place_set(const yaml_node_t *section, void *target)
{
    if (section)
        *(struct conf_place *)target = (struct conf_place){
            (uint32_t)section->start_mark.line + 1, (uint32_t)section->start_mark.column + 1};
    return 0;
}

static int field_set(const struct reader *r, const struct conf_field *field,
                     const yaml_node_t *owner, char *structure)
{
    const yaml_node_t *value;
    char *target = structure + field->offset;
    if (field->type == CONF_OTHERS)
        return 0;
    if (field->type == CONF_PLACE)
        return place_set(owner, target);
    if (field->type == CONF_WORDS)
        return words_set(r, field, owner, target);
    int code = value_find(r, owner, field->name, &value);
    if (code < 0)
        return code;
    if (field->type == CONF_SECTION)
        return section_set(r, field->section, value, target);
    if (!value)
        return absent_set(r, field, owner, target);
    return field->type == CONF_LIST ? list_set(r, field, value, structure)
                                    : scalar_set(r, field, value, target);
}

/* What items of lists ask of the section's other fields. */
static int items_check(const struct reader *r, const struct conf_field *fields,
                       const yaml_node_t *map, const void *structure)
{
    const yaml_node_t *list;
    int code = 0;
    for (const struct conf_field *f = fields; !code && f->name; f++) {
        if (!f->among || value_find(r, map, f->name, &list) < 0 || !list)
            continue;
        const yaml_node_item_t *first = list->data.sequence.items.start;
        for (uint32_t i = 0; !code && first + i < list->data.sequence.items.top; i++)
            if ((code = f->among(structure, i, r->err)) < 0)
                fail_at(r, yaml_document_get_node(r->document, first[i]), code);
    }
    return code;
}

/* node NULL: the section is absent, every field takes its default. */
static int section_set(const struct reader *r, const struct conf_section *section,
                       const yaml_node_t *node, void *structure)
{
    int code = 0;
    memset(structure, 0, section->bytes);
    if (node_is_empty(node))
        node = NULL;
    if (node && node->type != YAML_MAPPING_NODE) {
        err_set(r->err, EINVAL, "keys and values are expected here");
        return fail_at(r, node, -EINVAL);
    }
    if (node)
        code = keys_check(r, section->fields, node);
    for (const struct conf_field *f = section->fields; !code && f->name; f++)
        code = field_set(r, f, node, structure);
    if (!code)
        code = items_check(r, section->fields, node, structure);
    if (!code && section->check && (code = section->check(structure, r->err)) < 0)
        return node ? fail_at(r, node, code) : err_prefix(r->err, "%s:1:1", r->name);
    return code;
}

static bool first_key_is_indented(const char *text, size_t length)
{
    size_t line = text_mark(text, length);
    for (size_t at = line; at < length; at++) {
        if (text[at] == '#')
            while (at + 1 < length && text[at] != '\n')
                at++;
        if (text[at] == '\n')
            line = at + 1;
        else if (!strchr(" \t\r", text[at]))
            return at > line;
    }
    return false;
}

/* libyaml's own message does not name these: "did not find expected <document start>". */
static const char *blank_words(const char *text, size_t length, const yaml_parser_t *parser)
{
    size_t at = parser->problem_mark.index;
    if (at < length && text[at] == '\t')
        return ": a tab, and YAML indents by blanks";
    return first_key_is_indented(text, length) ? ": the first key is indented, and others are not"
                                               : "";
}

static int syntax_fail(const char *name, const char *text, size_t length,
                       const yaml_parser_t *parser, struct err *err)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return err_set(err, ENOMEM, "%s: out of memory", name);
    return err_set(err, EINVAL, "%s:%zu:%zu: %s%s", name, parser->problem_mark.line + 1,
                   parser->problem_mark.column + 1, parser->problem ? parser->problem : "not YAML",
                   blank_words(text, length, parser));
}

static int document_set(const struct reader *r, const struct conf_section *section,
                        void *ret_structure)
{
    void *scratch = calloc(1, section->bytes);
    if (!scratch)
        return err_set(r->err, ENOMEM, "%s: out of memory", r->name);
    int code = section_set(r, section, yaml_document_get_root_node(r->document), scratch);
    if (!code)
        memcpy(ret_structure, scratch, section->bytes);
    free(scratch);
    return code;
}

static int second_document_refuse(yaml_parser_t *parser, const char *name, const char *text,
                                  size_t length, struct err *err)
{
    yaml_document_t next;
    int code = 0;
    if (!yaml_parser_load(parser, &next))
        return syntax_fail(name, text, length, parser, err);
    if (yaml_document_get_root_node(&next))
        code = err_set(err, EINVAL, "%s:%zu:1: a second document begins here; one is expected",
                       name, next.start_mark.line + 1);
    yaml_document_delete(&next);
    return code;
}

int conf_parse(const char *name, const char *text, size_t length,
               const struct conf_section *section, void *ret_structure, struct err *err)
{
    struct err unwanted;
    yaml_parser_t parser;
    yaml_document_t document;
    err = err ? err : &unwanted;
    if (!yaml_parser_initialize(&parser))
        return err_set(err, ENOMEM, "%s: out of memory", name);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    int code =
        yaml_parser_load(&parser, &document) ? 0 : syntax_fail(name, text, length, &parser, err);
    if (!code) {
        if (yaml_document_get_root_node(&document))
            code = second_document_refuse(&parser, name, text, length, err);
        struct reader reader = {name, &document, err};
        if (!code)
            code = document_set(&reader, section, ret_structure);
        yaml_document_delete(&document);
    }
    yaml_parser_delete(&parser);
    return code;
}

int conf_defaults(const struct conf_section *section, void *ret_structure, struct err *err)
{
    return conf_parse("defaults", "", 0, section, ret_structure, err);
}

static int file_read(int fd, char *text, size_t *ret_length)
{
    size_t length = 0;
    ssize_t n;
    while ((n = read(fd, text + length, FILE_MAX + 1 - length)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        length += (size_t)n;
        if (length > FILE_MAX)
            return -EFBIG;
    }
    *ret_length = length;
    return 0;
}

int conf_file(const char *path, char **ret_text, size_t *ret_length, struct err *err)
{
    int code = 0, fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "%s cannot be opened", path);
    char *text = malloc(FILE_MAX + 1);
    if (!text)
        code = err_set(err, ENOMEM, "%s: out of memory", path);
    else if ((code = file_read(fd, text, ret_length)) < 0)
        err_sys(err, -code, "%s cannot be read", path);
    close(fd);
    if (code < 0)
        free(text);
    else
        *ret_text = text;
    return code;
}

int conf_read(const char *path, const struct conf_section *section, void *ret_structure,
              struct err *err)
{
    size_t length = 0;
    char *text = NULL;
    int code = conf_file(path, &text, &length, err);
    if (code == 0)
        code = conf_parse(path, text, length, section, ret_structure, err);
    free(text);
    return code;
}

static size_t bytes_of(const struct conf_field *field)
{
    return field->size                  ? field->size
           : field->type == CONF_BOOL   ? sizeof(bool)
           : field->type == CONF_CHOICE ? sizeof(int)
                                        : sizeof(int64_t);
}

void conf_take_live(const struct conf_section *section, const void *from, void *to)
{
    for (const struct conf_field *f = section->fields; f->name; f++) {
        const char *source = (const char *)from + f->offset;
        char *target = (char *)to + f->offset;
        if (f->type == CONF_SECTION)
            conf_take_live(f->section, source, target);
        else if (f->live)
            memcpy(target, source, bytes_of(f));
    }
}
