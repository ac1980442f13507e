"""The kernels that tests and testbeds can run on besides the machine's own, and how each is booted
with the machine's files.

All get the machine's / as theirs, which `enclosure` has made read-only, and start the program
`init` of this folder with `settings` in its environment (the kernel passes on what it does not
know)."""

import glob
import os
import random
import shutil
import subprocess
import time

from testbed.guest.virtual import kernel as virtual
from testbed.net import system

HERE = os.path.dirname(os.path.abspath(__file__))
INIT = os.path.join(HERE, "init")
TIME_BEGINS = 1767225600 * 10**9  # 2026-01-01


class Missing(Exception):
    """What is missing, and how to get it."""


def words(settings):
    return [f"{name}={value}" for name, value in settings.items()]


class Uml:
    """User-Mode Linux: a kernel that is a process. One CPU, no BTF, no ets."""
    memory = "1G"

    @classmethod
    def check(cls, _build):
        if not shutil.which("linux.uml") or not glob.glob("/usr/lib/uml/modules/*"):
            raise Missing("no Debian package user-mode-linux ('make deps-guest')")

    @classmethod
    def boot(cls, _build, home, settings):
        """Returns when the guest is gone; its console is standard output."""
        cls.start("linux.uml", ["GUEST_MODULES=/usr/lib/uml/modules", *words(settings)])

    @classmethod
    def start(cls, program, more):
        subprocess.call([program, "mem=" + cls.memory, "root=/dev/root", "rootfstype=hostfs", "rw",
                         "init=" + INIT,
                         "con=null", "con0=null,fd:1", "quiet", "uml_dir=/dev/shm", *more],
                        stdin=subprocess.DEVNULL, env=dict(os.environ, TMPDIR="/dev/shm"))


class Virtual(Uml):
    """User-Mode Linux whose clock moves only when all its processes wait, built with
    testbed/guest/virtual. One CPU, which takes no time; no BTF, no modules. The file `progress`
    of its home shows its progress (testbed.guest.progress)."""
    memory = "4G"

    @classmethod
    def check(cls, _build):
        built = virtual.path()
        if not built:
            raise Missing("no Debian package %s ('make deps-virtual')" % virtual.PACKAGE)
        if not os.path.exists(built):
            raise Missing("no kernel for virtual time built ('make deps-virtual')")

    @classmethod
    def boot(cls, _build, home, settings):
        # The kernel and who runs in it are processes that take turns: on one CPU that takes little
        # more than half the time.
        os.sched_setaffinity(0, {random.choice(sorted(os.sched_getaffinity(0)))})
        cls.start(virtual.path(),
                  ["time-travel=inf-cpu", "time-travel-start=%d" % TIME_BEGINS, "norandmaps",
                                   "progress=" + os.path.join(home, "progress"), *words(settings)])


class Qemu:
    """QEMU without KVM and Debian's kernel for clouds, which has BTF, a BPF JIT and ets; two CPUs,
    each several times slower."""
    program, memory = "qemu-system-x86_64", "1G"
    files = "/usr/lib/qemu/virtiofsd"

    @classmethod
    def check(cls, build):
        if not shutil.which(cls.program) or not os.path.exists(cls.files):
            raise Missing("no Debian package qemu-system-x86 ('make deps-guest')")
        if not os.path.exists(cls.kernel(build) + "/initramfs"):
            raise Missing("no Debian kernel for clouds unpacked ('make deps-guest')")

    @staticmethod
    def kernel(build):
        return os.path.abspath(os.path.join(build, "guest/kernel"))

    @classmethod
    def boot(cls, build, home, settings):
        kernel, socket = cls.kernel(build), os.path.join(home, "files")
        server = subprocess.Popen([cls.files, "--socket-path=" + socket, "-o", "source=/", "-o",
                                   "sandbox=chroot", "-o", "cache=always", "-f", "-o", "xattr",
                                   "-o", "log_level=err"])
        while not os.path.exists(socket) and server.poll() is None:
            time.sleep(0.01)
        append = ["console=ttyS0", "quiet", "panic=-1", "mitigations=off", "GUEST_INIT=" + INIT,
                  "GUEST_MODULES=" + kernel + "/lib/modules", *words(settings)]
        subprocess.call([cls.program, "-machine", "q35,memory-backend=all", "-accel",
                         "tcg,thread=multi", "-cpu", "max", "-smp", "2",
                         "-m", cls.memory, "-object",
                         f"memory-backend-memfd,id=all,size={cls.memory},share=on",
                         "-chardev", "socket,id=files,path=" + socket, "-device",
                         "vhost-user-fs-pci,chardev=files,tag=host",
                         "-kernel", kernel + "/vmlinuz", "-initrd", kernel + "/initramfs",
                         "-append", " ".join(append),
                         "-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio"],
                        stdin=subprocess.DEVNULL)


KERNELS = {"uml": Uml, "qemu": Qemu, "virtual": Virtual}


NO_MOUNT = "the root is no mount that can be made read-only (a chroot)"


def check(kernel, build):
    """Missing if such a guest cannot be booted."""
    if os.geteuid() != 0:
        raise Missing("needs root")
    KERNELS[kernel].check(build)
    if not system.root_is_mount():
        raise Missing(NO_MOUNT)
