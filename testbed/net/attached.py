"""An existing network: a user's Mininet object. Its parts are found; none is made or renamed.

Workers are its hosts; switches are its switches of any kind, and its routers: hosts and nodes of
several links that forward. A link's rate is its `bw=`; our queues shape a link without one to
the rate that the caller gives. `words` has a line for each thing that was found or is not
changed.

Daemons need a way to the controller that is not the network under test, whose switches have no
addresses: a namespace of this instance with a bridge, joined to every namespace of the net's by
one interface, DEVICE, of 198.18.0.0/15 (RFC 2544). It ends with that namespace. Besides it, and
until `leave`, the interfaces' TSO, GSO, GRO and checksum offload are off (Open vSwitch outside
the kernel passes on packets without a checksum, which TCP drops), and TCP is cubic with ECN."""

import contextlib
import ipaddress
import os
import re

from testbed.net import network, system

CONTROL = ipaddress.ip_network("198.18.0.0/15")
CONTROL_BITS = 10  # of each instance
DEVICE = "duopoly%d"
OFFLOADS = {"tso": "tcp-segmentation-offload", "gso": "generic-segmentation-offload", "gro": "generic-receive-offload",
            "tx": "tx-checksumming"}
# What an interface's queue may have been given that ours could not keep.
NETEM = ("delay", "jitter", "loss", "max_queue_size")
RATES_MAX = 32


def peer(interface):
    """The interface at the other end of its link; None where there is none."""
    link = interface.link
    return None if not link else link.intf2 if link.intf1 is interface else link.intf1


def interfaces(node):
    return [one for one in node.intfList() if one.name != "lo" and one.link]


def exactly(names):
    """Patterns that match these names and no other, even if another switch here has similar names.
    An agent takes few patterns, so names that differ only by their number, s1-eth1 and s1-eth2,
    are one."""
    patterns, numbered = [], {}
    for name in names:
        stem, number = re.fullmatch(r"(.*?)(0|[1-9][0-9]{0,8}|)", name).groups()
        if number:
            numbered.setdefault(stem, []).append(int(number))
        else:
            patterns.append(name)
    for stem, numbers in numbered.items():
        numbers.sort()
        begins = [number for number in numbers if number - 1 not in numbers]
        ends = [number for number in numbers if number + 1 not in numbers]
        patterns += ["%s%d" % (stem, first) if first == last else "%s[%d-%d]" % (stem, first, last) for first, last in zip(begins, ends)]
    return patterns


def forwards(node):
    return node.cmd("cat /proc/sys/net/ipv4/ip_forward").strip() == "1"


def spanning(switch):
    """Whether loops are broken at it: by a spanning tree, or the user's own controller."""
    return bool(getattr(switch, "stp", False)) or (hasattr(switch, "failMode") and switch.failMode != "standalone")


def check_loops(switches):
    """Failure if bridges without a spanning tree form a loop: its packets would circle for ever."""
    group = {switch: switch for switch in switches if not spanning(switch)}

    def head(switch):
        while group[switch] is not switch:
            switch = group[switch]
        return switch

    links = {one.link for switch in group for one in interfaces(switch) if peer(one).node in group}
    for link in sorted(links, key=str):
        one, other = head(link.intf1.node), head(link.intf2.node)
        if one is other:
            raise system.Failure("the link %s closes a loop of switches without a spanning tree: give them stp=True, or a controller that "
                                 "breaks it" % link)
        group[one] = other


