"""Marks on real packets: hostagent/marks/mark.bpf.c behind its driver, between namespaces."""

import contextlib
import os
import re
import socket
import struct
import threading
import time

import pytest

import tcx
from nets import Capture, Net, connection, needs_root, pass_bytes, run, tcp_queued, tcp_sent_again, wait_for

pytestmark = needs_root


def dscp(level):
    return 4 * level + 3


# User-Mode Linux has no tables for both families (NF_TABLES_INET).
DRIVERS = ["ebpf", pytest.param("nftables", marks=pytest.mark.guest("host", "qemu"))]
# What only eBPF has; hostagent/marks/mark_nft.c says what takes its place.
only_ebpf = pytest.mark.parametrize("net", ["ebpf"], indirect=True)


@pytest.fixture(params=DRIVERS)
def net(request):
    made = Net(2)
    made.marks = request.param
    try:
        yield made
    finally:
        made.remove()


class Pair:
    """Two hosts with an agent each; h1 has tasks a and b, h2 serves; captures where packets leave
    the hosts."""

    def __init__(self, net, lease_ms=60000, **kw):
        self.net = net
        self.h1, self.h2 = net.hosts
        self.root = net.cgroup("agent1")
        self.root2 = net.cgroup("agent2")
        self.a, self.b = net.cgroup("a", self.root), net.cgroup("b", self.root)
        self.server = net.cgroup("server", self.root2)
        self.agent1 = net.agent(self.h1, cgroup=self.root, **kw)
        self.agent2 = net.agent(self.h2, cgroup=self.root2, **kw)
        assert self.agent1.opened.startswith("ok"), self.agent1.opened
        assert self.agent2.opened.startswith("ok"), self.agent2.opened
        self.out1, self.out2 = Capture(net.sw, "p1"), Capture(net.sw, "p2")
        for agent in (self.agent1, self.agent2):
            agent.do(f"lease_ms {lease_ms}")

    def levels(self, group, coflow, macroflow):
        self.agent1.do(f"levels {group.id} {coflow} {macroflow}")

    def clear(self):
        self.out1.clear()
        self.out2.clear()


def seen(capture, port, payload_only=False):
    """The set of DSCPs of the TCP packets to or from a port, without SYNs, which bear level 0's."""
    return {p.dscp for p in capture.read()
            if p.protocol == 6 and port in (p.sport, p.dport) and not p.flags & 2 and (p.payload or not payload_only)}


def last_dscp(capture, port):
    found = [p.dscp for p in capture.read() if p.protocol == 6 and port in (p.sport, p.dport)]
    return found[-1] if found else None


@pytest.mark.parametrize("family,mapped", [
    (socket.AF_INET, False),
    pytest.param(socket.AF_INET6, False, marks=pytest.mark.guest("host", "qemu")),
    pytest.param(socket.AF_INET6, True, marks=pytest.mark.guest("host", "uml"))])
def test_opener_marks_by_cgroup_and_accepter_follows(net, family, mapped):
    pair = Pair(net)
    pair.levels(pair.a, 2, 5)
    pair.clear()
    here, there, listener = connection(net, pair.h1, pair.h2, pair.a, family=family, mapped=mapped)
    port = listener.getsockname()[1]
    pass_bytes(there, here, 300_000)
    pass_bytes(here, there, 1000)
    opened = [p for p in pair.out1.read() if port in (p.sport, p.dport)]
    answered = [p for p in pair.out2.read() if port in (p.sport, p.dport)]
    for packets in (opened, answered):
        assert packets[0].flags & 2, "the first packet is the SYN, or the answer to it"
        assert packets[0].dscp == dscp(0), "which waits for nobody's content"
        assert {p.dscp for p in packets[1:]} == {dscp(2)}, "data follow"
    assert all(p.checksum_right for p in pair.out1.packets + pair.out2.packets)
    version = 4 if family == socket.AF_INET or mapped else 6
    assert {p.version for p in opened} == {version}
    stats1, stats2 = pair.agent1.stats(), pair.agent2.stats()
    assert stats1["marked"][2] > 1000 and stats2["marked"][2] > 300_000
    assert sum(stats1["marked"]) == stats1["marked"][2] + stats1["marked"][0] and stats1["marked"][0] < 100
    assert stats2["followed"] == 1 and stats1["followed"] == 0
    for s in (here, there, listener):
        s.close()


