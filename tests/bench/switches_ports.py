#!/usr/bin/python3 -B
"""What many ports cost the agent of a Linux switch: CPU time of a fresh start, a second one, and a
restore, by their number (root; a minute).

The kernel itself keeps a list of all filter blocks on interfaces without hardware
(flow_indr_dev_setup_offload, Linux 5.8 and later) and walks it for each class of an HTB
(tcf_block_get): with veth that is most of a fresh start (84.5 % of the agent's samples at 2 000
ports, Linux 6.18, by perf), and grows with the square of the ports. All else together, system calls
and libnl in it, is .4 s for each 1 000 ports, so that several messages in one system call would not
bring the whole near its bar. So what the same queues cost by `tc -batch` stands beside: nobody who
makes them can have it for less."""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import typing

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path[:0] = [TREE, os.path.join(TREE, "tests/net"), os.path.join(TREE, "tests/bench")]
os.chdir(TREE)

from nets import BUILD, Namespace, wait_for  # noqa: E402
from table import Table  # noqa: E402

PORTS = 1000
GROUP_TC = 1 << 3  # RTMGRP_TC
CHANGES = {37: "qdiscs removed", 40: "classes made", 41: "classes removed"}  # RTM_DELQDISC, RTM_NEWTCLASS, RTM_DELTCLASS


class Cpu(typing.NamedTuple):
    user: float
    system: float

    @property
    def s(self):
        return self.user + self.system

    def __sub__(self, other):
        return Cpu(self.user - other.user, self.system - other.system)

    def __str__(self):
        return "%.2f s (%.2f user, %.2f system)" % (self.s, *self)


class Switch:
    def __init__(self, ports):
        self.ns = Namespace(f"dpt{os.getpid()}p")
        self.dir = tempfile.mkdtemp(prefix="duopoly-bench-")
        self.config = self.dir + "/agent.yaml"
        with open(self.config, "w") as f:
            f.write(f"name: sw\nrole: switch\nstate: {self.dir}/state\ncontroller: tcp://127.0.0.1:7\nlink: {{ports: [\"p[1-9999]\"], rate: 100 Mbps}}\n")
        self.add(1, ports)

    def add(self, first, last):
        """Routed ones (a bridge has 1 024 at most), with nobody at their other ends, which are in
        the same namespace."""
        lines = [f"link add p{i} type veth peer name x{i}" for i in range(first, last + 1)]
        batch = self.dir + "/batch"
        with open(batch, "w") as f:
            f.write("\n".join(lines) + "\n")
        subprocess.run(["nsenter", "--net=/run/netns/" + self.ns.name, "ip", "-batch", batch], check=True)

    def agent(self, *words):
        return self.ns.popen(os.path.join(BUILD, "duopoly-agent"), "--config", self.config, *words, stderr=open(self.dir + "/log", "w"))

    def cpu(self, pid):
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return Cpu(int(fields[11]) / os.sysconf("SC_CLK_TCK"), int(fields[12]) / os.sysconf("SC_CLK_TCK"))

    def start(self):
        """CPU time until it manages its ports."""
        agent = self.agent()

        def there():
            text = open(self.dir + "/log").read()
            assert agent.poll() is None, text
            return "manages" in text
        wait_for("the agent", there, 120)
        return agent, self.cpu(agent.pid)

    def ended(self, process):
        """CPU time of a program that ends by itself."""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        assert status == 0, open(self.dir + "/log").read()
        return Cpu(usage.ru_utime, usage.ru_stime)

    def restore(self):
        return self.ended(self.agent("--restore"))

    def tc(self, lines):
        with open(self.dir + "/batch", "w") as f:
            f.write("\n".join(lines) + "\n")
        return self.ended(self.ns.popen("tc", "-batch", self.dir + "/batch", stderr=open(self.dir + "/log", "w")))

    def queues(self):
        return len(re.findall(r"^qdisc htb d00: ", self.ns.tc("qdisc", "show"), re.M))

    def remove(self):
        self.ns.remove()
        subprocess.run(["umount", self.dir + "/state/bpf"], capture_output=True)
        subprocess.run(["rm", "-rf", self.dir])


