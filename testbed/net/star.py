"""Hosts around one switch, a bridge with one port per host, named after it.

Every host has eth0 (10.77.0.NUMBER/24). The bridge's packets do not pass the packet filter, which
costs time and has no rules here."""

from testbed.net import network, system

PREFIX = "10.77.0"
SWITCH, BRIDGE = "s", "br0"


class Star(network.Network):
    def __init__(self, instance, hosts, link_bps):
        super().__init__(instance)
        self.hosts = network.host_names(hosts)
        self.link_bps = link_bps
        self.members = PREFIX + ".0/24"
        self.addresses = {name: "%s.%d" % (PREFIX, i + 1) for i, name in enumerate(self.hosts)}
        self.addresses.update({network.CONTROLLER: PREFIX + ".250", SWITCH: PREFIX + ".251"})
        self.switches = {SWITCH: network.Switch(self.addresses[SWITCH],
                                                ["bridge: " + BRIDGE, "rate: %d bps" % link_bps],
                                                {name: name
                                                 for name in [*self.hosts, network.CONTROLLER]})}
        self.crossings = [link_bps] * 3

    def describe(self):
        return "one switch"

    def _join(self):
        unfiltered = ("for key in /proc/sys/net/bridge/bridge-nf-call-*; do "
                      "[ ! -e $key ] || echo 0 > $key; done\n")
        system.run(*self.enter(SWITCH, "sh", "-ec", unfiltered))
        self.ip(SWITCH, "link add %s type bridge stp_state 0" % BRIDGE,
                "address add %s/24 dev %s" % (self.addresses[SWITCH], BRIDGE),
                "link set %s up" % BRIDGE)
        for name in [*self.hosts, network.CONTROLLER]:
            self._link(name, self.uplink(name), SWITCH, name, self.link_bps)
            self.ip(name, "address add %s/24 dev %s" % (self.addresses[name], self.uplink(name)))
            self.ip(SWITCH, "link set %s master %s" % (name, BRIDGE))
