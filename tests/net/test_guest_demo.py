"""make demo NET=guest: the same table as without a guest, and nothing of the guest left however it
ends."""

import glob
import os
import re
import signal
import subprocess

import pytest

from nets import TOP, needs_root, wait_for
from testbed.guest.kernels import Missing, check
from testbed.net import system

pytestmark = needs_root
SMALL = ["NET=guest", "HOSTS=2", "SLOTS=2", "JOBS=2", "SCALE=4000", "POLICIES=joint", "NO_INSTALL=1"]


class Demo:
    def __init__(self, *words):
        environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        self.make = subprocess.Popen(["make", "demo", *words], cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                     start_new_session=True, env=environment)

    def pids(self, word):
        """Of the processes in its sessions' trees whose command has the word."""
        found, parents = [], {self.make.pid}
        for path in sorted(glob.glob("/proc/[0-9]*/stat"), key=lambda path: int(path.split("/")[2])):
            try:
                with open(path) as stat, open(path[:-4] + "cmdline") as command:
                    pid, parent, words = int(path.split("/")[2]), int(stat.read().rpartition(")")[2].split()[1]), command.read()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if parent in parents:
                parents.add(pid)
                if word in words:
                    found.append(pid)
        return found

    def kernels(self):
        return self.pids("linux.uml\0")

    def boot(self):
        """Its guest's processes, once there are some."""
        wait_for("the guest's kernel", self.kernels, 120)
        return [system.identify(pid) for pid in self.kernels()]

    def end(self):
        said = self.make.communicate(timeout=240)[0]
        return [line for line in said.splitlines() if not line.startswith("make")]


@pytest.fixture
def installed():
    try:
        check("uml", "build")
    except Missing as why:
        pytest.skip(str(why))


def test_the_demo_runs_in_a_guest(installed):
    demo = Demo(*SMALL)
    said = "\n".join(demo.end())
    assert demo.make.returncode == 0, said
    assert re.search(r"^joint: [1-9][0-9]* payload packets checked: .* 0 wrong, 0 unattributed", said, re.M), said
    assert "no BTF, so no nudge" in said


def test_a_guest_that_dies_is_one_sentence(installed):
    demo = Demo(*SMALL)
    guest = demo.boot()
    os.kill(guest[0][0], signal.SIGKILL)
    said = demo.end()
    assert demo.make.returncode != 0
    assert re.search(r"^demo: the guest ended after \d+ s without an answer; its last words: ", said[-1]), said
    wait_for("the guest's end", lambda: not any(map(system.is_alive, guest)))


def test_nothing_of_the_guest_outlives_a_killed_demo(installed):
    demo = Demo(*SMALL)
    guest = demo.boot()
    os.kill(demo.pids("testbed.demo.demo")[0], signal.SIGKILL)
    demo.end()
    wait_for("the guest's end", lambda: not any(map(system.is_alive, guest)))


@pytest.mark.parametrize("words, sentence", [
    (["NET=guest", "LINK=1G"], "LINK at most 100M"),
    (["NET=guest", "HOSTS=10"], "HOSTS at most 9"),
    (["NET=guest", "TRACE=/nosuch"], "cannot open the workload /nosuch"),
])
def test_wrong_words_are_one_sentence(installed, words, sentence):
    demo = Demo("NO_INSTALL=1", *words)
    said = demo.end()
    assert demo.make.returncode != 0
    assert len(said) == 1 and sentence in said[0], said