class Changes:
    """What the kernel says was done to qdiscs and classes."""

    def __init__(self, ns):
        """Of the interfaces that there are: what `auto` tries on one of its own is no change."""
        with ns.inside():
            self.ports = {index for index, _ in socket.if_nameindex()}
            self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.sock.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        self.sock.bind((0, GROUP_TC))
        self.sock.setblocking(False)

    def count(self):
        n = 0
        while True:
            try:
                message = self.sock.recv(1 << 16)
                n += int.from_bytes(message[4:6], "little") in CHANGES and int.from_bytes(message[20:24], "little") in self.ports
            except BlockingIOError:
                return n


def queues_by_tc(port):
    """The qdiscs and classes that the agent gives a port of 100 Mb/s, and the clsact of its
    marks."""
    yield f"qdisc add dev {port} root handle d00: htb default a"
    yield f"class add dev {port} parent d00: classid d00:ffff htb rate 100mbit"
    for minor in range(1, 11):
        yield f"class add dev {port} parent d00:ffff classid d00:{minor:x} htb rate 1mbit ceil 100mbit prio {min(minor - 1, 7)} quantum 3028"
        yield f"qdisc add dev {port} parent d00:{minor:x} handle d{minor:02x}: pfifo limit 100"
    yield f"qdisc add dev {port} clsact"


def measure_peer(ports):
    """CPU of the same by tc: made, and taken away (the last first)."""
    switch = Switch(ports)
    names = [f"p{i}" for i in range(1, ports + 1)]
    try:
        made = switch.tc(line for name in names for line in queues_by_tc(name))
        assert switch.queues() == ports
        return made, switch.tc(f"qdisc del dev {name} {what}" for what in ("clsact", "root") for name in reversed(names))
    finally:
        switch.remove()


def come(switch, agent, ports):
    """CPU of the agent, and seconds, until 100 more ports have their queues and nothing is left to
    do."""
    def at_rest():
        before = switch.cpu(agent.pid)
        time.sleep(0.5)
        return switch.cpu(agent.pid) == before
    wait_for("an agent at rest", at_rest, 60)
    before, begin = switch.cpu(agent.pid), time.monotonic()
    switch.add(ports + 1, ports + 100)
    wait_for("queues of the ports that came", lambda: switch.queues() == ports + 100, 60)
    came = time.monotonic() - begin
    wait_for("an agent at rest", at_rest, 60)
    return switch.cpu(agent.pid) - before, came


def measure_one(ports):
    """CPU of a fresh start, a second one, a restore; changes by the second; CPU and seconds for 100
    more ports."""
    switch = Switch(ports)
    agent = None
    try:
        agent, fresh = switch.start()
        assert switch.queues() == ports
        agent.kill()
        agent.wait()
        changes = Changes(switch.ns)
        agent, second = switch.start()
        changed = changes.count()
        more, came = come(switch, agent, ports)
        agent.kill()
        agent.wait()
        restore = switch.restore()
        assert switch.queues() == 0
        return (fresh, second, restore), changed, more, came
    finally:
        if agent and agent.poll() is None:
            agent.kill()
            agent.wait()
        switch.remove()


def measure_ports(table):
    table.head("ports of a Linux switch (veth), CPU time of duopoly-agent with queues and marks")
    few, changed, more, came = measure_one(PORTS)
    many, changed_too, _, _ = measure_one(2 * PORTS)
    made, removed = measure_peer(PORTS)
    made_too, removed_too = measure_peer(2 * PORTS)
    for what, one, two, peer in (("fresh start", few[0], many[0], (made, made_too)), ("second start", few[1], many[1], None),
                                 ("restore", few[2], many[2], (removed, removed_too))):
        table.row(f"{what}, {PORTS} ports", str(one), "≤ 1 s", one.s <= 1)
        table.row(f"{what}, {2 * PORTS} ports", f"{two}, × {two.s / one.s:.2f}", "≤ × 2.2", two.s <= 2.2 * one.s)
        if peer:
            table.row("  the kernel alone for such queues (tc -batch), system", "%.2f and %.2f s, × %.2f; ours are %.2f and %.2f of it" % (
                peer[0].system, peer[1].system, peer[1].system / peer[0].system, one.system / peer[0].system, two.system / peer[1].system))
    table.row("what the second start changed", "%d" % (changed + changed_too), "0", changed + changed_too == 0)
    table.row(f"100 ports that come beside {PORTS}", f"{more}, all have queues after {came:.2f} s")


def main():
    table = Table()
    measure_ports(table)
    sys.exit(1 if table.missed else 0)


if __name__ == "__main__":
    main()