def changed(frame, level, older):
    """The frame of an IPv4 segment with another mark (None: none), its timestamp (RFC 7323) `older`
    ms older."""
    frame = bytearray(frame)
    frame[15] = 0 if level is None else dscp(level) << 2
    frame[24:26] = bytes(2)
    total = sum(struct.unpack("!10H", frame[14:34]))
    total = (total & 0xffff) + (total >> 16)
    frame[24:26] = struct.pack("!H", 0xffff - ((total & 0xffff) + (total >> 16)))
    assert bytes(frame[54:58]) == b"\x01\x01\x08\x0a", "timestamps come first"
    tsval, = struct.unpack("!I", frame[58:62])
    frame[58:62] = struct.pack("!I", (tsval - older) % 2 ** 32)
    return bytes(frame)


@pytest.mark.guest("host", "uml")
@only_ebpf
def test_what_a_promotion_overtook_is_dropped(net):
    """Content that waited under the old mark would tell its sender that nothing was lost, and then
    be too old to be taken."""
    pair = Pair(net)
    pair.levels(pair.a, 4, 0)
    here, there, listener = connection(net, pair.h1, pair.h2, pair.a)
    with net.sw.inside():
        late = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        late.bind(("p1", 0))
    frames = Capture(pair.h1, "up0", raw=True)

    def dropped():
        return pair.agent1.stats()["overtaken"]

    def drops(level, older):
        before, heard = dropped(), len(frames.read())
        late.send(changed(content, level, older))
        wait_for("the packet or its drop", lambda: len(frames.read()) > heard)
        return dropped() - before

    def comes():
        """Content under the level in force; its frame."""
        pass_bytes(here, there, 10)
        frames.clear()
        pass_bytes(there, here, 1000)
        return next(f for f in frames.read() if len(f) > 1000)

    content = comes()
    assert content[15] >> 2 == dscp(4) and drops(4, 1000) == 0
    pair.agent1.do("mode 1")
    assert drops(4, 1000) == 0, "nothing has overtaken it yet"
    content = comes()
    assert content[15] >> 2 == dscp(0)
    assert drops(4, 1000) == 1
    assert drops(4, -1000) == 0, "it left later, under an old mark that came back"
    assert drops(0, 1000) == 0, "its own mark"
    assert drops(None, 1000) == 0, "no mark"
    pair.agent1.do("mode 0")
    content = comes()
    assert content[15] >> 2 == dscp(4) and drops(0, 1000) == 0, "a demotion overtakes nothing"
    for s in (here, there, listener, late):
        s.close()


@pytest.mark.guest("host", "uml")
def test_mode_switches_all_and_levels_change(net):
    pair = Pair(net)
    pair.levels(pair.a, 2, 5)
    pair.levels(pair.b, 0, 7)
    one = connection(net, pair.h1, pair.h2, pair.a)
    two = connection(net, pair.h1, pair.h2, pair.b)
    ports = [c[2].getsockname()[1] for c in (one, two)]

    def marks():
        pair.clear()
        for here, there, _ in (one, two):
            pass_bytes(here, there, 100)
            pass_bytes(there, here, 20_000)
        return [seen(pair.out1, port) for port in ports], [last_dscp(pair.out2, port) for port in ports]

    assert marks() == ([{dscp(2)}, {dscp(0)}], [dscp(2), dscp(0)])
    pair.agent1.do("mode 1")
    assert marks() == ([{dscp(5)}, {dscp(7)}], [dscp(5), dscp(7)])
    pair.agent1.do("mode 0")
    pair.levels(pair.a, 3, 5)
    assert marks() == ([{dscp(3)}, {dscp(0)}], [dscp(3), dscp(0)])
    pair.agent1.do(f"end {pair.a.id}")
    assert marks() == ([{0}, {dscp(0)}], [0, dscp(0)]), "an ended task's packets are unmarked, and followed so"


