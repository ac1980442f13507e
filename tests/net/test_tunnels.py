"""What goes through a tunnel between hosts: the packet inside is marked, and so is the one around it, which waits in the mark's queue.

What the wire carries is captured on the switch between the hosts: outer packets."""

import base64
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile

import pytest

from nets import BUILD, Capture, Net, Packet, connection, needs_root, pass_bytes, wait_for
from scripted import Agent, site  # noqa: F401: a fixture

pytestmark = needs_root
TCP, UDP, GRE, IPIP, ARP = 6, 17, 47, 4, None


def dscp(level):
    return 4 * level + 3


def vxlan(host, peer, *more):
    host.ip("link", "add", "tun0", "type", "vxlan", "id", "7", "dev", "up0", "remote", peer.address, "dstport", "4789", *more)


def vxlan_that_copies(host, peer):
    vxlan(host, peer, "tos", "inherit")


def stacked(*words):
    def add(host, _peer):
        host.ip("link", "add", "tun0", *words)
    return add


def bridge(host, _peer):
    host.ip("link", "add", "tun0", "type", "bridge")
    host.ip("link", "set", "up0", "master", "tun0")


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
         "wireguard": (wireguard, UDP), "vxlan that copies": (vxlan_that_copies, UDP)}


STACKS = {"vlan": stacked("link", "up0", "type", "vlan", "id", "7"), "macvlan": stacked("link", "up0", "type", "macvlan", "mode", "bridge"),
          "ipvlan": stacked("link", "up0", "type", "ipvlan", "mode", "l2"), "bridge": bridge}
OVER_STACK = [pytest.param(kind, marks=pytest.mark.guest("uml" if kind in ("vlan", "ipvlan") else "host")) for kind in STACKS]


class Overlay:
    """h1 with task a and h2, joined by a tunnel with addresses 10.77.0.N over what joins them."""

    def __init__(self, net, kind, marks="ebpf", members="10.99.0.0/24,fd99::/64,10.77.0.0/24", tunnels="tun0", more=()):
        self.net, (self.h1, self.h2) = net, net.hosts
        add, self.protocol = KINDS[kind] if kind in KINDS else (STACKS[kind], TCP)
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


WHERE = {"vxlan": ("host", "uml"), "vxlan that copies": ("host",), "wireguard": ("qemu",)}


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


@pytest.mark.parametrize("driver", ["ebpf", "nftables"])
def test_a_switch_classifies_what_it_puts_into_a_tunnel(driver):
    net = Net(2)
    try:
        h1, h2 = net.hosts
        for i, (host, peer) in enumerate(((h1, h2), (h2, h1)), 1):
            vxlan(host, peer)
            host.ip("addr", "add", f"10.77.0.{i}/24", "dev", "tun0")
            host.ip("link", "set", "tun0", "up")
        agent = net.agent(h1, role="switch", tunnels="tun0", marks=driver, members="10.99.0.0/24,10.77.0.0/24")
        assert agent.opened.startswith("ok"), agent.opened
        wire = Capture(net.sw, "p1")
        with h1.inside():
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp(6) << 2)
        sender.sendto(b"x" * 1000, ("10.77.0.2", 9))
        outer = wait_for("the packet", lambda: [p for p in wire.read() if p.protocol == UDP and p.payload > 1000])
        assert outer[0].dscp == dscp(6) and outer[0].checksum_right
        assert class_bytes(h1, 8) > 1000 and agent.stats()["marked"][6] > 1000
    finally:
        net.remove()


def plan(agent):
    with agent.host.popen(os.path.join(BUILD, "duopoly-agent"), "--config", agent.config, "--plan", "--json",
                          stdout=subprocess.PIPE, text=True) as process:
        told = json.loads(process.communicate(timeout=20)[0])
    queues = {c["where"] for c in told["changes"] if c["kind"] == "queues"}
    filters = {c["where"] for c in told["changes"] if c["kind"] == "filter"}
    return queues, filters, [note["note"] for note in told["notes"]]


@pytest.fixture
def planned():
    """Makes an agent's configuration on h1 with a vxlan, or what `kind` makes, and its plan."""
    net = Net(2)
    made = []

    def make(ports, members, kind=vxlan):
        host, peer = net.hosts
        if not made:
            kind(host, peer)
            host.ip("addr", "add", "10.77.0.1/24", "dev", "tun0")
            host.ip("link", "set", "tun0", "up")
        agent = Agent(net, host, f"tcp://{peer.address}:7000", begins=False, link=f"{{ports: [{ports}], rate: 100 Mbps}}")
        made.append(agent)
        with open(agent.config) as config:
            text = config.read()
        with open(agent.config, "w") as config:
            config.write(text.replace("members: [10.99.0.0/24]", f"members: [{members}]"))
        return plan(agent)
    try:
        make.net = net
        yield make
    finally:
        net.remove()


