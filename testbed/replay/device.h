/* Devices as the replay's tasks use them (schemas/devices.md): a file for each in the host's
 * folder.
 *
 * A file has DEVICE_SHARES shares. A task that uses the device locks one, writes into it what it
 * uses, and marks it, by another lock, as written; the kernel keeps the locks for as long as the
 * task lives. What a share says counts while it is marked: so a task that has marked its own and
 * then reads the others' finds out if all together use more than there is, and of two that begin at
 * once at least one does. */
#pragma once

#include "lib/err.h"
#include "testbed/replay/input.h"

#include <stdint.h>

enum { DEVICE_SHARES = 256 };

/* What one task uses of a device. */
struct device_use {
    uint64_t attempt;
    uint64_t milli, bytes;
};

/* Takes the task's part of its device number `index` in `folder`. Several devices of a task are its
 * own each. Returns a descriptor, whose close gives it back, and *ret_use. −ENOENT: there is no
 * such device; −EOVERFLOW: all who use it use more than it has; −EBUSY: all shares are taken; else
 * −errno; with a sentence. O(DEVICE_SHARES). */
int device_take(const char *folder, const struct input *task, uint32_t index,
                struct device_use *ret_use, struct err *err);

/* Writes a line, "took" or "gave", with the present time, into that file. */
int device_uses_write(int fd, const char *what, const struct input_device *device,
                      const struct device_use *use, struct err *err);