def test_never_both_at_one_end(net):
    """A cgroup that fetches and serves: on what it serves it follows, whatever its own level."""
    pair = Pair(net)
    pair.levels(pair.a, 1, 1)
    pair.agent2.do(f"levels {pair.server.id} 6 6")
    here, there, listener = connection(net, pair.h1, pair.h2, pair.a, accepter_group=pair.server)
    port = listener.getsockname()[1]
    pass_bytes(there, here, 100_000)
    assert seen(pair.out2, port) == {dscp(1)}
    back = connection(net, pair.h2, pair.h1, pair.server, accepter_group=pair.a)
    back_port = back[2].getsockname()[1]
    pass_bytes(back[1], back[0], 100_000)
    assert seen(pair.out2, back_port) == {dscp(6)}
    assert seen(pair.out1, back_port) == {dscp(6)}
    # The opener stops marking: its echo must not keep the old mark alive between the two ends.
    pair.agent1.do(f"end {pair.a.id}")
    pass_bytes(here, there, 1000)
    pair.clear()
    for _ in range(3):
        pass_bytes(here, there, 1000)
        pass_bytes(there, here, 1000)
    assert seen(pair.out1, port) == {0} and seen(pair.out2, port) == {0}


def test_older_connections_find_their_role(net):
    """Connections that are there before any agent: the end with the listening socket follows."""
    a = net.cgroup("a0", net.cgroup("agent1"))
    here, there, listener = connection(net, net.hosts[0], net.hosts[1], a)
    port = listener.getsockname()[1]
    pair = Pair(net)
    pair.levels(a, 4, 4)
    pass_bytes(here, there, 1000)
    pass_bytes(there, here, 1000)
    pair.clear()
    pass_bytes(there, here, 100_000)
    assert seen(pair.out1, port) == {dscp(4)} and seen(pair.out2, port) == {dscp(4)}
    for s in (here, there, listener):
        s.close()


@pytest.mark.guest("host", "qemu")
def test_ecn_bits_survive(net):
    """Only the six DSCP bits change: ECT and CE stay, and so does an IPv6 flow label."""
    pair = Pair(net)
    pair.levels(pair.a, 3, 3)
    for family, address, level, option in ((socket.AF_INET, pair.h2.address, socket.IPPROTO_IP, socket.IP_TOS),
                                           (socket.AF_INET6, pair.h2.address6, socket.IPPROTO_IPV6, socket.IPV6_TCLASS)):
        for ecn in range(4):
            pair.clear()
            with pair.h1.inside(), pair.a.inside():
                s = socket.socket(family, socket.SOCK_DGRAM)
            s.setsockopt(level, option, 10 << 2 | ecn)
            s.sendto(b"y" * 100, (address, 4444))
            found = wait_for("the datagram", lambda: [p for p in pair.out1.read() if p.dport == 4444])
            assert (found[0].dscp, found[0].ecn, found[0].checksum_right) == (dscp(3), ecn, True)
            s.close()


def test_unmanaged_traffic_keeps_its_own_dscp(net):
    pair = Pair(net)
    for own, expected in ((46, 46), (10, 10), (0, 0), (48, 48), (dscp(0), 0)):
        pair.clear()
        with pair.h1.inside():
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, own << 2)
        s.sendto(b"z", (pair.h2.address, 4445))
        found = wait_for("the datagram", lambda: [p for p in pair.out1.read() if p.dport == 4445])
        assert found[0].dscp == expected, own
        s.close()


def test_what_leaves_the_domain_is_bleached_and_not_followed(net):
    """10.98.0.0/24 is outside the member prefixes: no marks out, none followed, no entries."""
    pair = Pair(net)
    pair.levels(pair.a, 1, 1)
    made = [connection(net, pair.h1, pair.h2, pair.a, address="10.98.0.2")]
    port = made[0][2].getsockname()[1]
    made[0][0].setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp(2) << 2)
    pass_bytes(made[0][0], made[0][1], 10_000)
    pass_bytes(made[0][1], made[0][0], 10_000)
    assert seen(pair.out1, port) == {0} and seen(pair.out2, port) == {0}
    assert pair.agent1.stats()["flows"] == 0 and pair.agent2.stats()["flows"] == 0
    assert pair.agent1.stats()["bleached"] > 0


