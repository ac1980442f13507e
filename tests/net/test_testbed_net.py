"""The testbed's networks: made, used, and gone without a trace, also when their owner was
killed."""

import importlib.util
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from testbed.net import instance as instances
from testbed.net import kernel, mininets, networks, star, system

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")


def traces(number):
    """All that an instance may leave outside its namespaces. Another checkout's may have its number
    by now."""
    with instances.locked():
        present = instances.read(number)
        return [] if present is not None and present["tree"] != TREE else _found(number)


def _found(number):
    found = [name for name in os.listdir(instances.NETNS) if name.startswith("dtb%d-" % number)] \
        if os.path.isdir(instances.NETNS) else []
    for path in (os.path.join(instances.HOME, str(number)),
                 os.path.join(instances.cgroup2(), "duopoly-testbed-%d" % number)):
        if os.path.exists(path):
            found.append(path)
    return found


@pytest.fixture
def instance():
    made = instances.create(TREE)
    yield made
    made.down()
    assert traces(made.number) == []


def test_a_link_has_its_rate_and_tcp_is_cubic_with_ecn(instance):
    net = star.Star(instance, 2, 50_000_000)
    net.up()
    read = ["cat", "/proc/sys/net/ipv4/tcp_congestion_control", "/proc/sys/net/ipv4/tcp_ecn"]
    assert system.run(*net.enter("w1", *read)).split() == ["cubic", "1"]
    sink = net.start("w2", [sys.executable, "-c", (
        "import socket\n"
        "s = socket.create_server(('', 7001))\n"
        "c = s.accept()[0]\n"
        "while c.recv(1 << 16): pass\n")], instance.path("sink.log"))
    size = 5_000_000
    took = float(system.run(*net.enter("w1", sys.executable, "-c", (
        "import socket, time\n"
        "for i in range(200):\n"
        "    try:\n"
        "        c = socket.create_connection(('10.77.0.2', 7001)); break\n"
        "    except OSError: time.sleep(0.02)\n"
        "t = time.monotonic()\n"
        "c.sendall(b'x' * %d)\n"
        "c.shutdown(socket.SHUT_WR)\n"
        "c.recv(1)\n"
        "print(time.monotonic() - t)\n" % size))))
    sink.wait(5)
    rate = size * 8 / took
    assert 0.80 * 50e6 < rate < 1.02 * 50e6, "%.1f Mb/s" % (rate / 1e6)
    assert net.uplink_bytes()["w1"] > size


def build(kind, one, hosts=6, bps=50_000_000):
    """A network of the table, as it is where nothing else is said."""
    if kind[0] == "mininet" and not (importlib.util.find_spec("mininet") and shutil.which("brctl")):
        pytest.skip("mininet or bridge-utils is not installed")
    if kind[0] == "mininet" and not system.root_is_mount():
        pytest.skip(mininets.NO_MOUNT)
    if kind[0] == "dpdk" and not os.path.exists(os.path.join(TREE, os.environ.get("BUILD") or "build", "duopoly-fastpath")):
        pytest.skip("duopoly-fastpath is not built: DPDK is missing (make deps-dpdk)")
    return networks.NETWORKS[kind](one, hosts, bps, **{word.lower(): bounds[0] for word, bounds in networks.NETWORKS[kind].VARIABLES.items()})


