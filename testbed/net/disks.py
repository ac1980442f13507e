"""Disks of hosts: of each a file of real bytes on this machine's own disk, from which its tasks
read what their profiles say (schemas/devices.md), and a limit on what they read together.

A limiter is one class and one place in LIMITERS. The first that works is taken, unless one is asked
for: the kernel's block-I/O controller of cgroup v1; that of v2, where the machine has it on for our
cgroups (nothing of the machine's is turned on); else a meter that the tasks share."""

import errno
import os
import shlex
import struct

from testbed.net import system

BYTES = 32 << 20  # of a host's file
MOUNTS = "/proc/self/mounts"


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def read(path):
    with open(path) as file:
        return file.read()


def device_of(folder):
    """"MAJOR:MINOR" of the whole disk below a folder; OSError: no block device is."""
    number = os.stat(folder).st_dev
    place = os.path.realpath("/sys/dev/block/%d:%d" % (os.major(number), os.minor(number)))
    if os.path.exists(os.path.join(place, "partition")):
        place = os.path.dirname(place)  # only whole disks have limits
    if not os.path.exists(os.path.join(place, "dev")):
        raise FileNotFoundError(errno.ENOENT, "no block device is below " + folder)
    return read(os.path.join(place, "dev")).strip()


# ---- what limits them ----

class Blkio:
    """Its hierarchy is not that of our cgroups: a host's agent enters its cgroup there, and so all
    that the agent starts is in it."""

    NAME = "the kernel's block-I/O controller (cgroup v1)"

    def __init__(self, instance, rates, _folder, _user):
        self.device = device_of(instance.path("blocks"))
        self.top = os.path.join(self._root(), os.path.basename(instance.state["cgroup"]))
        instance.add_cgroup(self.top)
        for host, rate in rates.items():
            os.makedirs(os.path.join(self.top, host), exist_ok=True)
            limit = os.path.join(self.top, host, "blkio.throttle.read_bps_device")
            write(limit, "%s %d" % (self.device, rate))

    @staticmethod
    def _root():
        for line in read(MOUNTS).splitlines():
            _, where, kind, options = line.split()[:4]
            if kind == "cgroup" and "blkio" in options.split(","):
                return where
        raise FileNotFoundError(errno.ENOENT, "no cgroup v1 has blkio")

    def enter(self, host):
        procs = os.path.join(self.top, host, "cgroup.procs")
        return ["sh", "-c", 'echo $$ > %s && exec "$0" "$@"' % shlex.quote(procs)]

    def words(self, _host):
        return []

    def counted(self, host):
        path = os.path.join(self.top, host, "blkio.throttle.io_service_bytes")
        rows = [line.split() for line in read(path).splitlines()]
        return sum(int(row[2]) for row in rows if row[:2] == [self.device, "Read"])


class Io:
    NAME = "the kernel's block-I/O controller (cgroup v2)"

    def __init__(self, instance, rates, _folder, _user):
        self.device, self.top = device_of(instance.path("blocks")), instance.state["cgroup"]
        if "io" not in read(os.path.join(self.top, "cgroup.controllers")).split():
            raise FileNotFoundError(errno.ENOENT, "no io controller is on for our cgroups")
        write(os.path.join(self.top, "cgroup.subtree_control"), "+io")
        for host, rate in rates.items():
            os.makedirs(os.path.join(self.top, host), exist_ok=True)
            write(os.path.join(self.top, host, "io.max"), "%s rbps=%d" % (self.device, rate))

    def enter(self, _host):
        return []  # its attempts' cgroups are below

    def words(self, _host):
        return []

    def counted(self, host):
        for line in read(os.path.join(self.top, host, "io.stat")).splitlines():
            device, *rest = line.split()
            if device == self.device:
                return int(dict(word.split("=") for word in rest)["rbytes"])
        return 0


class Meter:
    NAME = "a meter that its tasks share"

    def __init__(self, _instance, rates, folder, user):
        self.folder = os.path.join(folder, "meters")
        os.makedirs(self.folder, exist_ok=True)
        for host, rate in rates.items():
            path = os.path.join(self.folder, host)
            with open(path, "wb") as out:
                out.write(struct.pack("=QQ", rate, 0))
            os.chown(path, user.pw_uid, user.pw_gid)

    def enter(self, _host):
        return []

    def words(self, host):
        return ["--meter", os.path.join(self.folder, host)]

    def counted(self, _host):
        return None


LIMITERS = {"blkio": Blkio, "io": Io, "meter": Meter}


def limiter(asked, *arguments):
    """The one of that name, or without one the first that works: the last one always does."""
    for name in [asked] if asked else LIMITERS:
        try:
            return LIMITERS[name](*arguments)
        except OSError as failure:
            words = "DISKS=%s does not work here: %s" % (name, failure.strerror)
    raise system.Failure(words)


# ---- disks ----

class Disks:
    """Of an instance's hosts; rates: {host: bytes a second}; asked: a name of LIMITERS, None: any.
    Files and limits stay until the instance ends."""

    def __init__(self, instance, rates, asked=None):
        self.instance, self.rates, self.asked = instance, rates, asked
        self.limit, self._before = None, {}

    def make(self, folder, user):
        """For a run, whose own folder this is."""
        os.makedirs(self.instance.path("blocks"), exist_ok=True)
        for host in self.rates:
            self._make_file(self.file(host))
        self.limit = limiter(self.asked, self.instance, self.rates, folder, user)
        self._before = {host: self.limit.counted(host) for host in self.rates}

    def file(self, host):
        return self.instance.path("blocks", host)

    @staticmethod
    def _make_file(path):
        if os.path.exists(path):
            return
        content = os.urandom(1 << 20)
        try:
            with open(path + ".new", "wb") as out:
                for _ in range(0, BYTES, len(content)):
                    out.write(content)
                out.flush()
                os.fsync(out.fileno())
        except OSError as failure:
            raise system.Failure("cannot make %s, the %d MiB of a host's disk: %s" % (
                path, BYTES >> 20, failure.strerror)) from failure
        os.chmod(path + ".new", 0o644)
        os.rename(path + ".new", path)

    def enter(self, host):
        """What a command line begins with that limits what it starts."""
        return self.limit.enter(host) if host in self.rates else []

    def words(self, host):
        """Options of its tasks' programs."""
        return ["--blocks", self.file(host), *self.limit.words(host)] if host in self.rates else []

    def counted(self):
        """{host: bytes that were read from its disk in this run}; empty: nobody counts."""
        counts = {host: self.limit.counted(host) for host in self.rates}
        return {host: count - self._before[host] for host, count in counts.items()
                if count is not None}

    def describe(self):
        rates = sorted(set(self.rates.values()))
        said = " to ".join("%.3g" % (rate / 1e6) for rate in dict.fromkeys((rates[0], rates[-1])))
        return "%d, each limited to %s MB/s by %s" % (len(self.rates), said, self.limit.NAME)
