"""A real systemd that runs the units as `make install` puts them, in namespaces of its own: what a setting of a unit does is seen, not
emulated. Only where the log goes (but with `journal`), and the watchdog's time where a test asks for it, are not the unit's."""

import os
import re
import shutil
import subprocess

import pytest

from nets import TOP, cgroup2_root, wait_for
from testbed.guest.kernels import NO_MOUNT
from testbed.net.system import root_is_mount

SYSTEMD = "/lib/systemd/systemd"
PREFIX = "/opt/duopoly"
PATH = f"PATH={PREFIX}/bin:{PREFIX}/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
ADDRESS = "10.99.0.1"

# Its own processes, files of /etc, /run, cgroups and network. Units are found in one folder, so nothing of the host's is started.
GUEST = f"""#!/bin/sh
set -e
mount --make-rprivate /
mount -t tmpfs none /run
mount -t tmpfs none /var/lib
umount -R -l /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mount -t bpf -o mode=0700 none /sys/fs/bpf
mkdir /run/upper /run/work
mount -t overlay -o lowerdir=/etc,upperdir=/run/upper,workdir=/run/work overlay /etc
cp -r FOLDER/root/opt FOLDER/root/etc /run
cp -r /run/etc/. /etc
mkdir -p /opt
mount --bind /run/opt /opt
systemd-sysusers {PREFIX}/lib/sysusers.d/duopoly.conf FOLDER/sysusers.conf
systemd-tmpfiles --create {PREFIX}/lib/tmpfiles.d/duopoly.conf
ip link set lo up
PREPARE
exec env SYSTEMD_UNIT_PATH=FOLDER/units container=other {SYSTEMD} --system --unit=try.target --log-target=console --show-status=0
"""
LINK = f"""ip link add up0 type veth peer name up1
ip link set up0 up
ip link set up1 up
ip address add {ADDRESS}/24 dev up0"""
LEAVES = "mkdir -p $DUOPOLY_TASK_OUTPUT/a/b/c && touch $DUOPOLY_TASK_OUTPUT/a/b/c/d && chmod 0 $DUOPOLY_TASK_OUTPUT/a/b"
JOURNAL = ("systemd-journald.socket", "systemd-journald-dev-log.socket", "systemd-journald.service")
TARGETS = ("sysinit", "basic", "sockets", "shutdown", "network", "multi-user")
# Users of this machine besides the daemons', and groups that are the administrator's to make.
SYSUSERS = """u alice - "runs executors" /
u bob - "runs executors, too" /
u carol - "is in no group" /
u operator-olga - "an operator" /
m operator-olga duopoly
g duopoly-readers - -
u reader-rob - "a reader" /
m reader-rob duopoly-readers
"""


def can_run():
    """Skips where there can be none."""
    if not os.path.exists(SYSTEMD):
        pytest.skip("no systemd is installed")
    if "overlay" not in open("/proc/filesystems").read():
        pytest.skip("no overlay file system")
    if not root_is_mount():
        pytest.skip(NO_MOUNT)


def let_through(folder):
    """The daemons' users come to what lies in the test's folder."""
    while folder.startswith("/tmp/"):
        os.chmod(folder, os.stat(folder).st_mode | 0o055)
        folder = os.path.dirname(folder)


