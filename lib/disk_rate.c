#include "lib/disk_rate.h"

#include "lib/conf.h"

#include <errno.h>
#include <string.h>

int disk_rate_parse(const char *text, void *target, struct err *err)
{
    int64_t *bytes_s = target;
    if (strcmp(text, "none") == 0) {
        *bytes_s = 0;
        return 0;
    }
    int r = conf_number(CONF_BYTES, text, bytes_s, err);
    if (r == 0 && !*bytes_s)
        r = err_set(err, EINVAL,
                    "a disk of rate 0 reads nothing; say how many bytes a second it reads (128 "
                    "MB), or none");
    return r;
}
