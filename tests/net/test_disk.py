"""What an agent reports of its host's disk, under a scripted controller: real tasks read a real
file, and a real disk hangs."""

import os
import shutil
import subprocess
import tempfile

import pytest

from nets import needs_root, wait_for
from scripted import FIRST, KILLED, STARTED, command
from scripted import site  # noqa: F401: a fixture

pytestmark = needs_root

MB = 1_000_000
# So many MiB a second, around the kernel's cache; after `MIB` of them it waits to be ended.
READS = command("""
import mmap, signal, time
buffer, n, begin = mmap.mmap(-1, 1 << 20), 0, time.monotonic()
file = os.open("PATH", os.O_RDONLY | os.O_DIRECT)
while n < MIB:
    os.preadv(file, [buffer], n % 16 << 20)
    n += 1
    time.sleep(max(0, begin + n / RATE - time.monotonic()))
signal.pause()
""")


def reads(path, mib, rate):
    return READS.replace("PATH", path).replace("MIB", str(mib)).replace("RATE", str(rate))


def has_block_device(path):
    device = os.stat(path).st_dev
    with open("/proc/diskstats") as file:
        numbers = [line.split()[:2] for line in file]
    return [str(os.major(device)), str(os.minor(device))] in numbers


@pytest.fixture
def blocks():
    """On a block device, with a file of 16 MiB that is not in the kernel's cache alone."""
    path = tempfile.mkdtemp(dir="/var/tmp", prefix="duopoly-test-")
    try:
        if not has_block_device(path):
            pytest.skip("no block device is below /var/tmp")
        os.chmod(path, 0o755)
        with open(path + "/block", "wb") as file:
            file.write(os.urandom(16 << 20))
            os.fsync(file.fileno())
        yield path
    finally:
        shutil.rmtree(path)


def begin(site, folder, **commands):
    return site.begin(units="[{slots: 8}]", commands=commands,
                      lines=["disk: 100 MB", "disk_folder: " + folder])


def shown(load):
    return load.get("disk"), load.get("disk_readers")


def said(controller):
    """What was reported of the disk last."""
    told = [load for load in controller.of("load") if "disk" in load]
    return told[-1] if told else None


def wait_said(controller, what, condition, seconds=20):
    def holds():
        last = said(controller)
        return last if last and condition(last) else None
    return wait_for("the disk: %s (last %s)" % (what, said(controller)), holds, seconds)


def test_what_profiles_ask_is_told(site, blocks):
    """For as long as a lone task reads, where nothing is seen of it; also by the next agent."""
    controller, agent = begin(site, blocks)
    wait_said(controller, "no readers", lambda d: shown(d) == (0, 0))
    controller.do("profile %d %d 1 1000000000" % (240 * MB, 80 * MB))
    controller.do(f"start {FIRST} 1 0 0 sleep")
    controller.wait_phase(FIRST, STARTED)
    wait_said(controller, "one reader", lambda d: shown(d) == (800, 1))
    wait_said(controller, "it computes", lambda d: shown(d) == (0, 0))
    controller.do("profile %d %d 0 %d" % (6400 * MB, 80 * MB, 1000 * 10**9))
    for i in (1, 2):
        controller.do(f"start {FIRST + i} 1 0 {i} sleep")
    wait_said(controller, "two read as they compute", lambda d: shown(d) == (128, 2))
    agent.kill()
    agent.start()
    site.wait_session(2)
    told = len(controller.of("load"))
    wait_for("reports of the next agent", lambda: [
        load for load in controller.of("load")[told:] if shown(load) == (128, 2)])
    controller.do(f"stop {FIRST + 1} 0")
    wait_said(controller, "one has ended", lambda d: d["disk_readers"] == 1)


def test_what_a_task_reads_is_seen(site, blocks):
    """Without a profile it counts by what it reads, for as long as it does; the disk's own counter
    shows it, too."""
    controller, _ = begin(site, blocks, reads=reads(blocks + "/block", 48, 8))
    controller.do(f"start {FIRST} 1 0 0 reads")
    controller.wait_phase(FIRST, STARTED)
    wait_said(controller, "it reads 8 MiB a second", lambda d: (
        d["disk_readers"] == 1 and 60 <= d["disk"] <= 110 and d["disk_reads"] >= 6 * MB))
    wait_said(controller, "it has read", lambda d: shown(d) == (0, 0), 30)
    controller.do(f"stop {FIRST} 0")
    got, fullest, reading_ns = controller.wait_phase(FIRST, KILLED)["read"]
    assert 48 << 20 <= got < 60 << 20 and fullest >= 7 * MB and reading_ns >= 5 * 10**9


