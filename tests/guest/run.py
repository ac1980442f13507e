"""tests/run-guest KERNEL [TEST...]: boots a guest, has it run the tests, and tells what it answered."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from tests.guest import enclosure
from tests.guest.kernels import KERNELS, Missing
from tests.junit_counts import counts as junit_counts

PYTEST = ["/usr/bin/python3", "-B", "-m", "pytest", "-p", "no:cacheprovider"]
NONE_COLLECTED = 5
TIMEOUT_S = float(os.environ.get("GUEST_TIMEOUT", 480))
BUILD = os.environ.get("BUILD", "build")


class Dead(Exception):
    """The guest ended, or had to be ended, before it answered."""


def marked_units(kernel):
    """The C unit tests that say `Guests: …` with this kernel in their first comment."""
    found = []
    for name in sorted(os.listdir("tests/unit")):
        if name.endswith(".c"):
            with open(os.path.join("tests/unit", name)) as source:
                line = re.search(r"^[/ ]\* Guests: ([\w ,]+)\.", source.read(2000), re.M)
            if line and kernel in re.findall(r"\w+", line[1]):
                found.append(f"{BUILD}/tests/{name[:-2]}")
    return found


class Unknown(Exception):
    """What is to be run cannot be said."""


class Selection:
    """What is to be run: ids for pytest, and programs of unit tests. Without names: what is marked for this kernel."""

    def __init__(self, kernel, names):
        self.kernel = kernel
        self.units = [name for name in names if ".py" not in name] if names else marked_units(kernel)
        files = [name for name in names if ".py" in name] if names else ["tests/net"]
        self.ids = self.collect(files, "not faults" if names else "guest and not faults") if files else []

    def collect(self, files, marks):
        """Here, because a guest takes long to read every file."""
        listed = subprocess.run([*PYTEST, "-q", "--collect-only", "-m", marks, *files], capture_output=True, text=True,
                                env=dict(os.environ, GUEST=self.kernel))
        if listed.returncode not in (0, NONE_COLLECTED):
            raise Unknown(f"{listed.stdout}\nFAIL pytest could not collect the tests for the guest {self.kernel} (its words stand above)")
        return [line for line in listed.stdout.splitlines() if "::" in line]

    def names(self):
        return self.units + self.ids

    def commands(self, home):
        units = [["tests/run-unit", "guest " + self.kernel, *self.units]] if self.units else []
        ids = [[*PYTEST, "-v", "--tb=short", "--junit-xml=" + os.path.join(home, "junit.xml"), *self.ids]] if self.ids else []
        return units + ids


class Guest:
    """One boot; `remove` ends what is left of it."""

    def __init__(self, kernel, selection):
        self.kernel, self.began = kernel, time.monotonic()
        self.home = tempfile.mkdtemp(prefix="duopoly-guest-")
        self.told = 0
        with open(self.path("request.json"), "w") as request:
            json.dump({"build": BUILD, "run": selection.commands(self.home)}, request)
        with open(self.path("console"), "w") as console:
            # A session of its own: Ctrl-C reaches this program, which ends the guest.
            self.process = subprocess.Popen(enclosure.command(kernel, self.home), stdin=subprocess.DEVNULL, stdout=console,
                                            stderr=subprocess.STDOUT, start_new_session=True)

    def path(self, name):
        return os.path.join(self.home, name)

    def read(self, name):
        try:
            with open(self.path(name), errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def tell(self):
        """Prints what the tests have printed since the last time."""
        output = self.read("output")
        sys.stdout.write(output[self.told:])
        sys.stdout.flush()
        self.told = len(output)

    def wait(self):
        """The exit statuses of what was run."""
        while self.process.poll() is None:
            self.tell()
            if time.monotonic() > self.began + TIMEOUT_S:
                raise Dead(f"did not answer within {TIMEOUT_S:.0f} s (GUEST_TIMEOUT)")
            time.sleep(0.1)
        self.tell()
        status = self.read("status")
        if not status:
            raise Dead(f"ended after {time.monotonic() - self.began:.0f} s without an answer")
        return json.loads(status)

    def counts(self):
        """Passed, failed, skipped."""
        units = [int(n) for n in self.read("counts").split()] or [0, 0, 0]
        files = junit_counts(self.path("junit.xml")) if os.path.exists(self.path("junit.xml")) else [0, 0, 0]
        return [a + b for a, b in zip(units, files)]

    def last_words(self):
        lines = [line for line in self.read("console").splitlines() if line.strip()]
        return "\n".join("    " + line for line in lines[-12:])

    def remove(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        # What it started ends a moment after it.
        end = time.monotonic() + 10
        while os.path.exists(self.home) and time.monotonic() < end:
            shutil.rmtree(self.home, ignore_errors=True)


def report(kernel, counted, began):
    passed, failed, skipped = counted
    if os.environ.get("COUNTS"):
        with open(os.environ["COUNTS"], "a") as file:
            file.write(f"{passed} {failed} {skipped}\n")
    print(f"guest {kernel}: {passed} passed, {failed} failed, {skipped} skipped in {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


def boot(kernel, selection):
    """Runs them; returns the counts. A guest that dies is one failure."""
    guest = Guest(kernel, selection)
    try:
        statuses = guest.wait()
        counted = guest.counts()
        if any(statuses) and not counted[1]:
            raise Dead(f"could not run the tests (exit status {max(statuses)}; what they said stands above)")
        return counted
    except Dead as why:
        running = guest.read("output").strip().splitlines()[-1:] or ["none"]
        print(f"\nFAIL the guest {kernel} {why}; last line of its tests: {running[0]}; last lines of its console:\n{guest.last_words()}")
        return [0, 1, 0]
    finally:
        guest.remove()


NO_MOUNT = "the root is no mount that can be made read-only (a chroot)"


def root_is_mount():
    with open("/proc/self/mountinfo") as mounts:
        return any(line.split()[4] == "/" for line in mounts)


def outcome(kernel, names):
    """The counts of what was named."""
    try:
        selection = Selection(kernel, names)
        if not selection.names():
            raise Unknown(f"FAIL none of these tests is for the guest {kernel}: {' '.join(names)}")
        if os.geteuid() != 0:
            raise Missing("needs root")
        KERNELS[kernel].check(BUILD)
        if not root_is_mount():
            raise Missing(NO_MOUNT)
    except Unknown as why:
        print(why)
        return [0, 1, 0]
    except Missing as why:
        for name in selection.names():
            print(f"skipped in guest {kernel}: {name}: {why}")
        return [0, 0, len(selection.names())]
    return boot(kernel, selection)


def main(arguments):
    if not arguments or arguments[0] not in KERNELS:
        print(f"usage: tests/run-guest {'|'.join(KERNELS)} [file or node id of tests/net, or program of a unit test]...", file=sys.stderr)
        return 2
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))
    kernel, began = arguments[0], time.monotonic()
    return report(kernel, outcome(kernel, arguments[1:]), began)
