"""Peers that send too much, too large, never finish, or never read, beside one that measures its
empty round trip.

The tests hold what the controller does to them (test_floods.py), the benchmark what they cost the
others (tests/bench/live_floods.py). Nothing needs root."""
import errno
import json
import os
import resource
import select
import socket
import struct
import subprocess
import threading
import time

from controller import BUILD, DEADLINE, pb, wait_until

GREETING = bytes([0xff] + [0] * 8 + [0x7f, 3, 0]) + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06DEALER"
HALF_OPEN = 10_000
NICE = 0  # of who attacks
DESCRIPTORS = HALF_OPEN + 1000  # of who has so many connections


def allow_descriptors():
    """Lets this process have DESCRIPTORS; (soft, hard) limit of before, None: it may not."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(before[0], DESCRIPTORS)
    if before[1] != resource.RLIM_INFINITY and before[1] < wanted:
        return None
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, before[1]))
    return before


class BareRouter:
    """In the place of a controller: libzmq alone, which says back what it hears."""

    def __init__(self):
        self.process = subprocess.Popen([BUILD / "tests" / "bare-router", "tcp://127.0.0.1:*"], stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        assert self.address, "it listens"
        self.own = len(self.descriptors())

    def descriptors(self):
        return os.listdir("/proc/%d/fd" % self.process.pid)

    def counters(self):
        return {"agents.connections": len(self.descriptors()) - self.own}

    def remove(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Probe:
    """A C program with a session of its own, one round trip every so many µs."""

    def __init__(self, daemon, every_us=2000):
        words = [daemon.address, "probe", str(every_us)] + ["echo"] * isinstance(daemon, BareRouter)
        self.process = subprocess.Popen([BUILD / "tests" / "peer-probe"] + words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def say(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def begin(self, attacked):
        """The next round trips are of one kind."""
        self.say("1" if attacked else "0")

    def take(self):
        """What there was of both kinds since the last time: quiet, attacked."""
        self.say("take")
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=DEADLINE)


def frame(body):
    return (b"\0" + bytes([len(body)]) if len(body) < 256 else b"\x02" + struct.pack(">Q", len(body))) + body


HEARTBEAT = frame(pb.Envelope(version=1, epoch=1, agent_heartbeat=pb.AgentHeartbeat()).SerializeToString())


class Peer:
    """A connection that speaks ZeroMQ's protocol itself."""

    def __init__(self, daemon, receive_bytes=None, greet=True, source=""):
        host, _, port = daemon.address.partition("//")[2].rpartition(":")
        self.socket = socket.socket()
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(DEADLINE)
        self.socket.bind((source, 0))
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


class Attacker(threading.Thread):
    """Does some work, and what it starts, as nicely as attackers do."""

    def __init__(self, work):
        super().__init__(daemon=True)
        self.work, self.broken = work, None
        self.start()

    def run(self):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        try:
            self.work()
        except BaseException as broken:
            self.broken = broken

    def check(self):
        """Whoever waits for it hears how it ended."""
        if self.broken:
            raise self.broken

    def finish(self):
        self.join()
        self.check()


class Repeated:
    """An attack that repeats one step in a thread while it is switched on."""

    def __init__(self, daemon):
        self.daemon, self.on, self.over = daemon, threading.Event(), False
        self.attacker = Attacker(self.run)

    def run(self):
        while not self.over:
            if self.on.wait(0.1):
                self.step()

    def switch(self, on):
        self.attacker.check()
        self.on.set() if on else self.on.clear()

    def end(self):
        self.over = True
        self.attacker.join(DEADLINE)
        self.close()

    def close(self):
        pass


class Messages(Repeated):
    """10⁵ messages a second, as long as the controller lets it; whenever it is cut off it comes
    back."""

    WHAT = "10⁵ messages a second"
    CONFIG, LASTING, FLOOR = "", False, False
    RATE, BATCH = 100_000, 500

    def __init__(self, daemon):
        self.peer, self.sent, self.cut, self.next = None, 0, 0, 0.0
        super().__init__(daemon)

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


