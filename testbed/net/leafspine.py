"""Racks of hosts, each behind a leaf, and spines that join the leaves: all of them routers.

Host N of rack R has 10.77.R.N on eth0 and its leaf as its default route; leaf R (l1, l2, …) has
10.77.R.254 and spine S (p1, p2, …) 10.77.0.S on lo, so links between them need no addresses. A
leaf's port is named after its neighbour. From leaf to leaf there is one way over each spine; the
kernel's hash of a flow's five fields chooses it (net.ipv4.fib_multipath_hash_policy=1), as
equal-cost multipath in a switch does. The links of a leaf to its spines together have the rate
of its hosts' links ÷ OVERSUB. The controller is one more host behind the first leaf."""

from testbed.net import network, system

PREFIX = "10.77"
CONTROLLER_NUMBER, LEAF_NUMBER = 250, 254
ROUTING = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/fib_multipath_hash_policy": "1",
    # The way back may be another than the way there.
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
}


class LeafSpine(network.Network):
    VARIABLES = {"RACKS": (3, 2, network.HOSTS_MAX), "SPINES": (2, 1, 16), "OVERSUB": (4, 1, 1000)}

    def __init__(self, instance, hosts, link_bps, racks, spines, oversub):
        super().__init__(instance)
        self.hosts = network.host_names(hosts)
        if hosts % racks or racks > hosts:
            raise system.Failure("RACKS is %d, but %d hosts cannot be shared out evenly over so "
                                 "many" % (racks, hosts))
        self.of_rack = hosts // racks
        self.link_bps, self.core_bps = link_bps, self.of_rack * link_bps // (oversub * spines)
        if self.core_bps < network.LINK_BPS_MIN:
            raise system.Failure("OVERSUB=%d leaves each of %d spines %d bit/s of a rack of %d "
                                 "hosts, less than 1M" %
                                 (oversub, spines, self.core_bps, self.of_rack))
        self.oversub = oversub
        self.members = PREFIX + ".0.0/16"
        self.leaves = ["l%d" % (i + 1) for i in range(racks)]
        self.spines = ["p%d" % (i + 1) for i in range(spines)]
        self.racks = {host: "rack%d" % (self._rack(host) + 1) for host in self.hosts}
        self.rack_lines = ["rack_uplink: %d bps" % (spines * self.core_bps)]
        self.addresses = {host: "%s.%d.%d" % (PREFIX, self._rack(host) + 1, i + 1)
                          for i, host in enumerate(self.hosts)}
        self.addresses[network.CONTROLLER] = "%s.1.%d" % (PREFIX, CONTROLLER_NUMBER)
        self.addresses.update({leaf: "%s.%d.%d" % (PREFIX, i + 1, LEAF_NUMBER)
                               for i, leaf in enumerate(self.leaves)})
        self.addresses.update({spine: "%s.0.%d" % (PREFIX, i + 1)
                               for i, spine in enumerate(self.spines)})
        self.switches = {**{leaf: self._leaf(i) for i, leaf in enumerate(self.leaves)},
                         **{spine: self._spine(spine) for spine in self.spines}}
        self.simulated = {"racks": racks, "spines": spines, "oversubscription": oversub}
        self.crossings = [link_bps, self.core_bps, self.core_bps, link_bps, link_bps]

    def describe(self):
        return ("%d racks of %d behind leaves, %d spines, %d:1 oversubscribed: %g Mb/s from a leaf "
                "to a spine" % (len(self.leaves), self.of_rack, len(self.spines), self.oversub,
                                self.core_bps / 1e6))

    def _rack(self, host):
        """As duopoly-sim fills them: one after the other."""
        return 0 if host == network.CONTROLLER else self.hosts.index(host) // self.of_rack

    def _leaf(self, rack):
        hosts = [host for host in [*self.hosts, network.CONTROLLER] if self._rack(host) == rack]
        patterns = ["w*", "p*"] + ([network.CONTROLLER] if network.CONTROLLER in hosts else [])
        return network.Switch(self.addresses[self.leaves[rack]],
                              ["ports: [%s]" % ", ".join('"%s"' % pattern for pattern in patterns),
                               "rate: %d bps" % self.link_bps,
                               'rates: [{ports: "p*", rate: %d bps}]' % self.core_bps],
                              {host: host for host in hosts},
                              dict.fromkeys(self.spines, self.core_bps))

    def _spine(self, spine):
        return network.Switch(self.addresses[spine],
                              ['ports: ["l*"]', "rate: %d bps" % self.core_bps],
                              {}, dict.fromkeys(self.leaves, self.core_bps))

    def _join(self):
        for name in self.switches:
            self._set(name, ROUTING)
            self.ip(name, "address add %s/32 dev lo" % self.addresses[name])
        for host in [*self.hosts, network.CONTROLLER]:
            self._join_host(host, self.leaves[self._rack(host)])
        for leaf in self.leaves:
            for spine in self.spines:
                self._link(leaf, spine, spine, leaf, self.core_bps)
        for leaf in self.leaves:
            self._route_leaf(leaf)
        for spine in self.spines:
            self.ip(spine, *("route add %s via %s dev %s onlink src %s" % (
                self._rack_prefix(leaf), self.addresses[leaf], leaf, self.addresses[spine])
                             for leaf in self.leaves))

    def _join_host(self, host, leaf):
        self._link(host, self.uplink(host), leaf, host, self.link_bps)
        self.ip(host, "address add %s/32 dev %s" % (self.addresses[host], self.uplink(host)),
                "route add default via %s dev %s onlink src %s" %
                (self.addresses[leaf], self.uplink(host), self.addresses[host]))
        self.ip(leaf, "route add %s/32 dev %s src %s" %
                (self.addresses[host], host, self.addresses[leaf]))

    def _route_leaf(self, leaf):
        ways = " ".join("nexthop via %s dev %s onlink" % (self.addresses[spine], spine)
                        for spine in self.spines)
        self.ip(leaf,
                *("route add %s src %s %s" % (self._rack_prefix(other), self.addresses[leaf], ways)
                  for other in self.leaves if other != leaf),
                *("route add %s/32 via %s dev %s onlink src %s" %
                  (self.addresses[spine], self.addresses[spine], spine, self.addresses[leaf])
                  for spine in self.spines))

    def _rack_prefix(self, leaf):
        return self.addresses[leaf].rpartition(".")[0] + ".0/24"
