#!/usr/bin/python3 -B
"""What sampling the links of a thousand ports ten times a second costs the agent, with a controller
that is told (root; a minute)."""

import resource
import socket
import struct
import sys
import time

from switches_ports import PORTS, Switch
from table import Table

from controller import Daemon
from nets import wait_for

SECONDS, EVERY_S = 20, 0.1
GETSTATS, DUMP, LINK_64, DONE = 94, 0x301, 1, 3  # linux/rtnetlink.h, linux/if_link.h


def told(daemon):
    return len(daemon.ctl("links")["links"])


def kinds(data):
    """Of the messages in it."""
    at = 0
    while at < len(data):
        length, kind = struct.unpack_from("=IH", data, at)
        yield kind
        at += (length + 3) & ~3


def kernels_part(ports):
    """CPU of a second that the kernel takes for the samples alone: somebody who asks for them and
    throws them away."""
    switch = Switch(ports)
    try:
        with switch.ns.inside(), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as sock:
            request = struct.pack("=IHHIIBBHII", 28, GETSTATS, DUMP, 1, 0, 0, 0, 0, 0, LINK_64)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_stime
            for _ in range(100):
                time.sleep(EVERY_S)  # as cold as they are for the agent
                sock.send(request)
                while DONE not in kinds(sock.recv(65536)):
                    pass
            return (resource.getrusage(resource.RUSAGE_SELF).ru_stime - before) / 100 / EVERY_S
    finally:
        switch.remove()


def measure(ports):
    """CPU of a second at rest, as a share."""
    switch = Switch(ports)
    daemon = agent = None
    try:
        switch.ns.ip("link", "set", "lo", "up")
        with switch.ns.inside():
            daemon = Daemon(log=None)
        with open(switch.config) as f:
            text = f.read()
        with open(switch.config, "w") as f:
            f.write(text.replace("tcp://127.0.0.1:7", daemon.address))
        agent, _ = switch.start()
        wait_for("all links", lambda: told(daemon) == ports, 60)
        time.sleep(3)  # what the start has left to do
        before, begin = switch.cpu(agent.pid), time.monotonic()
        time.sleep(SECONDS)
        return (switch.cpu(agent.pid) - before).s / (time.monotonic() - begin)
    finally:
        if agent:
            agent.kill()
            agent.wait()
        if daemon:
            daemon.remove()
        switch.remove()


def main():
    table = Table()
    table.head(f"links of a switch's ports (veth), sampled at 10 Hz: all that the agent does at rest, in {SECONDS} s")
    for ports, bar in ((8, None), (PORTS, 0.01)):
        share = measure(ports)
        table.row(f"{ports} links", "%.2f %% of a core" % (100 * share), "≤ 1 %" if bar else "", share <= bar if bar else None)
    table.row("the kernel's part, for whoever asks (RTM_GETSTATS)", "%.2f %% of a core" % (100 * kernels_part(PORTS)), "", None)
    sys.exit(1 if table.missed else 0)


if __name__ == "__main__":
    main()
