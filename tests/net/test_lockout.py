"""duopolyd under connections that say nothing, with few descriptors: agents, clients and the daemon
itself go on."""
import os
import resource
import socket
import subprocess
import time

import pytest

from controller import BUILD, pb, wait_until

FILES = 1024
FLOOD = 1100
GREETING = bytes([0xff] + [0] * 8 + [0x7f, 3, 0]) + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06DEALER"


@pytest.fixture(autouse=True)
def descriptors():
    """Enough of them for the flood in this process, too."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(before[0], 4096)
    if before[1] != resource.RLIM_INFINITY and before[1] < wanted:
        pytest.skip("no more than %d files may be open here" % before[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def flood(address, words, hosts=FLOOD):
    """That many connections, which say so much, from so many addresses of this host. None says
    HELLO."""
    host, _, port = address.partition("//")[2].rpartition(":")
    opened = []
    for i in range(FLOOD):
        one = socket.socket()
        one.setblocking(False)
        one.bind(("127.1.%d.%d" % divmod(256 + i % hosts, 256), 0))
        one.connect_ex((host, int(port)))
        opened.append(one)
    wanting = list(opened)
    deadline = time.monotonic() + 2
    while wanting and time.monotonic() < deadline:
        for one in list(wanting):
            try:
                one.send(words)
                wanting.remove(one)
            except OSError:
                pass
        time.sleep(0.01)
    return opened


def test_who_never_speaks_is_not_let_in(cluster):
    """Nothing of it is held, and others do not even wait."""
    daemon = cluster.daemon(files=FILES)
    opened = flood(daemon.address, b"")
    try:
        cluster.agent(daemon, "late", host=2).join()
        wait_until(lambda: daemon.ctl("status")["hosts_up"] == 1, "it is up")
        counters = daemon.counters()
        assert (counters["agents.connections"], counters["agents.pauses"], counters["agents.idle"]) == (1, 0, 0)
    finally:
        for one in opened:
            one.close()


@pytest.mark.parametrize("words", [GREETING[:1], GREETING + READY], ids=["begun", "greeted"])
def test_silent_connections_lock_nobody_out(cluster, words):
    daemon = cluster.daemon(files=FILES)
    early = cluster.agent(daemon, "early", host=1)
    early.join()
    opened = flood(daemon.address, words)
    try:
        wait_until(lambda: daemon.counters()["agents.pauses"] > 0, "the listener pauses")
        before, began = cpu_seconds(daemon.process.pid), time.monotonic()
        assert "%d files may be open" % FILES in daemon.words()
        late = cluster.agent(daemon, "late", host=2)
        late.join()
        early.send(agent_heartbeat=pb.AgentHeartbeat())
        wait_until(lambda: daemon.ctl("status")["hosts_up"] == 2, "both are up")
        took = time.monotonic() - began
        assert cpu_seconds(daemon.process.pid) - before < 0.3 * took + 0.5, "it does not spin"
        counters = daemon.counters()
        assert counters["agents.idle"] > 0
        assert len(os.listdir("/proc/%d/fd" % daemon.process.pid)) < FILES
    finally:
        for one in opened:
            one.close()


@pytest.mark.parametrize("hosts", [1, 2, 32])
def test_few_hosts_make_nobody_wait(cluster, hosts):
    """Their connections that have said nothing never take all places: the listener does not
    pause. Few hosts begin most of theirs too fast."""
    daemon = cluster.daemon(files=FILES)
    cluster.agent(daemon, "early", host=1).join()
    opened = flood(daemon.address, GREETING, hosts)
    try:
        wait_until(lambda: daemon.counters()["agents.refused" if hosts > 2 else "agents.hasty"] > 0, "one more than it may have")
        cluster.agent(daemon, "late", host=2).join()
        wait_until(lambda: daemon.ctl("status")["hosts_up"] == 2, "both are up")
        counters = daemon.counters()
        assert (counters["agents.pauses"], counters["agents.idle"]) == (0, 0), counters
    finally:
        for one in opened:
            one.close()


def test_an_idle_client_gives_its_place_back(cluster):
    daemon = cluster.daemon(config="timers: {client_idle: 1 s}")
    idle = []
    try:
        for _ in range(256):
            one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            one.connect(str(daemon.socket))
            idle.append(one)
        wait_until(lambda: idle[-1].recv(65536) == b"", "the end of the idle ones")
        assert daemon.counters()["clients.idle"] == 256
    finally:
        for one in idle:
            one.close()


def test_too_few_descriptors_are_told(tmp_path):
    done = subprocess.run([BUILD / "duopolyd", "--config", "/dev/null"], capture_output=True, text=True, timeout=20, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)))
    assert done.returncode == 1 and "only 200 files may be open" in done.stderr and len(done.stderr.splitlines()) == 1
