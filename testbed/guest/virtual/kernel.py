"""The kernel for virtual time: Debian's linux-source-6.1 as User-Mode Linux, with kernel.config and
kernel.patch of this folder.

    python3 -m testbed.guest.virtual.kernel       builds it, unless that was done

It is built once for each package version, configuration and patch, and kept outside the
checkout: in $XDG_CACHE_HOME/duopoly (~/.cache/duopoly), some 10 MB. During the build its folder
there takes up to NEEDED_BYTES."""

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time

from testbed.net import system

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE, SOURCE = "linux-source-6.1", "/usr/src/linux-source-6.1.tar.xz"
CONFIG, PATCH = (os.path.join(HERE, name) for name in ("kernel.config", "kernel.patch"))
NEEDED_BYTES = 2 * 10**9
# Two builds of the same are the same, byte for byte.
BUILDER = {"KBUILD_BUILD_TIMESTAMP": "2026-01-01", "KBUILD_BUILD_USER": "duopoly",
           "KBUILD_BUILD_HOST": "duopoly"}


def cache():
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                        "duopoly")


def package_version():
    """Of the installed source; None without it."""
    if not os.path.exists(SOURCE):
        return None
    return subprocess.run(["dpkg-query", "-W", "-f", "${Version}", PACKAGE], capture_output=True,
                          text=True, check=False).stdout or None


def path():
    """Where the program is, or will be; None without the source's package."""
    version = package_version()
    if not version:
        return None
    said = hashlib.sha256(version.encode())
    for name in (CONFIG, PATCH):
        with open(name, "rb") as file:
            said.update(file.read())
    return os.path.join(cache(), "linux-%s-%s" % (version, said.hexdigest()[:16]))


def check_space(folder):
    free = shutil.disk_usage(folder).free
    if free < NEEDED_BYTES:
        raise system.Failure("the kernel for virtual time needs %.1f GB below %s while it is "
                             "built, %.1f GB are free" %
                             (NEEDED_BYTES / 1e9, folder, free / 1e9))


def step(what, command, folder, log):
    """Runs it with its output in the file `log`; Failure with its last line but make's."""
    child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log,
                             stderr=subprocess.STDOUT,
                             env={**os.environ, **BUILDER}, start_new_session=True,
                             preexec_fn=system.end_with_parent)
    try:
        status = child.wait()
    except BaseException:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        raise
    if status != 0:
        log.seek(0)
        said = [line for line in log.read().splitlines() if line.strip()
                and not line.startswith("make")] or ["exit status %d" % status]
        raise system.Failure("the kernel for virtual time could not be built (%s): %s" %
                             (what, system.printable(said[-1])))


def make(words, jobs=1):
    # Of what make itself was told nothing is meant for this one.
    return ["env", "-u", "MAKEFLAGS", "-u", "MFLAGS", "-u", "MAKELEVEL", "-u", "BUILD", "make",
            "-s", "ARCH=um", "-j%d" % jobs, *words]


def compile_in(folder, to):
    with open(os.path.join(folder, "log"), "w+", errors="replace") as log:
        step("unpacking", ["tar", "-x", "--strip-components=1", "-f", SOURCE], folder, log)
        step("patching", ["patch", "-p1", "--fuzz=0", "-i", PATCH], folder, log)
        step("configuring", make(["allnoconfig", "KCONFIG_ALLCONFIG=" + CONFIG]), folder, log)
        step("compiling", make(["linux"], os.cpu_count()), folder, log)
        step("stripping", ["strip", "-o", to + ".new", "linux"], folder, log)
    os.rename(to + ".new", to)


def build():
    """The path of the program, built if it is not there."""
    to = path()
    if not to:
        raise system.Failure("no Debian package %s ('make deps-virtual')" % PACKAGE)
    os.makedirs(cache(), exist_ok=True)
    with open(os.path.join(cache(), "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(to):
            folder = os.path.join(cache(), "building")
            shutil.rmtree(folder, ignore_errors=True)  # of one that was killed
            check_space(cache())
            print("building the kernel for virtual time (once; some minutes)", flush=True)
            began = time.monotonic()
            os.mkdir(folder)
            try:
                compile_in(folder, to)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            print("built in %.0f s: %s" % (time.monotonic() - began, to))
    return to


def main():
    system.end_with_parent()
    system.stop_signals_raise()
    try:
        build()
    except system.Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; nothing is left behind", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
