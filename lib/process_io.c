#include "lib/process_io.h"

#include "lib/number.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool process_io_parse(const char *io, uint64_t *ret_bytes)
{
    static const char word[] = "read_bytes: ";
    const char *line = io, *end;
    while (line && strncmp(line, word, sizeof(word) - 1) != 0) {
        end = strchr(line, '\n');
        line = end ? end + 1 : NULL;
    }
    return line && number_take(line + sizeof(word) - 1, UINT64_MAX, ret_bytes);
}

static bool read_one(uint64_t pid, uint64_t *ret_bytes)
{
    char path[32], text[1024];
    snprintf(path, sizeof(path), "/proc/%" PRIu64 "/io", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return false;
    text[n] = '\0';
    return process_io_parse(text, ret_bytes);
}

bool process_io_sum(const char *pids, uint64_t *ret_bytes)
{
    uint64_t sum = 0, pid, bytes;
    bool any = false;
    for (int i = 0; i < PROCESS_IO_MOST && (pids = number_take(pids, UINT32_MAX, &pid)); i++) {
        if (read_one(pid, &bytes)) {
            sum = bytes < UINT64_MAX - sum ? sum + bytes : UINT64_MAX;
            any = true;
        }
        pids += *pids == '\n';
    }
    *ret_bytes = sum;
    return any;
}
