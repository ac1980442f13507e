"""Topologies for Mininet, for `make demo NET=mininet` and the examples. They know nothing of
duopoly."""

from mininet.link import TCLink
from mininet.node import Node
from mininet.nodelib import LinuxBridge
from mininet.topo import Topo


QUEUE_BYTES = 300000


def rated(bps):
    """A link of that rate by a token bucket, behind which QUEUE_BYTES may wait: Mininet's own
    default is ten packets."""
    return {"cls": TCLink, "bw": bps / 1e6, "use_tbf": True, "latency_ms": QUEUE_BYTES * 8000 / bps}


class Router(Node):
    """A node that forwards; loopback: its own address; ways: lines for `ip route`."""

    def config(self, loopback=None, ways=(), **words):
        super().config(**words)
        for key in ("ip_forward=1", "fib_multipath_hash_policy=1", "conf.all.rp_filter=0",
                    "conf.default.rp_filter=0", "conf.all.proxy_arp=1"):
            self.cmd("sysctl -qw net.ipv4." + key)
        for one in self.intfNames():
            self.cmd("ip link set %s up" % one)
        if loopback:
            self.cmd("ip address add %s dev lo" % loopback)
        for way in ways:
            self.cmd("ip route add " + way)


class Star(Topo):
    """w1, w2, … around s1; bps: of every link, by a token bucket."""

    def build(self, hosts, bps, switch=LinuxBridge):
        self.addSwitch("s1", cls=switch)
        for number in range(1, hosts + 1):
            self.addLink(self.addHost("w%d" % number), "s1", **rated(bps))


class LeafSpine(Topo):
    """Racks of hosts behind leaves l1, l2, …, joined by spines p1, p2, …: all of them routers. Host
    wN of rack R is 10.R.0.N of a /16, its leaf 10.R.255.254, which answers ARP for the others of
    the rack; from leaf to leaf there is one way over each spine, chosen by the hash of a flow's
    five fields. The link between leaf R and spine S has 10.200.R.2S at the leaf's end and the
    next address at the spine's."""

    def build(self, racks, of_rack, spines, bps, core_bps):
        leaves = range(1, racks + 1)
        for leaf in leaves:
            hosts = range((leaf - 1) * of_rack + 1, leaf * of_rack + 1)
            over = " ".join("nexthop via 10.200.%d.%d" % (leaf, 2 * spine + 1)
                            for spine in range(1, spines + 1))
            self.addNode("l%d" % leaf, cls=Router, ip=None, loopback="10.%d.255.254/32" % leaf,
                         ways=["10.%d.0.0/16 %s" % (other, over) for other in leaves
                               if other != leaf] +
                         ["10.%d.0.%d/32 dev l%d-w%d" % (leaf, host, leaf, host) for host in hosts])
            for host in hosts:
                self.addHost("w%d" % host, ip="10.%d.0.%d/16" % (leaf, host),
                             defaultRoute="via 10.%d.255.254" % leaf)
                self.addLink("w%d" % host, "l%d" % leaf, intfName2="l%d-w%d" % (leaf, host),
                             **rated(bps))
        for spine in range(1, spines + 1):
            self.addNode("p%d" % spine, cls=Router, ip=None,
                         ways=["10.%d.0.0/16 via 10.200.%d.%d" % (leaf, leaf, 2 * spine)
                               for leaf in leaves])
            for leaf in leaves:
                self.addLink("l%d" % leaf, "p%d" % spine, **rated(core_bps),
                             params1={"ip": "10.200.%d.%d/31" % (leaf, 2 * spine)},
                             params2={"ip": "10.200.%d.%d/31" % (leaf, 2 * spine + 1)})
