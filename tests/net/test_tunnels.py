"""What goes through a tunnel between hosts: the packet inside is marked, and so is the one around
it, which waits in the mark's queue.

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

import tcx
from nets import BUILD, Capture, Net, Packet, connection, needs_root, pass_bytes, wait_for
from scripted import Agent, site  # noqa: F401: a fixture

pytestmark = needs_root
TCP, UDP, GRE, IPIP, ARP = 6, 17, 47, 4, None


def dscp(level):
    return 4 * level + 3


def vxlan(host, peer, dev="tun0", *more):
    host.ip("link", "add", dev, "type", "vxlan", "id", "7", "dev", "up0", "remote", peer.address, "dstport", "4789", *more)


def vxlan_that_copies(host, peer, dev):
    vxlan(host, peer, dev, "tos", "inherit")


def geneve(host, peer, dev):
    host.ip("link", "add", dev, "type", "geneve", "id", "7", "remote", peer.address)


def over_ip(kind):
    def add(host, peer, dev):
        host.ip("link", "add", dev, "type", kind, "local", host.address, "remote", peer.address)
    return add


def over_ipv6(kind):
    def add(host, peer, dev):
        host.ip("link", "add", dev, "type", kind, "local", host.address6, "remote", peer.address6)
    return add


def wireguard(host, peer, dev):
    """Each end's key is its own address over and over: any 32 bytes are one."""
    def key(of):
        return base64.b64encode((of.address.encode() * 4)[:32]).decode()
    if not shutil.which("wg"):
        pytest.skip("no Debian package wireguard-tools")
    public = subprocess.run(["wg", "pubkey"], input=key(peer), capture_output=True, text=True, check=True).stdout.strip()
    host.ip("link", "add", dev, "type", "wireguard")
    with tempfile.NamedTemporaryFile("w") as private:
        private.write(key(host))
        private.flush()
        host.enter("wg", "set", dev, "listen-port", "51820", "private-key", private.name, "peer", public,
                   "allowed-ips", "10.77.0.0/16", "endpoint", peer.address + ":51820")


def stacked(*words):
    def add(host, _peer, dev="tun0"):
        host.ip("link", "add", dev, "link", "up0", "type", *words)
    return add


def bridge(host, _peer, dev="tun0"):
    host.ip("link", "add", dev, "type", "bridge")
    host.ip("link", "set", "up0", "master", dev)


KINDS = {"vxlan": (vxlan, UDP), "vxlan that copies": (vxlan_that_copies, UDP), "geneve": (geneve, UDP), "wireguard": (wireguard, UDP),
         "gre": (over_ip("gre"), GRE), "gretap": (over_ip("gretap"), GRE), "ip6gre": (over_ipv6("ip6gre"), GRE),
         "ipip": (over_ip("ipip"), IPIP), "ip6tnl": (over_ipv6("ip6tnl"), IPIP),
         "vlan": (stacked("vlan", "id", "7"), TCP), "macvlan": (stacked("macvlan", "mode", "bridge"), TCP),
         "ipvlan": (stacked("ipvlan", "mode", "l2"), TCP), "bridge": (bridge, TCP)}


