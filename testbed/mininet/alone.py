"""Runs a script for Mininet in a network namespace of its own, with an Open vSwitch of its own if
one is installed: its switches' names collide with no other's, and what it leaves ends with the
namespace, even after kill -9, so that `mn -c` is never needed.

    /usr/bin/python3 -m testbed.mininet.alone SCRIPT [ARGUMENT…]"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys

from testbed.demo import demo
from testbed.net import instance, mininets, network, openvswitch, system

MEMBER = "mn"
END_SECONDS = 20  # for what a script does at Ctrl-C
# What runs Mininet's switches: the Debian package of each, and who needs it.
SWITCHES = {"ovs-vsctl": ("openvswitch-switch", "OVSSwitch and OVSBridge"),
            "brctl": ("bridge-utils", "LinuxBridge")}


class Alone(network.Network):
    """One namespace, in which a script makes a network."""

    def up(self):
        self._make([MEMBER])
        self.ip(MEMBER, "link set lo up")
        return openvswitch.start(self, MEMBER) if openvswitch.installed() else {}

    def start_script(self, words, environment):
        """In the instance's cgroup, so that all that it starts is known, and ends with it."""
        def join():
            with open(os.path.join(self.instance.state["cgroup"], "cgroup.procs"),
                      "w") as processes:
                processes.write("0")
        child = subprocess.Popen(self.enter(MEMBER, *words), env=environment, preexec_fn=join)
        self.instance.add_process(child.pid)
        return child


def wait(child):
    """Its exit status as a shell reports it. Ctrl-C at a terminal also reaches the script, which
    may clean up first."""
    try:
        status = child.wait()
    except KeyboardInterrupt as stopped:
        with system.signals_ignored(), contextlib.suppress(subprocess.TimeoutExpired):
            if str(stopped) == "signal %d" % signal.SIGTERM:  # which `kill` sends to us alone
                child.terminate()
            child.wait(END_SECONDS)
        raise
    return status if status >= 0 else 128 - status


def lacking():
    """Packages whose absence may have made a script fail."""
    return ", ".join("%s need%s %s" % (kinds, "" if " and " in kinds else "s", package)
                     for program, (package, kinds) in SWITCHES.items() if not shutil.which(program))


def run(words):
    system.stop_signals_raise()
    if os.geteuid() != 0:
        raise system.Failure("network namespaces need root")
    mininets.check_installed()
    mininets.check_root()
    instance.end_abandoned()
    own = instance.create(demo.TREE)
    try:
        space = Alone(own)
        status = wait(space.start_script(words, {**os.environ, **space.up()}))
    finally:
        own.down()
        instance.end_abandoned()  # of the script's own daemons, if it was killed
    if status and lacking():
        print("alone: the script ended with status %d; packages that are not installed here: %s" %
              (status, lacking()), file=sys.stderr)
    return status


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        sys.exit(run(sys.argv[1:]))
    except system.Failure as failure:
        sys.exit("alone: %s" % failure)
    except KeyboardInterrupt:
        sys.exit(130)
