"""The nudge: a promotion wakes senders that sit in retransmission back-off."""

import socket
import struct
import time

import pytest

from nets import Capture, Net, connection, needs_root, tcp_queued, wait_for

pytestmark = needs_root


def dscp(level):
    return 4 * level + 3


@pytest.fixture
def net():
    made = None
    try:
        made = Net(2)
        yield made
    finally:
        if made:
            made.remove()


class Transfer:
    """A task on h2 fetches from h1, and nothing passes h1's port on the switch while `cut`."""

    def __init__(self, net, family, nudge=True, members="10.99.0.0/24,fd99::/64"):
        self.net = net
        self.source, self.target = net.hosts
        self.group = net.cgroup("a")
        self.task = net.cgroup("t", self.group)
        self.here = net.agent(self.target, cgroup=self.group, nudge=nudge, members=members)
        self.there = net.agent(self.source, cgroup=net.cgroup("b"))
        for agent in (self.here, self.there):
            assert agent.opened.startswith("ok"), agent.opened
            agent.do("lease_ms 600000")
        self.here.do(f"levels {self.task.id} 4 0")
        self.opened, self.accepted, self.listener = connection(net, self.target, self.source, self.task, family=family)
        for sock in (self.opened, self.accepted):
            sock.setblocking(False)

    def feed(self):
        try:
            while self.accepted.send(b"x" * 65536):
                pass
        except BlockingIOError:
            pass

    def take(self):
        """Bytes that have arrived since the last time."""
        got = 0
        try:
            while data := self.opened.recv(1 << 20):
                got += len(data)
        except BlockingIOError:
            pass
        return got

    def cut(self, on):
        self.net.sw.ip("link", "set", "p1", *(["nomaster"] if on else ["master", "br0"]))

    def sender(self):
        port = self.opened.getsockname()[1]
        return self.source.enter("ss", "-tin", "dport", "=", f":{port}")

    def starve(self, until):
        """The sender has something to send and its tries are lost, the last just now; then the path
        is whole again."""
        self.feed()
        wait_for("all data", lambda: self.take() + 1 and not tcp_queued(self.accepted))
        self.take()  # what came between the two looks
        self.cut(True)
        self.feed()
        wait_for("the sender to back off", lambda: until in self.sender(), 20)
        self.cut(False)
        assert not self.take()

    def close(self):
        for sock in (self.opened, self.accepted, self.listener):
            sock.close()


@pytest.mark.parametrize("family", [socket.AF_INET, pytest.param(socket.AF_INET6, marks=pytest.mark.guest("host", "qemu"))], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("how", ["mode", "levels"])
def test_a_promotion_wakes_a_sender_in_back_off(net, family, how):
    """Without the nudge nothing would come for 3.2 s."""
    transfer = Transfer(net, family)
    try:
        transfer.starve("backoff:4")
        sent = Capture(transfer.target, "up0", outgoing=True)
        start = time.monotonic()
        transfer.here.do("mode 1" if how == "mode" else f"levels {transfer.task.id} 0 0")
        wait_for("data after the promotion", transfer.take, 1.5)
        print(f"data after {1000 * (time.monotonic() - start):.0f} ms")
        wait_for("all of the nudge", lambda: transfer.here.stats()["unreachables"] == 12)
        stats = transfer.here.stats()
        assert (stats["nudged"], stats["acknowledgements"], stats["nudge_failures"]) == (1, 1, 0)
        wait_for("all of it on the wire", lambda: len([p for p in sent.read() if p.protocol in (1, 58)]) >= 12)
        first = next(p for p in sent.packets if p.protocol == 6)
        errors = [p for p in sent.packets if p.protocol in (1, 58) and p.tos]  # 58 is also neighbour discovery
        assert len(errors) == 12 and first.payload == 0
        assert {p.dscp for p in [first] + errors} == {dscp(0)} and {p.ecn for p in [first] + errors} == {0}
        assert sent.packets.index(first) < sent.packets.index(errors[0]), "the mark goes before what wakes"
        # Back to full speed, under the new mark.
        out = Capture(transfer.target, "up0")
        transfer.feed()
        wait_for("data under the new mark", lambda: transfer.take() and [p for p in out.read() if p.payload and p.sport ==
                                                                        transfer.listener.getsockname()[1]])
        assert {p.dscp for p in out.packets if p.payload} == {dscp(0)}
    finally:
        transfer.close()


def stray(transfer):
    """One packet of content from the sender's host under the old mark, as a starved one's floor
    lets through; of no use (its checksum is 0)."""
    (source, sport), (target, port) = transfer.accepted.getsockname()[:2], transfer.opened.getsockname()[:2]
    with transfer.source.inside():
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 41, 0, 0, 64, 6, 0, socket.inet_aton(source), socket.inet_aton(target))
    raw.sendto(ip + struct.pack("!HHIIBBHHH", sport, port, 0, 0, 5 << 4, 0x10, 100, 0, 0) + b"x", (target, 0))
    raw.close()


