"""The testbed's own networks in Mininet: the same star and the same racks as elsewhere, made by
Mininet in a network namespace of the instance, then used as any existing Mininet (attached.py).
So their names collide with no other's, and they end with the namespace; `mn -c` is never needed.
The star's switch is a Linux bridge: Open vSwitch outside the kernel loses packets that no queue
counts.

Debian's mininet works with /usr/bin/python3 alone."""

import contextlib
import ctypes
import importlib
import os
import shutil
import sys

from testbed.net import attached, leafspine, network, system

SPACE = "mn"
CLONE_NEWNET = 0x40000000
NO_MOUNT = "Mininet's hosts need a root that is a mount of its own (this is a chroot)"


def load(name):
    """A module of Mininet's; Failure if this interpreter has none."""
    try:
        return importlib.import_module("mininet." + name)
    except ImportError:
        raise system.Failure("%s has no mininet: make deps-mininet installs it, for "
                             "/usr/bin/python3 alone" % sys.executable) from None


def check_installed():
    if not shutil.which("mnexec"):
        raise system.Failure("Mininet is not installed: make deps-mininet")


def check_root():
    """WHY: mnexec ends if it cannot make / private, and Mininet waits for its prompt for ever."""
    if not system.root_is_mount():
        raise system.Failure(NO_MOUNT)


@contextlib.contextmanager
def inside(path):
    """What this thread starts meanwhile starts in that network namespace."""
    home, there = (os.open(name, os.O_RDONLY) for name in ("/proc/thread-self/ns/net", path))
    try:
        if system.LIBC.setns(there, CLONE_NEWNET) != 0:
            raise system.Failure("cannot enter %s: %s" % (path, os.strerror(ctypes.get_errno())))
        yield
    finally:
        system.LIBC.setns(home, CLONE_NEWNET)
        os.close(there)
        os.close(home)


class Own(attached.Attached):
    """A derived class sets hosts, link_bps, crossings and simulated at once, and makes a Topo in
    `_topo`."""

    def __init__(self, instance):
        network.Network.__init__(self, instance)
        load("net")
        check_root()
        if not shutil.which("brctl"):
            raise system.Failure("Mininet's Linux bridges need brctl, of the package bridge-utils: "
                                 "make deps-mininet")

    def _topo(self):
        raise NotImplementedError

    def _make(self, names):
        super()._make([*names, SPACE])
        self.ip(SPACE, "link set lo up")
        with inside(self.namespace_file(SPACE)):
            self.net = load("net").Mininet(topo=self._topo(), controller=None, build=False)
            self.net.build()
            self.net.start()
        # Mininet's namespaces have no names, which what ends them goes by.
        own = [node for node in self.net.values() if node.inNamespace]
        self.instance.add_namespaces([*names, SPACE, *(node.name for node in own)])
        for node in own:
            system.run("ip", "netns", "attach", self.instance.namespace(node.name), str(node.pid))
        crossings, simulated = self.crossings, self.simulated
        self.find(self.net)
        self.crossings, self.simulated = crossings, simulated


class Star(Own):
    def __init__(self, instance, hosts, link_bps):
        super().__init__(instance)
        self.hosts, self.link_bps = network.host_names(hosts), link_bps
        self.crossings = [link_bps] * 3

    def describe(self):
        return "one Linux bridge of Mininet's"

    def _topo(self):
        from testbed.net import topos
        return topos.Star(hosts=len(self.hosts), bps=self.link_bps)


class LeafSpine(Own):
    """The plan is leafspine's, so that both refuse the same."""

    VARIABLES = leafspine.LeafSpine.VARIABLES

    def __init__(self, instance, hosts, link_bps, **words):
        super().__init__(instance)
        self.plan = leafspine.LeafSpine(instance, hosts, link_bps, **words)
        self.hosts, self.link_bps, self.racks = self.plan.hosts, link_bps, self.plan.racks
        self.crossings, self.simulated = self.plan.crossings, self.plan.simulated

    def describe(self):
        return self.plan.describe() + ", routers of Mininet's"

    def _topo(self):
        from testbed.net import topos
        return topos.LeafSpine(racks=len(self.plan.leaves), of_rack=self.plan.of_rack,
                               spines=len(self.plan.spines),
                               bps=self.link_bps, core_bps=self.plan.core_bps)
