"""A Mininet ends with its script, whatever ends that: what would live on (bridges, ends of links)
is recorded here, and removed if net.stop() was not called, or failed because Ctrl-C had cut a
node's command short."""

import atexit
import contextlib
import signal
import subprocess
import sys
import threading

from testbed.net import attached, mininets, system


def commands(net):
    """Command lines that remove its parts in its script's own network namespace. Those in its
    hosts' end with them."""
    lines = []
    for node in net.values():
        if not node.inNamespace:
            ends = [one.name for one in attached.interfaces(node)
                    if node.name in one.name]  # a real device has a name of its own
            lines += _switch(node) + [["ip", "link", "del", name] for name in ends]
    return lines


def _switch(node):
    if hasattr(node, "datapath"):
        return [["ovs-vsctl", "--if-exists", "del-br", node.name]]
    is_bridge = isinstance(node, mininets.load("nodelib").LinuxBridge)
    return [["ip", "link", "del", node.name]] if is_bridge else []


def stands(net):
    return any(node.shell for node in net.values())


def _stop(net):
    if not stands(net):
        return
    with system.signals_ignored():
        lines = commands(net)
        with contextlib.suppress(Exception):  # whatever it stumbles over, the rest follows
            net.stop()
        for line in lines:
            with contextlib.suppress(OSError):
                subprocess.run(line, capture_output=True, check=False)
        for node in net.values():
            with contextlib.suppress(Exception):
                node.terminate()


def _end_script(number, _frame):
    sys.exit(128 + number)


def with_script(net):
    """From now on the network ends with the script, also with one that SIGTERM or SIGHUP ends,
    unless it handles them itself."""
    atexit.register(_stop, net)
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, _end_script)
