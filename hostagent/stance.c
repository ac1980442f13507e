#include "hostagent/stance.h"

#include "hostagent/files.h"
#include "lib/log.h"
#include "lib/now.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define WAIT_MS 2000
#define WRITTEN (IN_CLOSE_WRITE | IN_MOVED_TO)
#define SAID    "stance"
#define TOLD    "stance-told"
#define NOW     "stance-now"

struct stance {
    struct stance_config config;
    sd_event_source *watch;
    duopoly_Stance now, told; /* `told`: kept here even if the file cannot be written */
    duopoly_Stance tried;     /* replaces the controller's; UNSAID: no trial */
    uint64_t tried_until_ns;
    sd_event_source *trial;
};

static const char *const names[] = {SAID, TOLD, NOW};
static const char *const words[] = {"", "observe", "mark", "enforce"};

static duopoly_Stance stance_of(const char *word)
{
    for (int i = duopoly_Stance_STANCE_OBSERVE; i <= duopoly_Stance_STANCE_ENFORCE; i++)
        if (strcmp(word, words[i]) == 0)
            return (duopoly_Stance)i;
    return duopoly_Stance_STANCE_UNSAID;
}

/* UNSAID: never set. */
static duopoly_Stance read_word(const char *state_dir, const char *name)
{
    char path[FILES_PATH], text[16];
    files_path(path, "%s/%s", state_dir, name);
    if (files_read(path, text, sizeof(text), NULL, NULL) < 0)
        return duopoly_Stance_STANCE_UNSAID;
    text[strcspn(text, " \n")] = 0;
    return stance_of(text);
}

/* Always of the same length, and in place: so a full disk takes the next word, too. */
static int write_word(const char *state_dir, const char *name, duopoly_Stance stance,
                      struct err *err)
{
    char path[FILES_PATH], text[16];
    files_path(path, "%s/%s", state_dir, name);
    int n = snprintf(text, sizeof(text), "%-7s\n", words[stance]);
    return read_word(state_dir, name) == stance ? 0
                                                : files_overwrite(path, text, (size_t)n, 0644, err);
}

/* Without a word, everything is allowed. */
static duopoly_Stance allowed_by(const char *state_dir, const char *name)
{
    duopoly_Stance word = read_word(state_dir, name);
    return word ? word : duopoly_Stance_STANCE_ENFORCE;
}

static duopoly_Stance lower(duopoly_Stance a, duopoly_Stance b)
{
    return a < b ? a : b;
}

duopoly_Stance stance_kept(const char *state_dir)
{
    return lower(allowed_by(state_dir, SAID), allowed_by(state_dir, TOLD));
}

enum mark_reach stance_reach(duopoly_Stance stance)
{
    return stance == duopoly_Stance_STANCE_OBSERVE ? MARK_REACH_NOTHING
           : stance == duopoly_Stance_STANCE_MARK  ? MARK_REACH_PACKETS
                                                   : MARK_REACH_QUEUES;
}

const char *stance_said_as(duopoly_Stance stance)
{
    return words[stance];
}

/* What stance_open writes there. */
static duopoly_Stance word_of(const char *state_dir, const char *name)
{
    return strcmp(name, NOW) == 0 ? stance_kept(state_dir) : allowed_by(state_dir, name);
}

static int plan_word(const char *state_dir, const char *name, struct changes *changes,
                     struct err *err)
{
    char path[FILES_PATH];
    duopoly_Stance before = read_word(state_dir, name), word = word_of(state_dir, name);
    files_path(path, "%s/%s", state_dir, name);
    return before == word ? 0
                          : changes_tell(changes, before ? CHANGE_CHANGE : CHANGE_ADD, "file", path,
                                         err, "%s", words[word]);
}

int stance_plan(const char *state_dir, struct changes *changes, struct err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < sizeof(names) / sizeof(names[0]); i++)
        r = plan_word(state_dir, names[i], changes, err);
    return r;
}

static int take(struct stance *stance, duopoly_Stance wanted, struct err *err)
{
    const struct stance_config *config = &stance->config;
    bool queues = config->switches && wanted == duopoly_Stance_STANCE_ENFORCE;
    int r = queues ? switches_apply(config->switches, err) : 0;
    if (r >= 0)
        r = marks_reach(config->marks, stance_reach(wanted), err);
    if (!queues && config->switches) {
        int other = switches_restore(config->switches, r < 0 ? NULL : err);
        r = r < 0 ? r : other;
    }
    return r;
}

static duopoly_Stance wanted_by(const struct stance *stance)
{
    return lower(allowed_by(stance->config.state_dir, SAID),
                 stance->tried ? stance->tried : stance->told);
}

/* Recomputes the stance in force. */
static void follow(struct stance *stance)
{
    struct err err = {0};
    uint64_t begin = now_ns(CLOCK_MONOTONIC);
    duopoly_Stance wanted = wanted_by(stance);
    log_debug("stance: this host says %s, the controller %s: %s",
              words[allowed_by(stance->config.state_dir, SAID)],
              words[stance->tried ? stance->tried : stance->told], words[wanted]);
    if (wanted == stance->now)
        return;
    if (take(stance, wanted, &err) < 0) {
        log_error(LOG_FAULT_US, "%s cannot be in force: %s", words[wanted], err.text);
        return;
    }
    log_note("%s is in force instead of %s, after %.1f ms", words[wanted], words[stance->now],
             (double)(now_ns(CLOCK_MONOTONIC) - begin) / 1e6);
    stance->now = wanted;
    if (write_word(stance->config.state_dir, NOW, wanted, &err) < 0)
        log_error(LOG_FAULT_US, "%s", err.text);
    stance->config.on_change(stance->config.user);
}

