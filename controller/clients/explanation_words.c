#include "controller/clients/explanation_words.h"

#include "lib/wire.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void explanation_say(duopoly_Explanation *out, const char *format, ...)
{
    size_t used = strlen(out->text);
    va_list ap;
    va_start(ap, format);
    vsnprintf(out->text + used, sizeof(out->text) - used, format, ap);
    va_end(ap);
}

void explanation_fact(duopoly_Explanation *out, const char *name, const char *format, ...)
{
    if (out->facts_count == sizeof(out->facts) / sizeof(out->facts[0]))
        return;
    duopoly_Fact *fact = &out->facts[out->facts_count++];
    va_list ap;
    wire_copy(fact->name, sizeof(fact->name), name);
    va_start(ap, format);
    vsnprintf(fact->value, sizeof(fact->value), format, ap);
    va_end(ap);
}
