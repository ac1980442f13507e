"""Boots a guest where the machine's files are read-only and from which nothing escapes:
testbed.guest.enclosure KERNEL HOME.

Runs as the first process of a PID namespace of its own (`command`): all that it starts ends with
it. Only the folder HOME can be written."""

import ctypes
import json
import os
import subprocess
import sys

from testbed.guest.kernels import KERNELS

MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE, RDONLY = 442, -100, 0x8000, 1


def command(kernel, home):
    """The command that starts one; killing it, or the end of its caller, ends everything inside."""
    return ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork",
            "--kill-child", "--mount-proc",
            sys.executable, "-B", "-m", "testbed.guest.enclosure", kernel, home]


def read_only_but(home):
    """Every mount of this namespace (mount_setattr: Linux 5.12), save the folder."""
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = (ctypes.c_uint64 * 4)(RDONLY, 0, 0, 0)
    if libc.syscall(MOUNT_SETATTR, AT_FDCWD, b"/", AT_RECURSIVE, attributes,
                    ctypes.sizeof(attributes)) < 0:
        raise OSError(ctypes.get_errno(), "cannot make the machine's files read-only for the guest")
    subprocess.run(["mount", "--bind", home, home], check=True)
    subprocess.run(["mount", "-o", "remount,bind,rw", home], check=True)
    for path in ("/dev/shm", "/run"):  # for the guest's memory, and what virtiofsd locks
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", path], check=True)


def main(kernel, home):
    read_only_but(home)
    with open(os.path.join(home, "request.json")) as request:
        build = json.load(request)["build"]
    KERNELS[kernel].boot(build, home, {"GUEST": kernel, "GUEST_HOME": home})


if __name__ == "__main__":
    main(*sys.argv[1:])
