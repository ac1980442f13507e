/* Which of the host's devices are there, as their drivers find them, again and again.
 *
 * Drivers ask libraries that may hang for minutes, or crash, when a device fails. So they run in a
 * process of their own, which is forked at device_watch_open, looks every DEVICE_WATCH_MS, and ends
 * with the agent; the agent never waits for it but at its start. Without a word for
 * DEVICE_WATCH_SILENT_MS, or when that process has ended, nobody knows any more which of them are
 * there. It is not started again: an agent that is not root cannot (hostagent/confinement.h).
 * Devices that nobody looks at are there. One thread; handlers are called from the event loop. */
#pragma once

#include "hostagent/devices/device.h"
#include "hostagent/devices/device_driver.h"
#include "lib/err.h"

#include <stdbool.h>
#include <systemd/sd-event.h>

#define DEVICE_WATCH_MS        1000
#define DEVICE_WATCH_SILENT_MS 10000
#define DEVICE_WATCH_FIRST_MS  5000 /* the longest that device_watch_open waits for a look */

struct device_watch_config {
    const struct device *devices; /* borrowed until device_watch_close */
    uint32_t devices_n;
    void (*on_change)(void *user); /* what is found is another than before */
    void *user;
};

struct device_watch;

/* Looks once; then `event` looks on, unless it is NULL. Call it before there are other threads. */
int device_watch_open(const struct device_watch_config *config, sd_event *event,
                      struct device_watch **ret_devices, struct err *err);
void device_watch_close(struct device_watch *devices); /* takes NULL */

/* As last found, by index. */
const struct device_look *device_watch_looks(const struct device_watch *devices);

/* What follows of it for units and attempts. */
void device_watch_judge(const struct device_watch *devices, struct devices_state *ret_state);
