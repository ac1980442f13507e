"""A testbed's network as others use it: members, how to start a program in one, where to capture,
what links carried.

A network is one file that derives from Network and one line in networks.py. Its members are
workers, one controller and one or more switches, each a network namespace of its own; no other
part knows how they are joined. It makes its links by `_link`: a token bucket on both ends gives
each its rate in both directions without our help. TSO, GSO and GRO are off, so that queues and
captures count packets of the wire. TCP is cubic with ECN in every namespace, unless another is
asked for: BBR, which some machines have as their default, ignores priorities. kernel.py has what
the whole machine lends; instance.py removes everything."""

import os
import subprocess

from testbed.net import instance as instances
from testbed.net import kernel, system

CONTROLLER = "c"
HOSTS_MAX = 200
LINK_BPS_MIN = 10**6
BURST_BYTES = 16000
QUEUE_BYTES = 300000
SYSCTLS = {
    "net/ipv4/tcp_ecn": "1",
    # What one policy's run taught the kernel about a peer must not help the next one's.
    "net/ipv4/tcp_no_metrics_save": "1",
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv6/conf/default/disable_ipv6": "1",
}


# Of a link's rate, as its queues count it: in each full frame Ethernet, IPv4 and TCP with time
# stamps.
HEADERS = (14 + 20 + 20 + 12) / 1514


def check_count(count):
    if not 1 <= count <= HOSTS_MAX:
        raise system.Failure("HOSTS is %d, must be 1…%d" % (count, HOSTS_MAX))


def host_names(count):
    """The workers' names; Failure where there are too few or too many."""
    check_count(count)
    return ["w%d" % (index + 1) for index in range(count)]


class Switch:
    """address: its agent's; agent_link: lines of its agent's section `link`; hosts: {port: the
    worker or controller behind it}; core: {port: bit/s} of its links to other switches;
    dataplane: the control socket of the duopoly-fastpath that it is, None if it is the kernel."""

    def __init__(self, address, agent_link, hosts, core=None, dataplane=None):
        self.address, self.agent_link, self.hosts = address, agent_link, hosts
        self.core, self.dataplane = core or {}, dataplane

    def ports(self):
        return [*self.hosts, *self.core]


class Network:
    """What a network describes about itself, set by its __init__, which makes nothing yet:

    - hosts: the workers' names, in order; racks: {host: its rack's name}, empty without racks
    - addresses: {worker, CONTROLLER or switch: IPv4 address}; members: the prefix of all of them
    - switches: {name: Switch}; link_bps: of a worker's link
    - simulated: options of duopoly-sim to plan for this network, {option: value}
    - crossings: rates of the queues that a segment and then its acknowledgement's mark go
      through at worst, in bit/s

    congestion: TCP's congestion control in every namespace, which the machine must allow."""

    # Variables of `make demo` that are its own, by name: default, smallest, largest; __init__ takes
    # them in small letters.
    VARIABLES = {}
    # Whether its members are namespaces of the instance, which outlive who made them and can each
    # be ended and begun again.
    lasting = True
    # Whether switches share a namespace. Their agents then begin one after the other: each tries
    # out its queues on an interface of one name.
    shared = False
    # Whether its __init__ takes unlike hosts (unlike.Host) as `described`, which then is {name:
    # host}; else all are alike.
    unlike = False
    described = {}
    racks, simulated, congestion = {}, {}, "cubic"
    rack_lines = []  # of the configuration of agents in racks

    def __init__(self, instance):
        self.instance = instance

    # ---- for everybody ----

    def up(self):
        names = [*self.hosts, CONTROLLER, *self.switches]
        self._make(names)
        for name in names:
            self._set(name, self.sysctls())
            self.ip(name, "link set lo up")
        self._join()

    def describe(self):
        """In words, after "links of 100 Mb/s"."""
        raise NotImplementedError

    def sysctls(self):
        """Of every namespace, {name: value}."""
        return {**SYSCTLS, "net/ipv4/tcp_congestion_control": self.congestion}

    def namespace_file(self, name):
        return os.path.join(instances.NETNS, self.instance.namespace(name))

    def enter(self, name, *command):
        """The command line that runs in a member's network namespace.

        Not `ip netns exec`, which hides the cgroups, nor `ip -n`, which fails where / is no mount
        point (a chroot)."""
        return ["nsenter", "--net=" + self.namespace_file(name), *command]

    def start(self, name, command, log, **options):
        """Starts a daemon in a member's namespace, in a session of its own; its output goes to the
        file `log`."""
        with open(log, "ab") as out:
            child = subprocess.Popen(self.enter(name, *command), stdin=subprocess.DEVNULL,
                                     stdout=out,
                                     stderr=subprocess.STDOUT, start_new_session=True, **options)
        self.instance.add_process(child.pid)
        return child

    def ip(self, name, *lines):
        """Runs `ip` with these words in a member's namespace."""
        system.run(*self.enter(name, "ip", "-batch", "-"), text="\n".join(lines) + "\n")

    def uplink(self, _host):
        """The interface of a worker's or controller's that leads to its switch."""
        return "eth0"

    def rate(self, _host):
        """Of that interface, in bit/s."""
        return self.link_bps

    def behind(self, host):
        """(switch, port): the other end of a worker's link."""
        return next((name, port) for name, switch in self.switches.items()
                    for port, member in switch.hosts.items()
                    if member == host)

    def taps(self):
        """[(switch, port)]: where each packet of a worker passes once, as it comes in."""
        return [self.behind(host) for host in self.hosts]

    def ports(self):
        """[(switch, port)]: all of all switches."""
        return [(name, port) for name, switch in self.switches.items() for port in switch.ports()]

    def uplink_bytes(self):
        """What every worker has sent on its link so far, by name."""
        total = {}
        for name in self.hosts:
            said = system.run(*self.enter(name, "cat", "/proc/net/dev"))
            line = next(line for line in said.splitlines()
                        if line.strip().startswith(self.uplink(name) + ":"))
            total[name] = int(line.split(":")[1].split()[8])
        return total

    def ended(self):
        """Sentences about its parts that have ended by themselves."""
        return []

    # ---- for those that derive from it ----

    def _make(self, names):
        """Namespaces, the first of what is made."""
        with instances.locked():
            self.instance.save()
            kernel.borrow(instances.HOME)
            self.instance.add_namespaces(names)
            for name in names:
                system.run("ip", "netns", "add", self.instance.namespace(name))

    def _join(self):
        """Makes switches and links; the namespaces stand."""
        raise NotImplementedError

    def _set(self, name, sysctls):
        writes = "".join("echo %s > /proc/sys/%s\n" % (value, key)
                         for key, value in sysctls.items())
        system.run(*self.enter(name, "sh", "-ec", writes))

    def _link(self, one, device, other, other_device, bps, back_bps=None, queue=QUEUE_BYTES):
        """A link between two members, up, with its rate at both ends; `back_bps`: at the other one,
        where it differs; `queue`: bytes that may wait there."""
        spaces = self.instance.namespace(one), self.instance.namespace(other)
        system.run("ip", "link", "add", device, "netns", spaces[0], "type", "veth", "peer", "name",
                   other_device, "netns", spaces[1])
        for where, end, rate in ((one, device, bps), (other, other_device, back_bps or bps)):
            self.ip(where, "link set %s up" % end)
            system.run(*self.enter(where, "ethtool", "-K", end, "tso", "off", "gso", "off", "gro",
                                   "off"))
            system.run(*self.enter(where, "tc", "qdisc", "add", "dev", end, "root", "tbf", "rate",
                                   str(rate),
                                   "burst", str(BURST_BYTES), "limit", str(queue)))