def test_a_tunnel_over_a_port_has_marks_and_no_queues(planned):
    assert planned("up0, tun0", "10.99.0.0/24, 10.77.0.0/24") == ({"up0"}, {"up0", "tun0"}, [])


@pytest.mark.parametrize("kind", OVER_STACK)
def test_what_stands_on_a_port_has_nothing_of_its_own(planned, kind):
    """A VLAN's packets, and its like's, are the port's: naming both changes nothing."""
    assert planned("up0, tun0", "10.77.0.0/24", STACKS[kind]) == ({"up0"}, {"up0"}, [])
    assert planned("tun0", "10.77.0.0/24") == ({"tun0"}, {"tun0"}, [])


@pytest.mark.parametrize("kind", OVER_STACK)
def test_what_stands_on_a_port_is_marked_there(overlay, kind):
    o = overlay(kind, tunnels=None)
    here, there, _ = connection(o.net, o.h1, o.h2, o.a, address="10.77.0.2")
    o.there.clear(), o.back.clear()
    pass_bytes(here, there, 100)
    pass_bytes(there, here, 200_000)
    assert {p.dscp for p in o.outer(o.there)} == {p.dscp for p in o.outer(o.back)} == {dscp(3)}
    assert 200_000 < o.agents[1].stats()["marked"][3] < 250_000 and class_bytes(o.h2, 5) > 200_000


def test_what_would_not_be_marked_is_planned_with_what_mends_it(planned):
    assert planned("up0, tun0", "10.77.0.0/24") == (
        {"up0"}, {"up0", "tun0"}, ["tun0: its other end 10.99.0.2 is none of marks.members, so what it carries leaves unmarked"])
    queues, _, (note,) = planned("up0", "10.99.0.0/24, 10.77.0.0/24")
    assert queues == {"up0"} and note.startswith("tun0 goes over a port of ours: data through it leave unmarked")
    assert planned("up0", "10.99.0.0/24")[2] == [], "nobody is a member through it"
    queues, _, (note,) = planned("tun0", "10.99.0.0/24, 10.77.0.0/24")
    command = re.fullmatch("tun0 hides marks from the network: (ip link set .*), or name the interface below it in link.ports, too", note)[1]
    assert queues == {"tun0"}
    planned.net.hosts[0].enter(*command.split())
    assert planned("tun0", "10.99.0.0/24, 10.77.0.0/24") == ({"tun0"}, {"tun0"}, [])


def test_tunnels_are_followed_and_what_does_not_work_is_told(site):  # noqa: F811
    host, peer = site.net.hosts
    vxlan(host, peer)
    controller, agent = site.begin(link='{ports: [up0, "tun*"], rate: 100 Mbps}')

    def filters(device="tun0"):
        return len(re.findall("bpf.* jited|direct-action", host.tc("filter", "show", "dev", device, "egress")))

    def told(text):
        wait_for(f"\"{text}\" in the host's note", lambda: text in controller.of("host_state")[-1]["text"])
    assert filters() and controller.of("host_state")[-1]["text"] == ""
    host.tc("filter", "del", "dev", "tun0", "egress")
    wait_for("the program again", filters)
    told("tun0: somebody removed or replaced our filters: repaired")
    host.ip("link", "del", "tun0")
    host.ip("link", "add", "tun1", "type", "vxlan", "id", "8", "dev", "up0", "remote", "10.98.0.2", "dstport", "4789")
    told("tun1: its other end 10.98.0.2 is none of marks.members, so what it carries leaves unmarked")
    wait_for("its program", lambda: filters("tun1"))
    assert "htb" not in host.tc("qdisc", "show", "dev", "tun1")
    host.ip("link", "del", "tun1")
    wait_for("no note", lambda: "tun1" not in controller.of("host_state")[-1]["text"])


def test_nftables_follows_ports_and_tunnels(site):  # noqa: F811
    host, peer = site.net.hosts
    vxlan(host, peer)
    controller, _ = site.begin(link='{ports: ["up*", "tun*"], rate: 100 Mbps}', marks=", driver: nftables")

    def members(of):
        found = re.search(f"set {of} {{(.*?)}}\n", host.enter("nft", "list", "ruleset"), re.S)
        return set(re.findall('"([a-z0-9]+)"', found[1] if found else ""))
    assert controller.of("host_state")[-1]["marks"] == "nftables"
    assert (members("ports"), members("tunnels")) == ({"up0", "tun0"}, {"tun0"})
    host.ip("link", "del", "tun0")
    host.ip("link", "add", "tun1", "type", "vxlan", "id", "8", "dev", "up0", "remote", peer.address, "dstport", "4789")
    host.ip("link", "add", "up1", "type", "veth", "peer", "name", "down1")
    wait_for("both", lambda: (members("ports"), members("tunnels")) == ({"up0", "up1", "tun1"}, {"tun1"}))
