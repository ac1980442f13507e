#include "hostagent/measurements.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct measurements {
    int fd;
    int64_t bytes;
};

int measurements_open(const char *path, struct measurements **ret_measurements, struct err *err)
{
    struct measurements *measurements = calloc(1, sizeof(*measurements));
    struct stat st;
    if (!measurements)
        return err_sys(err, ENOMEM, "measurements");
    measurements->fd = -1;
    if (path[0]) {
        measurements->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (measurements->fd < 0 || fstat(measurements->fd, &st) < 0) {
            int r = err_sys(err, errno, "opening the measurements %s", path);
            measurements_close(measurements);
            return r;
        }
        measurements->bytes = st.st_size;
    }
    *ret_measurements = measurements;
    return 0;
}

void measurements_close(struct measurements *measurements)
{
    if (!measurements)
        return;
    if (measurements->fd >= 0)
        close(measurements->fd);
    free(measurements);
}

bool measurements_kept(const struct measurements *measurements)
{
    return measurements && measurements->fd >= 0;
}

static void write_line(struct measurements *measurements, const char *text, size_t n)
{
    if (write(measurements->fd, text, n) != (ssize_t)n) {
        close(measurements->fd); /* a full disk: what follows would have a hole */
        measurements->fd = -1;
        return;
    }
    measurements->bytes += (int64_t)n;
}

void measurements_line(struct measurements *measurements, const char *format, ...)
{
    static const char full[] = "full\n";
    char text[512];
    if (!measurements_kept(measurements))
        return;
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(text, sizeof(text) - 1, format, ap);
    va_end(ap);
    if (n < 0)
        return;
    size_t length = (size_t)n < sizeof(text) - 2 ? (size_t)n : sizeof(text) - 2;
    text[length++] = '\n';
    if (measurements->bytes + (int64_t)length > MEASUREMENTS_BYTES) {
        write_line(measurements, full, sizeof(full) - 1);
        if (measurements->fd >= 0)
            close(measurements->fd);
        measurements->fd = -1;
        return;
    }
    write_line(measurements, text, length);
}
