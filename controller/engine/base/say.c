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
