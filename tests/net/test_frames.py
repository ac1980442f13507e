"""Frames with VLAN tags, and TCP behind IPv6 extension headers: marked, followed and classified as
any other.

The frames are made here and sent by packet sockets, so no kernel needs to know 802.1Q. What arrives
at an interface has its outermost tag beside the frame already; so two tags out are one in the frame
on the way in."""

import contextlib
import socket
import struct

import pytest

from nets import Capture, Net, needs_root, wait_for

pytestmark = needs_root
SYN, ACK = 2, 16
HOP_BY_HOP, ROUTING, FRAGMENT, DESTINATION = 0, 43, 44, 60
PADDING = b"\1\4" + bytes(4)


def dscp(level):
    return 4 * level + 3


def ipv4(source, target, payload):
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 1, 20 + len(payload), 7, 0, 64, 6, 0, socket.inet_aton(source), socket.inet_aton(target))
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xffff) + (total >> 16)
    return 0x0800, header[:10] + struct.pack("!H", 0xffff - total) + header[12:] + payload


def ipv6(source, target, payload, extensions=()):
    """`extensions`: pairs of a header's number and its bytes but for the first, which says what
    comes next."""
    numbers = [number for number, _ in extensions] + [6]
    chain = b"".join(bytes([following]) + body for following, (_, body) in zip(numbers[1:], extensions))
    return 0x86dd, struct.pack("!IHBB16s16s", 6 << 28 | 0x10 << 16 | 0x54321, len(chain) + len(payload), numbers[0], 64,
                               socket.inet_pton(socket.AF_INET6, source), socket.inet_pton(socket.AF_INET6, target)) + chain + payload


def tcp(sport, dport, flags, payload=b""):
    return struct.pack("!HHIIBBHHH", sport, dport, 1, 1, 5 << 4, flags, 1000, 0, 0) + payload


def ethernet(packet, tags=0):
    kind, data = packet
    kinds = [0x8100] * min(tags, 1) + [kind]
    kinds = ([0x88a8] if tags > 1 else []) + kinds
    return b"\2\0\0\0\0\2" + b"\2\0\0\0\0\1" + b"".join(struct.pack("!HH", k, 7) for k in kinds[:-1]) + struct.pack("!H", kind) + data


FRAMES = {
    "one tag": (1, False, ()),
    "two tags": (2, False, ()),
    "IPv6 with two tags": (2, True, ()),
    "hop-by-hop": (0, True, [(HOP_BY_HOP, b"\0" + PADDING)]),
    "routing": (0, True, [(ROUTING, b"\2\4\0" + bytes(4) + socket.inet_pton(socket.AF_INET6, "fd99::9"))]),
    "options and a first fragment": (0, True, [(DESTINATION, b"\0" + PADDING), (FRAGMENT, b"\0\0\1" + bytes(4))]),
    "six headers and a tag": (1, True, [(DESTINATION, b"\0" + PADDING)] * 6),
}


class Hosts:
    """h1 with task a, h2 and a switch between them, an agent on each; frames leave by packet
    sockets of `a` and of nobody's."""

    def __init__(self, net):
        self.h1, self.h2 = net.hosts
        root, root2 = net.cgroup("agent1"), net.cgroup("agent2")
        self.a = net.cgroup("a", root)
        self.agents = [net.agent(self.h1, cgroup=root), net.agent(self.h2, cgroup=root2),
                       net.agent(net.sw, ports="p1,p2", role="switch", name="sw")]
        for agent in self.agents:
            assert agent.opened.startswith("ok"), agent.opened
            agent.do("lease_ms 60000")
        self.agents[0].do(f"levels {self.a.id} 2 5")
        self.there, self.back = Capture(net.sw, "p1"), Capture(net.sw, "p2")
        self.arrived = Capture(self.h2, "up0")
        self.opener, self.accepter = self._sender(self.h1, self.a), self._sender(self.h2)

    @staticmethod
    def _sender(host, group=None):
        with host.inside(), group.inside() if group else contextlib.nullcontext():
            sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            sender.bind(("up0", 0))
        return sender


@pytest.fixture
def hosts():
    net = Net(2)
    try:
        yield Hosts(net)
    finally:
        net.remove()


