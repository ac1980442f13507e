"""Virtual time: the guest whose clock moves when all wait, how its kernel is built and kept, and make demo NET=virtual, small."""

import io
import os
import re
import shutil
import tarfile

import pytest

from nets import TOP, needs_root
from test_guest_demo import Demo
from testbed.demo import demo
from testbed.guest import demo as guest_demo
from testbed.guest import guest
from testbed.guest.kernels import Missing, check
from testbed.guest.virtual import kernel
from testbed.net import system

pytestmark = needs_root
DAY = 86400
# Reads the processor's counter: rdtsc; shl rdx, 32; or rax, rdx; ret.
COUNTER = """
import ctypes, mmap, os, time
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("0f3148c1e2204809d0c3"))
counter = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
"""


@pytest.fixture
def installed():
    try:
        check("virtual", "build")
    except Missing as why:
        pytest.skip(str(why))


def boot(home, *command, timeout_s=120):
    """What the command says in a guest of its own."""
    home.mkdir(exist_ok=True)
    booted = guest.Guest("virtual", "build", [list(command)], str(home), timeout_s)
    try:
        statuses = booted.wait()
    finally:
        booted.end()
    assert statuses == [0], booted.read("output")
    return booted.read("output")


def test_a_day_passes_when_all_wait(tmp_path, installed):
    said = boot(tmp_path / "home", "sh", "-c", "date +%s; sleep {0}; date +%s".format(DAY)).split()
    assert int(said[1]) - int(said[0]) == DAY


def test_the_processors_counter_is_the_guests_time(tmp_path, installed):
    said = boot(tmp_path / "home", "/usr/bin/python3", "-c", COUNTER + "first = counter(); time.sleep(5); print(counter() - first)")
    assert 5 * 10**9 <= int(said) < 5.001 * 10**9


def test_two_boots_are_alike(tmp_path, installed):
    asks = COUNTER + "print(counter(), time.time_ns(), time.monotonic_ns(), os.urandom(8), hash('a'), id(os), open('/proc/sys/kernel/random/boot_id').read())"
    said = [boot(tmp_path / "home", "/usr/bin/python3", "-c", asks) for _ in range(2)]
    assert said[0] == said[1]


@pytest.mark.parametrize("program, words", [("sh", ["sh", "-c", "while :; do :; done"]),
                                            ("python3", ["/usr/bin/python3", "-c", "import time\nwhile time.time(): pass"])],
                         ids=["computes", "asks for the time"])
def test_who_never_waits_is_named_and_ended(tmp_path, installed, monkeypatch, program, words):
    monkeypatch.setattr(guest, "STALL_S", 8)  # a loaded machine is slow at booting
    with pytest.raises(guest.Dead, match=r"got no further for 8 s \(GUEST_STALL\): %s \(process \d+\) was running and did not let the others" % program):
        boot(tmp_path / "home", *words)


def test_the_demo_runs_in_virtual_time(installed):
    run = Demo("NET=virtual", "HOSTS=2", "SLOTS=2", "JOBS=2", "SCALE=4000", "LINK=1G", "POLICIES=joint", "NO_INSTALL=1")
    said = "\n".join(run.end())
    assert run.make.returncode == 0, said
    assert re.search(r"^joint: [1-9][0-9]* payload packets checked: .* 0 wrong, 0 unattributed", said, re.M), said
    assert "computing takes no time" in said


@pytest.mark.faults
def test_the_same_seed_gives_the_same_answer(tmp_path, installed, monkeypatch):
    """The controller's recording of two replays, byte for byte, with when each event came."""
    monkeypatch.chdir(TOP)
    monkeypatch.setenv("BUILD", "build")
    words = {"JOBS": "12", "SCALE": "50", "LINK": "1G", "POLICIES": "joint"}
    said, folder = [], tmp_path / "demo"
    for _ in range(2):
        folder.mkdir()
        assert guest_demo.boot("virtual", demo.prepare(words), words, str(folder)) == 0
        said.append((folder / "joint/log/duopoly.log").read_bytes())
        shutil.rmtree(folder)
    assert b"job_done" in said[0] and said[0] == said[1]


@pytest.mark.parametrize("words, sentence", [(["LINK=2G"], "LINK at most 1000M"), (["HOSTS=100"], "HOSTS at most 40")])
def test_wrong_words_are_one_sentence(words, sentence):
    run = Demo("NO_INSTALL=1", "NET=virtual", *words)
    said = run.end()
    assert run.make.returncode != 0
    assert len(said) == 1 and sentence in said[0], said


def test_without_its_kernel_the_demo_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    run = Demo("NO_INSTALL=1", "NET=virtual")
    said = run.end()
    assert run.make.returncode != 0
    assert len(said) == 1 and "('make deps-virtual')" in said[0], said


# ---- building ----


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A kernel's source of one file, whose makefile says what to do; the cache is a folder of the test's."""
    def make(makefile):
        with tarfile.open(tmp_path / "source.tar", "w") as tar:
            for name, text in (("Makefile", makefile), ("file", "a\n")):
                member = tarfile.TarInfo("linux/" + name)
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text.encode()))
    (tmp_path / "patch").write_text("--- a/file\n+++ b/file\n@@ -1 +1 @@\n-a\n+b\n")
    monkeypatch.setattr(kernel, "SOURCE", str(tmp_path / "source.tar"))
    monkeypatch.setattr(kernel, "PATCH", str(tmp_path / "patch"))
    monkeypatch.setattr(kernel, "package_version", lambda: "6.1.0-0")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return make


def left():
    return [name for name in os.listdir(kernel.cache()) if name != "lock"]


def test_a_kernel_is_built_once_for_what_it_is_made_of(tmp_path, source, monkeypatch):
    source("allnoconfig:\nlinux:\n\t@cp /bin/true linux; cat file >>linux\n")
    built = kernel.build()
    assert left() == [os.path.basename(built)] and os.access(built, os.X_OK)
    source("linux:\n\t@false\n")
    assert kernel.build() == built
    (tmp_path / "config").write_text("CONFIG_64BIT=y\n")
    monkeypatch.setattr(kernel, "CONFIG", str(tmp_path / "config"))
    assert kernel.path() != built


def test_a_failed_build_is_one_sentence_and_leaves_nothing(source):
    source("allnoconfig:\nlinux:\n\t@echo compiling; echo 'file.c:1: no such thing'; exit 1\n")
    with pytest.raises(system.Failure, match=r"^the kernel for virtual time could not be built \(compiling\): file.c:1: no such thing$"):
        kernel.build()
    assert left() == []


def test_too_little_disk_is_said_before(source, monkeypatch):
    source("")
    monkeypatch.setattr(kernel, "NEEDED_BYTES", 10**18)
    with pytest.raises(system.Failure, match=r"needs 1000000000.0 GB below .*, [0-9.]+ GB are free$"):
        kernel.build()
    assert left() == []
