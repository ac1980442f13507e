"""One boot of a guest: its commands, its output, its end.

The folder `home` is all that the guest can write to, and the way both sides communicate:
request.json goes in; output, status and what the commands leave come out; `console` has its
kernel's output. Nothing of the guest outlives this process, even if that is killed."""

import json
import os
import subprocess
import sys
import time

from testbed.guest import enclosure, progress
from testbed.net import system

STALL_S = float(os.environ.get("GUEST_STALL", 60))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Dead(Exception):
    """The guest ended, or had to be ended, before it answered."""


class Guest:
    """commands: argument vectors that it runs one after the other, in the project's folder, as
    root; build: the folder of the programs, relative to that; timeout_s, 0 for none: the whole life
    of the guest."""

    def __init__(self, kernel, build, commands, home, timeout_s=0):
        self.kernel, self.home, self.timeout_s = kernel, home, timeout_s
        self.began = time.monotonic()
        self.told, self.progress = 0, progress.Progress(self.path("progress"))
        for name in ("output", "status", "progress"):
            if os.path.exists(self.path(name)):
                os.unlink(self.path(name))
        with open(self.path("request.json"), "w") as request:
            json.dump({"build": build, "run": commands}, request)
        with open(self.path("console"), "w") as console:
            # A session of its own: Ctrl-C reaches this program, which ends the guest.
            self.process = subprocess.Popen(enclosure.command(kernel, home),
                                            stdin=subprocess.DEVNULL, stdout=console,
                                            stderr=subprocess.STDOUT, start_new_session=True,
                                            cwd=TREE)

    def path(self, name):
        return os.path.join(self.home, name)

    def read(self, name):
        try:
            with open(self.path(name), errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def tell(self):
        """Prints what the commands have printed since the last time."""
        output = self.read("output")
        sys.stdout.write(output[self.told:])
        sys.stdout.flush()
        self.told = len(output)

    def wait(self):
        """The exit statuses of what was run."""
        while self.process.poll() is None:
            self.tell()
            self.check()
            time.sleep(0.1)
        self.tell()
        status = self.read("status")
        if not status:
            raise Dead(f"ended after {time.monotonic() - self.began:.0f} s without an answer")
        return json.loads(status)

    def check(self):
        """Dead when it takes too long, or in virtual time one program stops all others for too
        long."""
        if self.timeout_s and time.monotonic() > self.began + self.timeout_s:
            raise Dead(f"did not answer within {self.timeout_s:.0f} s (GUEST_TIMEOUT)")
        running = self.progress.stalled(STALL_S)
        if running:
            raise Dead(f"got no further for {STALL_S:.0f} s (GUEST_STALL): "
                       f"{system.printable(running)} was running and did not let the others")

    def console(self):
        """The last lines of its kernel's output."""
        return [line for line in self.read("console").splitlines() if line.strip()][-12:]

    def end(self):
        """Returns when the process that holds it is gone; what that started ends with it."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
