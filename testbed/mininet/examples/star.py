#!/usr/bin/python3
"""Three hosts around one Linux bridge, whose links say no rate.

    star.py JOBS_FILE"""

import sys

from mininet.net import Mininet
from mininet.nodelib import LinuxBridge
from mininet.topo import SingleSwitchTopo

from testbed.mininet import Duopoly


def main(jobs):
    net = Mininet(topo=SingleSwitchTopo(3), switch=LinuxBridge, controller=None)
    net.start()
    try:
        with Duopoly(net, policy="duopoly", rate="50M") as d:
            return 0 if d.replay(jobs) else 1
    finally:
        net.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