def test_a_sender_in_back_off_of_whom_something_just_came_is_woken(net):
    transfer = Transfer(net, socket.AF_INET)
    try:
        transfer.starve("backoff:4")
        seen = Capture(transfer.target, "up0")
        stray(transfer)
        wait_for("the stray packet", lambda: [p for p in seen.read() if p.payload == 1 and p.dscp == dscp(4)])
        transfer.here.do("mode 1")
        wait_for("data after the promotion", transfer.take, 1.5)
        assert transfer.here.stats()["nudged"] == 1
    finally:
        transfer.close()


def test_a_flowing_connection_is_left_alone(net):
    """Two tasks are promoted together; over the connection of one something has just come."""
    transfer = Transfer(net, socket.AF_INET)
    quiet = net.cgroup("q", transfer.group)
    transfer.here.do(f"levels {quiet.id} 4 0")
    more = connection(net, transfer.target, transfer.source, quiet)

    def nudged():
        transfer.here.do("mode 0")
        before = transfer.here.stats()["nudged"]
        transfer.feed()
        wait_for("data", transfer.take)
        transfer.here.do("mode 1")
        wait_for("a nudge", lambda: transfer.here.stats()["nudged"] > before)
        return transfer.here.stats()["nudged"] - before

    try:
        # On a machine that takes a nap the flowing one has not answered under its new mark yet.
        wait_for("only one of the two nudged", lambda: nudged() == 1, 20)
    finally:
        for sock in more:
            sock.close()
        transfer.close()


def test_without_a_lease_nothing_is_marked(net):
    transfer = Transfer(net, socket.AF_INET)
    try:
        sent = Capture(transfer.target, "up0", outgoing=True)
        transfer.here.do("lease_ms 0")
        transfer.here.do("mode 1")
        wait_for("the nudge", lambda: len([p for p in sent.read() if p.protocol == 1]) == 12)
        assert {p.tos for p in sent.packets} == {0}
    finally:
        transfer.close()


@pytest.mark.parametrize("what", ["demoted", "not the task's", "accepted here", "no member", "switched off"])
def test_who_is_not_nudged(net, what):
    transfer = Transfer(net, socket.AF_INET, nudge=what != "switched off",
                        members="10.98.0.0/24" if what == "no member" else "10.99.0.0/24")
    try:
        sent = Capture(transfer.target, "up0", outgoing=True)
        if what == "demoted":
            transfer.here.do(f"levels {transfer.task.id} 5 0")
        elif what == "not the task's":
            other = net.cgroup("o", transfer.group)
            transfer.here.do(f"levels {other.id} 4 0")
            transfer.here.do(f"levels {other.id} 0 0")
        elif what == "accepted here":
            server = net.cgroup("s", transfer.group)
            more = connection(net, transfer.source, transfer.target, accepter_group=server)
            transfer.here.do(f"levels {server.id} 4 4")
            transfer.here.do(f"levels {server.id} 0 0")
        else:
            transfer.here.do("mode 1")
        # A promoted task's nudge comes after what was said before it.
        if what != "no member" and what != "switched off":
            transfer.here.do(f"levels {transfer.task.id} 0 0")
            wait_for("the one nudge", lambda: transfer.here.stats()["unreachables"] == 12)
            assert transfer.here.stats()["nudged"] == 1
        else:
            transfer.feed()
            wait_for("data", transfer.take)
            assert transfer.here.stats()["nudged"] == 0
            assert not [p for p in sent.read() if p.protocol == 1]
        if what == "accepted here":
            for sock in more:
                sock.close()
    finally:
        transfer.close()