class Overlay:
    """h1 with task a and h2, joined by something that has the addresses 10.77.N.1 and .2, for each
    kind, over what joins them."""

    def __init__(self, net, kinds, marks="ebpf", tunnels=True, ports="up0"):
        self.net, (self.h1, self.h2) = net, net.hosts
        self.kinds = kinds
        for n, kind in enumerate(kinds):
            for i, (host, peer) in enumerate(((self.h1, self.h2), (self.h2, self.h1)), 1):
                KINDS[kind][0](host, peer, f"tun{n}")
                host.ip("addr", "add", f"10.77.{n}.{i}/24", "dev", f"tun{n}")
                host.ip("link", "set", f"tun{n}", "up")
        roots = [net.cgroup("agent1"), net.cgroup("agent2")]
        self.a = net.cgroup("a", roots[0])
        self.agents = [net.agent(host, cgroup=root, marks=marks, members="10.99.0.0/24,fd99::/64,10.77.0.0/16", ports=ports,
                                 tunnels=",".join(f"tun{n}" for n in range(len(kinds))) if tunnels else None)
                       for host, root in zip(net.hosts, roots)]
        for agent in self.agents:
            assert agent.opened.startswith("ok"), agent.opened
            agent.do("lease_ms 60000")
        self.agents[0].do(f"levels {self.a.id} 3 5")
        self.there, self.back = Capture(net.sw, "p1", raw=True), Capture(net.sw, "p2", raw=True)

    def outer(self, capture, n):
        """Those around packets between these addresses; where that cannot be seen, around data
        (WireGuard's type 4)."""
        ends = [socket.inet_aton(f"10.77.{n}.{i}") for i in (1, 2)]

        def is_one(frame):
            return frame[42:43] == b"\4" if self.kinds[n] == "wireguard" else ends[0] + ends[1] in frame or ends[1] + ends[0] in frame
        packets = [Packet(frame) for frame in capture.read() if is_one(frame)]
        assert {packet.protocol for packet in packets} <= {KINDS[self.kinds[n]][1], ARP}
        return [packet for packet in packets if packet.protocol]

    def marks(self, n=0):
        """Code points on the wire, of a request and of its answer."""
        here, there, _ = connection(self.net, self.h1, self.h2, self.a, address=f"10.77.{n}.2")
        self.there.clear(), self.back.clear()
        pass_bytes(here, there, 100)
        pass_bytes(there, here, 200_000)
        request, data = self.outer(self.there, n), self.outer(self.back, n)
        assert all(p.checksum_right for p in request + data), self.kinds[n]
        return {p.dscp for p in request}, {p.dscp for p in data}

    def check(self, n):
        """A request and its answer have level 3's mark on the wire, in its queue, and are counted
        once."""
        before = self.agents[1].stats()["marked"][3], class_bytes(self.h2, 5), class_bytes(self.h1, 2)
        assert self.marks(n) == ({dscp(3)}, {dscp(3)}), self.kinds[n]
        after = self.agents[1].stats()["marked"][3], class_bytes(self.h2, 5), class_bytes(self.h1, 2)
        marked, queued, bare = (b - a for a, b in zip(before, after))
        assert 200_000 < marked < 260_000 and queued > 200_000, self.kinds[n]
        assert bare > 1_000, f"{self.kinds[n]}: segments without content wait in level 0's queue"
        assert not any(agent.stats()["bleached"] for agent in self.agents)


@pytest.fixture
def overlay():
    made = []

    def make(kinds, **options):
        made.append(Net(2))
        return Overlay(made[-1], kinds, **options)
    yield make
    for net in made:
        net.remove()


def class_bytes(host, minor):
    shown = host.tc("-s", "class", "show", "dev", "up0")
    return int(re.search(f"class htb d00:{minor:x} .*?Sent (\\d+) bytes", shown, re.S)[1])


def on(*kernels):
    return pytest.mark.guest(*kernels)


@pytest.mark.parametrize("kinds, driver", [
    (["vxlan"], "ebpf"), (["vxlan that copies"], "ebpf"), pytest.param(["vxlan"], "nftables", marks=on("host")),
    pytest.param(["wireguard"], "ebpf", marks=on("qemu")),
    pytest.param(["geneve", "gre", "gretap", "ip6gre", "ipip", "ip6tnl"], "ebpf", marks=on("uml"))], ids=str)
def test_both_directions_are_marked_around_the_tunnel_too(overlay, kinds, driver):
    o = overlay(kinds, marks=driver)
    for n in range(len(kinds)):
        o.check(n)


def test_a_tunnel_alone_is_seen_where_it_copies_code_points(overlay):
    assert overlay(["vxlan that copies"], tunnels=False, ports="tun0").marks() == ({dscp(3)}, {dscp(3)})


def test_data_through_a_tunnel_that_is_not_named_are_unmarked(overlay):
    """As its note says."""
    assert overlay(["vxlan"], tunnels=False).marks() == ({dscp(3)}, {0})


@on("qemu")
def test_wireguard_hides_data_from_nftables(overlay):
    """As its note says."""
    assert overlay(["wireguard"], marks="nftables").marks() == ({dscp(3)}, {0})


