/* Short names for the fields of conf.h, for the files that write a program's table. `s` is the
 * section's structure without the word struct; a field is called as its member is, unless it has a
 * name of its own. Further members of struct conf_field may follow, such as `.live = true`. */
#pragma once

#include "lib/conf.h"

#include <stddef.h>

/* A number: its type, its default as a user writes it (NULL: required), and its range. */
#define VALUE(s, member, name_, type_, preset_, min_, max_, ...)                                   \
    {                                                                                              \
        .name = (name_), .type = (type_), .offset = offsetof(struct s, member), .min = (min_),     \
        .max = (max_), .preset = (preset_), __VA_ARGS__                                            \
    }
#define NUMBER(s, member, name, preset, min, max) VALUE(s, member, name, CONF_INT, preset, min, max)
#define DURATION(s, member, name, preset, min, max, ...)                                           \
    VALUE(s, member, name, CONF_DURATION, preset, min, max, __VA_ARGS__)
#define RATE(s, member, name, preset, min, max) VALUE(s, member, name, CONF_RATE, preset, min, max)
#define BYTES(s, member, name, preset, min, max, ...)                                              \
    VALUE(s, member, name, CONF_BYTES, preset, min, max, __VA_ARGS__)
#define SHARE(s, member, name, preset, min, max)                                                   \
    VALUE(s, member, name, CONF_SHARE, preset, min, max)
#define YES_NO(s, member, name, preset) VALUE(s, member, name, CONF_BOOL, preset, 0, 0)

/* A text; `check` says what else it has to be, or is NULL. */
#define CHECKED(s, member, preset_, check_)                                                        \
    {                                                                                              \
        .name = #member, .type = CONF_STRING, .offset = offsetof(struct s, member),                \
        .size = sizeof(((struct s *)0)->member), .preset = (preset_), .check = (check_)            \
    }
#define STRING(s, member, preset) CHECKED(s, member, preset, NULL)

/* One of the words of `choices`, as its index. */
#define CHOICE(s, member, choices_, preset_, ...)                                                  \
    {                                                                                              \
        .name = #member, .type = CONF_CHOICE, .offset = offsetof(struct s, member),                \
        .choices = (choices_), .preset = (preset_), __VA_ARGS__                                    \
    }
#define PARSED(s, member, name_, parse_, preset_, ...)                                             \
    {                                                                                              \
        .name = (name_), .type = CONF_PARSED, .offset = offsetof(struct s, member),                \
        .size = sizeof(((struct s *)0)->member), .parse = (parse_), .preset = (preset_),           \
        __VA_ARGS__                                                                                \
    }
#define SECTION_CALLED(s, member, name_, section_)                                                 \
    {                                                                                              \
        .name = (name_), .type = CONF_SECTION, .offset = offsetof(struct s, member),               \
        .section = (section_)                                                                      \
    }
#define SECTION(s, member, section) SECTION_CALLED(s, member, #member, section)

/* From `min` items to as many as the member has room for; `count` takes their number. */
#define LIST_CALLED(s, member, name_, count, item_, min_)                                          \
    {                                                                                              \
        .name = (name_), .type = CONF_LIST, .offset = offsetof(struct s, member),                  \
        .size = sizeof(((struct s *)0)->member[0]), .min = (min_),                                 \
        .max = sizeof(((struct s *)0)->member) / sizeof(((struct s *)0)->member[0]),               \
        .item = (item_), .count_offset = offsetof(struct s, count)                                 \
    }
#define LIST(s, member, count, item) LIST_CALLED(s, member, #member, count, item, 0)

/* `beside_` and `among_` as conf.h has them. */
#define LIST_CHECKED(s, member_, count, item_, beside_, among_)                                    \
    {                                                                                              \
        .name = #member_, .type = CONF_LIST, .offset = offsetof(struct s, member_),                \
        .size = sizeof(((struct s *)0)->member_[0]),                                               \
        .max = sizeof(((struct s *)0)->member_) / sizeof(((struct s *)0)->member_[0]),             \
        .item = (item_), .count_offset = offsetof(struct s, count), .beside = (beside_),           \
        .among = (among_)                                                                          \
    }

#define END                                                                                        \
    {                                                                                              \
        .name = NULL                                                                               \
    }
