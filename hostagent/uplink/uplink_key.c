/* The agent's key file: read at the start, watched for a new one in its place, and told the
 * controller's next key. */
#include "hostagent/uplink/uplink_session.h"
#include "lib/log.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>

static int key_read(const struct uplink *uplink, struct key_file *ret_key, struct err *err)
{
    return key_file_read_of(uplink->config.key_path, ROLE_AGENT, uplink->config.hello.name, ret_key,
                            err);
}

/* Somebody put another file in its place. */
static void key_take(struct uplink *uplink)
{
    struct key_file key;
    struct err err;
    if (key_read(uplink, &key, &err) < 0) {
        log_error(LOG_FAULT_CONFIGURATION, "the key stays as it was: %s", err.text);
        return;
    }
    bool is_new = memcmp(&key.pair, &uplink->key.pair, sizeof(key.pair)) != 0;
    uplink->key = key;
    key_file_wipe(&key);
    wire_zmq_set_keys(uplink->endpoint, &uplink->key);
    if (!is_new)
        return;
    log_note("a new key of %s is shown from now on", uplink->key.name);
    uplink_connect_anew(uplink, "another key is to be shown");
}

static int on_change(sd_event_source *source, const struct inotify_event *event, void *user)
{
    struct uplink *uplink = user;
    char path[PATH_MAX];
    (void)source;
    snprintf(path, sizeof(path), "%s", uplink->config.key_path);
    if (event->len && strcmp(event->name, basename(path)) == 0)
        key_take(uplink);
    return 0;
}

int uplink_key_open(struct uplink *uplink, sd_event *event, struct err *err)
{
    char path[PATH_MAX];
    if (!*uplink->config.key_path)
        return 0;
    int r = key_read(uplink, &uplink->key, err);
    if (r < 0)
        return r;
    snprintf(path, sizeof(path), "%s", uplink->config.key_path);
    r = sd_event_add_inotify(event, &uplink->key_watch, dirname(path), IN_MOVED_TO | IN_CLOSE_WRITE,
                             on_change, uplink);
    return r < 0 ? err_sys(err, -r, "%s cannot be watched", uplink->config.key_path) : 0;
}

void uplink_key_learn(struct uplink *uplink, const duopoly_ControllerKeys *keys)
{
    struct err err = {0};
    if (!*uplink->key.name)
        return;
    int r = key_file_learn(uplink->config.key_path, &uplink->key, keys, &err);
    wire_zmq_set_keys(uplink->endpoint, &uplink->key);
    if (r < 0)
        log_error(LOG_FAULT_US, "the controller's next key is known until this program ends: %s",
                  err.text);
}

void uplink_key_close(struct uplink *uplink)
{
    sd_event_source_disable_unref(uplink->key_watch);
    key_file_wipe(&uplink->key);
}
