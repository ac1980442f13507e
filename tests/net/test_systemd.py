"""The installed units under a real systemd, in namespaces of its own: they start, find each other, run attempts, and come back."""

import os
import shutil
import subprocess

import pytest

from controller import workload
from nets import TOP, cgroup2_root, needs_root, wait_for
from testbed.guest.kernels import NO_MOUNT
from testbed.net.system import root_is_mount

pytestmark = needs_root

# Its own processes, files of /etc, /run, cgroups and network. Units are found in one folder, so nothing of the host's is started.
GUEST = """#!/bin/sh
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
systemd-sysusers /opt/duopoly/lib/sysusers.d/duopoly.conf
systemd-tmpfiles --create /opt/duopoly/lib/tmpfiles.d/duopoly.conf
ip link set lo up
ip link add eth0 type veth peer name eth1
ip link set eth0 up
ip link set eth1 up
ip address add 10.99.0.1/24 dev eth0
exec env SYSTEMD_UNIT_PATH=FOLDER/units container=other /lib/systemd/systemd --system --unit=try.target --log-target=console --show-status=0
"""
TARGETS = ("sysinit", "basic", "sockets", "shutdown", "network", "multi-user")


class Guest:
    def __init__(self, folder):
        self.folder = folder
        self.cgroup = os.path.join(cgroup2_root(), f"dpt{os.getpid()}systemd")
        self.process = None
        subprocess.run(["make", "-s", "-C", TOP, "install", "DESTDIR=" + folder + "/root", "PREFIX=/opt/duopoly",
                        "BUILD=" + os.environ.get("BUILD", "build")], check=True, capture_output=True, timeout=300)
        self._configure()
        self._write_units()

    def _configure(self):
        path = self.folder + "/root/etc/duopoly/duopoly-agent.yaml"
        with open(path) as text:
            said = text.read()
        with open(path, "w") as text:
            text.write(said.replace("address: 0.0.0.0", "address: 10.99.0.1") +
                       "    - {name: true, argv: [\"true\"]}\n    - {name: rest, argv: [sleep, \"1000\"]}\n")

    def _write_units(self):
        units = self.folder + "/units"
        shutil.copytree(self.folder + "/root/opt/duopoly/lib/systemd/system", units)
        for target in TARGETS:
            self._write(f"{units}/{target}.target", "[Unit]\nDefaultDependencies=no\n")
        self._write(units + "/try.target", "[Unit]\nDefaultDependencies=no\nWants=duopolyd.service duopoly-agent.service\n")
        for name in ("duopolyd", "duopoly-agent", "duopoly-starter"):
            os.mkdir(f"{units}/{name}.service.d")
            self._write(f"{units}/{name}.service.d/test.conf", "[Service]\nStandardError=append:%s\n%s" % (
                self.log(name), "WatchdogSec=2\nRestartSec=100ms\n" if name == "duopoly-agent" else ""))

    @staticmethod
    def _write(path, text):
        with open(path, "w") as out:
            out.write(text)

    def log(self, name):
        return f"{self.folder}/{name}.log"

    def said(self, name):
        return open(self.log(name)).read() if os.path.exists(self.log(name)) else ""

    def start(self):
        script = self.folder + "/guest"
        self._write(script, GUEST.replace("FOLDER", self.folder))
        os.chmod(script, 0o755)
        os.mkdir(self.cgroup)
        with open(self.folder + "/systemd.log", "w") as log:
            self.process = subprocess.Popen(
                ["bash", "-c", f"echo $$ >{self.cgroup}/cgroup.procs && exec unshare --mount --pid --fork --uts --ipc --net --cgroup "
                               f"--mount-proc --kill-child {script}"], stdout=log, stderr=log)

    def pid(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as text:
            return (text.read().split() or [None])[0]

    def run(self, *words):
        return subprocess.run(["nsenter", "--target", self.pid(), "--all", "env", "PATH=/opt/duopoly/bin:/usr/sbin:/usr/bin:/sbin:/bin", *words],
                              capture_output=True, text=True, timeout=30).stdout.strip()

    def shows(self, unit, what):
        return self.run("systemctl", "show", "-P", what, unit)

    def active(self):
        return [self.shows(unit, "ActiveState") for unit in ("duopolyd", "duopoly-agent", "duopoly-starter")] == ["active"] * 3

    def state(self, *words):
        return self.run("duopolyctl", *words)

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
        wait_for("the guest's cgroups empty", gone)


@pytest.fixture
def guest(tmp_path):
    if "overlay" not in open("/proc/filesystems").read():
        pytest.skip("no overlay file system")
    if not root_is_mount():
        pytest.skip(NO_MOUNT)
    for folder in [tmp_path, *tmp_path.parents]:
        if str(folder).startswith("/tmp/"):
            os.chmod(folder, os.stat(folder).st_mode | 0o055)
    made = Guest(str(tmp_path))
    try:
        made.start()
        yield made
    finally:
        made.stop()


def attempts(guest):
    """{pid: user} of the commands that run."""
    found = {}
    below = guest.cgroup + "/system.slice/duopoly-starter.service"
    for path, _, files in os.walk(below):
        if path.endswith("/task"):
            with open(path + "/cgroup.procs") as text:
                found.update({int(pid): os.stat("/proc/" + pid).st_uid for pid in text.read().split()})
    return found


def test_the_units_under_a_real_systemd(guest):
    def words():
        return [guest.said(name) for name in ("duopolyd", "duopoly-agent", "duopoly-starter")]
    wait_for("systemd", lambda: guest.pid() and guest.run("systemctl", "is-system-running"))
    wait_for(f"three active units ({words()})", guest.active, 30)
    wait_for("a session", lambda: "session with controller" in guest.said("duopoly-agent"))
    assert "fenced off" not in "".join(words()), words()

    jobs = [{"id": 1, "name": "short", "arrival_ms": 0, "stages": [{"tasks": 3, "command": "true"}]},
            {"id": 2, "name": "long", "arrival_ms": 0, "stages": [{"tasks": 1, "command": "rest"}]}]
    guest.state("submit", str(workload(guest.folder, jobs, 1)))
    wait_for("the short job", lambda: "short" in guest.state("jobs", "-a") and " done " in guest.state("jobs", "-a"), 20)
    running = wait_for("the long one", lambda: attempts(guest))
    users = guest.run("id", "-u", "duopoly-task")
    assert [str(uid) for uid in running.values()] == [users]

    # An agent that hangs is ended by the watchdog; one whose starter is restarted is, too. Attempts live on.
    before = guest.shows("duopoly-agent", "MainPID")
    guest.run("kill", "-STOP", before)
    wait_for("the watchdog", lambda: guest.shows("duopoly-agent", "MainPID") not in (before, "0", ""), 20)
    wait_for("three active units again", guest.active, 20)
    guest.run("systemctl", "restart", "duopoly-starter")
    wait_for("three active units after the starter's restart", guest.active, 20)
    wait_for("the third agent", lambda: guest.said("duopoly-agent").count("session with controller") == 3, 20)
    assert list(attempts(guest)) == list(running) and " worker1 " in guest.state("tasks")
    guest.state("cancel", "2")
    wait_for("its end", lambda: not attempts(guest), 20)
    guest.run("systemctl", "stop", "duopolyd")
    assert guest.shows("duopolyd", "Result") == "success"
