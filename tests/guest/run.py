"""tests/run-guest KERNEL [TEST...]: boots a guest, has it run the tests, and tells what it answered."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from testbed.guest import guest
from testbed.guest.guest import Dead
from testbed.guest.kernels import KERNELS, Missing, check
from tests.junit import Report, tell

PYTEST = ["/usr/bin/python3", "-B", "-m", "pytest", "-p", "no:cacheprovider"]
NONE_COLLECTED = 5
TIMEOUT_S = float(os.environ.get("GUEST_TIMEOUT", 480))
BUILD = os.environ.get("BUILD", "build")


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
        files = [name for name in names if ".py" in name and "::" not in name] if names else ["tests/net"]
        self.ids = self.collect(files, "not faults" if names else "guest and not faults")
        self.ids += self.collect([name for name in names if "::" in name], "")

    def collect(self, files, marks):
        """Here, because a guest takes long to read every file. Without files: none."""
        if not files:
            return []
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


class Guest(guest.Guest):
    """One that runs a selection of tests, in a folder of its own; `remove` ends what is left of it."""

    def __init__(self, kernel, selection):
        home = tempfile.mkdtemp(prefix="duopoly-guest-")
        super().__init__(kernel, BUILD, selection.commands(home), home, TIMEOUT_S)

    def tally(self):
        """Passed, failed and skipped; why, once for each that was skipped; the ids of those of tests/net that failed; what each of these took."""
        units = [int(n) for n in self.read("counts").split()] or [0, 0, 0]
        whys = self.read("counts.skips").splitlines()
        if not os.path.exists(self.path("junit.xml")):
            return units, whys, [], {}
        files = Report(self.path("junit.xml"))
        return [a + b for a, b in zip(units, files.counts())], whys + files.skips(), files.failed(), files.times()

    def last_words(self):
        return "\n".join("    " + line for line in self.console())

    def remove(self):
        self.end()
        # What it started ends a moment after it.
        end = time.monotonic() + 10
        while os.path.exists(self.home) and time.monotonic() < end:
            shutil.rmtree(self.home, ignore_errors=True)


def report(kernel, tally, began):
    passed, failed, skipped = tally[0]
    tell(*tally, kernel=kernel)
    print(f"guest {kernel}: {passed} passed, {failed} failed, {skipped} skipped in {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


def boot(kernel, selection):
    """Runs them; returns the tally. A guest that dies is one failure."""
    one = Guest(kernel, selection)
    try:
        statuses = one.wait()
        tally = one.tally()
        if any(statuses) and not tally[0][1]:
            raise Dead(f"could not run the tests (exit status {max(statuses)}; what they said stands above)")
        return tally
    except Dead as why:
        running = one.read("output").strip().splitlines()[-1:] or ["none"]
        print(f"\nFAIL the guest {kernel} {why}; last line of its tests: {running[0]}; last lines of its console:\n{one.last_words()}")
        return [0, 1, 0], [], [], {}
    finally:
        one.remove()


def outcome(kernel, names):
    """The tally of what was named."""
    try:
        selection = Selection(kernel, names)
        if not selection.names():
            raise Unknown(f"FAIL none of these tests is for the guest {kernel}: {' '.join(names)}")
        check(kernel, BUILD)
    except Unknown as why:
        print(why)
        return [0, 1, 0], [], [], {}
    except Missing as why:
        for name in selection.names():
            print(f"skipped in guest {kernel}: {name}: {why}")
        return [0, 0, len(selection.names())], [str(why)] * len(selection.names()), [], {}
    return boot(kernel, selection)


def main(arguments):
    if not arguments or arguments[0] not in KERNELS:
        print(f"usage: tests/run-guest {'|'.join(KERNELS)} [file or node id of tests/net, or program of a unit test]...", file=sys.stderr)
        return 2
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))
    kernel, began = arguments[0], time.monotonic()
    return report(kernel, outcome(kernel, arguments[1:]), began)
