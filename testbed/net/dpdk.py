"""The star around a switch in user space: duopoly-fastpath, on DPDK's af_packet devices, instead of
the bridge.

It paces every port to its link's rate itself. Senders make checksums, since no kernel completes
them on the way. The switch's agent has an interface of its own, STATION, on one more port of it.
It ends with the instance."""

import os

from testbed.net import network, star, system

PROGRAM = "duopoly-fastpath"
PORTS_MAX = 32  # of one
STATION, STATION_PORT = "sta0", "sta"
CONTROL_PORT = 7600
READY_SECONDS = 30


class Star(star.Star):
    unlike = False

    def __init__(self, instance, hosts, link_bps):
        super().__init__(instance, hosts, link_bps)
        if len(self.hosts) > PORTS_MAX - 2:
            raise system.Failure("HOSTS is %d: a switch in user space has %d ports, for %d hosts, "
                                 "the controller and its own agent" %
                                 (len(self.hosts), PORTS_MAX, PORTS_MAX - 2))
        if not os.access(self._program(), os.X_OK):
            raise system.Failure("%s is not built: run make deps-dpdk, which brings DPDK, and "
                                 "make" % self._program())
        self.ports_of_hosts = {name: name for name in [*self.hosts, network.CONTROLLER]}
        dataplane = self._path("fastpath.sock") if instance else "of an instance"
        self.switches = {star.SWITCH: network.Switch(self.addresses[star.SWITCH],
                                                     ["rate: %d bps" % link_bps],
                                                     self.ports_of_hosts, dataplane=dataplane)}

    def describe(self):
        return "one switch in user space"

    def ended(self):
        return ["%s has ended: %s" %
                (PROGRAM, self._words()[-1])] if self.process.poll() is not None else []

    @staticmethod
    def _program():
        tree = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        return os.path.join(tree, os.environ.get("BUILD") or "build", PROGRAM)

    def _path(self, name):
        return os.path.join(self.instance.memory(), name)

    def _words(self):
        with open(self._path("fastpath.log"), errors="replace") as said:
            return said.read().strip().splitlines() or ["it said nothing"]

    def _join(self):
        # What arrives at a port is the switch's, not this kernel's, whose only address is the
        # station's.
        self._set(star.SWITCH, {"net/ipv4/conf/all/arp_ignore": "1"})
        self.ip(star.SWITCH, "link add %s type veth peer name %s" % (STATION, STATION_PORT),
                "address add %s/24 dev %s" % (self.addresses[star.SWITCH], STATION),
                "link set %s up" % STATION, "link set %s up" % STATION_PORT)
        self._leave_checksums(star.SWITCH, STATION)
        for name in self.ports_of_hosts:
            self._link(name, self.uplink(name), star.SWITCH, name, self.link_bps)
            self._leave_checksums(name, self.uplink(name))
            self.ip(name, "address add %s/24 dev %s" % (self.addresses[name], self.uplink(name)))
            system.run(*self.enter(star.SWITCH, "tc", "qdisc", "del", "dev", name, "root"))
        self._start_switch()

    def _leave_checksums(self, name, device):
        """To the kernel that sends, since no device completes them."""
        system.run(*self.enter(name, "ethtool", "-K", device, "tx", "off"))

    def _start_switch(self):
        with open(self._path("fastpath.yaml"), "w") as out:
            out.write("socket: %s\nrole: switch\n"
                      "marks: {members: [%s], control_port: %d}\nports:\n" %
                      (self.switches[star.SWITCH].dataplane, self.members, CONTROL_PORT))
            for i, port in enumerate([*self.ports_of_hosts, STATION_PORT]):
                # Without the bypass captures see what is sent.
                out.write('  - {name: %s, device: "net_af_packet%d,iface=%s,qdisc_bypass=0", rate: '
                          '%d bps}\n' % (port, i, port, self.link_bps))
        self.process = self.start(
            star.SWITCH, [self._program(), "--config", self._path("fastpath.yaml")],
            self._path("fastpath.log"),
            env={**os.environ, "RUNTIME_DIRECTORY": self.instance.memory()})
        system.wait_for(lambda: self.process.poll() is not None
                        or any("passing frames" in line for line in self._words()), READY_SECONDS,
                        PROGRAM, lambda: self._words()[-1])
        for sentence in self.ended():
            raise system.Failure(sentence)
