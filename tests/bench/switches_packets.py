#!/usr/bin/python3 -B
"""What each queue driver costs a packet, on this kernel and on those of guests (root; two minutes):
frames of one level by a packet socket to a port that is never full, with its queues and after their
root is gone (classification stays), in turn. The fastest rounds count, since whatever else runs
only adds. Guests are slower machines: theirs are shown beside htb's there. KERNELS: which (host uml
qemu)."""

import os
import socket
import sys
import time

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path[:0] = [TREE, os.path.join(TREE, "tests/net"), os.path.join(TREE, "tests/bench")]
os.chdir(TREE)

import switches_paths  # noqa: E402
from nets import Net  # noqa: E402

KERNEL = switches_paths.KERNEL
DRIVERS = {"host": ["htb", "prio", "ets"], "uml": ["htb", "prio"], "qemu": ["htb", "prio", "ets"]}
PACKETS, ROUNDS = {"host": (50_000, 9), "uml": (20_000, 5), "qemu": (10_000, 3)}[KERNEL]
LINK, LEVEL_4_TOS = 10_000_000_000, 19 << 2
# Ethernet to nobody, IPv4, UDP: who receives it drops it at once.
FRAME = (bytes.fromhex("020000000001" "020000000002" "0800" "45") + bytes([LEVEL_4_TOS]) +
         bytes.fromhex("0064" "00000000" "4011" "0000" "0a630001" "0a630003" "04d2" "04d2" "0050" "0000") + bytes(72))


def packet_ns(sock):
    begin = time.perf_counter_ns()
    for _ in range(PACKETS):
        sock.send(FRAME)
    return (time.perf_counter_ns() - begin) / PACKETS


def cost_ns(driver):
    """None: this kernel has not got it."""
    net = Net(3)
    try:
        with_queues, without = [], []
        with net.sw.inside():
            sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            sock.bind(("p3", 0))
        for _ in range(ROUNDS):
            agent = net.agent(net.sw, ports="p3", role="switch", link_bps=LINK, queues=driver)
            if "does not take the qdisc" in agent.opened:
                return None
            assert agent.opened.startswith("ok"), agent.opened
            with_queues.append(packet_ns(sock))
            net.sw.tc("qdisc", "delete", "dev", "p3", "root")
            without.append(packet_ns(sock))
            agent.kill()
        return min(with_queues) - min(without)
    finally:
        net.remove()


def measure(table):
    table.head(f"queues' cost a packet on the kernel {os.uname().release} ({KERNEL})")
    costs = {driver: cost_ns(driver) for driver in DRIVERS[KERNEL]}
    for driver, cost in costs.items():
        table.row(driver, "not on this kernel" if cost is None else f"{cost:.0f} ns", "" if cost is None else f"{cost / costs['htb']:.2f} of htb's")


if __name__ == "__main__":
    switches_paths.main(measure, __file__)
