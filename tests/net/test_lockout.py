"""duopolyd under connections that say nothing, with few descriptors: agents, clients and the daemon itself go on."""
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


def flood(address, greeted):
    """That many connections; with `greeted` they finish ZeroMQ's handshake. None says HELLO."""
    host, _, port = address.partition("//")[2].rpartition(":")
    opened = []
    for _ in range(FLOOD):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex((host, int(port)))
        opened.append(one)
    wanting = list(opened) if greeted else []
    deadline = time.monotonic() + 2
    while wanting and time.monotonic() < deadline:
        for one in list(wanting):
            try:
                one.send(GREETING + READY)
                wanting.remove(one)
            except OSError:
                pass
        time.sleep(0.01)
    return opened


@pytest.mark.parametrize("greeted", [False, True])
def test_silent_connections_lock_nobody_out(cluster, greeted):
    daemon = cluster.daemon(files=FILES)
    early = cluster.agent(daemon, "early", host=1)
    early.join()
    opened = flood(daemon.address, greeted)
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
