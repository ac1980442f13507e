"""Runs a script for Mininet in a network namespace of its own, with an Open vSwitch of its own: its switches' names collide
with nobody's, and what it leaves goes with the namespace, also after kill -9 (with the next start), so that `mn -c` is
never needed.

    /usr/bin/python3 -m testbed.mininet.alone SCRIPT [ARGUMENT…]"""

import os
import subprocess
import sys

from testbed.demo import demo
from testbed.net import instance, mininets, network, openvswitch, system

MEMBER = "mn"


class Alone(network.Network):
    """One namespace, in which somebody else makes a network."""

    def up(self):
        self._make([MEMBER])
        self.ip(MEMBER, "link set lo up")
        openvswitch.check()
        return openvswitch.start(self, MEMBER)


def run(words):
    system.stop_signals_raise()
    if os.geteuid() != 0:
        raise system.Failure("network namespaces need root")
    mininets.check_root()
    instance.end_abandoned()
    own = instance.create(demo.TREE)
    try:
        space = Alone(own)
        environment = {**os.environ, **space.up()}
        child = subprocess.Popen(space.enter(MEMBER, *words), env=environment)
        own.add_process(child.pid)
        return child.wait()
    finally:
        own.down()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        sys.exit(run(sys.argv[1:]))
    except system.Failure as failure:
        sys.exit("alone: %s" % failure)
    except KeyboardInterrupt:
        sys.exit(130)