def test_marks_of_strangers_are_not_followed(net):
    pair = Pair(net, members="10.99.0.0/24")
    stranger = net.cgroup("x")
    agentless, _, listener = connection(net, pair.h1, pair.h2, stranger, address="10.98.0.2")
    port = listener.getsockname()[1]
    pair.agent1.do("lease_ms 0")  # h1 without marks: its application's own DSCP goes out
    agentless.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp(1) << 2)
    there = connection(net, pair.h1, pair.h2, stranger, address="10.98.0.2", listener=listener)[1]
    pass_bytes(agentless, _, 1000)
    pair.clear()
    pass_bytes(_, agentless, 1000)
    assert seen(pair.out2, port) == {0}
    there.close()


def test_lease_runs_out_by_itself_after_kill(net):
    """kill −9 of the agent: traffic goes out as without us within 5.2 s, by the data path alone."""
    pair = Pair(net, lease_ms=5000)
    pair.levels(pair.a, 1, 1)
    here, there, listener = connection(net, pair.h1, pair.h2, pair.a)
    port = listener.getsockname()[1]
    here.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 10 << 2)
    pair.agent1.do("lease_ms 5000")
    start = time.monotonic()
    pair.agent1.kill()
    pass_bytes(here, there, 1000)
    assert seen(pair.out1, port) == {dscp(1)}

    def own_mark():
        pair.clear()
        pass_bytes(here, there, 100)
        return seen(pair.out1, port, payload_only=True) == {10}
    wait_for("marks to end", own_mark, 5.2)
    assert time.monotonic() - start > 4.5, "not before the lease was over"


@pytest.mark.guest("host", "uml")
def test_restart_takes_over_without_a_gap(net):
    """A new agent replaces programs and keeps levels, mode, lease, flows and counters: no packet
    goes unmarked."""
    pair = Pair(net)
    pair.levels(pair.a, 2, 6)
    pair.agent1.do("mode 1")
    here, there, listener = connection(net, pair.h1, pair.h2, pair.a)
    port = listener.getsockname()[1]
    before = pair.agent1.stats()
    pair.clear()
    pair.agent1.kill()
    stop = threading.Event()

    def traffic():
        while not stop.is_set():
            pass_bytes(here, there, 500)
    thread = threading.Thread(target=traffic)
    thread.start()
    try:
        new = net.agent(pair.h1, cgroup=pair.root)
        assert new.opened.startswith("ok"), new.opened
        wait_for("traffic under the new agent", lambda: new.stats()["marked"][6] > before["marked"][6] + 20_000)
    finally:
        stop.set()
        thread.join()
    assert seen(pair.out1, port) == {dscp(6)}
    here.close()
    there.close()
    if net.marks == "ebpf":
        wait_for("the flow's end", lambda: new.stats()["flows"] == 0)


@only_ebpf
def test_entries_die_with_fin_rst_and_silence_is_bounded(net):
    pair = Pair(net)
    pair.levels(pair.a, 1, 1)
    here, there, listener = connection(net, pair.h1, pair.h2, pair.a)
    pass_bytes(here, there, 1000)
    assert (pair.agent1.stats()["flows"], pair.agent2.stats()["flows"]) == (1, 1)
    here.close()
    there.close()
    wait_for("FIN ends entries", lambda: (pair.agent1.stats()["flows"], pair.agent2.stats()["flows"]) == (0, 0))
    here, there, _ = connection(net, pair.h1, pair.h2, pair.a, listener=listener)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    here.close()
    wait_for("RST ends entries", lambda: (pair.agent1.stats()["flows"], pair.agent2.stats()["flows"]) == (0, 0))
    assert pair.agent1.stats()["evictions"] == 0
    there.close()
    listener.close()


