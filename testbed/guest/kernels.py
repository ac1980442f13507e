"""The kernels that tests and testbeds can run on besides the machine's own, and how each is booted with the machine's files.

Both get the machine's / as theirs, which `enclosure` has made read-only, and start the program `init` of this folder with
`settings` in its environment (the kernel hands on what it does not know)."""

import glob
import os
import shutil
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
INIT = os.path.join(HERE, "init")
MEMORY = "1G"


class Missing(Exception):
    """What there is not, and how to get it."""


def words(settings):
    return [f"{name}={value}" for name, value in settings.items()]


class Uml:
    """User-Mode Linux: a kernel that is a process. One CPU, no BTF, no ets."""
    program = "linux.uml"

    @classmethod
    def check(cls, _build):
        if not shutil.which(cls.program) or not glob.glob("/usr/lib/uml/modules/*"):
            raise Missing("no Debian package user-mode-linux ('make deps-guest')")

    @classmethod
    def boot(cls, _build, home, settings):
        """Returns when the guest is gone; its console is standard output."""
        subprocess.call([cls.program, "mem=" + MEMORY, "root=/dev/root", "rootfstype=hostfs", "rw", "init=" + INIT,
                         "con=null", "con0=null,fd:1", "quiet", "uml_dir=/dev/shm", "GUEST_MODULES=/usr/lib/uml/modules",
                         *words(settings)], stdin=subprocess.DEVNULL, env=dict(os.environ, TMPDIR="/dev/shm"))


class Qemu:
    """QEMU without KVM and Debian's kernel for clouds, which has BTF, a BPF JIT and ets; two CPUs, each several times slower."""
    program = "qemu-system-x86_64"
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
        server = subprocess.Popen([cls.files, "--socket-path=" + socket, "-o", "source=/", "-o", "sandbox=chroot", "-o", "cache=always", "-f", "-o", "xattr",
                                   "-o", "log_level=err"])
        while not os.path.exists(socket) and server.poll() is None:
            time.sleep(0.01)
        append = ["console=ttyS0", "quiet", "panic=-1", "mitigations=off", "GUEST_INIT=" + INIT,
                  "GUEST_MODULES=" + kernel + "/lib/modules", *words(settings)]
        subprocess.call([cls.program, "-machine", "q35,memory-backend=all", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2",
                         "-m", MEMORY, "-object", f"memory-backend-memfd,id=all,size={MEMORY},share=on",
                         "-chardev", "socket,id=files,path=" + socket, "-device", "vhost-user-fs-pci,chardev=files,tag=host",
                         "-kernel", kernel + "/vmlinuz", "-initrd", kernel + "/initramfs", "-append", " ".join(append),
                         "-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio"], stdin=subprocess.DEVNULL)


KERNELS = {"uml": Uml, "qemu": Qemu}


NO_MOUNT = "the root is no mount that can be made read-only (a chroot)"


def root_is_mount():
    with open("/proc/self/mountinfo") as mounts:
        return any(line.split()[4] == "/" for line in mounts)


def check(kernel, build):
    """Missing where such a guest cannot be booted."""
    if os.geteuid() != 0:
        raise Missing("needs root")
    KERNELS[kernel].check(build)
    if not root_is_mount():
        raise Missing(NO_MOUNT)
