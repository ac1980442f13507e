#include "controller/cli/bundle_parts.h"
#include "controller/cli/daemon_check.h"
#include "lib/printable.h"
#include "lib/program.h"

#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <systemd/sd-journal.h>
#include <time.h>
#include <unistd.h>

/* Where packages put it (packaging/duopolyd.service). */
#define CONFIG       "/etc/duopoly/duopolyd.yaml"
#define CONFIG_BYTES (UINT64_C(1) << 20)
#define FACT_BYTES   65536
#define LOG_LINES    7000 /* LINE_BYTES each: they fit into BUNDLE_AT_ONCE */
#define LINE_BYTES   1024
#define ELSEWHERE    "it is on the controller's machine: ask there, too"

static const char *const facts[] = {
    "/etc/os-release",
    "/proc/version",
    "/proc/meminfo",
    "/proc/loadavg",
    "/proc/uptime",
    "/proc/stat",
    "/proc/interrupts",
    "/proc/pressure/cpu",
    "/proc/pressure/memory",
    "/proc/pressure/io",
    "/proc/net/dev",
    "/proc/net/snmp",
    "/proc/net/netstat",
    "/proc/net/sockstat",
    "/proc/net/softnet_stat",
    "/proc/sys/fs/file-nr",
    "/proc/sys/net/core/default_qdisc",
    "/proc/sys/net/ipv4/tcp_congestion_control",
    "/proc/sys/net/ipv4/tcp_ecn",
    "/proc/sys/net/ipv4/tcp_syncookies",
};

/* ---- where the controller's files are ---- */

static void place_take(struct bundle *bundle, const char *key, const char *value)
{
    if (strcmp(key, "state") == 0)
        wire_copy(bundle->state, sizeof(bundle->state), value);
    else if (strcmp(key, "log.folder") == 0)
        wire_copy(bundle->recording, sizeof(bundle->recording), value);
}

static int places_ask(struct bundle *bundle, struct err *err)
{
    const duopoly_Envelope *answer;
    duopoly_List list = {.of = duopoly_ListOf_LIST_CONFIG};
    do {
        client_request(bundle->client, duopoly_Envelope_list_tag)->body.list = list;
        int r = client_call(bundle->client, duopoly_Envelope_config_page_tag, &answer, err);
        if (r < 0)
            return r;
        const duopoly_ConfigPage *page = &answer->body.config_page;
        wire_copy(bundle->config, sizeof(bundle->config), page->file);
        for (pb_size_t i = 0; i < page->rows_count; i++)
            place_take(bundle, page->rows[i].key, page->rows[i].value);
        list.cursor = page->cursor;
    } while (list.cursor);
    return 0;
}

/* Where nobody answers: as the file says that it would start with. */
static int places_judge(struct bundle *bundle, struct err *err)
{
    struct conf_keys keys;
    wire_copy(bundle->config, sizeof(bundle->config), CONFIG);
    int r = daemon_check(CONFIG, &keys, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < keys.n; i++)
        place_take(bundle, keys.at[i].path, keys.at[i].value);
    conf_keys_done(&keys);
    return 0;
}

static int places_find(struct bundle *bundle, struct err *why)
{
    if (*bundle->mute)
        return places_judge(bundle, why);
    int r = places_ask(bundle, why);
    if (r == 0 || r == -EREMOTEIO)
        return r;
    snprintf(bundle->mute, sizeof(bundle->mute), "%s", why->text);
    return places_judge(bundle, why);
}

/* ---- its files ---- */

static int path_add(struct bundle *bundle, const char *name, const char *path, uint64_t most,
                    struct err *err)
{
    char why[PATH_MAX + 64];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r = 0;
    bool there = fd >= 0 && fstat(fd, &st) == 0;
    if (there && S_ISREG(st.st_mode)) {
        r = bundle_add_file(bundle, name, fd, most, err);
    } else {
        snprintf(why, sizeof(why), "%s: %s", path, there ? "it is no file" : strerror(errno));
        bundle_lack(bundle, name, 0, why);
    }
    if (fd >= 0)
        close(fd);
    return r;
}

static int recording_add(struct bundle *bundle, const struct err *why, struct err *err)
{
    char path[sizeof(bundle->state) + sizeof(bundle->recording) + 16];
    const char *folder = bundle->recording, *of = *folder == '/' ? "" : bundle->state;
    if (strcmp(folder, "none") == 0) {
        bundle_lack(bundle, "duopoly.log", 0, "nothing is recorded: log.folder is none");
        return 0;
    }
    if (!*folder) {
        snprintf(bundle->bytes, LINE_BYTES, "its place is not known: %s", why->text);
        bundle_lack(bundle, "duopoly.log", 0, bundle->bytes);
        return 0;
    }
    snprintf(path, sizeof(path), "%s%s%s/duopoly.log", of, *of ? "/" : "", folder);
    return path_add(bundle, "duopoly.log", path, BUNDLE_RECORDING, err);
}

