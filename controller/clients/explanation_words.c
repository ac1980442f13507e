#include "controller/clients/explanation_words.h"

#include "lib/wire.h"

#include <inttypes.h>
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

void explanation_take(duopoly_Explanation *out, const struct engine_explanation *explanation)
{
    explanation_say(out, "%s", explanation->text);
    for (uint32_t i = 0; i < explanation->facts; i++)
        explanation_fact(out, explanation->fact[i].name, "%s", explanation->fact[i].value);
}

void explanation_seconds(duopoly_Explanation *out, const char *name, int64_t ns)
{
    explanation_fact(out, name, "%.3f", (double)ns / 1e9);
}

struct percent_said percent_of(uint32_t permille)
{
    struct percent_said said;
    snprintf(said.text, sizeof(said.text), "%" PRIu32 ".%" PRIu32 " %%", permille / 10,
             permille % 10);
    return said;
}