def test_a_task_that_asks_more_corrects_its_profile(site, blocks):
    controller, _ = begin(site, blocks, reads=reads(blocks + "/block", 800, 16))
    controller.do("profile %d %d 1 1000000000" % (800 * MB, 4 * MB))
    controller.do(f"start {FIRST} 1 0 0 reads")
    wait_for("its profile", lambda: [
        load for load in controller.of("load") if shown(load) == (40, 1)])
    wait_said(controller, "what it reads", lambda d: d["disk_readers"] == 1 and d["disk"] >= 120)


@pytest.fixture
def frozen():
    """A file system in a file of another one, whose disk answers nothing while that one is frozen:
    its folder, and what freezes and thaws."""
    base = tempfile.mkdtemp(dir="/var/tmp", prefix="duopoly-test-")
    mounted = []

    def mount(image, mib, name):
        where = os.path.join(base, name)
        os.mkdir(where)
        with open(image, "wb") as file:
            file.write(bytes(mib << 20))
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        done = subprocess.run(["mount", "-o", "loop", image, where], check=False,
                              capture_output=True)
        if done.returncode:
            pytest.skip("no file system can be mounted from a file here")
        mounted.append(where)
        os.chmod(where, 0o755)
        return where

    def freeze(how):
        done = subprocess.run(["fsfreeze", how, base + "/outer"], check=False,
                              capture_output=True)
        return done.returncode == 0
    try:
        os.chmod(base, 0o755)
        outer = mount(base + "/image", 96, "outer")
        yield mount(outer + "/image", 48, "inner"), freeze
    finally:
        freeze("--unfreeze")
        for where in reversed(mounted):
            subprocess.run(["umount", "-l", where], check=True)
        shutil.rmtree(base)


def test_a_disk_that_answers_nothing_is_told(site, frozen):
    folder, freeze = frozen
    controller, agent = begin(site, folder)
    wait_said(controller, "it answers", lambda d: not d["disk_hangs"])
    if not freeze("--freeze"):
        pytest.skip("no file system can be frozen here")
    asks = subprocess.Popen(["dd", "if=/dev/zero", f"of={folder}/file", "bs=4096", "count=1",
                             "oflag=direct"], stderr=subprocess.DEVNULL)
    try:
        wait_said(controller, "it hangs", lambda d: d["disk_hangs"], 30)
        assert asks.poll() is None
    finally:
        freeze("--unfreeze")
    wait_said(controller, "it answers again", lambda d: not d["disk_hangs"])
    assert asks.wait(20) == 0
    with open(agent.log) as file:
        log = file.read()
    assert f"the disk below {folder} has answered nothing for 5 s" in log
    assert f"the disk below {folder} answers again" in log


@pytest.mark.parametrize("lines,words", [
    (["disk: 100 MB", "disk_folder: blocks"],
     "'blocks' is no absolute path: it begins with /"),
    (["disk_folder: /var/tmp"], "disk_folder is of use with the disk's rate: say it, too"),
    (["disk: 0 MB"], "a disk of rate 0 reads nothing")])
def test_bad_configurations_get_one_sentence(site, tmp_path, lines, words):
    _, agent = site.begin()
    agent.terminate()
    with open(agent.config) as file:
        right = file.read()
    with open(agent.config, "w") as file:
        file.write(right + "\n".join(lines) + "\n")
    start = agent.host.popen(os.path.join(agent.rights.programs, "duopoly-agent"), "--config",
                             agent.config, stderr=subprocess.PIPE, text=True)
    error = start.communicate(timeout=20)[1]
    assert start.returncode == 1 and error.count("\n") == 1 and words in error, error
    with open(agent.config, "w") as file:
        file.write(right)


@pytest.mark.parametrize("folder,words", [
    ("/proc", "no block device is below /proc"),
    ("/no/such", "looking for the disk of /no/such: No such file or directory")])
def test_a_folder_without_a_block_device_is_told(site, folder, words):
    """What is asked is told all the same."""
    controller, agent = begin(site, folder)
    with open(agent.log) as file:
        assert "nor whether it hangs: " + words in file.read()
    wait_said(controller, "a report", lambda d: (d["disk"], d["disk_reads"]) == (0, 0))
