/* Where a job's time went, in words. */
#include "controller/engine/engine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What a part is called by programs, and in sentences. */
static const struct {
    const char *name, *words;
} parts[SPLIT_PARTS] = {
    [SPLIT_TURN] = {"turn", "waiting for its turn"},
    [SPLIT_HELD] = {"held", "held back"},
    [SPLIT_ORDERED] = {"ordered", "held by an operator"},
    [SPLIT_RECEIVING] = {"receiving", "receiving"},
    [SPLIT_COMPUTING] = {"computing", "computing"},
    [SPLIT_AGAIN] = {"again", "running again"},
};

const char *split_part_name(enum split_part part)
{
    return parts[part].name;
}

struct saying {
    char *text;
    size_t size;
    bool parts; /* one is said */
};

__attribute__((format(printf, 2, 3))) static void say(struct saying *s, const char *format, ...)
{
    size_t used = strlen(s->text);
    va_list ap;
    va_start(ap, format);
    vsnprintf(s->text + used, s->size - used, format, ap);
    va_end(ap);
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* The stage that has most of a part; NULL: none has any. */
static const struct stage_split *most_of(const struct job_split *split, int part)
{
    const struct stage_split *most = NULL;
    for (uint32_t i = 0; i < split->n_stages; i++)
        if (split->stages[i].ns[part] > (most ? most->ns[part] : 0))
            most = &split->stages[i];
    return most;
}

static void say_part(struct saying *s, int64_t ns, const char *what, const char *why)
{
    if (ns <= 0)
        return;
    say(s, "%s %.3f s %s", s->parts ? "," : ":", seconds(ns), what);
    if (why)
        say(s, " (most of it: %s)", why);
    s->parts = true;
}

static void say_parts(struct saying *s, const struct job_split *split)
{
    const struct stage_split *held = most_of(split, SPLIT_HELD);
    for (int part = 0; part < SPLIT_PARTS; part++)
        say_part(s, split->ns[part], parts[part].words,
                 part == SPLIT_HELD && held && held->why ? reason_name(held->why) : NULL);
    say_part(s, split->idle_ns, "in which no task of it waited or ran", NULL);
    say_part(s, split->unknown_ns, "before the controller's last start, of which nothing is known",
             NULL);
    say(s, ".");
}

static void say_largest(struct saying *s, const struct job_split *split)
{
    int largest = 0;
    for (int part = 1; part < SPLIT_PARTS; part++)
        if (split->ns[part] > split->ns[largest])
            largest = part;
    const struct stage_split *stage = most_of(split, largest);
    if (!split->ns[largest])
        return;
    say(s, " The largest part is %s", parts[largest].words);
    if (stage)
        say(s, ", %.3f s of that in stage %" PRIu32, seconds(stage->ns[largest]), stage->stage);
    say(s, ". Each moment is divided evenly among the tasks that waited or ran then.");
}

void engine_say_split(const struct job_split *split, bool ended, char *text, size_t size)
{
    struct saying s = {.text = text, .size = size};
    *text = '\0';
    say(&s, "%s lasted %.3f s", ended ? "It" : "So far it", seconds(split->lasted_ns));
    say_parts(&s, split);
    say_largest(&s, split);
}
