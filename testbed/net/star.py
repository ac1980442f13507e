"""Hosts around one switch, a bridge with one port per host, named after it.

Every host has eth0 (10.77.0.NUMBER/24). One may have a slow cable, a fault to be found. The
bridge's packets do not pass the packet filter, which costs time and has no rules here."""

from testbed.net import network, system

PREFIX = "10.77.0"
SWITCH, BRIDGE = "s", "br0"


SLOW_PART = 10  # of its rate a slow cable carries one part
PORT_RATES = 32  # that an agent takes


class Star(network.Network):
    unlike = True
    slow = None  # the worker whose cable is slow

    def __init__(self, instance, hosts, link_bps, described=()):
        super().__init__(instance)
        self.hosts = [host.name for host in described] or network.host_names(hosts)
        self.described = {host.name: host for host in described}
        self.link_bps = link_bps
        self._check_names()
        self.members = PREFIX + ".0/24"
        self.addresses = {name: "%s.%d" % (PREFIX, i + 1) for i, name in enumerate(self.hosts)}
        self.addresses.update({network.CONTROLLER: PREFIX + ".250", SWITCH: PREFIX + ".251"})
        link = ["bridge: " + BRIDGE, "rate: %d bps" % link_bps, *self._rates()]
        self.switches = {SWITCH: network.Switch(self.addresses[SWITCH], link,
                                                {name: name
                                                 for name in [*self.hosts, network.CONTROLLER]})}
        self.crossings = [min([link_bps, *(min(self._both(name)) for name in self.hosts)])] * 3

    def _check_names(self):
        network.check_count(len(self.hosts))
        for name in {SWITCH, BRIDGE, network.CONTROLLER, "lo"} & set(self.hosts):
            raise system.Failure("no host can be called %s: the testbed has something else of that "
                                 "name" % name)

    def _both(self, name):
        """The rates of a worker's uplink and downlink."""
        host = self.described.get(name)
        if not host:
            return self.link_bps, self.link_bps
        return host.uplink_bps or self.link_bps, host.downlink_bps or self.link_bps

    def rate(self, host):
        return self._both(host)[0]

    def _rates(self):
        """What the switch's agent is told of ports that are not as the others."""
        rates = [(name, self._both(name)[1]) for name in self.hosts
                 if self._both(name)[1] != self.link_bps]
        if len(rates) > PORT_RATES:
            raise system.Failure("%d hosts have links of their own rate, an agent takes %d: give "
                                 "the most frequent rate as LINK" % (len(rates), PORT_RATES))
        said = ", ".join("{ports: %s, rate: %d bps}" % rate for rate in rates)
        return ["rates: [%s]" % said] if rates else []

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
            if name == self.slow:
                self._slow_link(name)
            else:
                self._link(name, self.uplink(name), SWITCH, name, *self._both(name))
            self.ip(name, "address add %s/24 dev %s" % (self.addresses[name], self.uplink(name)))
            self.ip(SWITCH, "link set %s master %s" % (name, BRIDGE))

    def _slow_link(self, name):
        """One with a cable between its ends, where no agent looks, that carries less both ways.
        WHY a shorter queue there: the agent's own words wait in it, too, and the host would be
        lost."""
        up, down = self._both(name)
        self._link(name, self.uplink(name), SWITCH, "cable0", up, down // SLOW_PART,
                   network.QUEUE_BYTES // SLOW_PART)
        self._link(SWITCH, name, SWITCH, "cable1", down, up // SLOW_PART,
                   network.QUEUE_BYTES // SLOW_PART)
        self.ip(SWITCH, "link add cable type bridge stp_state 0", "link set cable up",
                "link set cable0 master cable", "link set cable1 master cable")