def passed(sender, capture, frame):
    """The packet on the wire that a frame becomes; the host's own are ICMPv6."""
    capture.clear()
    sender.send(frame)
    return wait_for("the frame", lambda: [p for p in capture.read() if p.protocol != socket.IPPROTO_ICMPV6])[0]


@pytest.mark.parametrize("name", FRAMES)
def test_connections_in_such_frames_are_managed(hosts, name):
    tags, v6, extensions = FRAMES[name]
    one, two = ("fd99::1", "fd99::2") if v6 else ("10.99.0.1", "10.99.0.2")

    def segment(source, target, *segment_of):
        data = tcp(*segment_of)
        return ethernet(ipv6(source, target, data, extensions) if v6 else ipv4(source, target, data), tags)

    def there(*of):
        return passed(hosts.opener, hosts.there, segment(one, two, 4000, 5000, *of))

    def back(*of):
        return passed(hosts.accepter, hosts.back, segment(two, one, 5000, 4000, *of))
    before = [agent.stats() for agent in hosts.agents]
    packets = [there(SYN), back(SYN | ACK), there(ACK), there(ACK, b"x" * 500), back(ACK, b"y" * 900)]
    assert [p.dscp for p in packets] == [dscp(0)] * 2 + [dscp(2)] * 3, "handshake, then what its opener's task has"
    assert all(p.checksum_right for p in packets) and {p.ecn for p in packets} == {1}
    assert [(p.sport, p.dport) for p in packets] == [(4000, 5000), (5000, 4000)] + [(4000, 5000)] * 2 + [(5000, 4000)]
    assert {p.flow_label for p in packets if p.version == 6} <= {0x54321}
    after = [agent.stats() for agent in hosts.agents]
    assert after[0]["flows"] == after[1]["flows"] == after[1]["followed"] == 1
    assert all(a["marked"][2] - b["marked"][2] > 500 for a, b in zip(after, before)), "counted on hosts and switch"
    assert wait_for("the content", lambda: [p for p in hosts.arrived.read() if p.payload == 500])[0].dscp == dscp(2)
    passed(hosts.opener, hosts.there, segment(one, two, 4000, 5000, ACK | 4))
    wait_for("RST ends entries", lambda: [a.stats()["flows"] for a in hosts.agents[:2]] == [0, 0])


@pytest.mark.parametrize("extensions", [[(FRAGMENT, b"\0\0\x21" + bytes(4))], [(51, b"\4" + bytes(22))],
                                        [(DESTINATION, b"\0" + PADDING)] * 7, [(DESTINATION, b"\xff" + PADDING)]],
                         ids=["later fragment", "authenticated", "too many", "longer than the packet"])
def test_what_hides_its_ports_has_no_connection(hosts, extensions):
    """Marked as its task's, since the socket is known here; no connection of it is remembered on
    either end."""
    frame = ethernet(ipv6("fd99::1", "fd99::2", tcp(4000, 5000, SYN), extensions), 1)
    assert passed(hosts.opener, hosts.there, frame).dscp == dscp(2)
    assert [agent.stats()["flows"] for agent in hosts.agents[:2]] == [0, 0]


def test_tagged_marks_leave_no_domain(hosts):
    """Towards a stranger a tagged frame's mark is bleached, on the host and on the switch."""
    frame = bytearray(ethernet(ipv4("10.99.0.1", "10.98.0.2", tcp(4000, 5000, ACK, b"x")), 2))
    frame[23] = dscp(3) << 2
    frame[32:34] = bytes(2)
    total = sum(struct.unpack("!10H", frame[22:42]))
    frame[32:34] = struct.pack("!H", 0xffff - ((total & 0xffff) + (total >> 16)))
    packet = passed(hosts.opener, hosts.there, bytes(frame))
    assert packet.dscp == 0 and packet.checksum_right
    hosts.agents[0].do("lease_ms 0")
    packet = passed(hosts.opener, hosts.there, bytes(frame))
    assert packet.dscp == dscp(3), "the host's marks are over"
    wait_for("the switch's bleaching", lambda: any(p.sport == 4000 and p.dscp == 0 for p in hosts.arrived.read()[-1:]))
    assert hosts.agents[2].stats()["bleached"] == 1
