"""Guests (tests/guest): what tests find in one, and that nothing of one stays."""

import errno
import glob
import os
import re
import signal
import subprocess

import pytest

from nets import TOP, needs_root, wait_for
from testbed.guest.kernels import NO_MOUNT
from testbed.net.system import root_is_mount

pytestmark = needs_root
FEW = "tests/net/test_guest.py::test_the_machines_files_are_there_and_read_only"


class Run:
    """tests/run-guest with a folder of its own for what it leaves."""

    def __init__(self, tmp_path, *names, kernel="uml", **settings):
        self.left, self.counts = tmp_path / "left", tmp_path / "counts"
        self.left.mkdir()
        self.process = subprocess.Popen([TOP + "/tests/run-guest", kernel, *names], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, env=dict(os.environ, TMPDIR=str(self.left), COUNTS=str(self.counts), **settings))

    def home(self):
        return next(iter(glob.glob(str(self.left / "duopoly-guest-*"))), None)

    def end(self):
        """What it printed; nothing else of it is left."""
        output, _ = self.process.communicate(timeout=120)
        assert list(self.left.iterdir()) == []
        wait_for("the end of what it started", lambda: not self.alive())
        return output

    def alive(self):
        found = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path) as file:
                    if str(self.left) in file.read():
                        found.append(path)
            except (FileNotFoundError, ProcessLookupError):
                pass
        return found


@pytest.fixture
def installed():
    if not os.path.exists("/usr/bin/linux.uml"):
        pytest.skip("no Debian package user-mode-linux ('make deps-guest')")
    if not root_is_mount():
        pytest.skip(NO_MOUNT)


@pytest.mark.guest("uml", "qemu", "virtual")
def test_the_machines_files_are_there_and_read_only(tmp_path):
    with pytest.raises(OSError) as refused:
        open("/usr/duopoly-test", "w")
    assert refused.value.errno == errno.EROFS
    with pytest.raises(OSError) as refused:
        open(os.path.join(TOP, "duopoly-test"), "w")
    assert refused.value.errno == errno.EROFS
    (tmp_path / "file").write_text("the guest's own")


def test_named_tests_are_run_and_counted(tmp_path, installed):
    run = Run(tmp_path, FEW)
    output = run.end()
    assert run.process.returncode == 0, output
    assert re.search(r"^guest uml: 1 passed, 0 failed, 0 skipped in \d+ s$", output, re.M), output
    assert run.counts.read_text() == "1 0 0\n"


def test_what_is_not_installed_is_skipped_by_name(tmp_path):
    nowhere = os.path.dirname(subprocess.run(["which", "env"], capture_output=True, text=True).stdout)
    run = Run(tmp_path, FEW, kernel="qemu", BUILD=str(tmp_path), PATH=nowhere)
    output = run.end()
    assert run.process.returncode == 0, output
    assert f"skipped in guest qemu: {FEW}: no Debian" in output
    assert run.counts.read_text() == "0 0 1\n"


def test_a_guest_that_hangs_or_dies_is_one_sentence(tmp_path, installed):
    run = Run(tmp_path, FEW, GUEST_TIMEOUT="1")
    output = run.end()
    assert run.process.returncode == 1
    assert "FAIL the guest uml did not answer within 1 s (GUEST_TIMEOUT); last line of its tests: " in output
    assert run.counts.read_text() == "0 1 0\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_stays_after_a_signal(tmp_path, installed, number):
    run = Run(tmp_path, FEW)
    wait_for("the guest's tests", lambda: run.home() and os.path.exists(run.home() + "/output"), 60)
    run.process.send_signal(number)
    run.end()
    assert run.process.returncode == 128 + number
