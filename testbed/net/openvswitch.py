"""An Open vSwitch of a testbed's own: its database, daemons and sockets end with the instance; no
other is touched."""

import os
import shutil

from testbed.net import system

SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
READY_SECONDS = 10


def installed():
    return os.path.exists(SCHEMA) and bool(shutil.which("ovs-vswitchd"))


def start(net, member):
    """Starts one in a member's namespace; the environment in which ovs-vsctl and others find it."""
    folder = os.path.join(net.instance.memory(), "openvswitch")
    os.makedirs(folder, exist_ok=True)
    database, socket = os.path.join(folder, "conf.db"), os.path.join(folder, "db.sock")
    there = {name: folder for name in ("OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR", "OVS_SYSCONFDIR")}
    environment = {**os.environ, **there}
    system.run("ovsdb-tool", "create", database, SCHEMA)
    log = os.path.join(folder, "log")
    net.start(member,
              ["ovsdb-server", "--remote=punix:" + socket, "--pidfile", "--no-chdir", database],
              log, env=environment)
    system.wait_for(lambda: os.path.exists(socket), READY_SECONDS,
                    "Open vSwitch's database answering", lambda: system.last_words(log))
    system.run("ovs-vsctl", "--db=unix:" + socket, "--no-wait", "init")
    net.start(member, ["ovs-vswitchd", "--pidfile", "--no-chdir", "unix:" + socket], log,
              env=environment)
    system.wait_for(lambda: os.path.exists(os.path.join(folder, "ovs-vswitchd.pid")), READY_SECONDS,
                    "Open vSwitch starting", lambda: system.last_words(log))
    return there
