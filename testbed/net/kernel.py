"""What networks need of the whole machine's kernel: the first network sets it, the last one
restores it.

- A namespace may only choose a congestion control that the root namespace lists: cubic.
- HTB wakes up for every packet of a busy link. With hysteresis a class that may send continues
  until it is one burst (2 ms of its link) ahead, and pauses as long: one timer for a dozen
  packets. Nine busy links of 100 Mb/s then leave half of two cores idle; else a quarter, and all
  that the tasks do waits for a core."""

import contextlib
import os

from testbed.net import system

CONTROLS = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
HYSTERESIS = "/sys/module/sch_htb/parameters/htb_hysteresis"


def with_cubic(controls):
    words = controls.split()
    return controls if "cubic" in words else " ".join(words + ["cubic"])


WANTED = {"controls": (CONTROLS, with_cubic), "hysteresis": (HYSTERESIS, lambda _: "1")}


def read(path):
    with open(path) as setting:
        return setting.read().strip()


def ancestors():
    """Processes that we descend from, nearest first: process 1 is the last one."""
    pid = os.getppid()
    while pid:
        yield pid
        pid = system.parent(pid)


def write(path, text):
    """Failure if it may not be written, as in most containers. Settings of the whole network are
    read in each of its namespaces, and written in the first one's: that of an ancestor, and not of
    each, since a container's process 1 may be closed to us."""
    try:
        with open(path, "w") as setting:
            setting.write(text)
        return
    except OSError:
        pass
    for pid in ancestors():
        with contextlib.suppress(system.Failure):
            system.run("nsenter", "--net=/proc/%d/ns/net" % pid, "sh", "-c",
                       'printf %s "$1" > "$0"', path, text)
            return
    raise system.Failure("cannot write \"%s\" to %s, which the testbed needs: write it there "
                         "outside of this container or namespace" % (text, path))


def borrow(home):
    """The former values are in the folder `home` before anything is changed."""
    if not os.path.exists(HYSTERESIS):
        with contextlib.suppress(system.Failure):  # it may be built in, or come with the first HTB
            system.run("modprobe", "sch_htb")
    for name, (path, wanted) in WANTED.items():
        kept = os.path.join(home, "was-" + name)
        if not os.path.exists(path):
            continue
        was = read(path)
        if wanted(was) == was:
            continue
        if not os.path.exists(kept):
            with open(kept + ".new", "w") as out:
                out.write(was)
            os.replace(kept + ".new", kept)
        write(path, wanted(was))  # also what somebody else has put back meanwhile


def give_back(home):
    for name, (path, _) in WANTED.items():
        kept = os.path.join(home, "was-" + name)
        if os.path.exists(kept):
            with contextlib.suppress(system.Failure):  # it was not changed either
                write(path, read(kept))
            os.unlink(kept)
