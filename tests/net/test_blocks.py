"""Disks of the testbed's hosts: what limits them, what is said of what was read, and the loads that
are made for them."""

import json
import os
import pwd
import struct

import pytest

from testbed.demo import blocks
from testbed.net import disks, system, unlike
from testbed.workloads import hdas

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
CLUSTER = "testbed/clusters/hdas.yaml"
RATES = {"h0": 4_000_000, "h1": 2_000_000}


class Instance:
    """Its cgroups are plain folders."""

    def __init__(self, folder):
        self.state = {"cgroup": str(folder / "unified/duopoly-testbed-7")}
        self.folder, self.added = folder, []

    def path(self, *parts):
        return str(self.folder.joinpath("home", *parts))

    def add_cgroup(self, top):
        self.added.append(top)


@pytest.fixture
def instance(tmp_path, monkeypatch):
    """Hierarchies that the test makes, over a disk 8:16."""
    monkeypatch.setattr(disks, "MOUNTS", str(tmp_path / "mounts"))
    monkeypatch.setattr(disks, "device_of", lambda folder: "8:16")
    monkeypatch.setattr(disks, "BYTES", 2 << 20)
    (tmp_path / "mounts").write_text("cgroup2 %s/unified cgroup2 rw 0 0\n" % tmp_path)
    os.makedirs(tmp_path / "unified/duopoly-testbed-7")
    (tmp_path / "unified/duopoly-testbed-7/cgroup.controllers").write_text("")
    return Instance(tmp_path)


def make(instance, asked=None):
    made = disks.Disks(instance, RATES, asked)
    made.make(instance.path("run"), pwd.getpwuid(os.getuid()))
    return made


# ---- what limits them ----

def test_without_a_controller_tasks_share_a_meter(instance):
    made = make(instance)
    words = made.words("h1")
    assert words == ["--blocks", instance.path("blocks/h1"),
                     "--meter", instance.path("run/meters/h1")]
    with open(words[3], "rb") as meter, open(words[1], "rb") as file:
        assert struct.unpack("=QQ", meter.read()) == (2_000_000, 0)
        content = file.read()
    assert len(content) == 2 << 20 and content.count(0) < len(content) / 128, "it has no holes"
    assert made.counted() == {} and made.enter("h1") == []
    assert made.words("w1") == made.enter("w1") == []
    assert made.describe() == "2, each limited to 2 to 4 MB/s by a meter that its tasks share"


def test_version_1_limits_by_a_hierarchy_of_its_own(instance, tmp_path):
    with open(tmp_path / "mounts", "a") as mounts:
        mounts.write("cgroup %s/both cgroup rw,cpu,blkio 0 0\n" % tmp_path)
    top = tmp_path / "both/duopoly-testbed-7"
    for host in RATES:
        os.makedirs(top / host)
        (top / host / "blkio.throttle.io_service_bytes").write_text(
            "8:0 Read 9\n8:16 Read 70\n8:16 Write 5\nTotal 84\n")
    made = make(instance, "blkio")
    assert instance.added == [str(top)]
    assert (top / "h0/blkio.throttle.read_bps_device").read_text() == "8:16 4000000"
    (top / "h0/blkio.throttle.io_service_bytes").write_text("8:16 Read 100\n8:16 Write 5\n")
    assert made.counted() == {"h0": 30, "h1": 0}
    assert made.words("h0") == ["--blocks", instance.path("blocks/h0")]
    system.run(*made.enter("h1"), "true", "one")
    assert int((top / "h1/cgroup.procs").read_text()) > 0 and not (top / "h0/cgroup.procs").exists()


def test_version_2_limits_where_it_is_on(instance, tmp_path):
    top = tmp_path / "unified/duopoly-testbed-7"
    (top / "cgroup.controllers").write_text("cpuset io memory\n")
    for host in RATES:
        os.makedirs(top / host)
        (top / host / "io.stat").write_text(
            "8:0 rbytes=9 wbytes=1\n8:16 rbytes=70 wbytes=5 rios=1\n")
    made = make(instance)
    assert "cgroup v2" in made.describe() and (top / "cgroup.subtree_control").read_text() == "+io"
    assert (top / "h1/io.max").read_text() == "8:16 rbps=2000000"
    (top / "h1/io.stat").write_text("8:16 rbytes=75 wbytes=5\n")
    assert made.counted() == {"h0": 0, "h1": 5} and made.enter("h1") == []


