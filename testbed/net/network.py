"""A network of namespaces: hosts around one switch, each link with its rate.

Every host has eth0 (10.77.0.NUMBER/24); the switch is a bridge with one port per host, named after it. A token bucket on
both ends of every link gives the link its rate in both directions without any help of ours. TSO, GSO and GRO are off, so
that queues and captures count packets of the wire. TCP is cubic with ECN in every namespace: BBR, which some machines
have as their default, ignores priorities. The bridge's packets do not pass the packet filter, which costs time and
has no rules here. What the whole machine lends is in kernel.py."""

import os
import subprocess

from testbed.net import instance as instances
from testbed.net import kernel, system

PREFIX = "10.77.0"
CONTROLLER, SWITCH = "c", "s"
CONTROLLER_ADDRESS, SWITCH_ADDRESS = PREFIX + ".250", PREFIX + ".251"
BRIDGE = "br0"
HOSTS_MAX = 200
BURST_BYTES = 16000
QUEUE_BYTES = 300000
SYSCTLS = {
    "net/ipv4/tcp_congestion_control": "cubic",
    "net/ipv4/tcp_ecn": "1",
    # What one policy's run taught the kernel about a peer must not help the next one's.
    "net/ipv4/tcp_no_metrics_save": "1",
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv6/conf/default/disable_ipv6": "1",
}


def host_name(index):
    return "w%d" % (index + 1)


def host_address(index):
    return "%s.%d" % (PREFIX, index + 1)


class Network:
    """hosts workers (from index 0), one controller, one switch; links of link_bps."""

    def __init__(self, instance, hosts, link_bps):
        if not 1 <= hosts <= HOSTS_MAX:
            raise system.Failure("HOSTS is %d, must be 1…%d" % (hosts, HOSTS_MAX))
        self.instance = instance
        self.hosts = [host_name(i) for i in range(hosts)]
        self.addresses = {host_name(i): host_address(i) for i in range(hosts)}
        self.addresses[CONTROLLER] = CONTROLLER_ADDRESS
        self.link_bps = link_bps

    def up(self):
        members = self.hosts + [CONTROLLER]
        with instances.locked():
            self.instance.save()
            kernel.borrow(instances.HOME)
            self.instance.add_namespaces(members + [SWITCH])
            for name in members + [SWITCH]:
                system.run("ip", "netns", "add", self.instance.namespace(name))
        for name in members + [SWITCH]:
            self._configure(name)
        self._ip(SWITCH, ["link add %s type bridge stp_state 0" % BRIDGE,
                          "address add %s/24 dev %s" % (SWITCH_ADDRESS, BRIDGE),
                          "link set %s up" % BRIDGE])
        for name in members:
            self._link(name)

    def enter(self, name, *command):
        """The command line that runs in a member's network namespace.

        Not `ip netns exec`, which hides the cgroups, nor `ip -n`, which fails where / is no mount point (a chroot)."""
        return ["nsenter", "--net=" + os.path.join(instances.NETNS, self.instance.namespace(name)), *command]

    def start(self, name, command, log, **options):
        """Starts a daemon in a member's namespace, in a session of its own; its output goes to the file `log`."""
        with open(log, "ab") as out:
            child = subprocess.Popen(self.enter(name, *command), stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=subprocess.STDOUT, start_new_session=True, **options)
        self.instance.add_process(child.pid)
        return child

    def uplink_bytes(self):
        """What every worker has sent on its link so far, by name."""
        total = {}
        for name in self.hosts:
            said = system.run(*self.enter(name, "cat", "/proc/net/dev"))
            line = next(line for line in said.splitlines() if line.strip().startswith("eth0:"))
            total[name] = int(line.split(":")[1].split()[8])
        return total

    # ---- making it ----

    def _ip(self, name, lines):
        system.run(*self.enter(name, "ip", "-batch", "-"), text="\n".join(lines) + "\n")

    def _configure(self, name):
        writes = "".join("echo %s > /proc/sys/%s\n" % (value, key) for key, value in SYSCTLS.items())
        if name == SWITCH:
            writes += "for key in /proc/sys/net/bridge/bridge-nf-call-*; do [ ! -e $key ] || echo 0 > $key; done\n"
        system.run(*self.enter(name, "sh", "-ec", writes))
        self._ip(name, ["link set lo up"])

    def _link(self, name):
        host, switch = self.instance.namespace(name), self.instance.namespace(SWITCH)
        system.run("ip", "link", "add", "eth0", "netns", host, "type", "veth", "peer", "name", name, "netns", switch)
        self._ip(name, ["address add %s/24 dev eth0" % self.addresses[name], "link set eth0 up"])
        self._ip(SWITCH, ["link set %s master %s" % (name, BRIDGE), "link set %s up" % name])
        for where, device in ((name, "eth0"), (SWITCH, name)):
            system.run(*self.enter(where, "ethtool", "-K", device, "tso", "off", "gso", "off", "gro", "off"))
            system.run(*self.enter(where, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", str(self.link_bps),
                                   "burst", str(BURST_BYTES), "limit", str(QUEUE_BYTES)))