def test_half_closed_connections_keep_their_mark(net):
    """The opener has sent its FIN; what the other end still sends follows its last mark."""
    pair = Pair(net)
    pair.levels(pair.a, 5, 5)
    here, there, listener = connection(net, pair.h1, pair.h2, pair.a)
    port = listener.getsockname()[1]
    here.shutdown(socket.SHUT_WR)
    assert there.recv(10) == b""
    pair.clear()
    pass_bytes(there, here, 200_000)
    assert seen(pair.out2, port) == {dscp(5)}


@only_ebpf
def test_the_flow_table_is_bounded_and_counts_evictions(net):
    """More connections than entries: the oldest are forgotten, counted, and found again when they
    speak."""
    pair = Pair(net, flows=64)
    pair.levels(pair.a, 1, 1)
    first = connection(net, pair.h1, pair.h2, pair.a)
    made = [connection(net, pair.h1, pair.h2, pair.a, listener=first[2]) for _ in range(400)]
    stats = pair.agent2.stats()
    assert stats["flows"] <= 64
    assert stats["evictions"] >= 401 - 64
    pair.clear()
    port = first[2].getsockname()[1]
    pass_bytes(first[0], first[1], 1000)
    pass_bytes(first[1], first[0], 1000)
    assert seen(pair.out2, port, payload_only=True) == {dscp(1)}
    for here, there, _ in made:
        here.close()
        there.close()


def test_levels_of_single_connections_last_mark_wins_and_is_counted(net):
    pair = Pair(net)
    pair.levels(pair.a, 1, 1)
    here, there, listener = connection(net, pair.h1, pair.h2, pair.a)
    port = listener.getsockname()[1]
    flow = f"flow {here.getsockname()[0]} {here.getsockname()[1]} {pair.h2.address} {port}"

    def mark():
        pair.clear()
        pass_bytes(here, there, 100)
        return seen(pair.out1, port, payload_only=True)
    assert mark() == {dscp(1)}
    pair.agent1.do(flow + " 11 6 2")
    assert mark() == {dscp(6)} and pair.agent1.stats()["shared"] == 0
    pair.agent1.do(flow + " 12 7 3")
    assert mark() == {dscp(7)} and pair.agent1.stats()["shared"] == 1
    pair.agent1.do("mode 1")
    assert mark() == {dscp(3)}
    pair.agent1.do(flow + " 0 0 0")
    assert mark() == {dscp(1)}, "without a level of its own the cgroup's counts again"


def test_received_bytes_per_task(net):
    """Payload that arrives over the network, loopback not; nftables' rules count what is sent
    again."""
    pair = Pair(net)
    pair.levels(pair.a, 1, 1)
    pair.levels(pair.b, 2, 2)

    def check(group, payload, sender):
        again = tcp_sent_again(sender) if net.marks == "nftables" else 0
        received = int(pair.agent1.do(f"received {group.id}"))
        assert payload <= received <= payload + again

    one = connection(net, pair.h1, pair.h2, pair.a)
    two = connection(net, pair.h1, pair.h2, pair.b, family=socket.AF_INET6)
    pass_bytes(one[1], one[0], 1_234_567)
    pass_bytes(two[1], two[0], 7_654)
    pass_bytes(two[0], two[1], 50_000)
    check(pair.a, 1_234_567, one[1])
    check(pair.b, 7_654, two[1])
    local = connection(net, pair.h1, pair.h1, pair.a)
    marked = pair.agent1.stats()["marked"]
    pass_bytes(local[1], local[0], 100_000)
    check(pair.a, 1_234_567, one[1])
    assert pair.agent1.stats()["marked"] == marked and pair.agent1.stats()["flows"] == 2


