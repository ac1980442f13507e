#include "hostagent/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct journal {
    int fd;
    int64_t bytes;
};

int journal_open(const char *path, struct journal **ret_journal, struct err *err)
{
    struct journal *journal = calloc(1, sizeof(*journal));
    struct stat st;
    if (!journal)
        return err_sys(err, ENOMEM, "journal");
    journal->fd = -1;
    if (path[0]) {
        journal->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
        if (journal->fd < 0 || fstat(journal->fd, &st) < 0) {
            int r = err_sys(err, errno, "opening the journal %s", path);
            journal_close(journal);
            return r;
        }
        journal->bytes = st.st_size;
    }
    *ret_journal = journal;
    return 0;
}

void journal_close(struct journal *journal)
{
    if (!journal)
        return;
    if (journal->fd >= 0)
        close(journal->fd);
    free(journal);
}

bool journal_keeps(const struct journal *journal)
{
    return journal && journal->fd >= 0;
}

static void write_line(struct journal *journal, const char *text, size_t n)
{
    if (write(journal->fd, text, n) != (ssize_t)n) {
        close(journal->fd); /* a full disk: what follows would have a hole */
        journal->fd = -1;
        return;
    }
    journal->bytes += (int64_t)n;
}

void journal_line(struct journal *journal, const char *format, ...)
{
    static const char full[] = "full\n";
    char text[512];
    if (!journal_keeps(journal))
        return;
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(text, sizeof(text) - 1, format, ap);
    va_end(ap);
    if (n < 0)
        return;
    size_t length = (size_t)n < sizeof(text) - 2 ? (size_t)n : sizeof(text) - 2;
    text[length++] = '\n';
    if (journal->bytes + (int64_t)length > JOURNAL_BYTES) {
        write_line(journal, full, sizeof(full) - 1);
        if (journal->fd >= 0)
            close(journal->fd);
        journal->fd = -1;
        return;
    }
    write_line(journal, text, length);
}

uint64_t journal_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}
