#!/usr/bin/python3
"""A script written for plain Mininet, that gets duopoly by the five lines between the marks.

    plain.py JOBS_FILE"""

import os
import sys

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.nodelib import LinuxBridge
from mininet.topo import Topo


class Office(Topo):
    """Two bridges in a row; links with Mininet's own HTB, one with tbf."""

    def build(self):
        one, other = self.addSwitch("s1"), self.addSwitch("s2")
        self.addLink(one, other, bw=100)
        for number, switch in enumerate((one, one, other, other), 1):
            self.addLink(self.addHost("h%d" % number), switch, bw=50, use_tbf=number == 4)


net = Mininet(topo=Office(), switch=LinuxBridge, link=TCLink, controller=None)
net.start()
good = True
try:
    # ---- from here
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3))
    from testbed.mininet import Duopoly
    with Duopoly(net) as d:
        print(d.ask("status")["hosts_up"], "hosts are up")
        good = d.replay(sys.argv[1])
    # ---- to here
finally:
    net.stop()
sys.exit(0 if good else 1)