@only_ebpf
def test_segments_sent_again_are_counted_once(net):
    """The acknowledgements are lost, so segments that have arrived travel again; the count stays
    the payload."""
    pair = Pair(net)
    pair.levels(pair.a, 1, 1)
    here, there, listener = connection(net, pair.h1, pair.h2, pair.a)
    pass_bytes(there, here, 1000)
    net.sw.tc("qdisc", "add", "dev", "p2", "root", "tbf", "rate", "8bit", "burst", "64b", "limit", "1b")
    pair.clear()
    there.send(b"x" * 5000)
    wait_for("a segment that is sent again", lambda: len([p for p in pair.out2.read() if p.payload > 1000]) >= 6)
    net.sw.tc("qdisc", "delete", "dev", "p2", "root")
    got = 0
    while got < 5000:
        got += len(here.recv(65536))
    wait_for("an acknowledgement", lambda: tcp_queued(there) == 0)
    assert sum(p.payload for p in pair.out2.packets if p.dport == here.getsockname()[1]) > 5000
    assert pair.agent1.do(f"received {pair.a.id}") == "6000"


def test_control_is_cs6_on_the_controllers_port_only(net):
    pair = Pair(net)
    pair.levels(pair.a, 1, 1)
    here, there, listener = connection(net, pair.h1, pair.h2, port=7000)
    here.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 48 << 2)
    pass_bytes(here, there, 1000)
    control = pair.agent1.stats()["control"]
    assert control > 1000
    assert 48 in seen(pair.out1, 7000)
    other = connection(net, pair.h1, pair.h2)
    other[0].setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 48 << 2)
    pass_bytes(other[0], other[1], 100_000)
    assert pair.agent1.stats()["control"] < control + 10_000


def queue_packets(ns, dev, level):
    """What a level's queue has sent."""
    said = ns.tc("-s", "class", "show", "dev", dev)
    return int(re.search(rf"class htb d00:{level + 2:x} .*?Sent \d+ bytes (\d+) pkt", said, re.S)[1])


def test_a_switch_classifies_and_bleaches(net):
    """Between members a mark selects the queue, but content alone; towards strangers it goes, and
    has no queue of its own."""
    pair = Pair(net)
    switch = net.agent(net.sw, ports="p1,p2", role="switch", name="sw")
    assert switch.opened.startswith("ok"), switch.opened
    pair.levels(pair.a, 2, 5)
    here, there, listener = connection(net, pair.h1, pair.h2, pair.a)
    before = queue_packets(net.sw, "p1", 2)
    pass_bytes(there, here, 100_000)
    pass_bytes(here, there, 10)
    assert queue_packets(net.sw, "p1", 2) - before >= 60, "content of level 2"
    assert switch.stats()["marked"][2] > 100_000
    bare = queue_packets(net.sw, "p2", 0)
    pass_bytes(there, here, 100_000)
    assert queue_packets(net.sw, "p2", 0) > bare, "its acknowledgements wait in level 0's queue"
    arrived = Capture(pair.h2, "up0")
    pair.agent1.do("lease_ms 0")  # what an application writes there goes out
    with pair.h1.inside():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for target, expected in (("10.98.0.2", 0), (pair.h2.address, dscp(3))):
        s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp(3) << 2)
        arrived.clear()
        s.sendto(b"y" * 100, (target, 4446))
        found = wait_for("the datagram", lambda: [p for p in arrived.read() if p.dport == 4446])
        assert (found[0].dscp, found[0].checksum_right) == (expected, True)
    assert switch.stats()["bleached"] == 1 and switch.stats()["marked"][3] > 100
    s.close()


def state_of(host):
    return [host.tc("qdisc", "show"), tcx.hooked(host, "up0"), host.enter("nft", "list", "ruleset")]


def test_restore_leaves_everything_as_it_was(net):
    """Also of an agent that was killed; somebody else's table with a hook of its own stays byte for
    byte."""
    h1 = net.hosts[0]
    h1.enter("nft", "add table inet theirs; add chain inet theirs out { type filter hook output priority -150; }; "
             "add set inet theirs s { type ipv4_addr; flags timeout; }; add rule inet theirs out ip daddr @s counter drop")
    before, files = state_of(h1), sorted(os.listdir(net.dir))
    root = net.cgroup("agent")
    agent = net.agent(h1, cgroup=root)
    assert agent.opened.startswith("ok"), agent.opened
    now = state_of(h1)
    assert "htb" in now[0] and now[1] == (tcx.BOTH if net.marks == "ebpf" else []) and ("duopoly-up0" in now[2]) == (net.marks == "nftables")
    assert before[2] in now[2], "theirs is as it was"
    agent.kill()
    again = net.agent(h1, cgroup=root)
    again.do("restore")
    assert state_of(h1) == before and sorted(os.listdir(net.dir)) == files + [h1.name]
    assert not os.path.exists(agent.bpffs)
    assert os.listdir(os.path.join(net.dir, h1.name)) == []
    assert "count" not in run("bpftool", "cgroup", "show", root.path)


