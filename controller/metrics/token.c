#include "controller/metrics/token.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCHEME "Bearer "

static int file_open(const char *path, struct err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return err_sys(err, errno, "the token's file %s", path);
    int r = fstat(fd, &st) < 0 ? err_sys(err, errno, "the token's file %s", path) : 0;
    if (r == 0 && !S_ISREG(st.st_mode))
        r = err_set(err, EINVAL, "the token's file %s is no file", path);
    else if (r == 0 && st.st_mode & S_IRWXO)
        r = err_set(err, EPERM, "everybody may read the token's file %s: chmod o= %s", path, path);
    if (r < 0)
        close(fd);
    return r < 0 ? r : fd;
}

/* Cuts a line's end; false: it is no token. */
static bool word_take(char *word)
{
    size_t length = strcspn(word, "\n");
    if (word[length] && word[length + 1])
        return false;
    word[length] = '\0';
    for (const char *c = word; *c; c++)
        if (*c <= ' ' || *c > '~')
            return false;
    return length >= TOKEN_MIN && length <= TOKEN_MAX;
}

int token_read(const char *path, char ret_token[TOKEN_MAX + 1], struct err *err)
{
    char word[TOKEN_MAX + 3] = "";
    *ret_token = '\0';
    if (strcmp(path, "none") == 0)
        return 0;
    int fd = file_open(path, err);
    if (fd < 0)
        return fd;
    ssize_t n = read(fd, word, sizeof(word) - 1);
    int code = errno;
    close(fd);
    if (n < 0)
        return err_sys(err, code, "the token's file %s", path);
    if (strlen(word) != (size_t)n || !word_take(word))
        return err_set(err, EINVAL,
                       "%s: a token is one line of %d to %d visible ASCII characters, as of "
                       "`openssl rand -hex 32`",
                       path, TOKEN_MIN, TOKEN_MAX);
    strcpy(ret_token, word);
    return 0;
}

bool token_is_shown(const char *token, const char *authorization)
{
    const size_t length = strlen(token), scheme = strlen(SCHEME);
    if (!length)
        return true;
    if (!authorization || strncasecmp(authorization, SCHEME, scheme) != 0)
        return false;
    return strlen(authorization + scheme) == length &&
           CRYPTO_memcmp(authorization + scheme, token, length) == 0;
}
