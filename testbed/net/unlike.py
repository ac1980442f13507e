"""Hosts that differ: what a cluster file (schemas/cluster.md) says of each, as the simulator reads
it."""

import json
import os
import re
import subprocess
import typing

from testbed.net import system

# Of a namespace, and of its port on the switch, which Linux bounds.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,14}")
# As the agent's configuration has them.
AMOUNTS = {"slots": "slots", "cpu_milli": "cpu_milli", "mem_bytes": "memory",
           "gpu_milli": "gpu_milli", "gpu_mem_bytes": "gpu_memory", "io_bytes_s": "io_bytes_s"}
SIZES = ("mem_bytes", "gpu_mem_bytes")


class Host(typing.NamedTuple):
    """rack: "" none; units: as the file has them, none: the testbed's slots; rates in bit/s, 0: the
    testbed's."""

    name: str
    rack: str
    labels: list
    uplink_bps: int
    downlink_bps: int
    units: list
    disk_bytes_s: int = 0  # 0: not said

    def devices(self):
        """{name: bytes of memory, 0 where the device is handed out whole}"""
        return {device: unit["gpu_mem_bytes"] if len(unit["devices"]) == 1 else 0
                for unit in self.units for device in unit["devices"]}

    def agent_lines(self, slots):
        """What its agent's configuration says of it."""
        lines = ["rack: " + word(self.rack)] if self.rack else []
        lines += ["labels: [%s]" % words(self.labels)] if self.labels else []
        devices = self.devices()
        lines += ["devices:"] if devices else []
        lines += ["  - {name: %s, memory: %d B}" % (word(name), size)
                  for name, size in devices.items()]
        units = ["  - {%s}" % unit_words(unit) for unit in self.units]
        lines += ["disk: %d B" % self.disk_bytes_s] if self.disk_bytes_s else []
        return [*lines, "units:", *(units or ["  - {slots: %d}" % slots])]


def word(text):
    """As YAML has it."""
    return text if re.fullmatch(r"[A-Za-z0-9_.-]+", text) else json.dumps(text)


def words(texts):
    return ", ".join(map(word, texts))


def unit_words(unit):
    said = ["name: " + word(unit["name"])] if unit["name"] else []
    said += ["%s: %d%s" % (key, unit[name], " B" if name in SIZES else "")
             for name, key in AMOUNTS.items() if unit[name] and not is_whole(unit, name)]
    said += ["devices: [%s]" % words(unit["devices"])] if unit["devices"] else []
    return ", ".join(said)


def is_whole(unit, name):
    """Of devices that are handed out whole, which say it by their number."""
    return name == "gpu_milli" and len(unit["devices"]) > 1


def read(build, path):
    """[Host] of a file, in its order; Failure with the sentence of who reads it."""
    command = [os.path.join(build, "duopoly-sim"), "cluster", "--json", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().partition("duopoly-sim cluster: ")[2]
        raise system.Failure(said or "duopoly-sim cluster failed")
    rows = json.loads(done.stdout)["hosts"]
    hosts = [Host(*(row[field] for field in Host._fields)) for row in rows]
    for host in hosts:
        if not NAME.fullmatch(host.name):
            raise system.Failure("%s: %s cannot be a host of the testbed: its name is a port's, of "
                                 "15 letters and digits at most" % (path, host.name))
    return hosts
