#!/usr/bin/python3 -B
"""What sampling the links of a thousand ports ten times a second costs the agent, with a controller that is told (root; a minute)."""

import sys
import time

from switches_ports import PORTS, Switch
from table import Table

from controller import Daemon
from nets import wait_for

SECONDS = 20


def told(daemon):
    return len(daemon.ctl("links")["links"])


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
    sys.exit(1 if table.missed else 0)


if __name__ == "__main__":
    main()