@pytest.mark.parametrize("asked,words", [
    ("blkio", "no cgroup v1 has blkio"), ("io", "no io controller is on for our cgroups")])
def test_one_that_was_asked_for_works_or_says_why_not(instance, asked, words):
    with pytest.raises(system.Failure, match="^DISKS=%s does not work here: %s$" % (asked, words)):
        make(instance, asked)


def test_a_folder_without_a_block_device():
    with pytest.raises(OSError) as failure:
        disks.device_of("/proc")
    assert failure.value.strerror == "no block device is below /proc"


# ---- what is said of them ----

def run(label, makespan, *simulated):
    return {"label": label, "makespan": makespan, "disks": True,
            "simulated": {"makespans": simulated}}


def test_what_tasks_wrote_down_is_added_up(tmp_path):
    for name, line in (("1-0-0-1", "read 4000000 4000000 direct\n"),
                       ("1-0-1-2", "read 2000000 2004096 direct\n"), ("2-0-0-3", "read 1")):
        (tmp_path / name).write_text(line)
    found = blocks.read(tmp_path)
    assert found == (2, 6_000_000, 6_004_096, 0) and not blocks.short(found)
    said, = blocks.lines(found, "D", {"h0": 5_000_000, "h1": 1_500_000}, 2)
    assert said == ("disks: D; 2 tasks read 6.0 MB, around the cache (O_DIRECT); "
                    "the kernel counted 6.0 MB of their processes; "
                    "6.5 MB of all that hosts run, 2.50 MB/s of h0, the most")
    (tmp_path / "3-0-0-4").write_text("read 3000000 1000000 dropped\n")
    said = blocks.lines(blocks.read(tmp_path), "D", {}, 2)
    assert "after they were dropped from the cache" in said[0]
    assert said[1] == "2.0 of the 9.0 MB that tasks read did not come from the disk."
    (tmp_path / "4-0-0-5").write_text("read 3000000 - direct\n")
    assert blocks.read(tmp_path).counted is None and not blocks.short(blocks.read(tmp_path))
    assert blocks.read(tmp_path / "none") == (0, 0, 0, 0)


def test_run_times_stand_beside_the_simulators():
    runs = [run("fifo", 10.5, 10), run("drf", 8, 7.5, 9, 7.5), run("affinity", 6, 6.1)]
    assert blocks.verdict(runs) == [
        "Run times: affinity 6.0 s (simulated 6.1 s: -1.6 %), "
        "drf 8.0 s (simulated 8.0 s, 7.5 to 9.0 s: +0.0 %), "
        "fifo 10.5 s (simulated 10.0 s: +5.0 %); the simulator's order."]
    runs[0]["simulated"]["makespans"] = (7,)
    assert blocks.verdict(runs)[0].endswith("; simulated: affinity, fifo, drf.")
    assert not blocks.verdict([*runs, {"label": "joint", "disks": False}])


# ---- the loads ----

def test_the_loads_are_made_of_a_set_that_is_kept():
    of = hdas.values()
    for mix in hdas.MIXES:
        with open(hdas.path_of(mix)) as made:
            text = made.read()
        assert hdas.make(mix, of) == text, "python3 -B -m testbed.workloads.hdas makes it"
        head, gate, *jobs = map(json.loads, text.splitlines())
        assert head["scale"] == hdas.BYTES and gate["name"] == "gate"
        assert [job["name"] for job in jobs] == list(hdas.hdas_sets.MIXES[mix])
        for stage in (job["stages"][0] for job in jobs):
            cpu, = stage["variants"]
            assert (stage["command"], cpu["command"]) == ("map-gpu", "map")
            sizes = [way["profile"]["read_bytes"] for way in (stage, cpu)]
            assert stage["profile"]["reads"] == "before" and sizes[0] == sizes[1]
            assert sizes[0] > 0 == sizes[0] % hdas.UNIT


def test_the_cluster_is_the_sources_at_the_same_scale():
    hosts = unlike.read(BUILD, CLUSTER)
    assert [host.name for host in hosts] == ["h%d" % n for n in range(6)]
    for host in hosts:
        unit, = host.units
        assert host.disk_bytes_s == hdas.disk_bytes_s()
        assert (unit["slots"], len(unit["devices"])) == (6, 4)
