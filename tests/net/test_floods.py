"""duopolyd under peers that send too much, too large, never finish, or never read: the others' empty round trip, and memory.

Each test prints what it measured (pytest -s). Round trips are measured by a C program with a session of its own, quiet and attacked in turn
in one run; nothing here needs root."""
import json
import resource
import socket
import struct
import subprocess
import threading
import time

import pytest

from controller import BUILD, DEADLINE, pb, wait_until

GREETING = bytes([0xff] + [0] * 8 + [0x7f, 3, 0]) + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06DEALER"
WINDOW = 1.0    # s that are quiet, s that are attacked, …
PAIRS = 5       # … so often in turn
ROUNDS = 3
SLOWER = 1.10   # the 99th percentile may be so many times the quiet one
HALF_OPEN = 10_000


@pytest.fixture(autouse=True)
def descriptors():
    """Enough of them for the half-open ones in this process, too."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(before[0], HALF_OPEN + 1000)
    if before[1] != resource.RLIM_INFINITY and before[1] < wanted:
        pytest.skip("no more than %d files may be open here" % before[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


class Probe:
    def __init__(self, daemon):
        self.process = subprocess.Popen([BUILD / "tests" / "peer-probe", daemon.address, "probe", "2000"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def say(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def measure(self, seconds, attacked):
        """The next seconds' round trips are of one kind."""
        self.say("1" if attacked else "0")
        time.sleep(seconds)  # what is measured

    def take(self):
        """What there was of both kinds."""
        self.say("take")
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=DEADLINE)


@pytest.fixture
def probe_of():
    made = []

    def make(daemon):
        made.append(Probe(daemon))
        return made[-1]
    yield make
    for probe in made:
        probe.close()


def frame(body):
    return (b"\0" + bytes([len(body)]) if len(body) < 256 else b"\x02" + struct.pack(">Q", len(body))) + body


class Peer:
    """A connection that speaks ZeroMQ's protocol itself."""

    def __init__(self, daemon, receive_bytes=None, greet=True):
        host, _, port = daemon.address.partition("//")[2].rpartition(":")
        self.socket = socket.socket()
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(DEADLINE)
        self.socket.connect((host, int(port)))
        if greet:
            self.greet()

    def greet(self):
        """ZeroMQ's handshake; what follows READY at once may be taken for a part of it."""
        self.socket.sendall(GREETING + READY)
        answer = b""
        while len(answer) < len(GREETING) + 2 or len(answer) < len(GREETING) + 2 + answer[len(GREETING) + 1]:
            more = self.socket.recv(len(GREETING) + 64)
            if not more:
                raise ConnectionResetError("the controller does not want us")
            answer += more

    def close(self):
        self.socket.close()


def memory(daemon):
    """Bytes that the daemon has in memory."""
    with open("/proc/%d/statm" % daemon.process.pid) as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


class Attack:
    """Repeats one step in a thread while it is switched on."""

    def __init__(self, step):
        self.step, self.on, self.over = step, threading.Event(), False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.over:
            if self.on.wait(0.1):
                self.step()

    def end(self):
        self.over = True
        self.thread.join(DEADLINE)


def judge(probe, what):
    """How much longer the 99th percentile is when attacked; None: longer than the bar allows."""
    quiet, attacked = probe.take()
    ratio = attacked["p99"] / quiet["p99"]
    print("\n%s: others' round trip, p50 %.0f and p99 %.0f µs quiet, %.0f and %.0f µs attacked: p99 × %.2f" % (
        what, quiet["p50"] / 1e3, quiet["p99"] / 1e3, attacked["p50"] / 1e3, attacked["p99"] / 1e3, ratio))
    assert attacked["n"] > WINDOW * PAIRS * 100, "the others get through"
    return ratio


def compare(probe, attack, what):
    """The best of ROUNDS: whatever else runs here makes it worse, nothing makes it better."""
    ratios = []
    while len(ratios) < ROUNDS and (not ratios or min(ratios) > SLOWER):
        for _ in range(PAIRS):
            probe.measure(WINDOW, False)
            attack.on.set()
            probe.measure(WINDOW, True)
            attack.on.clear()
        ratios.append(judge(probe, what))
    return min(ratios)


HEARTBEAT = frame(pb.Envelope(version=1, epoch=1, agent_heartbeat=pb.AgentHeartbeat()).SerializeToString())


class Flooder:
    """10⁵ messages a second, as long as the controller lets it; whenever it is cut off it comes back."""

    RATE, BATCH = 100_000, 500

    def __init__(self, daemon):
        self.daemon, self.peer, self.sent, self.cut, self.next = daemon, None, 0, 0, 0.0

    def step(self):
        now = time.monotonic()
        if now < self.next:
            time.sleep(self.next - now)
        self.next = max(self.next + self.BATCH / self.RATE, now)
        try:
            if not self.peer:
                self.peer = Peer(self.daemon)
            self.peer.socket.sendall(HEARTBEAT * self.BATCH)
            self.sent += self.BATCH
        except OSError:
            self.close()
            self.cut += 1
            self.next = time.monotonic() + 0.1  # as ZeroMQ does

    def close(self):
        if self.peer:
            self.peer.close()
        self.peer = None