class Attached(network.Network):
    """bps: the rate for links without one of their own."""

    lasting, shared = False, True
    nodes = {}

    def __init__(self, instance, net, bps):
        super().__init__(instance)
        self.link_bps = bps
        self.find(net)

    # ---- what is there ----

    def find(self, net):
        self.words, self.nodes, self.addresses, self.hosts, self.switches, self.rates = [], {}, {}, [], {}, {}
        self.before, self.joined, self.unrated = {}, [], 0
        routers = [node for node in net.hosts if len(interfaces(node)) > 1 and forwards(node)]
        for node in net.hosts:
            if node not in routers:
                self._find_host(node)
        if not self.hosts:
            raise system.Failure("this Mininet has no host that could work: each needs a link and an address")
        self.members = ", ".join(sorted({str(self._interface(host).network) for host in self.hosts}))
        check_loops(net.switches)
        for node in [*net.switches, *routers]:
            self._find_switch(node)
        if network.CONTROLLER in self.nodes:
            raise system.Failure("no node may be called \"%s\" here: that is duopoly's controller" % network.CONTROLLER)
        self._check_routes()
        slowest = min([*self.rates.values(), *(bps for switch in self.switches.values() for bps in switch.core.values())])
        self.crossings = [slowest] * (2 + len(self.switches))
        self.simulated = {}

    def _interface(self, host):
        """Address and prefix of its link."""
        one = self.nodes[host].defaultIntf()
        return ipaddress.ip_interface("%s/%s" % (one.IP(), one.prefixLen))

    def _rate(self, one):
        """Of an interface in bit/s; Failure if its queue cannot be ours."""
        for word in NETEM:
            if one.params.get(word):
                raise system.Failure("%s has %s=%s, which is netem's and would be lost under duopoly's queues: take it off that link" % (
                    one, word, one.params[word]))
        if one.params.get("bw"):
            return round(one.params["bw"] * 10**6)
        self.unrated += 1
        return self.link_bps

    def _find_host(self, node):
        links = interfaces(node)
        if not links or not node.inNamespace:
            self.words.append("%s is left alone: it has no %s" % (node, "namespace of its own" if links else "link"))
            return
        if not node.defaultIntf().IP():
            raise system.Failure("%s has no address: give it one (ip=), without which no task can be fetched from" % node)
        if ipaddress.ip_address(node.defaultIntf().IP()) in CONTROL:
            raise system.Failure("%s has an address in %s, which duopoly's own daemons use" % (node, CONTROL))
        if len(links) > 1:
            self.words.append("%s has %d links, of which %s alone is used" % (node, len(links), node.defaultIntf()))
        self.hosts.append(node.name)
        self.nodes[node.name] = node
        self.addresses[node.name] = node.defaultIntf().IP()
        self.rates[node.name] = self._rate(node.defaultIntf())

    def _find_switch(self, node):
        rates = {one.name: self._rate(one) for one in interfaces(node)}
        if not rates:
            self.words.append("%s is left alone: it has no link" % node)
            return
        workers = {one.name: peer(one).node.name for one in interfaces(node)
                   if peer(one).node.name in self.hosts and peer(one) is peer(one).node.defaultIntf()}
        common = max(rates.values(), key=list(rates.values()).count)
        others = {port: bps for port, bps in rates.items() if bps != common}
        ports = exactly(rates)
        if max(len(others), len(ports)) > RATES_MAX:
            raise system.Failure("%s has more than %d ports with names or rates of their own" % (node, RATES_MAX))
        lines = ["ports: [%s]" % ", ".join('"%s"' % port for port in ports), "rate: %d bps" % common]
        if others:
            lines.append("rates: [%s]" % ", ".join('{ports: "%s", rate: %d bps}' % pair for pair in others.items()))
        self.nodes[node.name] = node
        self.switches[node.name] = network.Switch(None, lines, workers, {port: bps for port, bps in rates.items() if port not in workers})

    def _check_routes(self):
        first = self.hosts[0]
        for host in self.hosts[1:]:
            if self._interface(host).network == self._interface(first).network:
                continue
            for one, other in ((first, host), (host, first)):
                said = self.nodes[one].cmd("ip route get %s" % self.addresses[other])
                if " dev " not in said:
                    raise system.Failure("%s (%s) has no route to %s (%s), which is in another prefix: %s" % (
                        one, self._interface(one), other, self._interface(other), said.strip() or "none"))

    def describe(self):
        return "%d switches of a Mininet" % len(self.switches)

    def summary(self):
        """What was found and what is not changed, a line each."""
        lines = []
        for name, switch in self.switches.items():
            rates = {bps / 1e6 for bps in [*switch.core.values(), *(self.rates[host] for host in switch.hosts.values())]}
            lines.append("%s (%s): %d ports, %s Mb/s, hosts %s" % (
                name, type(self.nodes[name]).__name__, len(switch.ports()), "/".join("%g" % rate for rate in sorted(rates)),
                " ".join(switch.hosts.values()) or "none"))
        lines.append("%d hosts in %s" % (len(self.hosts), self.members))
        if self.unrated:
            lines.append("%d interfaces have no bw= and are shaped to %g Mb/s" % (self.unrated, self.link_bps / 1e6))
        return lines + self.words

    # ---- for everybody ----

    def namespace_file(self, name):
        return "/proc/%d/ns/net" % self.nodes[name].pid if name in self.nodes else super().namespace_file(name)

    def uplink(self, host):
        return self.nodes[host].defaultIntf().name

    def rate(self, host):
        return self.rates[host]

    def taps(self):
        """Of each port with a switch behind it."""
        behind = {host for switch in self.switches.values() for host in switch.hosts.values()}
        return [self.behind(host) for host in self.hosts if host in behind]

    # ---- what is made, and undone ----

    def up(self):
        self._make([network.CONTROLLER])
        self._make_control()
        for name in self.nodes:
            for one in interfaces(self.nodes[name]):
                self._tune(name, one.name)
        for host in self.hosts:
            self._remember_sysctls(host)
            self._set(host, self.sysctls())

    def leave(self):
        """Undoes the tuning; skips what is gone."""
        for name in self.joined:  # the namespace at their other end takes them along too, but in its own time
            with contextlib.suppress(system.Failure):
                self.ip(name, "link del " + DEVICE % self.instance.number)
        for (name, device), words in self.before.items():
            with contextlib.suppress(system.Failure):
                if device:
                    system.run(*self.enter(name, "ethtool", "-K", device, *words))
                else:
                    self._set(name, words)
        self.before, self.joined = {}, []

    def _tune(self, name, device):
        said = system.run(*self.enter(name, "ethtool", "-k", device))
        had = {line.split(":")[0].strip(): line.split(":")[1].split()[0] for line in said.splitlines() if ": " in line}
        self.before[name, device] = [word for short, long in OFFLOADS.items() for word in (short, had[long])]
        system.run(*self.enter(name, "ethtool", "-K", device, *(word for short in OFFLOADS for word in (short, "off"))))

    def _remember_sysctls(self, host):
        values = system.run(*self.enter(host, "cat", *("/proc/sys/" + key for key in self.sysctls()))).splitlines()
        self.before[host, None] = dict(zip(self.sysctls(), values))

    def _make_control(self):
        subnet = ipaddress.ip_network((int(CONTROL.network_address) + (self.instance.number << CONTROL_BITS), 32 - CONTROL_BITS))
        free, device = subnet.hosts(), DEVICE % self.instance.number
        self.addresses[network.CONTROLLER] = str(next(free))
        self.ip(network.CONTROLLER, "link set lo up", "link add br0 type bridge stp_state 0",
                "address add %s/%d dev br0" % (self.addresses[network.CONTROLLER], subnet.prefixlen), "link set br0 up")
        known = {}
        for number, (name, node) in enumerate(self.nodes.items()):
            space = os.stat(self.namespace_file(name)).st_ino
            if space not in known:
                known[space] = str(next(free))
                system.run("ip", "link", "add", "m%d" % number, "netns", self.instance.namespace(network.CONTROLLER), "type", "veth",
                           "peer", "name", device, "netns", str(node.pid))
                self.ip(network.CONTROLLER, "link set m%d master br0 up" % number)
                self.ip(name, "address add %s/%d dev %s" % (known[space], subnet.prefixlen, device), "link set %s up" % device)
                self.joined.append(name)
            if name in self.switches:
                self.addresses[name] = self.switches[name].address = known[space]