class Machine:
    """`net`: its network is that of the net's first host, else one of its own with up0 and nobody behind it. `agent`, `controller`: the
    installed configuration's text made another one. `prepare`: lines of shell before systemd begins. `journal`: systemd's own takes the log. `name`: of several
    at once."""

    def __init__(self, folder, net=None, agent=None, controller=None, units=("duopolyd", "duopoly-agent"), prepare="", watchdog=None, journal=False,
                 name="units"):
        can_run()
        let_through(folder)
        self.folder, self.units = folder, units
        self.namespace = ["nsenter", "--net=/run/netns/" + net.hosts[0].name, "--"] if net else []
        self.prepare = "\n".join([*([] if net else [LINK]), prepare])
        self.watchdog, self.journal = watchdog, journal
        self.cgroup = os.path.join(cgroup2_root(), f"dpt{os.getpid()}{name}")
        self.process = None
        subprocess.run(["make", "-s", "-C", TOP, "install", "DESTDIR=" + folder + "/root", "PREFIX=" + PREFIX,
                        "BUILD=" + os.environ.get("BUILD", "build")], check=True, capture_output=True, timeout=600)
        self.change("duopoly-agent", lambda text: re.sub(r"(?m)^address:.*\n", "", text.replace("uplink: eth0", "uplink: up0")) +
                    f'    - {{name: "true", argv: ["true"]}}\n    - {{name: rest, argv: [sleep, "1000"]}}\n'
                    f'    - {{name: leaves, argv: [sh, -c, "{LEAVES}"]}}\naddress: {ADDRESS}\n')
        self.change("duopoly-agent", agent or str)
        self.change("duopolyd", controller or str)
        self._write_units()

    def change(self, name, how):
        """The configuration of a daemon before the machine starts."""
        path = f"{self.folder}/root/etc/duopoly/{name}.yaml"
        with open(path) as text:
            said = text.read()
        write(path, how(said))

    def _write_units(self):
        units = self.folder + "/units"
        shutil.copytree(f"{self.folder}/root{PREFIX}/lib/systemd/system", units)
        write(self.folder + "/sysusers.conf", SYSUSERS)
        for unit in JOURNAL if self.journal else ():
            shutil.copy("/lib/systemd/system/" + unit, units)
        for target in TARGETS:
            write(f"{units}/{target}.target", "[Unit]\nDefaultDependencies=no\n")
        write(units + "/try.target", "[Unit]\nDefaultDependencies=no\nWants=%s\n" %
              " ".join([*(JOURNAL if self.journal else ()), *(unit + ".service" for unit in self.units)]))
        for name in (*self.units, "duopoly-starter"):
            self.drop_in(name, ("" if self.journal else f"StandardError=append:{self.log(name)}\n") +
                         (f"WatchdogSec={self.watchdog}\nRestartSec=100ms\n" if self.watchdog and name == "duopoly-agent" else ""))

    def drop_in(self, name, lines, file="test"):
        os.makedirs(f"{self.folder}/units/{name}.service.d", exist_ok=True)
        write(f"{self.folder}/units/{name}.service.d/{file}.conf", "[Service]\n" + lines)

    def log(self, name):
        return f"{self.folder}/{name}.log"

    def said(self, name):
        if self.journal:
            return self.run("journalctl", "--no-pager", "-o", "cat", "-u", name)
        return open(self.log(name)).read() if os.path.exists(self.log(name)) else ""

    def start(self):
        script = self.folder + "/guest"
        write(script, GUEST.replace("PREPARE", self.prepare).replace("FOLDER", self.folder))
        os.chmod(script, 0o755)
        os.mkdir(self.cgroup)
        network = "" if self.namespace else "--net"
        with open(self.folder + "/systemd.log", "w") as log:
            self.process = subprocess.Popen(
                [*self.namespace, "bash", "-c", f"echo $$ >{self.cgroup}/cgroup.procs && exec unshare --mount --pid --fork --uts --ipc "
                                                f"{network} --cgroup --mount-proc --kill-child {script}"], stdout=log, stderr=log)
        wait_for("systemd", lambda: self.pid() and self.run("systemctl", "is-system-running"), 30)
        try:
            wait_for("the units", self.active, 60)
        except AssertionError as late:
            raise AssertionError(f"{late}: {self.run('systemctl', '--no-pager', '--full', 'status', *self.units)} "
                                 f"{[self.said(name) for name in self.units]}") from late

    def pid(self):
        """Of systemd, outside."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as text:
            return (text.read().split() or [None])[0]

    def inside(self, *words, user=None):
        """The words of a command that runs in it, as a user with all of its groups."""
        become = ["setpriv", "--reuid=" + user, "--regid=" + user, "--init-groups"] if user else []
        return ["nsenter", "--target", self.pid(), "--all", "--wd=/", "env", PATH, *become, *words]

    def call(self, *words, user=None):
        return subprocess.run(self.inside(*words, user=user), capture_output=True, text=True, timeout=60)

    def run(self, *words, user=None):
        return self.call(*words, user=user).stdout.strip()

    def shows(self, unit, what):
        return self.run("systemctl", "show", "-P", what, unit)

    def status(self, unit):
        """/proc/PID/status of its main process."""
        said = self.run("cat", f"/proc/{self.shows(unit, 'MainPID')}/status")
        return dict(line.split(":\t", 1) for line in said.splitlines() if ":\t" in line)

    def active(self):
        units = [*self.units, *(["duopoly-starter"] if "duopoly-agent" in self.units else [])]
        return [self.shows(unit, "ActiveState") for unit in units] == ["active"] * len(units)

    def state(self, *words):
        return self.run("duopolyctl", *words)

    def uid(self, user):
        return int(self.run("id", "-u", user))

    def stop(self):
        if self.process:
            self.process.kill()  # and, by --kill-child, its systemd with all below it
            self.process.wait()

        def gone():
            for path, _, _ in os.walk(self.cgroup, topdown=False):
                try:
                    os.rmdir(path)
                except OSError:
                    pass
            return not os.path.isdir(self.cgroup)
        wait_for("the machine's cgroups empty", gone)


def write(path, text):
    with open(path, "w") as out:
        out.write(text)
