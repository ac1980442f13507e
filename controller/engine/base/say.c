#include "controller/engine/base/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void say(struct engine_explanation *e, const char *format, ...)
{
    size_t used = strlen(e->text);
    va_list ap;
    va_start(ap, format);
    vsnprintf(e->text + used, sizeof(e->text) - used, format, ap);
    va_end(ap);
}

void say_fact(struct engine_explanation *e, const char *name, const char *format, ...)
{
    if (e->facts == sizeof(e->fact) / sizeof(e->fact[0]))
        return;
    struct engine_fact *fact = &e->fact[e->facts++];
    snprintf(fact->name, sizeof(fact->name), "%s", name);
    va_list ap;
    va_start(ap, format);
    vsnprintf(fact->value, sizeof(fact->value), format, ap);
    va_end(ap);
}