@only_ebpf
def test_somebody_elses_clsact_stays(net):
    net.hosts[0].tc("qdisc", "add", "dev", "up0", "clsact")
    before = net.hosts[0].tc("qdisc", "show")
    root = net.cgroup("agent")
    agent = net.agent(net.hosts[0], cgroup=root)
    assert agent.opened.startswith("ok"), agent.opened
    agent.do("restore")
    assert net.hosts[0].tc("qdisc", "show") == before


@pytest.mark.guest("host", "uml")
@pytest.mark.parametrize("net", ["ebpf", "auto"], indirect=True)
def test_an_ingress_qdisc_of_somebody_else_is_no_clsact(net):
    """It has no hook for what is sent: its one hook would get both programs, one in the other's
    place. Links of tcx need none."""
    h1 = net.hosts[0]
    h1.tc("qdisc", "add", "dev", "up0", "ingress")
    h1.tc("filter", "add", "dev", "up0", "ingress", "prio", "7", "protocol", "ip", "u32", "match", "u32", "0", "0", "flowid", "1:1")
    before = h1.tc("qdisc", "show"), h1.tc("filter", "show", "dev", "up0", "ingress")
    root = net.cgroup("agent")
    agent = net.agent(h1, cgroup=root, levels=0)
    if tcx.works():
        assert agent.opened.startswith("ok") and agent.do("says") == "ebpf" and tcx.hooked(h1, "up0") == tcx.BOTH
    elif net.marks == "auto" and agent.opened.startswith("ok"):
        assert agent.do("says").startswith("nftables (ebpf: up0 has an ingress qdisc of somebody else"), agent.do("says")
    else:
        assert "up0 has an ingress qdisc of somebody else" in agent.opened, agent.opened
    assert (h1.tc("qdisc", "show"), h1.tc("filter", "show", "dev", "up0", "ingress")) == before


def theirs(host, way, preference):
    """A filter that ends the processing of whatever comes to it."""
    return host.tc("filter", "add", "dev", "up0", way, "prio", str(preference), "protocol", "all", "u32", "match", "u32", "0", "0", "flowid", "1:1")


def preferences(host, way):
    return sorted({int(n) for n in re.findall(r"pref (\d+)", host.tc("filter", "show", "dev", "up0", way))})


@pytest.mark.guest("uml")  # where there is no tcx
@only_ebpf
def test_filters_of_others_come_behind_ours(net):
    """A filter that ends processing keeps packets from those of a higher preference."""
    root = net.cgroup("agent1")
    h1, h2 = net.hosts
    a = net.cgroup("a", root)
    h1.tc("qdisc", "add", "dev", "up0", "clsact")
    for way in tcx.BOTH:
        theirs(h1, way, 10)
    agent = net.agent(h1, cgroup=root)
    assert agent.opened.startswith("ok"), agent.opened
    out = Capture(net.sw, "p1")

    def marks():
        out.clear()
        here, there, listener = connection(net, h1, h2, a)
        pass_bytes(here, there, 1000)
        for s in (here, there, listener):
            s.close()
        return {p.dscp for p in out.read() if p.protocol == 6 and p.payload} == {dscp(2)}

    agent.do("lease_ms 60000")
    agent.do(f"levels {a.id} 2 5")
    assert [preferences(h1, way) for way in tcx.BOTH] == [[9, 10]] * 2 and marks() and agent.do("compare") == ""
    theirs(h1, "egress", 4)
    assert "somebody put a filter (u32, preference 4) before ours on egress" in agent.do("compare")
    agent.do("reach 2")
    assert preferences(h1, "egress") == [3, 4, 10] and marks() and agent.do("compare") == ""
    theirs(h1, "ingress", 1)
    said = agent.ask("compare")
    assert "the ingress filter of somebody else (u32, preference 1)" in said and "nothing can be put before it" in said, said
    agent.do("restore")
    assert [preferences(h1, way) for way in tcx.BOTH] == [[4, 10], [1, 10]]
    again = net.agent(h1, cgroup=root, levels=0)
    assert "nothing can be put before it" in again.opened, again.opened


