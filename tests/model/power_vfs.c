#include "tests/model/power_vfs.h"

#include "tests/unit/test.h"

#include <sqlite3.h>
#include <string.h>

enum { FILES = 8, UNSYNCED = 4096, SECTOR = 512, REGIONS = 16 };

struct bytes {
    uint8_t *at;
    size_t n;
};

struct write {
    size_t at;
    struct bytes bytes; /* `at` NULL: cut to so many instead */
};

struct medium {
    char name[128]; /* "": none */
    struct bytes now, synced;
    struct write *unsynced;
    size_t n;
    void *region[REGIONS];
};

struct handle {
    sqlite3_file base;
    struct medium *medium;
};

static struct {
    struct medium files[FILES];
    uint64_t stream, at, writes;
    bool gone;
    sqlite3_vfs vfs;
} power;

static void resize(struct bytes *bytes, size_t n)
{
    if (n > bytes->n) {
        bytes->at = realloc(bytes->at, n);
        memset(bytes->at + bytes->n, 0, n - bytes->n);
    }
    bytes->n = n;
}

static void put(struct bytes *bytes, size_t at, const void *from, size_t n)
{
    if (at + n > bytes->n)
        resize(bytes, at + n);
    memcpy(bytes->at + at, from, n);
}

static void unsynced_forget(struct medium *medium)
{
    for (size_t i = 0; i < medium->n; i++)
        free(medium->unsynced[i].bytes.at);
    medium->n = 0;
}

static void medium_clear(struct medium *medium)
{
    unsynced_forget(medium);
    free(medium->unsynced);
    free(medium->now.at);
    free(medium->synced.at);
    for (int i = 0; i < REGIONS; i++)
        free(medium->region[i]);
    memset(medium, 0, sizeof(*medium));
}

static struct medium *medium_find(const char *name)
{
    for (struct medium *medium = power.files; medium < power.files + FILES; medium++)
        if (strcmp(medium->name, name) == 0)
            return medium;
    return NULL;
}

static struct medium *of(sqlite3_file *file)
{
    return ((struct handle *)file)->medium;
}

static struct write *remember(struct medium *medium, size_t at)
{
    if (!medium->unsynced)
        medium->unsynced = calloc(UNSYNCED, sizeof(*medium->unsynced));
    assert_true(medium->n < UNSYNCED);
    struct write *write = &medium->unsynced[medium->n++];
    *write = (struct write){.at = at};
    return write;
}

static bool power_fails(void)
{
    power.writes++;
    power.gone |= power.at && power.writes >= power.at;
    return power.gone;
}

static int file_write(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
    struct medium *medium = of(file);
    bool gone = power.gone;
    if (gone)
        return SQLITE_IOERR_WRITE;
    struct write *write = remember(medium, (size_t)at);
    put(&write->bytes, 0, from, (size_t)n);
    put(&medium->now, (size_t)at, from, (size_t)n);
    return power_fails() ? SQLITE_IOERR_WRITE : SQLITE_OK;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 n)
{
    struct medium *medium = of(file);
    if (power.gone)
        return SQLITE_IOERR_TRUNCATE;
    remember(medium, (size_t)n);
    resize(&medium->now, (size_t)n);
    return power_fails() ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static int file_sync(sqlite3_file *file, int flags)
{
    struct medium *medium = of(file);
    (void)flags;
    if (power.gone)
        return SQLITE_IOERR_FSYNC;
    unsynced_forget(medium);
    resize(&medium->synced, medium->now.n);
    if (medium->now.n)
        memcpy(medium->synced.at, medium->now.at, medium->now.n);
    return SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *to, int n, sqlite3_int64 at)
{
    const struct bytes *now = &of(file)->now;
    size_t there = (size_t)at < now->n ? now->n - (size_t)at : 0;
    if (power.gone)
        return SQLITE_IOERR_READ;
    if (there >= (size_t)n) {
        memcpy(to, now->at + at, (size_t)n);
        return SQLITE_OK;
    }
    memset(to, 0, (size_t)n);
    if (there)
        memcpy(to, now->at + at, there);
    return SQLITE_IOERR_SHORT_READ;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret_n)
{
    *ret_n = (sqlite3_int64)of(file)->now.n;
    return SQLITE_OK;
}

static int file_close(sqlite3_file *file)
{
    (void)file;
    return SQLITE_OK;
}

static int file_lock(sqlite3_file *file, int level)
{
    (void)file, (void)level;
    return SQLITE_OK;
}

static int file_locked(sqlite3_file *file, int *ret_locked)
{
    (void)file;
    *ret_locked = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int op, void *argument)
{
    (void)file, (void)op, (void)argument;
    return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *file)
{
    (void)file;
    return SECTOR;
}

static int characteristics(sqlite3_file *file)
{
    (void)file;
    return 0;
}

static int shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **ret_at)
{
    struct medium *medium = of(file);
    assert_true(region < REGIONS);
    if (!medium->region[region] && extend)
        medium->region[region] = calloc(1, (size_t)size);
    *ret_at = medium->region[region];
    return SQLITE_OK;
}

