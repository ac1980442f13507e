"""One testbed on this machine: its number, what it made, and its removal.

Several can exist at a time (two checkouts, a test and a demo). Each has the lowest free number
N; every name it uses outside its own namespaces follows from N and is written to its state file
before it is made:

    /var/lib/duopoly-testbed/N/state.json   owner, processes, namespaces, cgroups
    /var/lib/duopoly-testbed/N/…            programs and logs of this instance
    /var/lib/duopoly-testbed/N/memory/…     configurations, sockets, state and outputs, on a tmpfs
    dtbN-NAME                               network namespaces
    CGROUP2/duopoly-testbed-N               cgroups
    BLKIO/duopoly-testbed-N                 cgroups that limit disks (disks.py)

Removal uses the state file alone, so it also works from another process: after Ctrl-C, after an
exception, and for an instance whose owner was killed (watcher.py ends it at once; the next start
does, if that was killed too). It ends processes by number and start time, and what still lives
in its namespaces and cgroups, nothing else."""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time

from testbed.net import kernel, system

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOME = "/var/lib/duopoly-testbed"
NETNS = "/run/netns"
INSTANCES_MAX = 100


@contextlib.contextmanager
def locked():
    """One testbed at a time changes what all share. The lock is on an existing directory."""
    fd = os.open(os.path.dirname(HOME), os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def cgroup2():
    """Where the cgroup2 hierarchy is mounted."""
    with open("/proc/self/mounts") as mounts:
        for line in mounts:
            words = line.split()
            if words[2] == "cgroup2":
                return words[1]
    raise system.Failure("no cgroup2 hierarchy is mounted (mount -t cgroup2 none DIR)")


class Instance:
    def __init__(self, number, state):
        self.number = number
        self.state = state
        self.directory = os.path.join(HOME, str(number))

    # ---- names ----

    def namespace(self, name):
        return "dtb%d-%s" % (self.number, name)

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def memory(self):
        """A folder on a tmpfs of its own, for what belongs to the boot and is made and removed all
        the time: on a disk's file system the inodes of short-lived files alone cost more than
        the tasks."""
        folder = self.path("memory")
        if not os.path.ismount(folder):
            os.makedirs(folder, exist_ok=True)
            system.run("mount", "-t", "tmpfs", "-o", "mode=755", "duopoly-testbed", folder)
        return folder

    # ---- the state file ----

    def save(self):
        path = self.path("state.json")
        with open(path + ".new", "w") as out:
            json.dump(self.state, out)
        os.rename(path + ".new", path)

    def add_namespaces(self, names):
        self.state["namespaces"] = [self.namespace(name) for name in names]
        self.save()

    def add_process(self, pid):
        """Ended ones are forgotten: daemons may be started any number of times."""
        self.state["processes"] = [process for process in self.state["processes"]
                                   if system.is_alive(process)]
        self.state["processes"].append(system.identify(pid))
        self.save()

    def add_cgroup(self, top):
        """One more that ends with it, of another hierarchy than its own; not made yet."""
        if top not in self.state.get("cgroups", []):
            self.state.setdefault("cgroups", []).append(top)
            self.save()

    def _watch(self):
        """Starts the process that ends it if we are killed."""
        child = subprocess.Popen([sys.executable, "-B", "-m", "testbed.net.watcher",
                                  str(self.number), self.state["token"]], cwd=TREE,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, start_new_session=True)
        self.state["watcher"] = system.identify(child.pid)
        self.save()

    def add_ends(self, commands):
        """Command lines that remove what is outside the instance, in the network namespace that it
        was made in. Only its watcher runs them: later those names may be another's."""
        self.state["ends"] = commands
        self.save()

    def keep(self):
        """From now on it has no owner: only `down` ends it."""
        self.state["owner"] = None
        self.save()

    # ---- the end ----

    def down(self):
        """Removes everything; skips what is gone already. May be repeated."""
        with system.signals_ignored(), locked():
            # Somebody else may have ended it meanwhile, and the number may be another's by now.
            present = read(self.number)
            if present is not None and present["token"] == self.state["token"]:
                self.state = present
                self._down()

    def _down(self):
        # Newest first: drivers, then agents (they put their queues and marks away), then the
        # controller.
        for process in reversed(self.state["processes"]):
            system.stop([process])
        self._end_namespaces()
        for top in (self.state["cgroup"], *self.state.get("cgroups", ())):
            end_cgroup(top)
        unmount_below(self.directory)
        # The state file last: a teardown that is cut short must be found by the next one.
        for name in os.listdir(self.directory):
            if name != "state.json":
                remove(self.path(name))
        shutil.rmtree(self.directory, ignore_errors=True)
        if not instances():
            kernel.give_back(HOME)
            with contextlib.suppress(OSError):
                os.rmdir(HOME)
        watcher = self.state.get("watcher")
        if watcher and watcher[0] != os.getpid():
            system.stop([watcher])

    def _end_namespaces(self):
        names = [name for name in self.state["namespaces"]
                 if os.path.exists(os.path.join(NETNS, name))]
        pids = []
        for name in names:
            with contextlib.suppress(system.Failure):
                pids += [int(pid) for pid in system.run("ip", "netns", "pids", name).split()]
        system.stop([system.identify(pid) for pid in pids], 1.0)
        for name in names:
            with contextlib.suppress(system.Failure):
                system.run("ip", "netns", "del", name)


def end_cgroup(top):
    """With all that is below it and runs there."""
    folders = [folder for folder, _, _ in os.walk(top, topdown=False)]
    for folder in folders:
        with contextlib.suppress(OSError), open(os.path.join(folder, "cgroup.procs")) as procs:
            system.stop([system.identify(int(pid)) for pid in procs.read().split()], 1.0)
    for folder in folders:
        remove_cgroup(folder)


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        os.unlink(path)


def remove_cgroup(folder):
    """A cgroup is busy for a moment after its last process has gone."""
    deadline = time.monotonic() + 2
    while os.path.isdir(folder):
        try:
            os.rmdir(folder)
        except OSError:
            if time.monotonic() > deadline:
                return
            time.sleep(0.01)


def unmount_below(directory):
    with open("/proc/self/mounts") as mounts:
        points = [line.split()[1] for line in mounts]
    for point in reversed(points):
        if point.startswith(directory + "/"):
            with contextlib.suppress(system.Failure):
                system.run("umount", "-l", point)


# ---- all instances ----

def read(number):
    """The state of an instance, None when there is none."""
    try:
        with open(os.path.join(HOME, str(number), "state.json")) as state:
            return json.load(state)
    except (OSError, ValueError):
        return None


def instances():
    """Those that have a state file, in order of their numbers."""
    numbers = sorted(int(name) for name in (os.listdir(HOME) if os.path.isdir(HOME) else [])
                     if name.isdigit())
    states = [(number, read(number)) for number in numbers]
    return [Instance(number, state) for number, state in states if state is not None]


def end_abandoned():
    """Ends the instances whose owner is gone without having ended them."""
    for instance in instances():
        owner = instance.state["owner"]
        if owner is not None and not system.is_alive(owner):
            instance.down()
    with locked():
        # Made under the lock, together with its state file: without one its maker was killed in
        # between.
        for name in os.listdir(HOME) if os.path.isdir(HOME) else []:
            if name.isdigit() and read(int(name)) is None:
                shutil.rmtree(os.path.join(HOME, name), ignore_errors=True)


def create(tree):
    """A new instance of the checkout `tree`, owned by this process; nothing is made yet but its
    directory."""
    with locked():
        os.makedirs(HOME, exist_ok=True)
        number = next((n for n in range(INSTANCES_MAX) if is_free(n) and took_cgroup(n)), None)
        if number is None:
            raise system.Failure("%d testbeds stand already; end some with `make down`" %
                                 INSTANCES_MAX)
        os.mkdir(os.path.join(HOME, str(number)))
        instance = Instance(number, {
            "token": os.urandom(8).hex(),
            "owner": system.identify(os.getpid()),
            "tree": tree,
            "processes": [],
            "namespaces": [],
            "cgroup": cgroup_of(number),
        })
        instance.save()
        instance._watch()
        return instance


def is_free(number):
    return not os.path.exists(os.path.join(HOME, str(number))) and not has_namespaces(number)


def cgroup_of(number):
    return os.path.join(cgroup2(), "duopoly-testbed-%d" % number)


def took_cgroup(number):
    """Cgroups are the machine's, even if HOME is not (a chroot): the one that makes it has the
    number."""
    try:
        os.mkdir(cgroup_of(number))
    except FileExistsError:
        return False
    return True


def has_namespaces(number):
    prefix = "dtb%d-" % number
    return any(name.startswith(prefix)
               for name in (os.listdir(NETNS) if os.path.isdir(NETNS) else []))