def test_who_sends_too_much_is_cut_off(cluster, probe_of):
    daemon = cluster.daemon(log=None)
    probe, flooder = probe_of(daemon), Flooder(daemon)
    before = memory(daemon)
    attack = Attack(flooder.step)
    try:
        ratio = compare(probe, attack, "10⁵ messages a second")
        counters = daemon.counters()
        print("%d messages sent, %d connections cut at once or after 10 000 messages; %.1f MB more memory" % (
            flooder.sent, flooder.cut, (memory(daemon) - before) / 1e6))
        assert counters["agents.floods"] >= 1 and counters["agents.shut_out"] >= 1
        assert "sends more messages a second than bounds.agent_messages" in daemon.words()
        assert memory(daemon) - before < 16e6
        assert ratio <= SLOWER
    finally:
        attack.end()
        flooder.close()


def half_open_round(daemon, probe):
    """How the 99th percentile changes with so many of them, and the bytes of each."""
    before, opened = memory(daemon), []
    probe.measure(WINDOW * PAIRS, False)
    try:
        while len(opened) < HALF_OPEN:
            opened.append(Peer(daemon, greet=False))
        wait_until(lambda: daemon.counters()["agents.connections"] >= HALF_OPEN, "all are accepted")
        probe.measure(WINDOW * PAIRS, True)
        each = (memory(daemon) - before) / HALF_OPEN
        print("\n%d half-open connections: %.1f kB each" % (HALF_OPEN, each / 1e3))
        return judge(probe, "half-open connections"), each
    finally:
        for one in opened:
            one.close()
        wait_until(lambda: daemon.counters()["agents.connections"] < 10, "all are gone")


def test_half_open_connections_cost_little(cluster, probe_of):
    daemon = cluster.daemon(log=None, config="timers: {host_lost: 600 s}")
    probe = probe_of(daemon)
    ratio, each = half_open_round(daemon, probe)
    assert each < 16e3
    for _ in range(ROUNDS - 1):
        if ratio > SLOWER:
            ratio = half_open_round(daemon, probe)[0]
    assert ratio <= SLOWER


def test_no_more_connect_than_memory_allows(cluster):
    """Each may have five messages of 64 KiB here: so many connections as `incoming` has room for, and what these send stays within it."""
    allowed = 64_000_000
    daemon = cluster.daemon(log=None, config="bounds: {incoming: 64 MB, hosts: 100}")
    most = allowed // (5 * 65536)
    assert "%d connections of agents" % most in daemon.words()
    before, peers = memory(daemon), []
    try:
        for _ in range(most - 2):
            peers.append(Peer(daemon))
        large = b"\x02" + struct.pack(">Q", 65536) + bytes(65000)  # all but its end
        for peer in peers:
            peer.socket.sendall(large)
        wait_until(lambda: daemon.counters()["agents.connections"] >= most - 2, "all are accepted")
        grown = wait_until(lambda: memory(daemon) - before, "memory")
        print("\n%d connections with a message of 64 KiB each half sent: %.1f MB of %.0f MB" % (len(peers), grown / 1e6, allowed / 1e6))
        assert grown < allowed
        peers += [Peer(daemon, greet=False) for _ in range(4)]
        wait_until(lambda: daemon.counters()["agents.pauses"] >= 1, "no more are taken")
    finally:
        for peer in peers:
            peer.close()


def test_oversize_parts_end_their_connection(cluster, probe_of):
    daemon = cluster.daemon(log=None)
    probe, before = probe_of(daemon), memory(daemon)
    ended = 0

    def oversize():
        nonlocal ended
        peer = Peer(daemon)
        try:
            peer.socket.sendall(b"\x02" + struct.pack(">Q", 1 << 30) + bytes(1 << 16))
            while peer.socket.recv(4096):
                pass
        except OSError:
            pass
        ended += 1
        peer.close()
        time.sleep(0.01)
    attack = Attack(oversize)
    try:
        ratio = compare(probe, attack, "oversize parts, up to 100 connections a second")
        print("%d connections ended; %.1f MB more memory" % (ended, (memory(daemon) - before) / 1e6))
        assert ended > 10
        assert memory(daemon) - before < 16e6
        assert ratio <= SLOWER
    finally:
        attack.end()


def test_who_never_reads_holds_little(cluster, probe_of):
    """Two that ask for answers and take none, one of them with a session."""
    daemon = cluster.daemon(log=None)
    probe, before = probe_of(daemon), memory(daemon)
    stranger, mute = Peer(daemon, receive_bytes=4096), Peer(daemon, receive_bytes=4096)
    hello = pb.Hello(version_min=1, version_max=1, name="mute", boot=1, hello_sequence=1, units=[pb.Resources(slots=1)])
    mute.socket.sendall(frame(pb.Envelope(version=1, hello=hello).SerializeToString()))
    numbers = iter(range(1, 1 << 31))

    def ask():
        stranger.socket.sendall(HEARTBEAT * 4)
        mute.socket.sendall(b"".join(frame(pb.Envelope(version=1, epoch=1, sequence=next(numbers), agent_heartbeat=pb.AgentHeartbeat())
                                           .SerializeToString()) for _ in range(4)))
        time.sleep(0.002)
    attack = Attack(ask)
    try:
        ratio = compare(probe, attack, "two peers that never read, 4 000 questions a second")
        counters = daemon.counters()
        grown = memory(daemon) - before
        print("%d answers kept back; %.1f MB more memory" % (counters["messages.unanswered_strangers"], grown / 1e6))
        assert counters["messages.unanswered_strangers"] > 0
        assert grown < 32e6
        assert ratio <= SLOWER
    finally:
        attack.end()
        stranger.close()
        mute.close()
