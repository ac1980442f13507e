"""What goes through a tunnel between hosts: the packet inside is marked, and so is the one around it, which waits in the mark's queue.

What the wire carries is captured on the switch between the hosts: outer packets."""

import base64
import re
import shutil
import socket
import subprocess
import tempfile

import pytest

from nets import Capture, Net, Packet, connection, needs_root, pass_bytes

pytestmark = needs_root
UDP, GRE, IPIP, ARP = 17, 47, 4, None


def dscp(level):
    return 4 * level + 3


def vxlan(host, peer, *more):
    host.ip("link", "add", "tun0", "type", "vxlan", "id", "7", "dev", "up0", "remote", peer.address, "dstport", "4789", *more)


def geneve(host, peer, *more):
    host.ip("link", "add", "tun0", "type", "geneve", "id", "7", "remote", peer.address, *more)


def ip_tunnel(kind):
    def add(host, peer, *more):
        host.ip("link", "add", "tun0", "type", kind, "local", host.address, "remote", peer.address, *more)
    return add


def six(kind):
    def add(host, peer, *more):
        host.ip("link", "add", "tun0", "type", kind, "local", host.address6, "remote", peer.address6, *more)
    return add


def wireguard(host, peer, *_more):
    """Each end's key is its own address over and over: any 32 bytes are one."""
    def key(of):
        return base64.b64encode((of.address.encode() * 4)[:32]).decode()
    if not shutil.which("wg"):
        pytest.skip("no Debian package wireguard-tools")
    public = subprocess.run(["wg", "pubkey"], input=key(peer), capture_output=True, text=True, check=True).stdout.strip()
    host.ip("link", "add", "tun0", "type", "wireguard")
    with tempfile.NamedTemporaryFile("w") as private:
        private.write(key(host))
        private.flush()
        host.enter("wg", "set", "tun0", "listen-port", "51820", "private-key", private.name, "peer", public,
                   "allowed-ips", "10.77.0.0/24", "endpoint", peer.address + ":51820")


KINDS = {"vxlan": (vxlan, UDP), "geneve": (geneve, UDP), "gre": (ip_tunnel("gre"), GRE), "gretap": (ip_tunnel("gretap"), GRE),
         "ipip": (ip_tunnel("ipip"), IPIP), "ip6gre": (six("ip6gre"), GRE), "ip6tnl": (six("ip6tnl"), IPIP),
         "wireguard": (wireguard, UDP)}


class Overlay:
    """h1 with task a and h2, joined by a tunnel with addresses 10.77.0.N over what joins them."""

    def __init__(self, net, kind, marks="ebpf", members="10.99.0.0/24,fd99::/64,10.77.0.0/24", tunnels="tun0", more=()):
        self.net, (self.h1, self.h2) = net, net.hosts
        add, self.protocol = KINDS[kind]
        for i, (host, peer) in enumerate(((self.h1, self.h2), (self.h2, self.h1)), 1):
            add(host, peer, *more)
            host.ip("addr", "add", f"10.77.0.{i}/24", "dev", "tun0")
            host.ip("link", "set", "tun0", "up")
        roots = [net.cgroup("agent1"), net.cgroup("agent2")]
        self.a = net.cgroup("a", roots[0])
        self.agents = [net.agent(host, cgroup=root, marks=marks, members=members, tunnels=tunnels)
                       for host, root in zip(net.hosts, roots)]
        for agent in self.agents:
            assert agent.opened.startswith("ok"), agent.opened
            agent.do("lease_ms 60000")
        self.agents[0].do(f"levels {self.a.id} 3 5")
        self.there, self.back = Capture(net.sw, "p1", raw=True), Capture(net.sw, "p2", raw=True)
        self.sealed = kind == "wireguard"

    def outer(self, capture):
        """Those around packets between the tunnel's addresses; where that cannot be seen, around data (WireGuard's type 4)."""
        there, back = socket.inet_aton("10.77.0.1"), socket.inet_aton("10.77.0.2")
        frames = [f for f in capture.read() if (f[42:43] == b"\4" if self.sealed else there + back in f or back + there in f)]
        packets = [Packet(frame) for frame in frames]
        assert {packet.protocol for packet in packets} <= {self.protocol, ARP}
        return [packet for packet in packets if packet.protocol]


@pytest.fixture
def overlay():
    made = []

    def make(kind, **options):
        net = Net(2)
        made.append(net)
        try:
            return Overlay(net, kind, **options)
        except subprocess.CalledProcessError as why:
            if "Unknown device type" in why.stderr or "not supported" in why.stderr:
                pytest.skip(f"this kernel has no {kind}")
            raise
    yield make
    for net in made:
        net.remove()


def class_bytes(host, minor):
    shown = host.tc("-s", "class", "show", "dev", "up0")
    return int(re.search(f"class htb d00:{minor:x} .*?Sent (\\d+) bytes", shown, re.S)[1])


WHERE = {"vxlan": ("host", "uml"), "wireguard": ("qemu",)}


@pytest.mark.parametrize("kind, driver", [
    *(pytest.param(kind, "ebpf", marks=pytest.mark.guest(*WHERE.get(kind, ["uml"]))) for kind in KINDS), ("vxlan", "nftables")])
def test_both_directions_are_marked_around_the_tunnel_too(overlay, kind, driver):
    o = overlay(kind, marks=driver)
    here, there, _ = connection(o.net, o.h1, o.h2, o.a, address="10.77.0.2")
    o.there.clear(), o.back.clear()
    pass_bytes(here, there, 100)
    pass_bytes(there, here, 200_000)
    request, data = o.outer(o.there), o.outer(o.back)
    assert {p.dscp for p in request} == {dscp(3)} and {p.dscp for p in data} == {dscp(3)}
    assert all(p.checksum_right for p in request + data)
    sent = [agent.stats() for agent in o.agents]
    assert sent[1]["marked"][3] > 200_000 and not any(a["bleached"] for a in sent), "counted once, at the port"
    assert sent[1]["marked"][3] < 250_000
    assert class_bytes(o.h2, 5) > 200_000 and class_bytes(o.h2, 10) < 10_000, "in level 3's queue"
    assert class_bytes(o.h1, 2) > 5_000, "segments without content wait in level 0's"
