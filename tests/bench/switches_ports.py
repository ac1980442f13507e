#!/usr/bin/python3 -B
"""What many ports cost the agent of a Linux switch: CPU time of a fresh start, a second one, and a restore, by their number (root; a minute).

The kernel itself keeps a list of all filter blocks on interfaces without hardware (flow_indr_dev_setup_offload, Linux 5.8 and later) and walks it
for each class of an HTB: with veth that is most of a fresh start, and grows with the square of the ports."""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path[:0] = [TREE, os.path.join(TREE, "tests/net"), os.path.join(TREE, "tests/bench")]
os.chdir(TREE)

from nets import BUILD, Namespace, wait_for  # noqa: E402
from table import Table  # noqa: E402

PORTS = 1000
GROUP_TC = 1 << 3  # RTMGRP_TC
CHANGES = {37: "qdiscs removed", 40: "classes made", 41: "classes removed"}  # RTM_DELQDISC, RTM_NEWTCLASS, RTM_DELTCLASS


class Switch:
    def __init__(self, ports):
        self.ns = Namespace(f"dpt{os.getpid()}p")
        self.dir = tempfile.mkdtemp(prefix="duopoly-bench-")
        self.config = self.dir + "/agent.yaml"
        with open(self.config, "w") as f:
            f.write(f"name: sw\nrole: switch\nstate: {self.dir}/state\ncontroller: tcp://127.0.0.1:7\nlink: {{ports: [\"p[1-9999]\"], rate: 100 Mbps}}\n")
        self.add(1, ports)

    def add(self, first, last):
        """Routed ones (a bridge has 1 024 at most), with nobody at their other ends, which are in the same namespace."""
        lines = [f"link add p{i} type veth peer name x{i}" for i in range(first, last + 1)]
        batch = self.dir + "/batch"
        with open(batch, "w") as f:
            f.write("\n".join(lines) + "\n")
        subprocess.run(["nsenter", "--net=/run/netns/" + self.ns.name, "ip", "-batch", batch], check=True)

    def agent(self, *words):
        return self.ns.popen(os.path.join(BUILD, "duopoly-agent"), "--config", self.config, *words, stderr=open(self.dir + "/log", "w"))

    def cpu_s(self, pid):
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def start(self):
        """CPU time until it manages its ports."""
        agent = self.agent()

        def there():
            text = open(self.dir + "/log").read()
            assert agent.poll() is None, text
            return "manages" in text
        wait_for("the agent", there, 120)
        return agent, self.cpu_s(agent.pid)

    def restore(self):
        process = self.agent("--restore")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        assert status == 0, open(self.dir + "/log").read()
        return usage.ru_utime + usage.ru_stime

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


def measure_one(ports):
    """CPU seconds: fresh, second, restore; changes by the second start; seconds until 100 more ports have their queues."""
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
        switch.add(ports + 1, ports + 100)
        begin = time.monotonic()
        wait_for("queues of the ports that came", lambda: switch.queues() == ports + 100, 60)
        came = time.monotonic() - begin
        agent.kill()
        agent.wait()
        restore = switch.restore()
        assert switch.queues() == 0
        return fresh, second, restore, changed, came
    finally:
        if agent and agent.poll() is None:
            agent.kill()
            agent.wait()
        switch.remove()


def measure_ports(table):
    table.head("ports of a Linux switch (veth), CPU time of duopoly-agent with queues and marks")
    few = measure_one(PORTS)
    many = measure_one(2 * PORTS)
    for i, what in enumerate(("fresh start", "second start", "restore")):
        table.row(f"{what}, {PORTS} ports", "%.2f s" % few[i], "≤ 1 s", few[i] <= 1)
        table.row(f"{what}, {2 * PORTS} ports", "%.2f s, × %.2f" % (many[i], many[i] / few[i]), "≤ × 2.2", many[i] <= 2.2 * few[i])
    table.row("what the second start changed", "%d" % (few[3] + many[3]), "0", few[3] + many[3] == 0)
    table.row(f"100 ports that come beside {PORTS}: all have queues after", "%.2f s" % few[4])


def main():
    table = Table()
    measure_ports(table)
    sys.exit(1 if table.missed else 0)


if __name__ == "__main__":
    main()