@pytest.mark.skipif(not tcx.works(), reason="this kernel has no tcx")
@only_ebpf
def test_filters_and_programs_of_others_keep_nothing_from_ours(net):
    """By tcx ours see all before any filter, and before programs that stood there first."""
    h1, h2 = net.hosts
    for host in net.hosts:
        host.tc("qdisc", "add", "dev", "up0", "clsact")
        for way in tcx.BOTH:
            theirs(host, way, 1)
    with contextlib.ExitStack() as put:
        for host in net.hosts:
            for way in tcx.BOTH:
                put.enter_context(tcx.in_front(host, "up0", way))
        pair = Pair(net)
        pair.levels(pair.a, 2, 5)
        here, there, listener = connection(net, h1, h2, pair.a)
        port = listener.getsockname()[1]
        pass_bytes(here, there, 1000)
        pass_bytes(there, here, 100_000)
        assert seen(pair.out1, port, payload_only=True) == seen(pair.out2, port, payload_only=True) == {dscp(2)}
        assert pair.agent1.do("compare") == "" and pair.agent2.stats()["followed"] == 1
        pair.agent1.do("restore")
        assert len(tcx.standing(h1, "up0", "egress")) == 1 and preferences(h1, "egress") == [1]


WITHOUT_BPF = ("setpriv", "--bounding-set", "-sys_admin,-bpf,-perfmon", "--inh-caps", "-all", "--")
WITHOUT_ANY = ("setpriv", "--bounding-set", "-sys_admin,-bpf,-perfmon,-net_admin", "--inh-caps", "-all", "--")
by_auto = pytest.mark.parametrize("net", ["auto"], indirect=True)


@by_auto
def test_auto_takes_the_best_that_opens_and_says_why(net):
    h1, h2 = net.hosts
    first = net.agent(h1, cgroup=net.cgroup("agent1"))
    assert first.opened.startswith("ok") and first.do("says") == "ebpf"
    assert net.agent(h2, cgroup=net.cgroup("agent2"), under=WITHOUT_BPF).do("says").startswith("nftables (ebpf: mounting a bpf file system on ")
    assert "duopoly-up0" in h2.enter("nft", "list tables")


@by_auto
def test_auto_says_when_nothing_can_mark(net):
    before = state_of(net.hosts[0])
    agent = net.agent(net.hosts[0], cgroup=net.cgroup("agent"), levels=0, under=WITHOUT_ANY)
    assert agent.opened.startswith("error nothing marks here: ebpf: ") and "; nftables: " in agent.opened, agent.opened
    assert state_of(net.hosts[0]) == before


@by_auto
def test_another_driver_takes_the_place_of_what_was_left(net):
    """What an agent that was killed made by one driver is removed by the next one's; and back."""
    h1, root = net.hosts[0], net.cgroup("agent")
    before = state_of(h1)
    for marks in ("nftables", "ebpf", "nftables", "auto"):
        agent = net.agent(h1, cgroup=root, levels=0, marks=marks)
        assert agent.opened.startswith("ok"), agent.opened
        nft = marks == "nftables"
        now = state_of(h1)
        assert ("duopoly-up0" in now[2], now[1] == tcx.BOTH, os.path.ismount(agent.bpffs)) == (nft, not nft, not nft), marks
        agent.kill()
    last = net.agent(h1, cgroup=root, levels=0)
    last.do("restore")
    assert state_of(h1) == before