static int shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    (void)file, (void)offset, (void)n, (void)flags;
    return SQLITE_OK;
}

static void shm_barrier(sqlite3_file *file)
{
    (void)file;
}

static int shm_unmap(sqlite3_file *file, int delete)
{
    (void)delete;
    for (int i = 0; i < REGIONS; i++) {
        free(of(file)->region[i]);
        of(file)->region[i] = NULL;
    }
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_lock,
    .xCheckReservedLock = file_locked,
    .xFileControl = file_control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                    int *ret_flags)
{
    struct handle *handle = (struct handle *)file;
    struct medium *medium = medium_find(name);
    (void)vfs;
    handle->base.pMethods = NULL;
    if (power.gone || (!medium && !(flags & SQLITE_OPEN_CREATE)))
        return SQLITE_CANTOPEN;
    if (!medium) {
        medium = medium_find("");
        assert_non_null(medium);
        snprintf(medium->name, sizeof(medium->name), "%s", name);
    }
    handle->medium = medium;
    handle->base.pMethods = &methods;
    if (ret_flags)
        *ret_flags = flags;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int synced)
{
    struct medium *medium = medium_find(name);
    (void)vfs, (void)synced;
    if (power.gone)
        return SQLITE_IOERR_DELETE;
    if (!medium)
        return SQLITE_IOERR_DELETE_NOENT;
    medium_clear(medium);
    return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret_there)
{
    (void)vfs, (void)flags;
    *ret_there = medium_find(name) != NULL;
    return SQLITE_OK;
}

static int vfs_path(sqlite3_vfs *vfs, const char *name, int size, char *ret_path)
{
    (void)vfs;
    sqlite3_snprintf(size, ret_path, "%s", name);
    return SQLITE_OK;
}

void power_begin(uint64_t seed, uint64_t at)
{
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    memset(&power, 0, sizeof(power));
    power.stream = seed;
    power.at = at;
    power.vfs = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = sizeof(struct handle),
        .mxPathname = 100,
        .zName = POWER_VFS,
        .xOpen = vfs_open,
        .xDelete = vfs_delete,
        .xAccess = vfs_access,
        .xFullPathname = vfs_path,
        .xRandomness = system->xRandomness,
        .xSleep = system->xSleep,
        .xCurrentTime = system->xCurrentTime,
        .xGetLastError = system->xGetLastError,
    };
    assert_int_equal(sqlite3_vfs_register(&power.vfs, 0), SQLITE_OK);
}

bool power_gone(void)
{
    return power.gone;
}

uint64_t power_writes(void)
{
    return power.writes;
}

/* What of a write is there: all, nothing, or its first sectors. */
static size_t arrives(const struct write *write)
{
    switch (test_random(&power.stream) % 3) {
    case 0:
        return 0;
    case 1:
        return write->bytes.n;
    default:
        return test_random(&power.stream) % (write->bytes.n / SECTOR + 1) * SECTOR;
    }
}

static void medium_back(struct medium *medium)
{
    struct bytes *there = &medium->synced;
    for (size_t i = 0; i < medium->n; i++) {
        const struct write *write = &medium->unsynced[i];
        size_t n = write->bytes.at ? arrives(write) : 0;
        if (n)
            put(there, write->at, write->bytes.at, n);
        else if (!write->bytes.at && test_random(&power.stream) % 2)
            resize(there, write->at);
    }
    unsynced_forget(medium);
    resize(&medium->now, 0);
    if (there->n)
        put(&medium->now, 0, there->at, there->n);
    for (int i = 0; i < REGIONS; i++) {
        free(medium->region[i]);
        medium->region[i] = NULL;
    }
}

void power_back(void)
{
    for (struct medium *medium = power.files; medium < power.files + FILES; medium++)
        if (*medium->name)
            medium_back(medium);
    power.gone = false;
    power.at = 0;
}

void power_end(void)
{
    sqlite3_vfs_unregister(&power.vfs);
    for (struct medium *medium = power.files; medium < power.files + FILES; medium++)
        medium_clear(medium);
}
