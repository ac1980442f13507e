"""The connections of each executor, as the kernel reports its sockets, and which task had each
when, by Spark's event log: in the format of schemas/ports.md, for duopoly-verify. Executors have
one core, so that one task has all of them."""

import ipaddress
import os
import re
import time

from testbed.spark import events

# Spark's block managers, from the port that is asked for on; the last is for its external shuffle
# service.
FIRST, LAST = 7079, 7094
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
SETTINGS = {"spark.blockManager.port": str(FIRST), "spark.driver.blockManager.port": "7200"}
ESTABLISHED = "01"


def _network(path):
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _executors(networks):
    """{executor: process} of those in one of these networks: other Sparks may run here, too."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % name, "rb") as line:
                words = line.read().decode(errors="replace").split("\0")
            own = _network("/proc/%s/ns/net" % name) in networks
        except OSError:
            continue
        if own and EXECUTOR in words and "--executor-id" in words:
            found[words[words.index("--executor-id") + 1]] = name
    return found


def _end(text):
    """(address, port) of /proc/net/tcp or tcp6: words of the host's byte order."""
    address, port = text.split(":")
    raw = b"".join(bytes.fromhex(address[i:i + 8])[::-1] for i in range(0, len(address), 8))
    ip = ipaddress.ip_address(raw)
    return str(getattr(ip, "ipv4_mapped", None) or ip), int(port, 16)


def _of(process):
    """Its connections to servers of blocks."""
    links = [os.readlink("/proc/%s/fd/%s" % (process, name))
             for name in os.listdir("/proc/%s/fd" % process)]
    matches = (re.fullmatch(r"socket:\[(\d+)\]", link) for link in links)
    own = {match[1] for match in matches if match}
    for kind in ("tcp", "tcp6"):
        with open("/proc/%s/net/%s" % (process, kind)) as table:
            for row in (line.split() for line in list(table)[1:]):
                if row[3] == ESTABLISHED and row[9] in own:
                    local, peer = _end(row[1]), _end(row[2])
                    if FIRST <= peer[1] <= LAST:
                        yield local + peer


class Watch:
    """`net`: where they run."""

    def __init__(self, net):
        self.networks = {_network(net.namespace_file(host)) for host in net.hosts}
        self.seen = {}  # executor: its connections

    def look(self):
        for executor, process in _executors(self.networks).items():
            try:
                self.seen.setdefault(executor, set()).update(_of(process))
            except OSError:
                continue  # it has ended

    def write(self, log, recordings, folder):
        """Writes a file for each task that ran where connections were, from the event log in `log`,
        named by its number in the recordings."""
        os.makedirs(folder)
        numbers = {}
        for path in recordings:
            with open(path) as lines:
                matches = (re.match(r"e framework_started attempt=(\d+) ", line) for line in lines)
                numbers.update((int(match[1]) & 0xffffffff, match[1]) for match in matches if match)
        boot_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.time_ns()
        for event in events.lines(log):
            if event["Event"] != "SparkListenerTaskEnd":
                continue
            info = event["Task Info"]
            begin, end = (info[name] * 10**6 + boot_ns for name in ("Launch Time", "Finish Time"))
            name = "0-%d-%d-%s" % (
                event["Stage ID"], info["Index"], numbers.get(info["Task ID"], "0"))
            with open(os.path.join(folder, name), "w") as out:
                for connection in sorted(self.seen.get(info["Executor ID"], ())):
                    out.write("open %s %d %s %d %d\n" % (*connection, begin))
                    out.write("close %s %d %s %d %d\n" % (*connection, end))
