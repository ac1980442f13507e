"""The progress of a guest in virtual time (testbed/guest/virtual/kernel.patch), and whether it
still makes any.

There the clock moves when all processes wait. A program that never does, because it computes or
asks for the time again and again, stops all others, and nothing inside could end it."""

import struct
import time

# ns since boot, how often all processes waited, the last one that ran: number and name
RECORD = struct.Struct("=QQQ16s")


class Progress:
    """path: the file, which may come later."""

    def __init__(self, path):
        self.path, self.waits, self.changed = path, None, time.monotonic()

    def read(self):
        """(ns, waits, pid, name); None before there is one."""
        try:
            with open(self.path, "rb") as file:
                found = file.read(RECORD.size)
        except FileNotFoundError:
            return None
        if len(found) < RECORD.size:
            return None
        ns, waits, pid, name = RECORD.unpack(found)
        return ns, waits, pid, name.rstrip(b"\0").decode(errors="replace")

    def stalled(self, seconds):
        """The running program, if it has not let the others run for that long; None otherwise."""
        found = self.read()
        if not found:
            return None
        if found[1] != self.waits:
            self.waits, self.changed = found[1], time.monotonic()
        if time.monotonic() < self.changed + seconds:
            return None
        return "%s (process %d)" % (found[3], found[2])