static void end_trial(struct stance *stance)
{
    stance->tried = duopoly_Stance_STANCE_UNSAID;
    stance->trial = sd_event_source_disable_unref(stance->trial);
}

static int on_trial_end(sd_event_source *source, uint64_t usec, void *arg)
{
    struct stance *stance = arg;
    (void)source;
    (void)usec;
    log_warning(LOG_FAULT_CONFIGURATION, "%s was not confirmed in time", words[stance->tried]);
    end_trial(stance);
    follow(stance);
    return 0;
}

static int on_file(sd_event_source *source, const struct inotify_event *event, void *arg)
{
    (void)source;
    if (event->len && strcmp(event->name, SAID) == 0)
        follow(arg);
    return 0;
}

int stance_open(const struct stance_config *config, sd_event *event, struct stance **ret_stance,
                struct err *err)
{
    struct stance *stance = calloc(1, sizeof(*stance));
    if (!stance)
        return err_sys(err, ENOMEM, "the stance");
    stance->config = *config;
    stance->now = stance_kept(config->state_dir);
    stance->told = allowed_by(config->state_dir, TOLD);
    int r = sd_event_add_inotify(event, &stance->watch, config->state_dir, WRITTEN | IN_DELETE,
                                 on_file, stance);
    if (r < 0)
        err_sys(err, -r, "watching %s", config->state_dir);
    for (size_t i = 0; r >= 0 && i < sizeof(names) / sizeof(names[0]); i++)
        r = write_word(config->state_dir, names[i], word_of(config->state_dir, names[i]), err);
    if (r < 0) {
        stance_close(stance);
        return r;
    }
    if (stance->now != duopoly_Stance_STANCE_ENFORCE)
        log_note("%s is in force", words[stance->now]);
    *ret_stance = stance;
    return 0;
}

void stance_close(struct stance *stance)
{
    if (!stance)
        return;
    sd_event_source_disable_unref(stance->watch);
    sd_event_source_disable_unref(stance->trial);
    free(stance);
}

duopoly_Stance stance_now(const struct stance *stance)
{
    return stance->now;
}

void stance_tell(struct stance *stance, duopoly_Stance told)
{
    struct err err = {0};
    if (told < duopoly_Stance_STANCE_OBSERVE || told > duopoly_Stance_STANCE_ENFORCE ||
        (told == stance->told && !stance->tried))
        return;
    bool confirmed = stance->tried && stance->now == told;
    log_debug("stance: the controller says %s%s", words[told],
              confirmed ? ", which was tried" : "");
    end_trial(stance);
    stance->told = told;
    if (write_word(stance->config.state_dir, TOLD, told, &err) < 0)
        log_error(LOG_FAULT_US, "%s", err.text);
    follow(stance);
    if (confirmed)
        stance->config.on_change(stance->config.user);
}

void stance_greet(struct stance *stance, duopoly_Stance told)
{
    if (told != stance->told)
        stance_tell(stance, told);
}

void stance_try(struct stance *stance, duopoly_Stance tried, uint32_t confirm_s)
{
    sd_event *event = sd_event_source_get_event(stance->watch);
    if (tried < duopoly_Stance_STANCE_OBSERVE || tried > duopoly_Stance_STANCE_ENFORCE)
        return;
    log_debug("stance: the controller tries %s for %" PRIu32 " s", words[tried], confirm_s);
    end_trial(stance);
    int r = sd_event_add_time_relative(event, &stance->trial, CLOCK_MONOTONIC,
                                       (uint64_t)confirm_s * 1000000, 1000, on_trial_end, stance);
    if (r < 0) {
        log_error(LOG_FAULT_US, "%s cannot be tried: %s", words[tried], strerror(-r));
        return;
    }
    stance->tried = tried;
    stance->tried_until_ns = now_ns(CLOCK_MONOTONIC) + confirm_s * UINT64_C(1000000000);
    follow(stance);
}

uint32_t stance_trial_s(const struct stance *stance)
{
    uint64_t now = now_ns(CLOCK_MONOTONIC);
    bool left = stance->tried && now < stance->tried_until_ns;
    return left ? (uint32_t)((stance->tried_until_ns - now) / 1000000000) + 1 : 0;
}

int stance_say(const char *state_dir, const char *word, duopoly_Stance *ret_stance, struct err *err)
{
    duopoly_Stance stance = stance_of(word);
    if (!stance)
        return err_set(err, EINVAL, "there is no stance '%s'; there are: observe, mark, enforce",
                       word);
    int r = files_make_dirs(state_dir, 0755, err);
    if (r >= 0)
        r = write_word(state_dir, SAID, stance, err);
    if (r >= 0)
        *ret_stance = stance_kept(state_dir);
    return r;
}

int stance_wait(const char *state_dir, duopoly_Stance stance, struct err *err)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    uint64_t end = now_ns(CLOCK_MONOTONIC) + WAIT_MS * 1000000ull, now = 0;
    char events[4096];
    if (fd < 0 || inotify_add_watch(fd, state_dir, WRITTEN) < 0) {
        int code = errno;
        if (fd >= 0)
            close(fd);
        return err_sys(err, code, "watching %s", state_dir);
    }
    while (read_word(state_dir, NOW) != stance && (now = now_ns(CLOCK_MONOTONIC)) < end) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        poll(&wait, 1, (int)((end - now) / 1000000) + 1);
        while (read(fd, events, sizeof(events)) > 0)
            ;
    }
    close(fd);
    return read_word(state_dir, NOW) == stance
               ? 0
               : err_set(err, ETIMEDOUT, "the agent does not take %s within %d s: its log says why",
                         words[stance], WAIT_MS / 1000);
}
