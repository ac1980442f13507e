#!/usr/bin/python3
"""Racks behind leaves and spines, routers all of them, 2:1 oversubscribed.

    leafspine.py JOBS_FILE"""

import sys

from mininet.net import Mininet

from testbed.mininet import Duopoly
from testbed.net import topos


def main(jobs):
    net = Mininet(topo=topos.LeafSpine(racks=2, of_rack=2, spines=2, bps=50e6, core_bps=25e6),
                  controller=None)
    net.start()
    try:
        with Duopoly(net) as d:
            return 0 if d.replay(jobs) else 1
    finally:
        net.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