@on("qemu")
def test_what_wireguard_hides_is_told(site):  # noqa: F811
    wireguard(*site.net.hosts, "tun0")
    controller, _ = site.begin(link="{ports: [up0, tun0], rate: 100 Mbps}", marks=", driver: nftables")
    assert "WireGuard hides from nftables" in state(controller)["text"]


@pytest.mark.parametrize("kinds", [["macvlan"], ["bridge"], pytest.param(["vlan", "ipvlan"], marks=on("uml"))], ids=str)
def test_what_stands_on_a_port_is_marked_there(overlay, kinds):
    o = overlay(kinds, tunnels=False)
    for n in range(len(kinds)):
        o.check(n)


@pytest.mark.parametrize("driver", ["ebpf", pytest.param("nftables", marks=on("host"))])
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


def state(controller):
    """What the agent has told last of its host."""
    return wait_for("the host's state", lambda: controller.of("host_state"))[-1]


def plan(agent):
    with agent.host.popen(os.path.join(BUILD, "duopoly-agent"), "--config", agent.config, "--plan", "--json",
                          stdout=subprocess.PIPE, text=True) as process:
        told = json.loads(process.communicate(timeout=20)[0])
    queues = {c["where"] for c in told["changes"] if c["kind"] == "queues"}
    marks = {c["where"] for c in told["changes"] if c["kind"] == "filter"}  # or pins of links: out-PORT
    marks |= {c["where"].rpartition("/")[2].partition("-")[2] for c in told["changes"] if c["kind"] == "link"}
    return queues, marks, [note["note"] for note in told["notes"]]


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


@pytest.mark.parametrize("kind", ["macvlan", "bridge", pytest.param("vlan", marks=on("uml"))])
def test_what_stands_on_a_port_has_nothing_of_its_own(planned, kind):
    """A VLAN's packets, and its like's, are the port's: naming both changes nothing."""
    assert planned("up0, tun0", "10.77.0.0/24", KINDS[kind][0]) == ({"up0"}, {"up0"}, [])
    assert planned("tun0", "10.77.0.0/24") == ({"tun0"}, {"tun0"}, [])


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

    def has_program(device="tun0"):
        return "egress" in tcx.hooked(host, device)

    def told(text):
        wait_for(f"\"{text}\" in the host's note", lambda: text in state(controller)["text"])
    assert has_program() and state(controller)["text"] == ""
    tcx.detach(host, "tun0", "egress")
    wait_for("the program again", has_program)
    told("tun0: somebody removed or replaced our " + ("programs" if tcx.works() else "filters") + ": repaired")
    host.ip("link", "del", "tun0")
    host.ip("link", "add", "tun1", "type", "vxlan", "id", "8", "dev", "up0", "remote", "10.98.0.2", "dstport", "4789")
    told("tun1: its other end 10.98.0.2 is none of marks.members, so what it carries leaves unmarked")
    wait_for("its program", lambda: has_program("tun1"))
    assert "htb" not in host.tc("qdisc", "show", "dev", "tun1")
    host.ip("link", "del", "tun1")
    wait_for("no note", lambda: "tun1" not in state(controller)["text"])


@on("host")
def test_nftables_follows_ports_and_tunnels(site):  # noqa: F811
    host, peer = site.net.hosts
    vxlan(host, peer)
    controller, _ = site.begin(link='{ports: ["up*", "tun*"], rate: 100 Mbps}', marks=", driver: nftables")

    def members(of):
        found = re.search(f"set {of} {{(.*?)}}\n", host.enter("nft", "list", "ruleset"), re.S)
        return set(re.findall('"([a-z0-9]+)"', found[1] if found else ""))
    assert state(controller)["marks"] == "nftables"
    assert (members("ports"), members("tunnels")) == ({"up0", "tun0"}, {"tun0"})
    host.ip("link", "del", "tun0")
    host.ip("link", "add", "tun1", "type", "vxlan", "id", "8", "dev", "up0", "remote", peer.address, "dstport", "4789")
    host.ip("link", "add", "up1", "type", "veth", "peer", "name", "down1")
    wait_for("both", lambda: (members("ports"), members("tunnels")) == ({"up0", "up1", "tun1"}, {"tun1"}))