def reach(net, one, other):
    """Sends 64 datagrams of 1000 bytes, each from another port; the hops that they took, by their
    time to live."""
    sink = subprocess.Popen(net.enter(other, sys.executable, "-c", (
        "import socket, struct\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "s.setsockopt(socket.IPPROTO_IP, 12, 1)  # IP_RECVTTL\n"
        "s.bind(('', 7001)); s.settimeout(10)\n"
        "print('ready', flush=True)\n"
        "print(*{struct.unpack('i', s.recvmsg(2000, 64)[1][0][2])[0] for i in range(64)})\n")), stdout=subprocess.PIPE, text=True)
    assert sink.stdout.readline() == "ready\n"
    system.run(*net.enter(one, sys.executable, "-c", (
        "import socket\n"
        "for port in range(64):\n"
        "    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "    s.bind(('', 20000 + port)); s.sendto(b'x' * 1000, (%r, 7001))\n" % net.addresses[other])))
    return [64 - int(word) for word in sink.communicate(timeout=20)[0].split()]


@pytest.mark.parametrize("kind", networks.NETWORKS, ids="-".join)
def test_every_network_joins_its_members(instance, kind):
    net = build(kind, instance)
    net.up()
    names, reached = [*net.hosts, "c", *net.switches], net.hosts[1:]
    if kind[0] in ("netns", "dpdk"):
        assert sorted(instance.state["namespaces"]) == sorted(instance.namespace(name) for name in names)
        reached = names[1:]
    assert sorted(net.addresses) == sorted(names)
    for name in reached:
        assert reach(net, "w1", name)
    for name in net.hosts:
        switch, port = net.behind(name)
        assert port in net.switches[switch].ports() and (switch, port) in net.taps()
    said = {name: system.run(*net.enter(name, "tc", "qdisc", "show")) for name in net.switches}
    for name, switch in net.switches.items():
        assert all("dev %s root" % port in said[name] for port in switch.ports())
    sent = net.uplink_bytes()
    assert sorted(sent) == sorted(net.hosts) and sent["w1"] > len(reached) * 64_000


def test_leaves_and_spines_route_over_every_spine(instance):
    net = build(("netns", "leafspine"), instance)
    net.up()
    assert net.switches["l1"].core == {"p1": 12_500_000, "p2": 12_500_000}, "2 × 50 Mb/s ÷ 4, over two spines"
    assert (net.racks["w2"], net.racks["w3"], net.racks["w6"]) == ("rack1", "rack2", "rack3")
    assert reach(net, "w1", "w2") == [1], "the leaf alone"
    assert reach(net, "w1", "w6") == [3], "leaf, spine, leaf"
    lines = system.run(*net.enter("l1", "cat", "/proc/net/dev")).splitlines()
    sent = {line.split(":")[0].strip(): int(line.split(":")[1].split()[8]) for line in lines if ":" in line}
    assert sent["p1"] > 5_000 and sent["p2"] > 5_000, "each way has some of 64 flows"


@pytest.mark.parametrize("moments", [4, pytest.param(50, marks=pytest.mark.faults)])
@pytest.mark.parametrize("kind", networks.NETWORKS, ids="-".join)
def test_a_network_whose_owner_is_killed_at_any_moment_is_gone_with_the_next_start(kind, moments):
    build(kind, None)
    seed = random.randrange(10**6)
    draw = random.Random(seed)
    print("seed %d" % seed)
    code = ("import sys, time\n"
            "sys.path.insert(0, 'tests/net')\n"
            "from testbed.net import instance\n"
            "from test_testbed_net import build\n"
            "one = instance.create(instance.TREE)\n"
            "print(one.number, flush=True)\n"
            "build(%r, one).up()\n"
            "print('up', flush=True)\n"
            "time.sleep(1000)\n" % (kind,))
    took = None
    for _ in range(1 + moments):
        child = subprocess.Popen([sys.executable, "-B", "-c", code], cwd=TREE, stdout=subprocess.PIPE, text=True)
        number, began = int(child.stdout.readline()), time.monotonic()
        if took is None:  # the first one measures
            assert child.stdout.readline() == "up\n"
            took = time.monotonic() - began
        else:
            time.sleep(draw.uniform(0, took))
        child.kill()
        child.wait()
        instances.end_abandoned()
        assert traces(number) == [], "seed %d" % seed


def test_two_stand_beside_each_other(instance):
    other = instances.create(TREE)
    try:
        for one in (instance, other):
            star.Star(one, 2, 10_000_000).up()
        assert instance.number != other.number
    finally:
        other.down()
    assert traces(other.number) == []
    assert len(traces(instance.number)) == 4 + 2  # namespaces, folder, cgroup


def test_another_roots_testbed_is_left_alone(instance):
    """In a chroot there is another HOME, but the same cgroups: a number whose cgroup stands is
    somebody's."""
    number = next(n for n in range(instances.INSTANCES_MAX) if instances.is_free(n) and instances.took_cgroup(n))
    theirs = instances.cgroup_of(number)
    try:
        ours = instances.create(TREE)
        try:
            assert ours.state["cgroup"] != theirs
        finally:
            ours.down()
        assert os.path.isdir(theirs)
    finally:
        os.rmdir(theirs)


def test_processes_in_namespaces_and_cgroups_end_with_it():
    one = instances.create(TREE)
    try:
        net = star.Star(one, 1, 10_000_000)
        net.up()
        net.start("w1", ["sleep", "1000"], one.path("log"))
        # One that nobody wrote down, as a task of a killed agent.
        stray = subprocess.Popen(net.enter("w1", "sleep", "1000"))
        group = os.path.join(one.state["cgroup"], "a", "b")
        os.makedirs(group)
        member = subprocess.Popen(["sleep", "1000"])
        with open(os.path.join(group, "cgroup.procs"), "w") as procs:
            procs.write(str(member.pid))
    finally:
        one.down()
    assert traces(one.number) == []
    assert system.start_time(stray.pid) is None and system.start_time(member.pid) is None


@pytest.mark.parametrize("watched", [True, False], ids=["at-once", "by-the-next-start"])
def test_what_a_killed_owner_left_is_ended(watched):
    """By its watcher; by the next start where that was killed too."""
    code = ("import time\n"
            "from testbed.net import instance, star\n"
            "one = instance.create(instance.TREE)\n"
            "star.Star(one, 2, 10_000_000).up()\n"
            "print(one.number, flush=True)\n"
            "time.sleep(1000)\n")
    child = subprocess.Popen([sys.executable, "-c", code], cwd=TREE, stdout=subprocess.PIPE, text=True)
    number = int(child.stdout.readline())
    assert len(traces(number)) == 4 + 2
    if not watched:
        os.kill(instances.read(number)["watcher"][0], signal.SIGKILL)
    child.send_signal(signal.SIGKILL)
    child.wait()
    if watched:
        system.wait_for(lambda: not traces(number), 30, "the end of the testbed")
    else:
        instances.end_abandoned()
        assert traces(number) == []


def test_a_watcher_ends_with_its_testbed():
    one = instances.create(TREE)
    watcher = one.state["watcher"]
    assert system.is_alive(watcher)
    one.down()
    assert not system.is_alive(watcher)


def test_what_it_borrows_is_written_again_after_others(tmp_path, monkeypatch):
    """Also where what stood there was kept before: by a start that was cut short, or before
    somebody else wrote it."""
    setting = tmp_path / "controls"
    monkeypatch.setattr(kernel, "WANTED", {"controls": (str(setting), kernel.with_cubic)})
    for _ in range(2):
        setting.write_text("reno")
        kernel.borrow(str(tmp_path))
        assert setting.read_text() == "reno cubic"
    kernel.give_back(str(tmp_path))
    assert setting.read_text() == "reno"


def test_a_setting_is_written_where_only_an_ancestor_may(tmp_path, monkeypatch):
    """Process 1 may be closed to us, as in a container: nsenter fails for it then."""
    setting = tmp_path / "folder" / "controls"  # which cannot be opened before "nsenter" makes it
    program = tmp_path / "nsenter"
    program.write_text("#!/bin/sh\n[ \"$1\" = --net=/proc/%d/ns/net ] && mkdir -p %s && shift && exec \"$@\"\n" %
                       (system.parent(os.getppid()), setting.parent))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    kernel.write(str(setting), "reno cubic")
    assert setting.read_text() == "reno cubic"


def test_a_setting_that_nobody_may_write_is_a_sentence(tmp_path):
    with pytest.raises(system.Failure, match="cannot write \"reno\" to .*: write it there outside of this container"):
        kernel.write(str(tmp_path / "folder" / "controls"), "reno")


def test_a_late_teardown_leaves_the_next_instance_alone():
    first = instances.create(TREE)
    late = instances.Instance(first.number, dict(first.state))
    first.down()
    second = instances.create(TREE)
    try:
        star.Star(second, 1, 10_000_000).up()
        if second.number != late.number:
            pytest.skip("another testbed took the number")
        late.down()
        assert len(traces(second.number)) == 3 + 2
    finally:
        second.down()


def test_the_owner_ends_when_its_parent_is_killed():
    code = ("import time\n"
            "from testbed.net import instance, star, system\n"
            "system.end_with_parent()\n"
            "system.stop_signals_raise()\n"
            "one = instance.create(instance.TREE)\n"
            "try:\n"
            "    star.Star(one, 1, 10_000_000).up()\n"
            "    print(one.number, flush=True)\n"
            "    time.sleep(1000)\n"
            "finally:\n"
            "    one.down()\n")
    parent = subprocess.Popen([sys.executable, "-c", "import subprocess, sys\nsubprocess.run([sys.executable, '-c', %r])" % code],
                              cwd=TREE, stdout=subprocess.PIPE, text=True)
    number = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    system.wait_for(lambda: not traces(number), 10, "the end of the testbed")


@pytest.mark.parametrize("name", ["controls", "hysteresis"])
def test_the_last_puts_back_what_the_first_changed_in_the_kernel(instance, name):
    path, wanted = kernel.WANTED[name]
    if len(instances.instances()) > 1 or os.path.exists(os.path.join(instances.HOME, "was-" + name)):
        pytest.skip("another testbed stands on this machine")
    if not os.path.exists(path) or wanted(kernel.read(path)) == kernel.read(path):
        pytest.skip("this machine's kernel has no %s, or has it as wanted" % path)
    before = kernel.read(path)
    star.Star(instance, 1, 10_000_000).up()
    assert kernel.read(path) == wanted(before)
    instance.down()
    # Other tests on this machine may change it too, for themselves.
    deadline = time.monotonic() + 5
    while kernel.read(path) != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert kernel.read(path) == before


def test_who_had_ended_when_it_was_identified_is_not_alive():
    child = subprocess.Popen(["true"])
    child.wait()
    assert not system.is_alive(system.identify(child.pid))
    assert system.is_alive(system.identify(os.getpid()))