static int files_add(struct bundle *bundle, struct err *err)
{
    struct err why = {0};
    places_find(bundle, &why);
    int r =
        *bundle->config ? path_add(bundle, "duopolyd.yaml", bundle->config, CONFIG_BYTES, err) : 0;
    return r < 0 ? r : recording_add(bundle, &why, err);
}

/* ---- its log ---- */

static int journal_open(sd_journal **ret_journal)
{
    int r = sd_journal_open(ret_journal, SD_JOURNAL_LOCAL_ONLY);
    if (r < 0)
        return r;
    sd_journal_add_match(*ret_journal, "_SYSTEMD_UNIT=duopolyd.service", 0);
    sd_journal_seek_tail(*ret_journal);
    return sd_journal_previous_skip(*ret_journal, LOG_LINES);
}

static void line_copy(sd_journal *journal, FILE *out)
{
    static const size_t label = sizeof("MESSAGE=") - 1;
    const void *data;
    size_t length;
    uint64_t usec;
    char when[32], message[LINE_BYTES - sizeof(when)];
    struct tm utc;
    if (sd_journal_get_data(journal, "MESSAGE", &data, &length) < 0 || length < label ||
        sd_journal_get_realtime_usec(journal, &usec) < 0)
        return;
    const time_t seconds = (time_t)(usec / 1000000);
    strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
    snprintf(message, sizeof(message), "%.*s", (int)(length - label), (const char *)data + label);
    printable_clean(message);
    fprintf(out, "%s %s\n", when, message);
}

static int log_add(struct bundle *bundle, struct err *err)
{
    struct bundle_sink sink;
    sd_journal *journal = NULL;
    FILE *out = bundle_sink_open(bundle, &sink);
    if (!out)
        return err_sys(err, ENOMEM, "the bundle");
    if (journal_open(&journal) > 0)
        for (int lines = 0; lines == 0 || (lines < LOG_LINES && sd_journal_next(journal) > 0);
             lines++)
            line_copy(journal, out);
    sd_journal_close(journal);
    fclose(out);
    if (sink.used)
        return bundle_add(bundle, "log", sink.bytes, sink.used, "", err);
    bundle_lack(bundle, "log", 0, "this machine's journal has nothing of duopolyd.service");
    return 0;
}

/* ---- this machine ---- */

/* WHY read whole first: what the kernel makes has no size before it is read. What this kernel does
 * not have is left out. */
static int fact_add(struct bundle *bundle, const char *path, struct err *err)
{
    char name[TAR_NAME_MAX];
    size_t used = 0;
    ssize_t n = 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    for (; n > 0 && used<FACT_BYTES; used += n> 0 ? (size_t)n : 0)
        n = read(fd, bundle->bytes + used, FACT_BYTES - used);
    close(fd);
    snprintf(name, sizeof(name), BUNDLE_FOLDER "machine%s", path);
    return tar_add(bundle->tar, name, bundle->bytes, used, err);
}

static int versions_add(struct bundle *bundle, struct err *err)
{
    struct utsname is;
    if (uname(&is) < 0)
        return err_sys(err, errno, "the kernel's name");
    int n = snprintf(bundle->bytes, BUNDLE_AT_ONCE,
                     "duopolyctl " DUOPOLY_VERSION "\nglibc %s\n%s %s %s %s\n%ld processors\n",
                     gnu_get_libc_version(), is.sysname, is.release, is.version, is.machine,
                     sysconf(_SC_NPROCESSORS_ONLN));
    return bundle_add(bundle, "versions", bundle->bytes, (size_t)n, "", err);
}

int bundle_machine(struct bundle *bundle, struct err *err)
{
    int r = versions_add(bundle, err);
    for (size_t i = 0; r == 0 && i < sizeof(facts) / sizeof(facts[0]); i++)
        r = fact_add(bundle, facts[i], err);
    if (r == 0 && bundle->remote) {
        bundle_lack(bundle, "duopolyd.yaml", 0, ELSEWHERE);
        bundle_lack(bundle, "duopoly.log", 0, ELSEWHERE);
        bundle_lack(bundle, "log", 0, ELSEWHERE);
        return 0;
    }
    if (r == 0)
        r = files_add(bundle, err);
    return r < 0 ? r : log_add(bundle, err);
}
