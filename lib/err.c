#include "lib/err.h"

#include "lib/printable.h"

#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *format, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, format);
        err->code = code;
        vsnprintf(err->text, sizeof(err->text), format, ap);
        va_end(ap);
        printable_clean(err->text);
    }
    return -code;
}

int err_sys(struct err *err, int code, const char *format, ...)
{
    if (err) {
        char words[128];
        va_list ap;
        va_start(ap, format);
        err->code = code;
        vsnprintf(err->text, sizeof(err->text), format, ap);
        va_end(ap);
        size_t used = strlen(err->text);
        snprintf(err->text + used, sizeof(err->text) - used, ": %s",
                 strerror_r(code, words, sizeof(words)));
        printable_clean(err->text);
    }
    return -code;
}

int err_prefix(struct err *err, const char *format, ...)
{
    if (!err)
        return 0;
    struct err old = *err;
    va_list ap;
    va_start(ap, format);
    vsnprintf(err->text, sizeof(err->text), format, ap);
    va_end(ap);
    size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof(err->text) - used, ": %s", old.text);
    printable_clean(err->text);
    return -err->code;
}
