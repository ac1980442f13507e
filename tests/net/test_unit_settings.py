"""Every setting of the units in packaging/: each is one that is known here, and each limit is as
tight as systemd has it, or it is said why not. What they do to the daemons test_packaged.py
sees."""

import os
import re

import pytest

from nets import TOP

UNITS = ["duopolyd", "duopoly-agent", "duopoly-starter", "duopoly-fastpath"]

# The tightest value of each limit.
TIGHTEST = {
    "LockPersonality": "yes", "MemoryDenyWriteExecute": "yes", "NoNewPrivileges": "yes", "PrivateDevices": "yes", "PrivateMounts": "yes",
    "PrivateTmp": "yes", "ProcSubset": "pid", "ProtectClock": "yes", "ProtectControlGroups": "yes", "ProtectHome": "yes",
    "ProtectHostname": "yes", "ProtectKernelLogs": "yes", "ProtectKernelModules": "yes", "ProtectKernelTunables": "yes",
    "ProtectProc": "invisible", "ProtectSystem": "strict", "RemoveIPC": "yes", "RestrictNamespaces": "yes", "RestrictRealtime": "yes",
    "RestrictSUIDSGID": "yes", "SystemCallArchitectures": "native", "SystemCallErrorNumber": "EPERM"}
# Where a unit has another value or none (None), and why.
LOOSER = {
    ("duopolyd", "ProcSubset"): ("all", "it reads which boot of the machine this is"),
    ("duopoly-agent", "ProcSubset"): ("all", "it reads which boot of the machine this is, and its libraries what the kernel has"),
    ("duopoly-agent", "ProtectProc"): ("default", "executors of frameworks are other users' processes"),
    ("duopoly-agent", "ProtectControlGroups"): (None, "attempts get cgroups of their own in the starter's"),
    ("duopoly-starter", "ProcSubset"): (None, "commands see what any program sees"),
    ("duopoly-starter", "MemoryDenyWriteExecute"): (None, "commands may compile as they run"),
    ("duopoly-starter", "PrivateDevices"): (None, "commands may use a GPU"),
    ("duopoly-starter", "RestrictNamespaces"): (None, "it would take clone3, by which commands are started in their cgroups"),
    ("duopoly-fastpath", "ProcSubset"): (None, "DPDK reads the machine's memory and processors"),
    ("duopoly-fastpath", "PrivateDevices"): (None, "DeviceAllow= leaves it the one behind net_tap"),
}
# What is no limit that is on or off: who it is, what it starts, its bounds, what it may.
OTHERS = {
    "Type", "NotifyAccess", "WatchdogSec", "Restart", "RestartSec", "ExecStartPre", "ExecStart", "ExecReload", "KillMode", "OOMPolicy",
    "User", "Group", "SupplementaryGroups", "Delegate", "UMask", "LimitNOFILE", "LimitMEMLOCK", "TasksMax",
    "RuntimeDirectory", "RuntimeDirectoryPreserve", "StateDirectory", "StateDirectoryMode", "ReadWritePaths",
    "AmbientCapabilities", "CapabilityBoundingSet", "DevicePolicy", "DeviceAllow", "IPAddressDeny", "IPAddressAllow",
    "RestrictAddressFamilies", "SystemCallFilter"}


def settings(unit):
    """[(name, value, whether the lines above are a comment)] of its [Service]."""
    with open(os.path.join(TOP, "packaging", unit + ".service")) as text:
        lines = text.read().split("[Service]\n")[1].split("\n[Install]")[0].split("\n")
    return [(*line.split("=", 1), before.startswith("#")) for before, line in zip(["", *lines], lines) if "=" in line and not line.startswith("#")]


@pytest.mark.parametrize("unit", UNITS)
def test_each_setting_is_known(unit):
    assert [name for name, _, _ in settings(unit) if name not in TIGHTEST and name not in OTHERS] == []


@pytest.mark.parametrize("unit", UNITS)
def test_each_limit_is_as_tight_as_can_be(unit):
    has = {name: value for name, value, _ in settings(unit)}
    for name, tightest in TIGHTEST.items():
        wanted = LOOSER.get((unit, name), (tightest,))[0]
        assert has.get(name) == wanted, f"{unit}.service: {name}={has.get(name)} instead of {wanted}"


@pytest.mark.parametrize("unit", UNITS)
def test_a_looser_limit_says_why_in_its_unit(unit):
    for name, value, comment in settings(unit):
        if name in TIGHTEST and value != TIGHTEST[name]:
            assert comment, f"{unit}.service: {name}={value} without a comment above"


@pytest.mark.parametrize("unit", UNITS)
def test_no_unit_is_given_up(unit):
    """systemd gives up after five starts in ten seconds where nothing else is said."""
    has = {name: value for name, value, _ in settings(unit)}
    with open(os.path.join(TOP, "packaging", unit + ".service")) as text:
        assert "\nStartLimitIntervalSec=0\n" in text.read().split("[Service]\n")[0]
    assert has["Restart"] == "always" and "RestartSec" in has


@pytest.mark.parametrize("unit", UNITS)
def test_nobody_is_root_and_capabilities_are_bounded(unit):
    has = {name: value for name, value, _ in settings(unit)}
    assert re.fullmatch("duopoly[a-z-]*", has["User"]) and re.fullmatch("duopoly[a-z-]*", has["Group"])
    assert has["CapabilityBoundingSet"] == has.get("AmbientCapabilities", "")