class Silent:
    """Connections that never say a word.

    No more come at once than the listener's queue of them holds: past that Linux answers by SYN
    cookie, and who then finds the queue full believes to be connected, is forgotten and, without a
    word to say, never notices."""

    AT_ONCE = 512
    # Nobody answers the end of a connection that was put off until it speaks: it would keep its
    # port for minutes, and ports run out.
    RESET = struct.pack("ii", 1, 0)
    PATIENCE = 3 * DEADLINE  # attackers are nice

    WHAT = "%d connections that never say a word" % HALF_OPEN
    # LASTING: it comes, stands and goes. FLOOR: it is what any program on libzmq pays for.
    CONFIG, LASTING, FLOOR = "timers: {host_lost: 600 s}", True, True
    FROM_ONE = 16  # address: it may begin some more at once

    def __init__(self, daemon):
        self.daemon, self.opened = daemon, []

    def switch(self, on):
        """Returns when all stand; when all are gone."""
        Attacker(self.come if on else self.go).finish()

    def come(self):
        host, _, port = self.daemon.address.partition("//")[2].rpartition(":")
        while len(self.opened) < HALF_OPEN:
            some = [socket.socket() for _ in range(min(self.AT_ONCE, HALF_OPEN - len(self.opened)))]
            for i, one in enumerate(some, len(self.opened)):
                one.setblocking(False)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, self.RESET)
                one.bind(("127.4.%d.%d" % divmod(i // self.FROM_ONE, 256), 0))
            self.opened += some
            for one in some:
                begun = one.connect_ex((host, int(port)))
                assert begun in (0, errno.EINPROGRESS), os.strerror(begun)
            self.wait_for(some)

    def wait_for(self, some):
        """They stand, as far as they know."""
        self.wait_until_ready(some, select.POLLOUT)

    def wait_until_ready(self, some, event):
        poll = select.poll()
        for one in some:
            poll.register(one, event)
        deadline, waiting = time.monotonic() + self.PATIENCE, len(some)
        while waiting:
            assert time.monotonic() < deadline, "all are connected"
            for descriptor, events in poll.poll(1000):
                assert events == event
                poll.unregister(descriptor)
                waiting -= 1

    def go(self):
        self.end()
        wait_until(lambda: self.connections() < 10, "all are gone", 0.05)

    def connections(self):
        return self.daemon.counters()["agents.connections"]

    def end(self):
        for one in self.opened:
            one.close()
        self.opened = []


class HalfOpen(Silent):
    """Connections that begin ZeroMQ's greeting, and say no more."""

    WHAT = "%d half-open connections" % HALF_OPEN

    def wait_for(self, some):
        """They are let in: greeted."""
        super().wait_for(some)
        for one in some:
            one.send(GREETING[:1])
        self.wait_until_ready(some, select.POLLIN)


class ComeAndGo(Repeated):
    """Connections that begin a greeting and end, one after the other, as fast as may be."""

    WHAT = "connections that begin a greeting and end, some hundred at once"
    CONFIG, LASTING, FLOOR = "", False, True
    SAYS, SOME = GREETING[:1], 256

    def __init__(self, daemon):
        host, _, port = daemon.address.partition("//")[2].rpartition(":")
        self.where, self.ended = (host, int(port)), 0
        super().__init__(daemon)

    def step(self):
        some = [socket.socket() for _ in range(self.SOME)]
        for one in some:
            one.setblocking(False)
            one.connect_ex(self.where)
        for one in some:
            try:
                one.send(self.SAYS)
            except OSError:
                pass  # it does not stand yet
            one.close()
        self.ended += len(some)


class ComeAndGoSilent(ComeAndGo):
    """The same without a word."""

    WHAT = "connections that come and end without a word, some hundred at once"
    SAYS = b""


class Oversize(Repeated):
    """Connections that announce a part of 1 GiB, up to 100 a second."""

    WHAT = "oversize parts, up to 100 connections a second"
    CONFIG, LASTING, FLOOR = "", False, False

    def __init__(self, daemon):
        self.ended = 0
        super().__init__(daemon)

    def step(self):
        peer = Peer(self.daemon)
        try:
            peer.socket.sendall(b"\x02" + struct.pack(">Q", 1 << 30) + bytes(1 << 16))
            while peer.socket.recv(4096):
                pass
        except OSError:
            pass
        self.ended += 1
        peer.close()
        time.sleep(0.01)


class Endless(Repeated):
    """One message, part after part without a last one; whenever it is cut off it comes back."""

    WHAT = "a message that does not end"
    CONFIG, LASTING, FLOOR = "", False, False
    PARTS = (b"\1\xc8" + bytes(200)) * 500

    def __init__(self, daemon):
        self.peer, self.sent, self.cut = None, 0, 0
        super().__init__(daemon)

    def step(self):
        try:
            if not self.peer:
                self.peer = Peer(self.daemon)
            self.peer.socket.sendall(self.PARTS)
            self.sent += len(self.PARTS)
        except OSError:
            self.close()
            self.cut += 1
            time.sleep(0.1)  # as ZeroMQ does

    def close(self):
        if self.peer:
            self.peer.close()
        self.peer = None


class Mute(Repeated):
    """Two that ask for answers and take none, one of them with a session."""

    WHAT = "two peers that never read, 4 000 questions a second"
    CONFIG, LASTING, FLOOR = "", False, False

    def __init__(self, daemon):
        self.stranger, self.mute = Peer(daemon, receive_bytes=4096), Peer(daemon, receive_bytes=4096)
        hello = pb.Hello(version_min=1, version_max=1, name="mute", boot=1, hello_sequence=1, units=[pb.Resources(slots=1)],
                         address=bytes([0xfd] + 14 * [0] + [1]))
        self.mute.socket.sendall(frame(pb.Envelope(version=1, hello=hello).SerializeToString()))
        self.number = 0
        super().__init__(daemon)

    def question(self):
        self.number += 1
        return frame(pb.Envelope(version=1, epoch=1, sequence=self.number, agent_heartbeat=pb.AgentHeartbeat()).SerializeToString())

    def step(self):
        self.stranger.socket.sendall(HEARTBEAT * 4)
        self.mute.socket.sendall(b"".join(self.question() for _ in range(4)))
        time.sleep(0.002)

    def close(self):
        self.stranger.close()
        self.mute.close()


ATTACKS = [Messages, Silent, HalfOpen, ComeAndGoSilent, ComeAndGo, Oversize, Endless, Mute]


def ratio_of(quiet, attacked):
    """How much longer the 99th percentile is."""
    return attacked["p99"] / quiet["p99"]


def words(what, quiet, attacked):
    return "%s: others' round trip, p50 %.0f and p99 %.0f µs quiet, %.0f and %.0f µs attacked: p99 × %.2f" % (
        what, quiet["p50"] / 1e3, quiet["p99"] / 1e3, attacked["p50"] / 1e3, attacked["p99"] / 1e3, ratio_of(quiet, attacked))
